"""Which device and which floating-point type a model runs in, chosen from public facts of the machine alone."""

from __future__ import annotations

import contextlib
import hashlib
import platform
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dpicl_core.errors import ModelError
from dpicl_core.language_model.cache import cache_folder, read_json, write_json

if TYPE_CHECKING:
    import torch

DTYPES = ("float32", "bfloat16", "float16")
CLEARLY_FASTER = 0.8
"""bfloat16 must take at most this share of float32's time: its rounding is not worth a smaller gain."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The devices of this machine, and the device and floating-point type that a model would get."""

    processor: str
    devices: tuple[str, ...]
    device: str
    dtype: str


def describe_machine() -> Machine:
    """Look at the hardware; on a CPU this measures its number types where that was not done yet."""
    device = choose_device(None)
    return Machine(processor_name(), available_devices(), device, choose_dtype(None, device))


def available_devices() -> tuple[str, ...]:
    """The devices of this machine by name, such as "cpu", "cuda:0"."""
    import torch

    gpus = tuple(f"cuda:{number}" for number in range(torch.cuda.device_count()))
    return ("cpu", *gpus, *(("mps",) if torch.backends.mps.is_available() else ()))


def choose_device(requested: str | None) -> str:
    """The requested device, else CUDA, else MPS, else CPU; ModelError where this machine has no such device."""
    devices = available_devices()
    kinds = tuple(dict.fromkeys(device.partition(":")[0] for device in devices))
    if requested in (None, "auto"):
        return next(kind for kind in ("cuda", "mps", "cpu") if kind in kinds)
    if requested not in (*devices, *kinds):
        raise ModelError(
            f"the device must be one of {', '.join(devices)} on this machine, but is {requested}; leave it out."
        )
    return str(requested)


def choose_dtype(requested: str | None, device: str) -> str:
    """The requested type's name, else the fastest that is sound on the device.

    CUDA: bfloat16 where the device has it. MPS: float32. CPU: bfloat16 where a measurement shows it clearly faster.
    """
    if requested not in (None, "auto", *DTYPES):
        raise ModelError(f"dtype must be one of {', '.join(DTYPES)}, but is {requested}; leave it out.")
    if requested in DTYPES:
        return str(requested)
    if device.startswith("cuda"):
        import torch

        return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"
    return fastest_cpu_dtype() if device == "cpu" else "float32"


def fastest_cpu_dtype() -> str:
    """float32 or bfloat16; measured once per processor and torch version and kept in the cache folder."""
    import torch

    processor = f"{processor_name()}, {torch.get_num_threads()} threads, torch {torch.__version__}"
    path = cache_folder() / f"cpu-dtype-{hashlib.sha256(processor.encode()).hexdigest()[:12]}.json"
    kept = read_json(path)
    if kept and kept.get("processor") == processor and kept.get("dtype") in DTYPES:
        return str(kept["dtype"])
    seconds = {name: _product_seconds(getattr(torch, name)) for name in ("float32", "bfloat16")}
    dtype = "bfloat16" if seconds["bfloat16"] <= CLEARLY_FASTER * seconds["float32"] else "float32"
    with contextlib.suppress(OSError):  # an unwritable cache costs a measurement at every load, nothing else
        write_json(path, {"processor": processor, "dtype": dtype, "matrix_product_seconds": seconds})
    return dtype


def processor_name() -> str:
    """The processor's model name, as the operating system gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def _product_seconds(dtype: torch.dtype) -> float:
    """Shortest of several times of one matrix product shaped like a small model's feed-forward layer."""
    import torch

    # constant operands: the time of a dense product does not depend on its values, and no generator is touched
    left, right = torch.full((1024, 576), 0.5, dtype=dtype), torch.full((576, 1536), 0.25, dtype=dtype)
    seconds = []
    with torch.inference_mode():
        for _ in range(12):
            start = time.perf_counter()
            torch.nn.functional.linear(left, right.T)
            seconds.append(time.perf_counter() - start)
    return min(seconds)
