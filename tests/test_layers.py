"""Layers import downwards only, the engine never imports streamlit, and no module is too long to read."""

from __future__ import annotations

import ast
from pathlib import Path

ENGINE = Path(__file__).resolve().parent.parent / "dpicl_core"

# Lowest first. A module may import modules of its own layer's package and of layers before it.
LAYERS = (
    ("errors", "rounding"),
    ("specs",),
    ("sampling",),
    ("values", "files"),
    ("events", "documents"),
    ("tasks", "randomness", "data"),
    ("prompts",),
    ("mechanisms", "accounting", "language_model"),
    ("candidates", "prompt_tokens", "subsets", "texts", "planning"),
    ("token_inputs", "pseudo_records"),
    ("generation",),
    ("runs",),
    ("rehearsal",),
    ("ledger",),
    ("charged_runs",),
    ("export", "formats"),
    ("unsigned_export",),
    ("vetting",),
    ("jobs",),
    ("verification",),
    ("certificate", "sign_off"),
    ("evaluation",),
    ("cli",),
    ("__main__",),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}


def modules():
    for path in sorted(ENGINE.rglob("*.py")):
        relative = path.relative_to(ENGINE)
        if relative.as_posix() != "__init__.py":
            yield relative.parts[0].removesuffix(".py"), path


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "dpicl_core":
                yield from (f"dpicl_core.{alias.name}" for alias in node.names)
            else:
                yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_every_module_has_a_layer():
    assert {top for top, _ in modules()} == set(RANK)


def test_imports_point_downwards():
    wrong = []
    for top, path in modules():
        for name in imported(path):
            parts = name.split(".")
            if parts[0] != "dpicl_core" or len(parts) < 2 or parts[1] == top or parts[1].startswith("__"):
                continue
            if RANK[parts[1]] >= RANK[top]:
                wrong.append(f"{path.relative_to(ENGINE)} imports {name}")
    assert wrong == []


def test_mechanisms_and_accounting_do_not_know_each_other():
    for top, path in modules():
        if top in ("mechanisms", "accounting"):
            other = "accounting" if top == "mechanisms" else "mechanisms"
            assert not [name for name in imported(path) if name.startswith(f"dpicl_core.{other}")], path


def test_the_engine_never_imports_streamlit():
    assert not [path for _, path in modules() if any(name.split(".")[0] == "streamlit" for name in imported(path))]


def test_every_module_can_be_read_in_one_sitting():
    long = [(str(path), n) for _, path in modules() if (n := len(path.read_text(encoding="utf-8").splitlines())) > 310]
    assert long == []


def test_no_numpy_or_torch_generator_outside_the_seeded_twin():
    names = ("np.random", "numpy.random", "torch.randn", "torch.manual_seed", "torch.normal", "random.seed")
    found = [
        (path.name, name)
        for _, path in modules()
        for name in names
        if path.name != "randomness.py" and name in path.read_text(encoding="utf-8")
    ]
    assert found == []
