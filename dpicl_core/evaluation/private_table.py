"""A private table on its way to a measure, and the names under which the ledger records that it was opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dpicl_core.charged_runs.internal_view import InternalView, open_view
from dpicl_core.data import Dataset, flatten_text, pool_for
from dpicl_core.errors import DataError
from dpicl_core.ledger import Ledger
from dpicl_core.values import Pool, PrivacyUnit

ACCURACY_VIEW = "in-context accuracy, not DP"
MEMBERSHIP_VIEW = "membership inference, not DP"
LEAKAGE_VIEW = "words shared with private rows, not DP"
CANARY_VIEW = "canaries planted in unpaid runs, not DP"
CONSENSUS_VIEW = "consensus of private next-token vectors, not DP"
PLAYGROUND_VIEW = "answers with real rows in the prompt, not DP"


@dataclass(frozen=True, slots=True)
class PrivateTable:
    """Rows that a measure reads behind `open` alone, which records it first; so a measure that is sent to another
    process still begins with its record.

    run_ids: runs of the ledger whose texts are measured. ledger, actor: None for this installation's and its user.
    """

    dataset: Dataset = field(repr=False)
    run_ids: tuple[str, ...] = ()
    ledger: Ledger | None = None
    actor: str | None = None

    def open(self, what: str) -> InternalView:
        """The recorded view. Raises LedgerError where it cannot be recorded."""
        return open_view(self.dataset, what, run_ids=self.run_ids, ledger=self.ledger, actor=self.actor)


def set_apart(view: InternalView, count: int) -> tuple[InternalView, InternalView]:
    """A few rows to ask about, spread evenly over the table, and the rest; at most a quarter is set apart.

    Raises DataError for a table of fewer than four rows.
    """
    rows = len(view.dataset)
    asked = min(count, rows // 4)
    if asked < 1:
        raise DataError(f"the table has {rows} rows, too few to set some apart to ask about; give a held-out table.")
    chosen = {index * rows // asked for index in range(asked)}
    return view.only(chosen), view.only(set(range(rows)) - chosen)


def strangers(view: InternalView, table: InternalView) -> InternalView:
    """The rows whose text does not stand in the other table, blanks aside: whoever stands in both is no outsider.

    Raises DataError where none is left.
    """
    known = {flatten_text(row.text) for row in table.dataset.examples}
    kept = [index for index, row in enumerate(view.dataset.examples) if flatten_text(row.text) not in known]
    if not kept:
        raise DataError(
            "every held-out row stands in the private table too, so there is nobody to tell apart; give rows that were "
            "never used."
        )
    return view.only(kept)


def pools_by_label(dataset: Dataset, labels: Sequence[str | None]) -> dict[str | None, Pool]:
    """Rows of each label, or of the whole table under None; labels without a row are left out."""
    pools = {label: pool_for(dataset, label, PrivacyUnit.ROW) for label in dict.fromkeys(labels)}
    return {label: pool for label, pool in pools.items() if len(pool)}
