"""What a plan costs and what that means, beside the slider: the quick part at once, the slow part in the background.

Everything here is computed from declared and public numbers alone. Under the relation that keeps labels, label
counts are public; where labels may change, declared bounds stand in (see planning).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from dpicl_core.accounting import ComposedLoss, calibrate, composed_loss, epsilon_paper, epsilon_tight
from dpicl_core.accounting.risk import best_guess_percent, sayings
from dpicl_core.errors import DPICLError
from dpicl_core.planning import Accountant
from dpicl_core.randomness import noise_scale
from dpicl_core.specs import SIMPLEX_DIAMETER, AdaDPSynSpec, AnchoredSpec, MechanismSpec, TangGaussianSpec
from dpicl_core.values import GenerationPlan

KEPT_QUOTES = 64
PENDING_QUOTES = 4
DEFAULT_PACE = 4e-4
"""Seconds per row-token before anything was measured on this machine: two cores, the default model."""

STEP_OVERHEAD = 250.0
"""Row-tokens that a step takes beside its rows: reading the weights, the public prompt, the noise."""


@dataclass(frozen=True, slots=True)
class QuoteRequest:
    """A plan to price. pool_units: units by label (None: all rows); every label of the task, target or not."""

    plan: GenerationPlan
    pool_units: tuple[tuple[str | None, int], ...]
    delta: float
    epsilon: float
    accountant: Accountant = "tight"


@dataclass(frozen=True, slots=True)
class LabelQuote:
    """One pool. sampling_rate: M*N over its units, or M over its fixed groups; None where the mechanism reads none.

    target: whether this run draws from it. needs: units that one token draws. epsilon_tight: None where not a target.
    noise, tang_noise: noise standard deviation per coordinate of the released mean at its largest radius for the first,
    and of Tang's mean at the same privacy loss; None where there is none.
    """

    label: str | None
    units: int
    needs: int
    target: bool
    sampling_rate: float | None
    feasible: bool
    epsilon_tight: float | None
    epsilon_paper: float | None
    noise: float | None
    tang_noise: float | None


@dataclass(frozen=True, slots=True)
class Quote:
    """A whole plan. problem: one sentence where it cannot run. The slow parts are None until they are ready."""

    labels: tuple[LabelQuote, ...]
    problem: str
    epsilon_tight: float | None
    best_guess_percent: float | None
    epsilon_paper: float | None = None
    sayings: tuple[str, ...] | None = None

    @property
    def complete(self) -> bool:
        return bool(self.problem) or self.epsilon_paper is not None


class QuoteBook:
    """Quotes by request; one background thread fills in the slow numbers, of the newest request first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._quotes: OrderedDict[QuoteRequest, Quote] = OrderedDict()
        self._pending: list[QuoteRequest] = []
        self._working: QuoteRequest | None = None
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="dpicl-quotes")

    def quote(self, request: QuoteRequest) -> Quote:
        """The quote as far as it is known: the tight numbers at once, the rest on a later call."""
        with self._lock:
            known = self._quotes.get(request)
        quote = known or quick_quote(request, {})
        with self._lock:
            quote = self._quotes.setdefault(request, quote)
            self._quotes.move_to_end(request)
            while len(self._quotes) > KEPT_QUOTES:
                self._quotes.popitem(last=False)
            if not quote.complete and request not in self._pending and request != self._working:
                # a slider passes many values: only the last few are worth the work, and a poll asks again
                self._pending = [*self._pending, request][-PENDING_QUOTES:]
                self._pool.submit(self._fill_in_newest)
        return quote

    def _fill_in_newest(self) -> None:
        with self._lock:
            if not self._pending:
                return
            request = self._working = self._pending.pop()
            quote = self._quotes.get(request)
        full = None if quote is None else _completed(request, quote)
        with self._lock:
            self._working = None
            if full is not None and request in self._quotes:
                self._quotes[request] = full


def _completed(request: QuoteRequest, quote: Quote) -> Quote:
    """The whole quote, or one with a problem: never an unfinished one, for which a screen would wait for ever."""
    try:
        return slow_quote(request, quote, {})
    except DPICLError as error:
        return replace(quote, problem=str(error))
    except Exception as error:
        return replace(quote, problem=f"The price could not be computed ({type(error).__name__}); change the plan.")


def quick_quote(request: QuoteRequest, specs: dict[str | None, MechanismSpec]) -> Quote:
    """Tight numbers of every target pool; `specs` receives the calibrated mechanisms by label."""
    plan, needs = request.plan, request.plan.units_per_token
    reads = plan.mechanism.reads_private_rows
    targets = plan.pool_labels()
    units = dict(request.pool_units)
    short = [label for label in targets if reads and units.get(label, 0) < needs]
    problem = _short_sentence(short, units, needs) if short else ""
    guesses: list[float] = []
    labels = []
    for label, count in request.pool_units:
        feasible = not reads or count >= needs
        known = LabelQuote(label, count, needs, label in targets, _rate(plan, count), feasible, None, None, None, None)
        if label in targets and feasible and not problem:
            try:
                spec = specs[label] = _calibrated(request, label, count)
                known = replace(
                    known,
                    epsilon_tight=_tight(request, spec, label, count),
                    noise=mean_noise(spec, plan),
                    tang_noise=tang_noise(spec, plan),
                )
                guesses.append(50.0 if not reads else best_guess_percent(_loss(request, spec, label, count)))
            except DPICLError as error:
                problem = str(error)
        labels.append(known)
    tight = [label.epsilon_tight for label in labels if label.epsilon_tight is not None]
    if problem:
        return Quote(tuple(labels), problem, None, None)
    quote = Quote(tuple(labels), "", max(tight, default=0.0), max(guesses, default=50.0))
    return quote if reads else replace(quote, epsilon_paper=0.0, sayings=())


def slow_quote(request: QuoteRequest, quote: Quote, specs: Mapping[str | None, MechanismSpec]) -> Quote:
    """The paper accountant's numbers, and the sentences for the pool whose best guess is the surest."""
    labels = []
    worst: tuple[float, tuple[str, ...]] = (0.0, ())
    for label in quote.labels:
        if label.label not in specs and label.target:
            label_spec = _calibrated(request, label.label, label.units)
        elif label.target:
            label_spec = specs[label.label]
        else:
            labels.append(label)
            continue
        rate, tokens = request.plan.sampling_rate(label.units), request.plan.composed_tokens(label.label)
        paper = epsilon_paper(label_spec, sampling_rate=rate, composed_tokens=tokens, delta=request.delta)
        labels.append(replace(label, epsilon_paper=paper))
        loss = _loss(request, label_spec, label.label, label.units)
        if (guess := best_guess_percent(loss)) > worst[0]:
            worst = (guess, sayings(loss, delta=request.delta, unit=request.plan.unit))
    papers = [label.epsilon_paper for label in labels if label.epsilon_paper is not None]
    return replace(quote, labels=tuple(labels), epsilon_paper=max(papers, default=0.0), sayings=worst[1])


def mean_noise(spec: MechanismSpec, plan: GenerationPlan) -> float | None:
    """Noise standard deviation per coordinate of the mean that the token is taken from, as far as it is fixed.

    AdaDPSyn: of its first mean, at R = sqrt(2)/2, since later radii are found only in the run.
    """
    if isinstance(spec, AdaDPSynSpec):
        return noise_scale(spec.sigma1, SIMPLEX_DIAMETER, plan.vocabulary) / plan.subsets
    if isinstance(spec, TangGaussianSpec):
        return noise_scale(spec.sigma, SIMPLEX_DIAMETER, plan.vocabulary) / plan.subsets
    if isinstance(spec, AnchoredSpec):
        return noise_scale(spec.sigma1, 2 * spec.schedule[-1], plan.vocabulary) / plan.subsets
    return None


def tang_noise(spec: MechanismSpec, plan: GenerationPlan) -> float | None:
    """The same of Tang's Gaussian mechanism at the same privacy loss: one mean with all of the budget."""
    if spec.sigma_eff is None:
        return None
    return noise_scale(spec.sigma_eff, SIMPLEX_DIAMETER, plan.vocabulary) / plan.subsets


def rough_seconds(plan: GenerationPlan, pace: float | None) -> float:
    """Rough time of a run in seconds, every token counted; pace: seconds per row-token, None for a usual machine's."""
    return len(plan.target_labels) * plan.tokens * row_tokens(plan) * (pace or DEFAULT_PACE)


def row_tokens(plan: GenerationPlan) -> float:
    """Token positions that one released token costs, roughly: M prompts of N capped rows; public numbers alone."""
    if not plan.mechanism.reads_private_rows:
        return STEP_OVERHEAD
    return STEP_OVERHEAD + plan.subsets * (plan.per_subset * (plan.record_tokens + 10) + 40 + plan.tokens / 2)


def _rate(plan: GenerationPlan, count: int) -> float | None:
    """As the price has it; above 1, to be shown as it is, where the pool is too small."""
    if not plan.mechanism.reads_private_rows or not count:
        return None
    return plan.sampling_rate(count) if count >= plan.units_per_token else plan.units_per_token / count


def _short_sentence(short: list[str | None], units: Mapping[str | None, int], needs: int) -> str:
    names = ", ".join("the whole table" if label is None else label for label in short[:5])
    fewest = min(units.get(label, 0) for label in short)
    return (
        f"One token draws {needs} units, but {names} holds fewer (the fewest: {fewest}); lower M or N under Advanced, "
        "or take other target labels."
    )


def _calibrated(request: QuoteRequest, label: str | None, count: int) -> MechanismSpec:
    spec = request.plan.mechanism
    if not spec.noise_multipliers():
        return spec
    return calibrate(
        spec,
        sampling_rate=request.plan.sampling_rate(count),
        composed_tokens=request.plan.composed_tokens(label),
        delta=request.delta,
        epsilon=request.epsilon,
        accountant=request.accountant,
    )


def _tight(request: QuoteRequest, spec: MechanismSpec, label: str | None, count: int) -> float:
    if not spec.reads_private_rows:
        return 0.0
    rate, tokens = request.plan.sampling_rate(count), request.plan.composed_tokens(label)
    return epsilon_tight(spec, sampling_rate=rate, composed_tokens=tokens, delta=request.delta)


def _loss(request: QuoteRequest, spec: MechanismSpec, label: str | None, count: int) -> ComposedLoss:
    rate, tokens = request.plan.sampling_rate(count), request.plan.composed_tokens(label)
    return composed_loss(spec, sampling_rate=rate, composed_tokens=tokens, delta=request.delta)
