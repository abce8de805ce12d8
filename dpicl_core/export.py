"""From a finished run to the demonstrations document, and to bytes on disk."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from dpicl_core import __version__, prompts
from dpicl_core.documents import (
    DemonstrationPart,
    DemonstrationsDocument,
    EpsilonPart,
    GuaranteePart,
    MechanismPart,
    ModelFilePart,
    ModelPart,
    PlanPart,
    PoolPart,
    PromptsPart,
    TaskPart,
    canonical_hash,
)
from dpicl_core.errors import ExportError
from dpicl_core.files import write_atomically
from dpicl_core.language_model.protocol import ModelInfo
from dpicl_core.rounding import thousandths_up
from dpicl_core.runs import RunRecord
from dpicl_core.values import Example, GenerationPlan, NeighbouringRelation, Price, Task

VERSIONED_PACKAGES = ("torch", "transformers", "opendp", "dp-accounting", "numpy")

NOT_COVERED = (
    "what others already know, or learn from other data, about the people behind the rows",
    "the fact that these rows exist, the number of rows, the label list and the other declared public settings",
    "runs on the same rows that were made with other tools or are recorded elsewhere",
)


def document_for(record: RunRecord) -> DemonstrationsDocument:
    """The document of a finished run.

    Raises ExportError for a run that is not private, and for one that read private rows and was never paid from a data
    asset: no setting changes that.
    """
    if not record.private:
        raise ExportError(
            "this run is not private (it was seeded for a test, or its mechanism gives no protection), "
            "so it is never exported; run again with a private mechanism and without a seed."
        )
    if record.run_id is None and record.plan.mechanism.reads_private_rows:
        raise ExportError(
            "this run read private rows and is in no ledger, so nothing counts what it spent and it is never exported; "
            "make it with dpicl_core.prepare_run and dpicl_core.run, which pay for it from a data asset."
        )
    plan = record.plan
    content: dict[str, Any] = {
        "task": _task_part(plan.task),
        "prompts": PromptsPart(generation=_generation_template(plan.task), icl=_icl_template(plan.task)),
        "demonstrations": [
            DemonstrationPart(label=d.label, text=d.text, tokens=len(d.token_ids), ended_by=d.ended_by)
            for d in record.demonstrations
        ],
        "shortfalls": _shortfalls(record),
        "guarantee": _guarantee_part(record),
        "mechanism": _mechanism_part(plan),
        "plan": PlanPart(
            target_labels=list(plan.target_labels),
            subsets=plan.subsets,
            per_subset=plan.per_subset,
            tokens=plan.tokens,
            vocabulary=plan.vocabulary,
            record_tokens=plan.record_tokens,
            min_tokens=plan.min_tokens,
            grouping=plan.grouping.value,
        ),
        "pools": [_pool_part(price) for price in record.prices],
        "model": _model_part(record.model),
        "versions": package_versions(),
        "run": record.run_id,
        "created": record.finished_at.isoformat(timespec="seconds"),
    }
    unsigned = DemonstrationsDocument(**content, sha256="")
    return unsigned.model_copy(update={"sha256": canonical_hash(unsigned.model_dump(mode="json"))})


def document_bytes(document: DemonstrationsDocument) -> bytes:
    """Strict JSON, UTF-8, indented for people; equal documents give equal bytes."""
    text = json.dumps(document.model_dump(mode="json"), indent=2, ensure_ascii=False, allow_nan=False)
    return (text + "\n").encode("utf-8")


def write_document(document: DemonstrationsDocument, path: Path | str) -> None:
    """Write the document in one piece; raises ExportError with the reason otherwise."""
    write_atomically(Path(path), document_bytes(document))


def guarantee_sentence(
    epsilon: float, delta: float, unit: str, relation: NeighbouringRelation, *, informed: bool = False
) -> str:
    """The promise in one sentence, epsilon rounded up to three digits behind the point.

    informed: whether something internal was opened before a person chose among the texts; the choice is then left out
    of the promise.
    """
    same = "the same labels" if unit == "person" else "the same label"
    whom = f"another with {same}" if relation is NeighbouringRelation.REPLACE_ONE_SAME_LABEL else "any other"
    rounded = thousandths_up(epsilon)
    texts = "for all texts in this file"
    if informed:
        texts = "for all texts that the run released (not for the choice among them or a change of them)"
    return (
        f"Replacing one {unit} of the private table by {whom} changes the chance of any set of outcomes of this run "
        f"by at most a factor of e^{rounded:g}, give or take a probability of {delta:g}: "
        f"({rounded:g}, {delta:g})-differential privacy, {texts} together and for ever."
    )


def package_versions() -> dict[str, str]:
    """Versions of the engine, Python and what computes the texts and the price."""
    found = {"dpicl": __version__, "python": platform.python_version()}
    for package in VERSIONED_PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _task_part(task: Task) -> TaskPart:
    return TaskPart(
        name=task.name,
        title=task.title,
        instruction=task.instruction,
        generation_label_header=task.generation_label_header,
        generation_text_header=task.generation_text_header,
        icl_instruction=task.icl_instruction,
        icl_text_header=task.icl_text_header,
        icl_label_header=task.icl_label_header,
        labels=list(task.labels),
        open_labels=task.open_labels,
    )


def _generation_template(task: Task) -> str:
    return prompts.generation_prompt(task, [Example("{private label}", "{private text}")], "{label}", " {text so far}")


def _icl_template(task: Task) -> str:
    return prompts.icl_prompt(task, [("{text}", "{label}")], "{query}")


def _shortfalls(record: RunRecord) -> list[str]:
    asked, got = len(record.plan.target_labels), len(record.demonstrations)
    found = [f"{got} demonstrations were made of {asked} asked"] if got < asked else []
    cut = [str(d.demonstration + 1) for d in record.demonstrations if d.ended_by == "stopped"]
    if cut:
        found.append(f"the run was closed before demonstration {', '.join(cut)} was done")
    empty = [str(d.demonstration + 1) for d in record.demonstrations if not d.text]
    if empty:
        found.append(f"empty text in demonstration {', '.join(empty)}")
    return found


def _guarantee_part(record: RunRecord) -> GuaranteePart:
    plan = record.plan
    # Labels have disjoint pools and a unit keeps its label, so a run costs the most expensive label (parallel
    # composition); with open labels there is one pool.
    tight = max(price.epsilon_tight for price in record.prices)
    paper = max(price.epsilon_paper for price in record.prices)
    delta = record.request.delta
    return GuaranteePart(
        sentence=guarantee_sentence(tight, delta, plan.unit.value, plan.neighbouring_relation),
        unit=plan.unit.value,
        neighbouring_relation=plan.neighbouring_relation.value,
        epsilon_requested=record.request.epsilon,
        accountant=record.request.accountant,
        epsilon=EpsilonPart(tight=tight, paper=paper),
        delta=delta,
        not_covered=list(NOT_COVERED),
    )


def _mechanism_part(plan: GenerationPlan) -> MechanismPart:
    sampled = plan.selection.sample
    return MechanismPart(
        name=plan.mechanism.name,
        selection="sample" if sampled else "argmax",
        temperature=plan.selection.temperature if sampled else None,
        top_p=plan.selection.top_p if sampled else None,
    )


def _pool_part(price: Price) -> PoolPart:
    return PoolPart(
        label=price.label,
        units=price.pool_units,
        sampling_rate=price.sampling_rate,
        composed_tokens=price.composed_tokens,
        parameters=asdict(price.mechanism),
        noise_multipliers=price.mechanism.noise_multipliers(),
        sigma_eff=price.mechanism.sigma_eff,
        epsilon=EpsilonPart(tight=price.epsilon_tight, paper=price.epsilon_paper),
    )


def _model_part(info: ModelInfo) -> ModelPart:
    return ModelPart(
        name=info.name,
        source=info.source,
        dtype=info.dtype,
        device=info.device,
        parameters=info.parameters,
        files=[ModelFilePart(role=f.role, name=f.name, sha256=f.sha256, size_bytes=f.size_bytes) for f in info.files],
    )
