"""Vetting: what a named person decides about released texts, and the signed document that follows.

Nothing here takes a private row: checks read released texts and public facts of the task, and decisions are made on
those. Choosing and editing are then post-processing of what was released and add nothing to the price. That holds only
as far as the person used nothing from private rows; where the ledger records that something internal was opened
before, the document says so.
"""

from dpicl_core.vetting.checks import Finding, FindingKind, check_texts, marked
from dpicl_core.vetting.consistency import vetting_problems
from dpicl_core.vetting.decisions import Approve, Decision, Edit, Reject, SignOff, summary, vetted

__all__ = [
    "Approve",
    "Decision",
    "Edit",
    "Finding",
    "FindingKind",
    "Reject",
    "SignOff",
    "check_texts",
    "marked",
    "summary",
    "vetted",
    "vetting_problems",
]
