"""What a rehearsal asks, in public numbers alone, and the noise that each mechanism needs for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from dpicl_core.planning import Accountant, calibrated_mechanisms
from dpicl_core.specs import MechanismSpec, TangGaussianSpec, require
from dpicl_core.values import GenerationPlan, Selection

Progress = Callable[[str, float], None]
"""What is being done, in public words, and the share of the whole that is done, which never falls."""

CALIBRATING = "working out the noise"
_YARDSTICK = TangGaussianSpec()


@dataclass(frozen=True, slots=True)
class RehearsalRequest:
    """A plan to rehearse; its own mechanism does not matter, since all of `mechanisms` are tried.

    mechanisms: with their public settings, noise still to be calibrated. epsilons: privacy losses of the whole run.
    at: the one of them that the schedule is proposed for and the pictures are drawn at. pool_units: declared or public
    counts by label (None: all rows). Raises ConfigError where there is nothing to try.
    """

    plan: GenerationPlan
    mechanisms: tuple[MechanismSpec, ...]
    epsilons: tuple[float, ...]
    pool_units: tuple[tuple[str | None, int], ...]
    delta: float
    at: float
    accountant: Accountant = "tight"

    def __post_init__(self) -> None:
        require(
            bool(self.mechanisms) and all(spec.noise_multipliers() for spec in self.mechanisms),
            "a rehearsal needs mechanisms with noise, at least one; name some such as tang-gaussian and anchored.",
        )
        names = [spec.name for spec in self.mechanisms]
        require(len(set(names)) == len(names), "a rehearsal takes each mechanism once; name none twice.")
        require(
            bool(self.epsilons) and tuple(sorted(set(self.epsilons))) == self.epsilons,
            f"the epsilons of a rehearsal must rise and differ, but are {self.epsilons}; sort them.",
        )
        require(
            self.at in self.epsilons,
            f"the epsilon that is looked at closely must be one of {self.epsilons}, but is {self.at}; add it.",
        )


SpecsByPool = Mapping[str | None, MechanismSpec]


@dataclass(frozen=True, slots=True)
class Noise:
    """Calibrated mechanisms of one request. gaussian: the yardstick by epsilon, then by pool; others: by name first."""

    request: RehearsalRequest
    gaussian: Mapping[float, SpecsByPool] = field(repr=False)
    others: Mapping[str, Mapping[float, SpecsByPool]] = field(repr=False)

    def specs(self, spec: MechanismSpec, epsilon: float) -> dict[str | None, MechanismSpec]:
        """The mechanism for each pool at this epsilon of the request.

        Mechanisms whose token is dominated by one Gaussian all share its sigma_eff at the same privacy loss, so each
        is that noise, scaled; another schedule needs no calibration of its own.
        """
        if spec.sigma_eff is None:
            return dict(self.others[spec.name][epsilon])
        unit = spec.rescaled(1 / spec.sigma_eff)
        return {label: unit.rescaled(found.sigma_eff or 1.0) for label, found in self.gaussian[epsilon].items()}


def noise_for(request: RehearsalRequest, tell: Callable[[float], None] | None = None) -> Noise:
    """Calibrate what the request asks. tell: told the share done, after each calibration.

    Raises ConfigError for a plan that cannot be priced; the model has no part in this, so it comes before any loading.
    """
    others = [spec for spec in request.mechanisms if spec.sigma_eff is None]
    many = len(request.epsilons) * (len(others) + 1)
    known: list[dict[float, SpecsByPool]] = []
    for spec in (_YARDSTICK, *others):
        known.append({})
        for epsilon in request.epsilons:
            known[-1][epsilon] = _calibrated(request, spec, epsilon)
            if tell is not None:
                tell(sum(map(len, known)) / many)
    return Noise(request, known[0], {spec.name: found for spec, found in zip(others, known[1:], strict=True)})


def _calibrated(request: RehearsalRequest, spec: MechanismSpec, epsilon: float) -> SpecsByPool:
    """For every pool; pools of one size that pay for as many tokens are calibrated once."""
    plan = replace(request.plan, mechanism=spec, selection=Selection())
    units = {label: dict(request.pool_units).get(label, 0) for label in plan.pool_labels()}
    calibrated = partial(
        calibrated_mechanisms, delta=request.delta, epsilon=epsilon, accountant=request.accountant
    )  # fmt: skip
    if plan.label_bounds is not None or plan.task.open_labels:
        return calibrated(plan, units)
    known: dict[tuple[int, int], MechanismSpec] = {}
    found: dict[str | None, MechanismSpec] = {}
    for label, count in units.items():
        alike = (count, plan.composed_tokens(label))
        if alike not in known:
            own = tuple(target for target in plan.target_labels if target == label)
            known[alike] = calibrated(replace(plan, target_labels=own), units)[label]
        found[label] = known[alike]
    return found
