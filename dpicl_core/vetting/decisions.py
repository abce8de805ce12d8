"""From a document and a person's decisions to the signed document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dpicl_core.data import flatten_text
from dpicl_core.documents import (
    SELECTION_FROM_RELEASED,
    SELECTION_INFORMED,
    BudgetPart,
    DecisionPart,
    DemonstrationPart,
    DemonstrationsDocument,
    GuaranteePart,
    VettingPart,
    ViewPart,
    canonical_hash,
    text_hash,
)
from dpicl_core.errors import ExportError
from dpicl_core.export import guarantee_sentence
from dpicl_core.values import NeighbouringRelation

LONGEST_NAME = 100
LONGEST_JUSTIFICATION = 600
"""Characters, so that the certificate stays one page."""

LONGEST_REASON = 300
LONGEST_TEXT = 4000

NOT_COVERED_ALWAYS = (
    "what the reviewer knew of the private rows from elsewhere and let into a decision or an edit",
    "whether a text is true, harmless or fit for its purpose",
    "the name and the budget of the data asset, which the ledger finds by comparing rows",
)
NOT_COVERED_INFORMED = (
    "which texts were kept or changed: something internal, computed from private rows without noise, was opened before "
    "they were approved"
)


@dataclass(frozen=True, slots=True)
class Approve:
    """The text leaves as it was released."""


@dataclass(frozen=True, slots=True)
class Reject:
    """The text is left out; what it cost stays spent."""

    reason: str


@dataclass(frozen=True, slots=True)
class Edit:
    """Another text stands in its place, marked. note: what was changed and why, if the reviewer says so.

    Free of privacy cost only if nothing from private rows went into it.
    """

    text: str
    note: str | None = None


Decision = Approve | Reject | Edit


@dataclass(frozen=True, slots=True)
class SignOff:
    """Who signs, when (UTC), why this epsilon is justified, what was opened before, and the budget at that moment."""

    reviewer: str
    signed: str
    justification: str
    views: tuple[ViewPart, ...]
    budget: BudgetPart


def vetted(
    document: DemonstrationsDocument, decisions: Sequence[Decision], sign_off: SignOff
) -> DemonstrationsDocument:
    """The signed document. decisions: one for each demonstration of the document, in its order.

    Raises ExportError where a decision, a reason, the name or the justification is missing, or nothing is left.
    """
    if document.vetting is not None:
        raise ExportError("this file has been signed already; vet the run again from the ledger.")
    if len(decisions) != len(document.demonstrations):
        raise ExportError(
            f"the run released {len(document.demonstrations)} demonstrations, but {len(decisions)} have a decision; "
            "decide on each one."
        )
    parts, kept = [], []
    for number, (released, decision) in enumerate(zip(document.demonstrations, decisions, strict=True), start=1):
        part, text = _decided(number, released, decision)
        parts.append(part)
        if text is not None:
            kept.append(released.model_copy(update={"text": text}))
    if not kept:
        raise ExportError(
            "every demonstration was rejected, so there is nothing to sign; approve or edit at least one."
        )
    vetting = VettingPart(
        reviewer=_filled(sign_off.reviewer, "the reviewer's name", LONGEST_NAME),
        signed=sign_off.signed,
        justification=_filled(sign_off.justification, "the justification of epsilon", LONGEST_JUSTIFICATION),
        selection=SELECTION_INFORMED if sign_off.views else SELECTION_FROM_RELEASED,
        internal_views=list(sign_off.views),
        decisions=parts,
        budget=sign_off.budget,
    )
    changes = {"demonstrations": kept, "vetting": vetting, "guarantee": _guarantee(document.guarantee, vetting)}
    unsigned = document.model_copy(update=changes)
    return unsigned.model_copy(update={"sha256": canonical_hash(unsigned.model_dump(mode="json"))})


def summary(vetting: VettingPart) -> str:
    """How many were approved, edited and rejected, in words."""
    counts = dict.fromkeys(("approved", "edited", "rejected"), 0)
    for part in vetting.decisions:
        counts[part.decision] += 1
    return ", ".join(f"{count} {kind}" for kind, count in counts.items())


def informed(vetting: VettingPart | None) -> bool:
    """Whether what stands in the file was chosen after something internal had been opened."""
    return vetting is not None and vetting.selection == SELECTION_INFORMED


def _decided(number: int, released: DemonstrationPart, decision: Decision) -> tuple[DecisionPart, str | None]:
    """The decision as it stands in the file, and the text that leaves, None for none. Raises ExportError."""

    def part(kind: str, reason: str | None = None) -> DecisionPart:
        return DecisionPart.model_validate(
            {
                "demonstration": number,
                "label": released.label,
                "decision": kind,
                "reason": reason,
                "released_sha256": text_hash(released.text),
            }
        )

    name = f"demonstration {number}"
    match decision:
        case Reject(reason):
            return part("rejected", _filled(reason, f"the reason why {name} is rejected", LONGEST_REASON)), None
        case Edit(text, note):
            edited = flatten_text(_filled(text, f"the edited text of {name}", LONGEST_TEXT))
            if edited == released.text:
                raise ExportError(f"the edit of {name} changes nothing; approve it, or change it.")
            said = None if note is None or not note.strip() else note
            return part("edited", said and _filled(said, f"the note on {name}", LONGEST_REASON)), edited
        case Approve():
            if not released.text.strip():
                raise ExportError(f"{name} is empty, so it cannot be approved; reject it, or edit it.")
            return part("approved"), released.text


def _guarantee(released: GuaranteePart, vetting: VettingPart) -> GuaranteePart:
    """What is promised for the file: the numbers of the run, and what a person's choice leaves uncovered."""
    more = (*NOT_COVERED_ALWAYS, NOT_COVERED_INFORMED) if informed(vetting) else NOT_COVERED_ALWAYS
    sentence = guarantee_sentence(
        released.epsilon.tight,
        released.delta,
        released.unit,
        NeighbouringRelation(released.neighbouring_relation),
        informed=informed(vetting),
    )
    return released.model_copy(update={"sentence": sentence, "not_covered": [*released.not_covered, *more]})


def _filled(text: str, what: str, longest: int) -> str:
    """The words on one line. Raises ExportError where they are blank or too long."""
    words = " ".join(text.split())
    if not words:
        raise ExportError(f"{what} is missing; write it down.")
    if len(words) > longest:
        raise ExportError(f"{what} may have {longest} characters at most, but has {len(words)}; shorten it.")
    return "".join(character for character in words if character.isprintable())
