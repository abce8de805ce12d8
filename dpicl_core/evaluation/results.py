"""What the measures find, ready to be printed or drawn. All of it is internal, not DP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dpicl_core.evaluation.accuracy import Accuracy
from dpicl_core.evaluation.canaries import CanaryResult
from dpicl_core.evaluation.consensus import Consensus
from dpicl_core.evaluation.leakage import TextLeakage
from dpicl_core.evaluation.membership import Attack
from dpicl_core.evaluation.roc import Curve
from dpicl_core.evaluation.spreads import Spread, spread


@dataclass(frozen=True, slots=True)
class SetLine:
    """One kind of set, averaged over its seeds."""

    kind: str
    raw: Spread
    calibrated: Spread | None
    internal: bool

    @classmethod
    def of(cls, kind: str, found: Sequence[Accuracy], *, internal: bool) -> SetLine:
        """Raw and calibrated accuracy over seeds."""
        second = [each.calibrated for each in found if each.calibrated is not None]
        return cls(kind, spread([each.raw for each in found]), spread(second) if second else None, internal)


@dataclass(frozen=True, slots=True)
class AccuracyResult:
    """queries: rows asked, the same for all sets. held_out: whether they were never used; else they were set apart of
    the private table, so that no set that was made here holds them, while paid runs may have drawn them."""

    sets: tuple[SetLine, ...]
    model: str
    queries: int
    open_labels: bool
    held_out: bool


@dataclass(frozen=True, slots=True)
class AttackLine:
    """An attack and the ceiling that the composed loss proves; None where nothing protects."""

    attack: Attack
    ceiling: Curve | None


@dataclass(frozen=True, slots=True)
class MembershipResult:
    """rows: members, and as many others, of one trial. left_out: held-out rows whose text stands in the private table
    too, and who therefore are not among the others."""

    attacks: tuple[AttackLine, ...]
    model: str
    rows: int
    left_out: int


@dataclass(frozen=True, slots=True)
class LeakLine:
    """One text of one file. line: of the first row with the longest run. chance: against rows never used."""

    kind: str
    number: int
    text: str = field(repr=False)
    found: TextLeakage = field(repr=False)
    line: int | None
    chance: TextLeakage | None = field(repr=False)

    @property
    def passage(self) -> str:
        """The longest shared run as it stands in the text."""
        return self.text[slice(*self.found.longest_run.span)]


@dataclass(frozen=True, slots=True)
class LeakageResult:
    """rows: of the private table. near_percent: likeness from which a row counts as a near duplicate."""

    texts: tuple[LeakLine, ...]
    rows: int
    near_percent: float


@dataclass(frozen=True, slots=True)
class CanaryRuns:
    """canary: the planted text. epsilon: what the noise of protecting mechanisms was calibrated to."""

    results: tuple[CanaryResult, ...]
    canary: str
    model: str
    epsilon: float


@dataclass(frozen=True, slots=True)
class ConsensusRun:
    """epsilon: what the noise of the run that was followed was calibrated to."""

    found: Consensus
    mechanism: str
    model: str
    epsilon: float
