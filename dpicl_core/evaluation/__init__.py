"""Evaluation: does the released text still work, and does it give anyone away?

All of it is for the steward alone: internal, not DP. It reads private rows, so it goes to the terminal or to a file
that the steward names, and never into a demonstrations document. A private table is reached through an `InternalView`,
which exists only once the ledger has recorded it.
"""

from dpicl_core.charged_runs.internal_view import InternalView, open_view
from dpicl_core.evaluation.accuracy import Accuracy, AccuracyOptions, accuracy_of
from dpicl_core.evaluation.canaries import CanaryResult, canary_text, plant_and_count
from dpicl_core.evaluation.consensus import Consensus, covering_radius, measure_consensus
from dpicl_core.evaluation.leakage import TextLeakage, leakage
from dpicl_core.evaluation.membership import (
    Attack,
    AttackOptions,
    attack_on_demonstrations,
    attack_on_real_rows,
    proven_loss,
)
from dpicl_core.evaluation.private_table import PrivateTable
from dpicl_core.evaluation.roc import Curve, area_under_scores, ceiling
from dpicl_core.evaluation.run_tasks import CanaryTask, ConsensusTask, OwnRun
from dpicl_core.evaluation.sets import REFERENCE_SETS, DemonstrationSet, common_task, reference_sets, set_of, task_of
from dpicl_core.evaluation.spreads import Bounded, Spread, spread
from dpicl_core.evaluation.tasks import AccuracyTask, LeakageTask, MembershipTask

__all__ = [
    "REFERENCE_SETS",
    "Accuracy",
    "AccuracyOptions",
    "AccuracyTask",
    "Attack",
    "AttackOptions",
    "Bounded",
    "CanaryResult",
    "CanaryTask",
    "Consensus",
    "ConsensusTask",
    "Curve",
    "DemonstrationSet",
    "InternalView",
    "LeakageTask",
    "MembershipTask",
    "OwnRun",
    "PrivateTable",
    "Spread",
    "TextLeakage",
    "accuracy_of",
    "area_under_scores",
    "attack_on_demonstrations",
    "attack_on_real_rows",
    "canary_text",
    "ceiling",
    "common_task",
    "covering_radius",
    "leakage",
    "measure_consensus",
    "open_view",
    "plant_and_count",
    "proven_loss",
    "reference_sets",
    "set_of",
    "spread",
    "task_of",
]
