"""From the widgets of the Plan screen to the engine's values; read on every screen, so the header is never late."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dpicl_core.errors import ConfigError
from dpicl_core.jobs import QuoteRequest
from dpicl_core.planning import DEFAULT_MECHANISM, DEFAULT_NOISE_SPLIT, DEFAULT_VOCABULARY, mechanism_named, plan_for
from dpicl_core.specs import AdaDPSynSpec, AnchoredSpec, MechanismSpec
from dpicl_core.values import GenerationPlan, Task, check_delta_rule, default_delta
from pages.support import keep
from pages.support.state import Studio

_WHOLE = {0.79: 0.8, 7.9: 8.0}
EPSILONS = tuple(_WHOLE.get(step, step) for step in (round(float(f"{10 ** (k / 20 - 1):.2g}"), 2) for k in range(41)))
"""The log slider: 41 steps from 0.1 to 10, two digits each; 0.8 and 8 stand where the steps have 0.79 and 7.9."""

DEFAULT_EPSILON = 4.0
MECHANISMS = ("adadpsyn", "tang-gaussian", "tang-noisy-max", "anchored", "public-only")
MODEL_KINDS = ("default", "folder", "gguf", "hub")


@dataclass(frozen=True, slots=True)
class Choices:
    """A whole plan as chosen so far. model: None for the default one."""

    plan: GenerationPlan
    request: QuoteRequest
    model: str | None


def task_of(state: Studio) -> Task:
    """The task with the prompt words as edited on Plan."""
    assert state.task is not None
    task = state.task
    return replace(
        task,
        instruction=keep.value("plan_instruction", task.instruction) or task.instruction,
        generation_label_header=keep.value("plan_label_header") or task.generation_label_header,
        generation_text_header=keep.value("plan_text_header") or task.generation_text_header,
    )


def mechanism_of(name: str | None = None) -> MechanismSpec:
    """A mechanism with its public settings, noise still to be calibrated; the chosen one, unless another is named."""
    spec = mechanism_named(name or keep.value("plan_mechanism", DEFAULT_MECHANISM))
    if isinstance(spec, AdaDPSynSpec):
        split = numbers_of(keep.value("plan_split"), DEFAULT_NOISE_SPLIT)
        if len(split) != 3:
            raise ConfigError(
                f"the noise split needs three shares, but has {len(split)}; the default is 0.03, 0.94, 0.03."
            )
        chosen = replace(
            spec, iterations=int(keep.value("plan_iterations", 1)), margin=float(keep.value("plan_margin", 0.2))
        )
        return chosen.split_as(*split)
    if isinstance(spec, AnchoredSpec):
        return replace(spec, schedule=numbers_of(keep.value("plan_schedule"), spec.schedule))
    return spec


def numbers_of(text: str | None, default: tuple[float, ...]) -> tuple[float, ...]:
    """Numbers of a text such as `0.30, 0.15`; the default where it is blank. Raises ConfigError."""
    if not text or not text.strip():
        return default
    try:
        return tuple(float(part) for part in text.replace(";", ",").split(",") if part.strip())
    except ValueError:
        raise ConfigError(
            "numbers must be written as 0.30, 0.15 (a point in each, commas between); correct them."
        ) from None


def delta_of(state: Studio) -> float:
    """Delta by its rule, or as given and checked."""
    given = keep.value("plan_delta", "")
    if not given or not str(given).strip():
        return default_delta(state.units)
    try:
        delta = float(given)
    except ValueError:
        raise ConfigError("delta must be a number such as 1e-5; correct it, or leave it blank for the rule.") from None
    check_delta_rule(delta, state.units, accepted=bool(keep.value("plan_accept_delta", False)))
    return delta


def choices_of(state: Studio, mechanism: str | None = None) -> Choices:
    """Everything chosen so far. Raises ConfigError, in one sentence, where it does not fit together.

    mechanism: another one in place of the chosen one, with the same plan otherwise.
    """
    task = task_of(state)
    plan = plan_for(
        task,
        mechanism_of(mechanism),
        shots=int(keep.value("plan_shots", 4)),
        targets=tuple(keep.value("plan_targets") or ()),
        subsets=int(keep.value("plan_subsets") or task.subsets),
        per_subset=int(keep.value("plan_per_subset") or task.per_subset),
        tokens=int(keep.value("plan_tokens") or task.tokens),
        vocabulary=int(keep.value("plan_vocabulary") or DEFAULT_VOCABULARY),
        unit=state.unit,
    )
    request = QuoteRequest(plan, state.unit_counts, delta_of(state), float(keep.value("plan_epsilon", DEFAULT_EPSILON)))
    return Choices(plan, request, model_of())


def model_of() -> str | None:
    """The chosen model's name, None for the default one. Raises ConfigError where it has none yet."""
    kind = keep.value("plan_model_kind", "default")
    name = str(keep.value("plan_model_name", "") or "").strip()
    if kind != "default" and not name:
        raise ConfigError("the model has no name yet; give its folder, file or hub name, or take the default model.")
    return None if kind == "default" else name
