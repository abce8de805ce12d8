"""What the certificate says, without its layout."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dpicl_core import accounting
from dpicl_core.accounting.risk import PrivacyProfile, sayings
from dpicl_core.documents import DemonstrationsDocument, VettingPart
from dpicl_core.errors import ExportError
from dpicl_core.values import PrivacyUnit
from dpicl_core.verification import Verdict, budget_line, labels_may_change, recomputed_line
from dpicl_core.vetting import summary
from dpicl_core.vetting.decisions import informed

MECHANISM_WORDS = {
    "adadpsyn": "AdaDPSyn (Gao and others 2024), which shrinks a ball around the rows' votes to need less noise",
    "tang-gaussian": "the Gaussian mechanism of Tang and others (2023), which adds noise to the sum of the votes",
    "tang-noisy-max": "the noisy maximum of Tang and others (2023), which adds noise to scores and tells the winner",
    "anchored": "anchored radius reduction, which starts at a guess made without private rows and adds noise to means",
}
_MOST_LABELS = 6


@dataclass(frozen=True, slots=True)
class Section:
    """One heading with its statements; `listed` where they are points of a list."""

    title: str
    lines: tuple[str, ...]
    listed: bool = False


@dataclass(frozen=True, slots=True)
class Certificate:
    """The whole page. mechanism: its name, for the colour. sha256: of the file's contents."""

    title: str
    lead: str
    sections: tuple[Section, ...]
    mechanism: str
    sha256: str


def certificate_for(verdict: Verdict) -> Certificate:
    """The certificate of a signed file that holds. Raises ExportError for any other."""
    document = verdict.document
    if not verdict.holds:
        raise ExportError(f"{verdict.problems[0]}; no certificate is made. Run verify to see every finding.")
    if document.vetting is None:
        raise ExportError("nobody has signed this file, so there is no certificate for it; vet its run first.")
    count = len(document.demonstrations)
    return Certificate(
        title="Privacy certificate",
        lead=(
            f'{count} invented example {"text" if count == 1 else "texts"} for the task "{document.task.title}", '
            f"written by the language model {document.model.name} on {_day(document.created)}{_rewritten(document)}, "
            "signed by "
            f"{document.vetting.reviewer} on {_day(document.vetting.signed)}. {_use(document.vetting)}"
        ),
        sections=(
            Section("What was protected", tuple(_protected(document))),
            Section("How", tuple(_how(document))),
            Section("How much was spent", (recomputed_line(verdict), budget_line(document.vetting))),
            Section("What could go wrong", tuple(_risks(verdict)), listed=True),
            Section("What is not covered", tuple(document.guarantee.not_covered), listed=True),
            Section("Who looked at it", tuple(_signed(document.vetting))),
            Section("How to check this", tuple(_check(document))),
        ),
        mechanism=document.mechanism.name,
        sha256=document.sha256,
    )


def _rewritten(document: DemonstrationsDocument) -> str:
    edited = sum(each.decision == "edited" for each in document.vetting.decisions) if document.vetting else 0
    return f", {edited} of them changed or rewritten by the reviewer" if edited else ""


def _use(vetting: VettingPart) -> str:
    if informed(vetting):
        return (
            "The guarantee covers everything that the run released, but not the choice among it and the edits: "
            "something internal had been opened before."
        )
    return "They may be put into any prompt, by anyone, for ever, at no further privacy cost."


def _protected(document: DemonstrationsDocument) -> Iterable[str]:
    unit = document.guarantee.unit
    asset = "" if document.vetting is None else document.vetting.budget.asset
    if not any(pool.sampling_rate for pool in document.pools):
        yield f'The private table "{asset}": no {unit} of it was read, so the texts cannot say anything about any.'
        return
    pools = [f"{'all labels' if pool.label is None else pool.label} {pool.units:,}" for pool in document.pools]
    more = len(pools) - _MOST_LABELS
    listed = ", ".join(pools[:_MOST_LABELS]) + (f" and {more} labels more" if more > 0 else "")
    counted = "declared to be at least" if labels_may_change(document) else "by label"
    yield (
        f'Every single {unit} of the private table "{asset}" ({unit}s drawn from, {counted}: {listed}). What '
        f"the texts can tell about it is bounded; how tightly, the numbers below say."
    )
    yield document.guarantee.sentence


def _how(document: DemonstrationsDocument) -> Iterable[str]:
    plan, name, unit = document.plan, document.mechanism.name, document.guarantee.unit
    if name not in MECHANISM_WORDS:
        yield "The language model wrote from the public instruction and the label alone."
        return
    yield (
        f"For every word piece, {plan.subsets} groups of {plan.per_subset} secretly drawn {unit}s each voted for the "
        "next one. Random noise was added to the votes before a piece was chosen, and nothing else left the machine. "
        f"Used was {MECHANISM_WORDS[name]}."
    )


def _risks(verdict: Verdict) -> tuple[str, ...]:
    unit = PrivacyUnit(verdict.document.guarantee.unit)
    if not any(price.sampling_rate for price in verdict.prices):
        return (f"Nothing of any {unit.value} can be learnt from the texts, because none was read.",)
    return sayings(loss_of(verdict), delta=verdict.document.guarantee.delta, unit=unit)


def loss_of(verdict: Verdict) -> PrivacyProfile:
    """The privacy loss of the unit that pays most, at every epsilon: over all labels, from the recomputed prices."""
    delta = verdict.document.guarantee.delta
    charges = {
        str(price.label): accounting.Charge(price.mechanism, price.sampling_rate, price.composed_tokens)
        for price in verdict.prices
    }
    if labels_may_change(verdict.document):
        return accounting.worst_loss(charges, delta=delta)
    # each on its own grid, as it was priced: a shared one would give other last digits than verify's
    return accounting.WorstLoss({(label,): _composed(charge, delta) for label, charge in charges.items()})


def _composed(charge: accounting.Charge, delta: float) -> accounting.ComposedLoss:
    return accounting.composed_loss(
        charge.spec, sampling_rate=charge.sampling_rate, composed_tokens=charge.composed_tokens, delta=delta
    )


def _signed(vetting: VettingPart) -> Iterable[str]:
    yield (
        f"{vetting.reviewer} decided on every released text: {summary(vetting)}. A rejected text is left out, and what "
        "it cost stays spent."
    )
    yield f"Why this privacy loss is justified, in the reviewer's words: {vetting.justification}"
    yield f"selection: {vetting.selection}"


def _check(document: DemonstrationsDocument) -> Iterable[str]:
    yield "Anyone who has the file (JSON) can check it without private data: python -m dpicl_core verify FILE"
    yield f"It must say that the file holds, and state this SHA-256 of its contents: {document.sha256}"
    yield "That is not the checksum of the file as a whole, and it is no signature: it does not show who wrote it."
    yield f"Run in the ledger: {document.run}. This page is a summary; where it and the file differ, the file counts."


def _day(time: str) -> str:
    return time[:10]
