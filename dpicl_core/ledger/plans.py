"""Plans, prices and traces as JSON text and back: public and released values alone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from dpicl_core.events import ReleasedStep, ReleasedTrace
from dpicl_core.language_model.protocol import FileHash, ModelInfo
from dpicl_core.ledger.chain import canonical
from dpicl_core.planning import mechanism_named
from dpicl_core.sampling import Grouping
from dpicl_core.specs import MechanismSpec
from dpicl_core.values import GenerationPlan, Price, PrivacyUnit, Selection, Task


def mechanism_to_text(spec: MechanismSpec) -> str:
    """Name and parameters."""
    return canonical({"name": spec.name, "parameters": asdict(spec)})


def mechanism_from_text(text: str) -> MechanismSpec:
    """The spec that mechanism_to_text wrote."""
    return _mechanism(json.loads(text))


def plan_to_text(plan: GenerationPlan) -> str:
    """Every public number of a plan, its task included."""
    return canonical(
        {
            "task": asdict(plan.task),
            "target_labels": list(plan.target_labels),
            "mechanism": {"name": plan.mechanism.name, "parameters": asdict(plan.mechanism)},
            "subsets": plan.subsets,
            "per_subset": plan.per_subset,
            "tokens": plan.tokens,
            "vocabulary": plan.vocabulary,
            "record_tokens": plan.record_tokens,
            "min_tokens": plan.min_tokens,
            "unit": plan.unit.value,
            "selection": asdict(plan.selection),
            "label_bounds": None if plan.label_bounds is None else [list(bound) for bound in plan.label_bounds],
            "grouping": plan.grouping.value,
        }
    )


def plan_from_text(text: str) -> GenerationPlan:
    """The plan that plan_to_text wrote; a text without `grouping` is of a run with fresh subsets."""
    found = json.loads(text)
    task = found.pop("task")
    bounds = found.pop("label_bounds")
    return GenerationPlan(
        task=Task(**{**task, "labels": tuple(task["labels"])}),
        target_labels=tuple(found.pop("target_labels")),
        mechanism=_mechanism(found.pop("mechanism")),
        unit=PrivacyUnit(found.pop("unit")),
        selection=Selection(**found.pop("selection")),
        grouping=Grouping(found.pop("grouping", Grouping.FRESH.value)),
        label_bounds=None if bounds is None else tuple((str(label), int(units)) for label, units in bounds),
        **found,
    )


def prices_to_text(prices: Sequence[Price]) -> str:
    """The price of every pool with the noise that was calibrated for it."""
    return canonical(
        [
            {
                **{name: value for name, value in asdict(price).items() if name != "mechanism"},
                "mechanism": {"name": price.mechanism.name, "parameters": asdict(price.mechanism)},
            }
            for price in prices
        ]
    )


def prices_from_text(text: str) -> tuple[Price, ...]:
    """The prices that prices_to_text wrote."""
    return tuple(Price(**{**entry, "mechanism": _mechanism(entry["mechanism"])}) for entry in json.loads(text))


def model_to_text(info: ModelInfo) -> str:
    """Public facts of the model that a run was started with."""
    return canonical(asdict(info))


def model_from_text(text: str) -> ModelInfo:
    """The facts that model_to_text wrote."""
    found = json.loads(text)
    return ModelInfo(**{**found, "files": tuple(FileHash(**file) for file in found["files"])})


def trace_to_text(trace: ReleasedTrace) -> str:
    """What a token's mechanism released."""
    return canonical(asdict(trace))


def trace_from_text(text: str) -> ReleasedTrace:
    """The trace that trace_to_text wrote."""
    found = json.loads(text)
    return ReleasedTrace(
        good_radius=found["good_radius"],
        steps=tuple(ReleasedStep(**step) for step in found["steps"]),
        stopped_by=found["stopped_by"],
    )


def _mechanism(found: Mapping[str, Any]) -> MechanismSpec:
    kind = type(mechanism_named(found["name"]))
    parameters = found["parameters"]
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in parameters.items()})
