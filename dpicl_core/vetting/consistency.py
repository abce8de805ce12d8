"""Whether the signed parts of a document fit together; checked from the file alone."""

from __future__ import annotations

from collections.abc import Iterable

from dpicl_core.documents import DemonstrationsDocument, text_hash
from dpicl_core.vetting.decisions import NOT_COVERED_ALWAYS, NOT_COVERED_INFORMED, informed


def vetting_problems(document: DemonstrationsDocument) -> Iterable[str]:
    """Every contradiction in plain words; none for a file that nobody has signed."""
    vetting = document.vetting
    if vetting is None:
        return
    if [part.demonstration for part in vetting.decisions] != list(range(1, len(vetting.decisions) + 1)):
        yield "the decisions do not count the demonstrations from 1 on"
    asked = iter(document.plan.target_labels)  # each label is looked for behind the one before it
    if not all(part.label in asked for part in vetting.decisions):
        yield "the decisions are not about the demonstrations that the plan paid for"
    kept = [part for part in vetting.decisions if part.decision != "rejected"]
    if [part.label for part in kept] != [shown.label for shown in document.demonstrations]:
        yield "the file does not hold exactly the demonstrations that were approved or edited"
    for part, shown in zip(kept, document.demonstrations, strict=False):
        same = text_hash(shown.text) == part.released_sha256
        if part.decision == "approved" and not same:
            yield f"demonstration {part.demonstration} is marked as approved, but its text is not the released one"
        if part.decision == "edited" and same:
            yield f"demonstration {part.demonstration} is marked as edited, but its text is the released one"
    for part in vetting.decisions:
        if part.decision == "rejected" and not (part.reason or "").strip():
            yield f"demonstration {part.demonstration} was rejected without a reason"
    if informed(vetting) != bool(vetting.internal_views):
        yield "the selection is not stated as the internal views that were opened ask for"
    needed = (*NOT_COVERED_ALWAYS, NOT_COVERED_INFORMED) if informed(vetting) else NOT_COVERED_ALWAYS
    if not set(needed) <= set(document.guarantee.not_covered):
        yield "what a reviewer's choice leaves uncovered is not stated"
