"""Whoever makes a run on private rows comes through charged_runs, the only module that calls the free loop."""

from __future__ import annotations

import ast
from pathlib import Path

import dpicl_core
from dpicl_core import charged_runs

ENGINE = Path(dpicl_core.__file__).parent
FREE = {("dpicl_core.runs", "run"), ("dpicl_core.runs", "prepare_run"), ("dpicl_core.generation", "generate")}

# Where the free loop is defined, and where it is paid for.
ALLOWED = ("runs.py", "generation.py", "charged_runs/")


def uses(path):
    """Names of the free loop that a module imports, by name or through their module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    modules = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if (node.module, alias.name) in FREE:
                    yield f"{node.module}.{alias.name}"
                modules[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            pair = (modules.get(node.value.id), node.attr)
            if pair in FREE:
                yield ".".join(pair)


def test_the_library_offers_the_paid_run_alone():
    assert dpicl_core.run is charged_runs.run
    assert dpicl_core.prepare_run is charged_runs.prepare_run


def test_no_command_calls_the_free_loop():
    found = {path.relative_to(ENGINE).as_posix(): sorted(uses(path)) for path in (ENGINE / "cli").rglob("*.py")}
    assert {name: names for name, names in found.items() if names} == {}


def test_only_the_paid_path_imports_the_free_loop():
    waiting = ("jobs/",)  # the app's jobs move to the paid path next
    found = [
        f"{name} uses {', '.join(names)}"
        for path in ENGINE.rglob("*.py")
        if not (name := path.relative_to(ENGINE).as_posix()).startswith((*ALLOWED, *waiting))
        and (names := sorted(uses(path)))
    ]
    assert found == []
