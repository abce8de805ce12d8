"""Frozen value types shared by all layers; each checks itself when it is made.

Types that hold private text hide it from `repr`, so that no message, log or traceback can quote it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum

from dpicl_core.sampling import Grouping, sampling_rate
from dpicl_core.specs import MechanismSpec, require


class NeighbouringRelation(StrEnum):
    """Which two data sets the guarantee makes hard to tell apart."""

    REPLACE_ONE_SAME_LABEL = "replace-one-same-label"
    """One unit is replaced by another with the same label; label counts are public."""

    REPLACE_ONE_ANY = "replace-one-any"
    """Any unit is replaced by any other, label included."""


class PrivacyUnit(StrEnum):
    """Whose whole contribution one replacement covers."""

    ROW = "row"
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class Example:
    """One private row: its label and text, byte for byte as read."""

    label: str = field(repr=False)
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Pool:
    """The units that one target label may draw from.

    label: the public target label, or None when all rows of the asset are one pool (open labels).
    units: one tuple of rows per unit; a unit that is a row holds exactly one.
    """

    label: str | None
    units: tuple[tuple[Example, ...], ...] = field(repr=False)

    def __post_init__(self) -> None:
        require(all(self.units), "every unit of a pool must hold at least one row; drop the empty ones.")

    def __len__(self) -> int:
        return len(self.units)


@dataclass(frozen=True, slots=True)
class Task:
    """Public facts of one task: how prompts are written and which labels exist.

    labels: the public label list in declared order; for open-label tasks, the public list of target labels.
    subsets (M), per_subset (N), tokens (T_max), record_tokens: defaults, in rows and tokens.
    min_tokens: tokens that a demonstration holds at least before it may end.
    """

    name: str
    title: str
    instruction: str
    generation_label_header: str
    generation_text_header: str
    icl_instruction: str
    icl_text_header: str
    icl_label_header: str
    labels: tuple[str, ...]
    open_labels: bool = False
    subsets: int = 10
    per_subset: int = 1
    tokens: int = 40
    record_tokens: int = 64
    min_tokens: int = 1

    def __post_init__(self) -> None:
        require(bool(self.labels), f"task {self.name} declares no label; give at least one with --label.")
        repeated = sorted({label for label in self.labels if self.labels.count(label) > 1})
        require(not repeated, f"task {self.name} declares label {repeated[:1]} twice; name each label once.")
        require(all(label.strip() for label in self.labels), f"task {self.name} declares a blank label; remove it.")
        for header in (self.generation_label_header, self.generation_text_header):
            require(bool(header.strip()) and "\n" not in header, "a header must be one line and not blank.")


@dataclass(frozen=True, slots=True)
class PrivacyTarget:
    """The requested (epsilon, delta), both without unit."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        require(
            math.isfinite(self.epsilon) and self.epsilon > 0,
            f"epsilon must be a finite number above 0, but is {self.epsilon}; usual values are 0.5 to 8.",
        )
        require_delta(self.delta)


def require_delta(delta: float) -> None:
    """Raise ConfigError unless 0 < delta < 1."""
    require(
        math.isfinite(delta) and 0 < delta < 1,
        f"delta must be above 0 and below 1, but is {delta}; leave it out to get the default rule.",
    )


def default_delta(units: int) -> float:
    """Largest power of ten at or under 1/(10 n), n = units of the data asset."""
    require(units >= 1, f"delta's rule needs at least one unit, but there are {units}; give a larger file.")
    exponent = math.ceil(math.log10(10 * units) - 1e-12)
    return float(f"1e-{exponent}")


def check_delta_rule(delta: float, units: int, *, accepted: bool, whose: str = "delta") -> None:
    """Refuse a delta above 1/n unless a person accepted it by name. whose: what it is called in the refusal."""
    require_delta(delta)
    require(
        accepted or delta <= 1 / units,
        f"{whose} must be at most 1/n = {1 / units:.3g} for {units} units, but is {delta:g}; "
        "give a smaller one, or accept it with --accept-delta.",
    )


def delta_by_rule(units: int, given: float | None, *, accepted: bool = False) -> float:
    """Delta as given, checked against 1/n, or by the rule of `default_delta` where none is. Raises ConfigError."""
    if given is None:
        return default_delta(units)
    check_delta_rule(given, units, accepted=accepted)
    return given


@dataclass(frozen=True, slots=True)
class Selection:
    """How a released vector becomes a token: its largest entry, or a sample from it (temperature, then top_p)."""

    sample: bool = False
    temperature: float = 1.0
    top_p: float = 1.0

    def __post_init__(self) -> None:
        require(
            math.isfinite(self.temperature) and 0.05 <= self.temperature <= 10,
            f"temperature must be from 0.05 to 10, but is {self.temperature}; usual values are 0.5 to 1.",
        )
        require(0 < self.top_p <= 1, f"top-p must be above 0 and at most 1, but is {self.top_p}; usual is 0.9.")


@dataclass(frozen=True, slots=True)
class GenerationPlan:
    """Everything public that fixes a run, before noise is calibrated.

    target_labels: one per demonstration, in order; repeats are allowed and priced.
    mechanism: with its noise; calibration rescales it per label.
    subsets M and per_subset N in units, tokens T_max, vocabulary K, record_tokens and min_tokens in tokens.
    label_bounds: None while label counts are public; else a unit may also change its label, and these are the declared
    lower bounds (label, units) that stand in for the counts.
    grouping: whether subsets are drawn afresh at every token or groups are fixed for the run; it sets the price.
    """

    task: Task
    target_labels: tuple[str, ...]
    mechanism: MechanismSpec
    subsets: int
    per_subset: int
    tokens: int
    vocabulary: int = 100
    record_tokens: int = 64
    min_tokens: int = 1
    unit: PrivacyUnit = PrivacyUnit.ROW
    selection: Selection = Selection()
    label_bounds: tuple[tuple[str, int], ...] | None = None
    grouping: Grouping = Grouping.FRESH

    def __post_init__(self) -> None:
        self._check_bounds_of_labels()
        require(
            not self.selection.sample or self.mechanism.releases_vector,
            f"{self.mechanism.name} releases no vector to sample from, only its choice; use --selection argmax.",
        )
        bounds = (
            ("subsets", self.subsets, 2, 1000),
            ("per-subset", self.per_subset, 1, 100),
            ("tokens", self.tokens, 1, 2000),
            ("vocabulary", self.vocabulary, 2, 100_000),
            ("record-tokens", self.record_tokens, 4, 8192),
            ("min-tokens", self.min_tokens, 1, self.tokens),
            ("shots", len(self.target_labels), 1, 1000),
        )
        for name, value, low, high in bounds:
            require(
                isinstance(value, int) and low <= value <= high,
                f"{name} must be a whole number from {low} to {high}, but is {value}; choose one in between.",
            )
        unknown = [label for label in self.target_labels if label not in self.task.labels]
        require(
            not unknown or self.task.open_labels,
            f"target label {unknown[:1]} is not declared by task {self.task.name}; declare it, or choose from "
            f"{', '.join(self.task.labels[:20])}.",
        )

    def _check_bounds_of_labels(self) -> None:
        if self.label_bounds is None:
            return
        require(
            not self.task.open_labels,
            "open labels already let any row replace any row; leave the declared lower bounds out.",
        )
        declared = dict(self.label_bounds)
        for label in dict.fromkeys(self.target_labels):
            require(
                declared.get(label, 0) >= self.units_per_token,
                f"label {label} has a declared lower bound of {declared.get(label, 0)} units, but one token draws "
                f"{self.units_per_token}; declare a larger one, or lower --subsets or --per-subset.",
            )

    @property
    def units_per_token(self) -> int:
        """M*N, the units drawn for one token."""
        return self.subsets * self.per_subset

    @property
    def group_size(self) -> int | None:
        """N where groups are fixed for the run, None where subsets are fresh."""
        return self.per_subset if self.grouping is Grouping.FIXED else None

    def sampling_rate(self, units: int) -> float:
        """Rate at which one token draws from a pool of so many units; ConfigError where it is too small."""
        return sampling_rate(units, self.units_per_token, self.group_size)

    @property
    def neighbouring_relation(self) -> NeighbouringRelation:
        if self.task.open_labels or self.label_bounds is not None:
            return NeighbouringRelation.REPLACE_ONE_ANY
        return NeighbouringRelation.REPLACE_ONE_SAME_LABEL

    def pool_labels(self) -> tuple[str | None, ...]:
        """The distinct pools of the run in order of first use; (None,) where all rows are one pool."""
        return (None,) if self.task.open_labels else tuple(dict.fromkeys(self.target_labels))

    def composed_tokens(self, pool_label: str | None) -> int:
        """Tokens that one unit of this pool pays for: T_max for every demonstration drawn from the pool."""
        uses = len(self.target_labels) if pool_label is None else self.target_labels.count(pool_label)
        return uses * self.tokens


@dataclass(frozen=True, slots=True)
class Price:
    """What one pool's units pay for a whole run.

    sampling_rate = M*N / pool units, or M / floor(pool units / N) for fixed groups; composed_tokens as in
    GenerationPlan.composed_tokens;
    epsilon_tight and epsilon_paper at `delta`, both upper bounds.
    """

    label: str | None
    mechanism: MechanismSpec
    pool_units: int
    sampling_rate: float
    composed_tokens: int
    delta: float
    epsilon_tight: float
    epsilon_paper: float


@dataclass(frozen=True, slots=True)
class TokenBlock:
    """Token ids and the public width that they are padded to, in tokens."""

    ids: tuple[int, ...] = field(repr=False)
    width: int

    def __post_init__(self) -> None:
        require(0 <= len(self.ids) <= self.width, "a block of token ids is longer than its public width.")


@dataclass(frozen=True, slots=True)
class TokenPrompt:
    """A prompt as blocks laid side by side, each padded on its right to its width.

    The widths are functions of public numbers, so the shape of every forward pass is too.
    The last block is never padded: its last id is the position whose successor is asked for.
    """

    blocks: tuple[TokenBlock, ...]

    def __post_init__(self) -> None:
        last = self.blocks[-1]
        require(len(last.ids) == last.width > 0, "the last block of a prompt must be full and not empty.")

    @property
    def widths(self) -> tuple[int, ...]:
        return tuple(block.width for block in self.blocks)
