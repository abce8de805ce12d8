"""The parts of `benchmarks.speed` beside the table: rates, noise, memory, start, and how time grows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.speed_cases import EngineRun, case_of, made_up_pool
from dpicl_core.generation import generate
from dpicl_core.language_model.transformers_model import TransformersModel
from dpicl_core.mechanisms import release_token
from dpicl_core.planning import plan_for, price_plan
from dpicl_core.randomness import SecretRandomness, SeededRandomness
from dpicl_core.sampling import Grouping
from dpicl_core.specs import AdaDPSynSpec
from dpicl_core.tasks import task_named
from dpicl_core.values import Example, Pool

MEMORY_SCRIPT = """
import json, resource
from benchmarks.speed_cases import EngineRun, case_of, made_up_pool
from dpicl_core.language_model import load_model
from dpicl_core.sampling import Grouping
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
model = load_model(dtype="bfloat16", cache_bytes=2**30)
loaded = peak()
case = case_of("mit_g", 640, subsets=80, per_subset=4, tokens=20)
pool = made_up_pool(case)
kept = EngineRun(case, pool, model, Grouping.FIXED)
tokens = sum(kept.prompts(10)[0].widths)
for position in range(3):
    kept.step(position)
print(json.dumps({"prompt_tokens": tokens, "loaded_bytes": loaded, "peak_bytes": peak(), "cache_bytes": 2**30}))
"""

IMPORT_SCRIPT = """
import time
start = time.perf_counter()
import dpicl_core
print(time.perf_counter() - start)
"""

LOAD_SCRIPT = """
import time
start = time.perf_counter()
import dpicl_core
dpicl_core.load_model()
print(time.perf_counter() - start)
"""


class _NoNoise(SeededRandomness):
    """Adds nothing, so that what is left is the mechanism's own time."""

    def gaussian(self, value: float, scale: float) -> float:
        return value

    def gaussian_vector(self, value: Any, scale: float) -> Any:
        return value


def fastest(work: Callable[[], object], times: int) -> float:
    """Least wall seconds of several runs."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def matrix_rates() -> dict[str, float]:
    """Operations a second of a matrix product as large as a feed-forward layer's in one pass."""
    import torch

    rates = {}
    for name in ("float32", "bfloat16"):
        left = torch.full((4096, 576), 0.5, dtype=getattr(torch, name))
        right = torch.full((1536, 576), 0.25, dtype=getattr(torch, name))
        with torch.inference_mode():
            seconds = fastest(lambda a=left, b=right: torch.nn.functional.linear(a, b), 40)  # type: ignore[misc]
        rates[name] = 2 * 4096 * 576 * 1536 / seconds
    return rates


def mechanism_milliseconds() -> dict[str, float]:
    """One AdaDPSyn token at M = 80, K = 100 without noise and with it, and one noisy vector of 100 numbers."""
    rows = np.random.default_rng(0).dirichlet(np.full(100, 0.1), 80)
    spec, secret, value = AdaDPSynSpec(), SecretRandomness(), np.full(100, 0.3)
    public = rows.mean(axis=0)
    return {
        "adadpsyn without noise": 1e3 * fastest(lambda: release_token(spec, rows, public, rng=_NoNoise(0)), 30),
        "adadpsyn with noise": 1e3 * fastest(lambda: release_token(spec, rows, public, rng=secret), 30),
        "noise of 100 coordinates": 1e3 * fastest(lambda: secret.gaussian_vector(value, 1.7), 30),
    }


def linear_fit(x: Sequence[float], y: Sequence[float]) -> dict[str, Any]:
    """Least squares line and its share of explained variance."""
    slope, offset = np.polyfit(x, y, 1)
    rest = np.asarray(y) - (slope * np.asarray(x) + offset)
    return {
        "x": list(map(float, x)),
        "seconds": list(map(float, y)),
        "seconds_per_unit": float(slope),
        "offset_seconds": float(offset),
        "r_squared": float(1 - rest.var() / np.var(y)),
    }


def fits(model: TransformersModel, d_by_step: Sequence[float]) -> dict[str, Any]:
    """Seconds against M (one fresh step at position 10), and against T_max (the open-label run so far)."""
    sizes, seconds = (10, 20, 40, 80), []
    for size in sizes:
        case = case_of("mit_g", 300, subsets=size, per_subset=1, tokens=20)
        run = EngineRun(case, made_up_pool(case), model, Grouping.FRESH)
        run.step(9)
        seconds.append(fastest(lambda one=run: one.step(10), 3))  # type: ignore[misc]
    lengths = [n for n in (5, 10, 20, 30, 40) if n <= len(d_by_step)]
    so_far = np.cumsum(d_by_step)
    return {"M": linear_fit(sizes, seconds), "T_max": linear_fit(lengths, [float(so_far[n - 1]) for n in lengths])}


def trec_seconds(model: TransformersModel) -> dict[str, float]:
    """Four demonstrations of TREC by AdaDPSyn at epsilon 4, real noise, from made-up rows; both ways to draw."""
    found = {}
    for grouping in Grouping:
        plan = plan_for(task_named("trec"), "adadpsyn", shots=4, grouping=grouping)
        rows = dict.fromkeys(plan.pool_labels(), 860)
        pool = made_up_pool(case_of("trec", 860))
        pools = {
            label: Pool(label, tuple((Example(str(label), unit[0].text),) for unit in pool.units)) for label in rows
        }
        prices = price_plan(plan, rows, delta=1e-5, epsilon=4.0)
        start = time.perf_counter()
        for _ in generate(plan, prices, pools, model, rng=SecretRandomness()):
            pass
        found[grouping.value] = time.perf_counter() - start
    return found


def memory() -> dict[str, float]:
    """Peak resident bytes of a process that makes three steps of M = 80 prompts of about 300 tokens."""
    found: dict[str, float] = json.loads(_child(MEMORY_SCRIPT))
    found["gib_above_model_and_cache"] = (found["peak_bytes"] - found["loaded_bytes"] - found["cache_bytes"]) / 2**30
    return found


def starts() -> dict[str, float]:
    """Fastest of three: importing the engine, and importing it and loading the prepared model."""
    return {
        "import dpicl_core": min(float(_child(IMPORT_SCRIPT)) for _ in range(3)),
        "import and load the model": min(float(_child(LOAD_SCRIPT)) for _ in range(3)),
    }


def _child(script: str) -> str:
    """Last line that a fresh interpreter prints."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    return done.stdout.strip().splitlines()[-1]
