"""`model`: what there is to generate with on this machine; prepares the embedded default model."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from dpicl_core.cli.parsing import HelpFormatter
from dpicl_core.language_model import cache_folder, default_model_status, describe_machine, prepare_default_model


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "model",
        help="show or prepare the language model",
        description="Show the embedded default model, its files and licence, and the device and number type that "
        "this machine would use. Other models are given to generate --model as a folder with safetensors, a GGUF file "
        "or a hub name.",
        formatter_class=HelpFormatter,
    )
    parser.add_argument(
        "--fetch",
        action="store_true",
        help="prepare the default model now: download 93 MB, convert to 540 MB (about half a minute); where it is "
        "there already, check every file and repair it",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the facts; prepare first where asked."""
    if arguments.fetch:
        _fetch()
    facts = _facts()
    sys.stdout.write(json.dumps(facts, indent=2) + "\n" if arguments.json else _as_text(facts))
    return 0


def _fetch() -> None:
    """Prepare the default model with a bar for each stage on standard error."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as bars:
        shown: dict[str, Any] = {}

        def report(stage: str, fraction: float) -> None:
            if stage not in shown:
                shown[stage] = bars.add_task(stage, total=1.0)
            bars.update(shown[stage], completed=fraction)

        prepare_default_model(report, verify=True)


def _facts() -> dict[str, Any]:
    libraries = {name: version(name) for name in ("torch", "transformers")}
    return {
        "default_model": asdict(default_model_status()),
        "cache_folder": str(cache_folder()),
        "machine": asdict(describe_machine()),
        "versions": libraries,
    }


def _as_text(facts: dict[str, Any]) -> str:
    model, machine = facts["default_model"], facts["machine"]
    state = f"ready, {model['size_bytes'] / 1e6:.0f} MB" if model["ready"] else "not prepared; run with --fetch"
    lines = [
        f"default model: {model['name']} ({model['license']}), {state}",
        f"  folder: {model['folder']}",
        *([f"  licence: {model['license_file']}"] if model["license_file"] else []),
        *(f"  {file['role']}: {file['name']}, SHA-256 {file['sha256']}" for file in model["files"]),
        f"cache folder: {facts['cache_folder']}",
        f"devices: {', '.join(machine['devices'])}; used: {machine['device']} in {machine['dtype']}",
        f"processor: {machine['processor']}",
        "versions: " + ", ".join(f"{name} {number}" for name, number in facts["versions"].items()),
        "other models: generate --model with a folder (safetensors), a GGUF file or a hub name",
    ]
    return "\n".join(lines) + "\n"
