"""A whole rehearsal: noise, pseudo-records, tokens, forecasts, and the schedule that does best."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dpicl_core.language_model.protocol import LanguageModel
from dpicl_core.randomness import RandomSource, SeededRandomness
from dpicl_core.rehearsal.forecasts import Forecast, Interval, forecast, interval, measured_schedule, noise_draws
from dpicl_core.rehearsal.request import CALIBRATING, Noise, Progress, RehearsalRequest, noise_for
from dpicl_core.rehearsal.steps import Step, rehearsed_steps
from dpicl_core.runs import check_context
from dpicl_core.specs import AnchoredSpec

CANDIDATE_SCHEDULES = ((0.35,), (0.35, 0.10), (0.30, 0.15), (0.45, 0.20, 0.10))

WRITING, FOLLOWING, NOISING = "writing pseudo-records", "rehearsing tokens", "trying the noise"
_ENDS = {CALIBRATING: 0.02, WRITING: 0.28, FOLLOWING: 0.94, NOISING: 1.0}
"""The share of the whole at which each stage ends, as measured with the default model on two cores."""


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """Forecasts for every mechanism and epsilon, as the plan has them, and a schedule for Anchored.

    steps: tokens rehearsed; draws: noise draws on each. at: as in RehearsalRequest. proposed_schedule: of the plan's
    own and some others the one that left most tokens unchanged at `at`; proposed: its forecasts, for every epsilon.
    own_schedule: the plan's, None where Anchored was not among the mechanisms.
    public_unchanged: share of tokens for which the public prompt alone makes the noise-free choice.
    """

    steps: int
    draws: int
    at: float
    forecasts: tuple[Forecast, ...]
    own_schedule: tuple[float, ...] | None
    proposed_schedule: tuple[float, ...]
    proposed: tuple[Forecast, ...]
    public_unchanged: Interval

    @property
    def proposes_another(self) -> bool:
        """Whether the proposed schedule is not the plan's own."""
        return self.proposed_schedule != self.own_schedule


def rehearse(
    request: RehearsalRequest,
    model: LanguageModel,
    *,
    noise: Noise | None = None,
    progress: Progress | None = None,
) -> tuple[Rehearsal, tuple[Step, ...]]:
    """Rehearse a plan: what was found, and the rehearsed tokens. Spends nothing, reads no private row.

    noise: of this request, where it has been worked out already. progress: told several times a second; what it
    raises ends the rehearsal. Raises ConfigError for a plan that cannot be priced, before the model works on it, and
    ModelError for one whose prompts are too long.
    """
    tell = progress or (lambda stage, fraction: None)
    noise = noise or noise_for(request, within(CALIBRATING, tell))
    check_context(request.plan, model)
    rng = SeededRandomness(secrets.randbits(128))
    steps = rehearsed_steps(
        request.plan, model, rng=rng, writing=within(WRITING, tell), following=within(FOLLOWING, tell)
    )
    return judge(noise, steps, rng=rng, tell=within(NOISING, tell)), steps


def judge(
    noise: Noise, steps: Sequence[Step], *, rng: RandomSource, tell: Callable[[float], None] | None = None
) -> Rehearsal:
    """Forecasts for rehearsed steps, the best schedule, and how far the public row alone agrees. tell: share done."""
    request = noise.request
    own = next((spec.schedule for spec in request.mechanisms if isinstance(spec, AnchoredSpec)), None)
    schedules = tuple(dict.fromkeys((*((own,) if own else ()), *CANDIDATE_SCHEDULES, measured_schedule(steps))))
    many = len(steps) * (len(request.epsilons) * (len(request.mechanisms) + 1) + len(schedules))
    finished = 0

    def stepped() -> None:
        nonlocal finished
        finished += 1
        if tell is not None:
            tell(finished / many)

    forecasts = [
        forecast(steps, noise.specs(spec, epsilon), epsilon, rng=rng, tell=stepped)
        for spec in request.mechanisms
        for epsilon in request.epsilons
    ]
    tried = {
        schedule: forecast(
            steps, noise.specs(AnchoredSpec(schedule=schedule), request.at), request.at, rng=rng, tell=stepped
        )
        for schedule in schedules
    }
    # the plan's own comes first, so another one has to do better and not only as well
    best = max(schedules, key=lambda it: (tried[it].unchanged.mean, tried[it].relative_probability.mean))
    # drawn anew: the winner of several draws looks better than it is
    proposed = tuple(
        forecast(steps, noise.specs(AnchoredSpec(schedule=best), epsilon), epsilon, rng=rng, tell=stepped)
        for epsilon in request.epsilons
    )
    agreement = [float(np.argmax(step.public) == np.argmax(step.noise_free)) for step in steps]
    return Rehearsal(
        steps=len(steps),
        draws=noise_draws(len(steps), len(steps[0].rows)),
        at=request.at,
        forecasts=tuple(forecasts),
        own_schedule=own,
        proposed_schedule=best,
        proposed=proposed,
        public_unchanged=interval(agreement),
    )


def within(stage: str, tell: Progress) -> Callable[[float], None]:
    """Tells a share of one stage as a share of the whole rehearsal."""
    names = list(_ENDS)
    begin = 0.0 if stage == names[0] else _ENDS[names[names.index(stage) - 1]]
    return lambda done: tell(stage, begin + (_ENDS[stage] - begin) * done)
