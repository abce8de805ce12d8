"""The ledger: data assets with caps, runs paid for before anything is drawn, tokens stored before they are shown.

`dpicl_core.charged_runs` is the way to make a run; the names here are for stewards, screens and reports.
"""

from dpicl_core.ledger.assets import (
    DEFAULT_CAP_EPSILON,
    Asset,
    AssetTerms,
    Rule,
    all_assets,
    asset_named,
    create_asset,
)
from dpicl_core.ledger.backup import BackupFacts, restore_backup, write_backup
from dpicl_core.ledger.chain import Event, events_of
from dpicl_core.ledger.costs import CostPart, Standing, cost_parts
from dpicl_core.ledger.ended import EndedRun, ended_runs
from dpicl_core.ledger.filters import best_order, epsilon_of_divergence, renyi_budget
from dpicl_core.ledger.fingerprints import Fingerprint, fingerprint
from dpicl_core.ledger.identity import home_folder, user_name
from dpicl_core.ledger.matching import Meeting, asset_for, meetings, share_anything, tie_file
from dpicl_core.ledger.purge import PurgeFacts, purge_asset
from dpicl_core.ledger.reports import (
    AssetReport,
    RunLine,
    asset_report,
    asset_reports,
    budgets_as_of,
    everything,
    run_lines,
    total_if_fixed_in_advance,
    what_if,
    what_if_again,
)
from dpicl_core.ledger.reservations import Order, Outlook, Override, Reservation, reserve, standing
from dpicl_core.ledger.smaller import OverTheCapError, SmallerPlan, smaller_plans
from dpicl_core.ledger.store import Ledger, open_ledger
from dpicl_core.ledger.tokens import (
    OPEN_STATES,
    Decision,
    StoredRun,
    append_decision,
    close_partial,
    reading_of,
    record_decision,
    stored_run,
)
from dpicl_core.ledger.verification import LedgerVerdict, verify_ledger
from dpicl_core.ledger.vouching import check_run

__all__ = [
    "DEFAULT_CAP_EPSILON",
    "OPEN_STATES",
    "Asset",
    "AssetReport",
    "AssetTerms",
    "BackupFacts",
    "CostPart",
    "Decision",
    "EndedRun",
    "Event",
    "Fingerprint",
    "Ledger",
    "LedgerVerdict",
    "Meeting",
    "Order",
    "Outlook",
    "OverTheCapError",
    "Override",
    "PurgeFacts",
    "Reservation",
    "Rule",
    "RunLine",
    "SmallerPlan",
    "Standing",
    "StoredRun",
    "all_assets",
    "append_decision",
    "asset_for",
    "asset_named",
    "asset_report",
    "asset_reports",
    "best_order",
    "budgets_as_of",
    "check_run",
    "close_partial",
    "cost_parts",
    "create_asset",
    "ended_runs",
    "epsilon_of_divergence",
    "events_of",
    "everything",
    "fingerprint",
    "home_folder",
    "meetings",
    "open_ledger",
    "purge_asset",
    "reading_of",
    "record_decision",
    "renyi_budget",
    "reserve",
    "restore_backup",
    "run_lines",
    "share_anything",
    "smaller_plans",
    "standing",
    "stored_run",
    "tie_file",
    "total_if_fixed_in_advance",
    "user_name",
    "verify_ledger",
    "what_if",
    "what_if_again",
    "write_backup",
]
