"""A rehearsal as work of the child process, with the cluster pictures of its pseudo-records. All of it is public."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dpicl_core.events import StewardDiagnostics
from dpicl_core.jobs.clusters import ClusterView, cluster_view
from dpicl_core.jobs.quotes import rough_seconds
from dpicl_core.jobs.tasks import Tell
from dpicl_core.language_model.protocol import LanguageModel
from dpicl_core.mechanisms import release_token
from dpicl_core.randomness import RandomSource, SeededRandomness
from dpicl_core.rehearsal import (
    CALIBRATING,
    Noise,
    Rehearsal,
    RehearsalRequest,
    Step,
    noise_draws,
    noise_for,
    rehearse,
    rehearsed_tokens,
    within,
)
from dpicl_core.specs import MechanismSpec, UnprotectedSpec

PICTURED_ROWS = 8000
"""Rows of all pictured tokens together, so that an answer stays small where M is large."""

RUNS_AS_LONG = 1.2
"""Writing and following, in runs without noise of as many tokens; measured with the default model on two cores."""

RELEASE_SECONDS = 2e-4
"""One draw of the noise of one token, as measured."""


@dataclass(frozen=True, slots=True)
class PicturedToken:
    """One rehearsed token. text: so far, without noise. views: by mechanism, one draw of its noise at `at`."""

    label: str
    position: int
    text: str
    views: tuple[tuple[str, ClusterView], ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """What a rehearsal found, and its pictures: public, since no private row was read. tokens: in order of the texts,
    evenly thinned where there are many rows."""

    found: Rehearsal
    tokens: tuple[PicturedToken, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class RehearsalTask:
    """Rehearse a plan; see `dpicl_core.rehearsal`. Holds public numbers alone."""

    request: RehearsalRequest

    def run(self, model: LanguageModel, tell: Tell) -> Rehearsed:
        """Raises ConfigError for a plan that cannot be priced, ModelError for one that the model cannot take."""
        noise = noise_for(self.request, within(CALIBRATING, tell))
        found, steps = rehearse(self.request, model, noise=noise, progress=tell)
        return Rehearsed(found, pictured(noise, steps, rng=SeededRandomness(secrets.randbits(128))))


def pictured(noise: Noise, steps: Sequence[Step], *, rng: RandomSource) -> tuple[PicturedToken, ...]:
    """Steps seen through each mechanism of the request, at the epsilon that is looked at closely."""
    request = noise.request
    specs = {spec.name: noise.specs(spec, request.at) for spec in request.mechanisms}
    every = -(-len(steps) * len(steps[0].rows) // PICTURED_ROWS)
    return tuple(
        PicturedToken(
            step.label,
            step.position,
            step.text,
            tuple(
                (name, _view(step, by_pool.get(step.label) or by_pool[None], rng)) for name, by_pool in specs.items()
            ),
        )
        for step in steps[::every]
    )


def rough_rehearsal_seconds(request: RehearsalRequest, pace: float | None) -> float:
    """Rough time once the model is loaded: of a run of the rehearsed tokens, of the writing, and of the noise.

    pace: as in quotes.rough_seconds.
    """
    labels = tuple(dict.fromkeys(request.plan.target_labels))
    tokens = rehearsed_tokens(request.plan)
    like = replace(request.plan, mechanism=UnprotectedSpec(), target_labels=labels, tokens=tokens, min_tokens=1)
    steps = len(labels) * tokens
    releases = noise_draws(steps, like.subsets) * steps * len(request.epsilons) * (len(request.mechanisms) + 1)
    return rough_seconds(like, pace) * RUNS_AS_LONG + releases * RELEASE_SECONDS


def _view(step: Step, spec: MechanismSpec, rng: RandomSource) -> ClusterView:
    outcome = release_token(spec, step.rows, step.public, rng=rng)
    seen = StewardDiagnostics(0, step.position, step.rows, step.public, np.arange(len(step.public)), outcome.means)
    return cluster_view(seen, outcome.trace)
