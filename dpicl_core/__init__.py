"""DP-ICL Studio's engine: differentially private synthetic demonstrations for in-context learning.

The names below are the public interface for notebooks; they load on first use, so that importing costs little.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpicl_core.charged_runs import AssetChoice, prepare_run, resume, run
    from dpicl_core.data import declare_labels, read_dataset
    from dpicl_core.errors import BudgetError, ConfigError, DataError, DPICLError, ExportError, LedgerError, ModelError
    from dpicl_core.export import document_for, write_document
    from dpicl_core.language_model import load_model
    from dpicl_core.planning import plan_for, price_plan
    from dpicl_core.runs import request_for
    from dpicl_core.tasks import TASKS, custom_task, task_named

_HOME = {
    "dpicl_core.charged_runs": ("AssetChoice", "prepare_run", "resume", "run"),
    "dpicl_core.data": ("declare_labels", "read_dataset"),
    "dpicl_core.errors": (
        "BudgetError",
        "ConfigError",
        "DPICLError",
        "DataError",
        "ExportError",
        "LedgerError",
        "ModelError",
    ),
    "dpicl_core.export": ("document_for", "write_document"),
    "dpicl_core.language_model": ("load_model",),
    "dpicl_core.planning": ("plan_for", "price_plan"),
    "dpicl_core.runs": ("request_for",),
    "dpicl_core.tasks": ("TASKS", "custom_task", "task_named"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__version__ = "0.1.0"

__all__ = [
    "TASKS",
    "AssetChoice",
    "BudgetError",
    "ConfigError",
    "DPICLError",
    "DataError",
    "ExportError",
    "LedgerError",
    "ModelError",
    "custom_task",
    "declare_labels",
    "document_for",
    "load_model",
    "plan_for",
    "prepare_run",
    "price_plan",
    "read_dataset",
    "request_for",
    "resume",
    "run",
    "task_named",
    "write_document",
]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        return getattr(import_module(_MODULE_OF[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
