"""Whoever makes a run on private rows comes through charged_runs, the only module that calls the free loop."""

from __future__ import annotations

import ast
from pathlib import Path

import dpicl_core
from dpicl_core import charged_runs

ENGINE = Path(dpicl_core.__file__).parent
ROOT = ENGINE.parent
FREE = {("dpicl_core.runs", "run"), ("dpicl_core.runs", "prepare_run"), ("dpicl_core.generation", "generate")}

# Where the free loop is defined, where it is paid for, and where it runs over rows that the model itself has written.
ALLOWED = ("runs.py", "generation.py", "charged_runs/", "rehearsal/steps.py")


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
        elif isinstance(node, ast.Import):
            modules.update({alias.asname or alias.name: alias.name for alias in node.names})
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            pair = (modules.get(ast.unparse(node.value)), node.attr)
            if pair in FREE:
                yield ".".join(pair)


def test_the_library_offers_the_paid_run_alone():
    assert dpicl_core.run is charged_runs.run
    assert dpicl_core.prepare_run is charged_runs.prepare_run


def test_no_command_calls_the_free_loop():
    found = {path.relative_to(ENGINE).as_posix(): sorted(uses(path)) for path in (ENGINE / "cli").rglob("*.py")}
    assert {name: names for name, names in found.items() if names} == {}


def test_only_the_paid_path_imports_the_free_loop():
    found = [
        f"{name} uses {', '.join(names)}"
        for path in ENGINE.rglob("*.py")
        if not (name := path.relative_to(ENGINE).as_posix()).startswith(ALLOWED) and (names := sorted(uses(path)))
    ]
    assert found == []


def test_a_rehearsal_knows_no_module_that_reads_a_table():
    files = [*(ENGINE / "rehearsal").rglob("*.py"), ENGINE / "pseudo_records.py"]
    assert len(files) > 4
    known = {name for path in files for name in modules_of(path)}
    assert "dpicl_core.generation" in known
    reading = ("dpicl_core.data", "dpicl_core.charged_runs", "dpicl_core.ledger", "dpicl_core.files")
    assert sorted(name for name in known if name.startswith(reading)) == []


def modules_of(path):
    """All modules that a module imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_no_screen_calls_the_free_loop():
    screens = [ROOT / "app.py", *(ROOT / "pages").rglob("*.py")]
    assert len(screens) > 10
    found = {path.relative_to(ROOT).as_posix(): sorted(uses(path)) for path in screens}
    assert {name: names for name, names in found.items() if names} == {}


def test_the_check_sees_every_way_to_call_the_free_loop(tmp_path):
    ways = (
        "from dpicl_core.runs import run",
        "from dpicl_core.runs import prepare_run as prepare",
        "from dpicl_core import runs\nruns.run(None, None)",
        "from dpicl_core import generation as g\ng.generate()",
        "import dpicl_core.runs\ndpicl_core.runs.run(None, None)",
        "import dpicl_core.runs as free\nfree.run(None, None)",
    )
    for number, way in enumerate(ways):
        path = tmp_path / f"way_{number}.py"
        path.write_text(way)
        assert list(uses(path)), way
