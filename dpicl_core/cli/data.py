"""`data`: how a table is read, before anything is planned."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dpicl_core.cli.parsing import HelpFormatter, whole
from dpicl_core.data import (
    MAX_BYTES,
    Dataset,
    LongRows,
    Notice,
    Profile,
    SuggestedSizes,
    declare_labels,
    label_counts,
    long_rows,
    privacy_warnings,
    profile,
    read_dataset,
    suggest_sizes,
)
from dpicl_core.errors import ConfigError

_PROGRESS_STEP = 0.05


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "data",
        help="show how a table is read",
        description="Read a private table and show, for the eyes of its steward: rows, labels, encoding, delimiter, "
        "what was left out and why, and what harms privacy. Nothing is spent and nothing is written.",
        formatter_class=HelpFormatter,
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="the private table: CSV or Excel (.xlsx)")
    parser.add_argument("--text-column", metavar="COLUMN", help="column that holds the text; default: text")
    parser.add_argument(
        "--label-column",
        metavar="COLUMN",
        help="column that holds the label; default: label; the second of that name is label#2",
    )
    parser.add_argument(
        "--person-column", metavar="COLUMN", help="column that names the person, who then is protected as a whole"
    )
    parser.add_argument("--sheet", help="sheet of a workbook; default: the first")
    parser.add_argument(
        "--delimiter", metavar="NAME", help="comma, semicolon, tab or pipe; default: read from the header"
    )
    parser.add_argument("--max-bytes", type=whole(1), default=MAX_BYTES, help="size limit of the file, in bytes")
    labels = parser.add_argument_group("label list (public)")
    labels.add_argument("--label", action="append", default=[], help="declared label; repeat for each one")
    labels.add_argument(
        "--merge", action="append", default=[], metavar="OLD=NEW", help="count the rows of OLD under the declared NEW"
    )
    labels.add_argument(
        "--leave-out", action="append", default=[], metavar="LABEL", help="do not use the rows of this label"
    )
    checks = parser.add_argument_group("checks against a plan")
    checks.add_argument(
        "--record-tokens",
        type=whole(1),
        metavar="CAP",
        help="cap on one row in tokens, label and text together: longer rows are flagged; default: only rows too long "
        "for any cap",
    )
    checks.add_argument("--subsets", type=whole(2), metavar="M", help="groups of rows per token")
    checks.add_argument("--per-subset", type=whole(1), metavar="N", help="rows in one group")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Read the table and print the report."""
    if (arguments.subsets is None) != (arguments.per_subset is None):
        raise ConfigError("--subsets and --per-subset belong together; give both, or neither.")
    if not arguments.label and (arguments.merge or arguments.leave_out):
        raise ConfigError("--merge and --leave-out need the label list; declare every label with --label.")
    show = _progress_printer()
    dataset = read_dataset(
        arguments.file,
        text_column=arguments.text_column,
        label_column=arguments.label_column,
        person_column=arguments.person_column,
        sheet=arguments.sheet,
        delimiter=arguments.delimiter,
        max_bytes=arguments.max_bytes,
        progress=show,
    )
    if arguments.label:
        dataset = declare_labels(
            dataset,
            labels=arguments.label,
            merge=dict(_merge(pair, arguments.label) for pair in arguments.merge),
            leave_out=arguments.leave_out,
        )
    found = profile(dataset)
    harms = privacy_warnings(dataset, found, subsets=arguments.subsets, per_subset=arguments.per_subset)
    count_tokens = None if arguments.record_tokens is None else _token_counter()
    long = long_rows(dataset, arguments.record_tokens, count_tokens, progress=show)
    report = _report(dataset, found, harms, long, _suggestion(found, dataset))
    text = json.dumps(report, allow_nan=False) if arguments.json else _plain(report)
    sys.stdout.write(f"{text}\n")
    return 0


def _report(
    dataset: Dataset,
    found: Profile,
    harms: tuple[Notice, ...],
    long: LongRows,
    suggestion: SuggestedSizes | None,
) -> dict[str, Any]:
    counts = label_counts(dataset)
    return {
        "name": dataset.name,
        "rows": len(dataset),
        "labels": sorted(counts),
        "label_rows": counts,
        "columns": list(dataset.columns),
        "text_column": dataset.text_column,
        "label_column": dataset.label_column,
        "person_column": dataset.person_column,
        "persons": found.persons,
        "encoding": dataset.encoding.code,
        "encoding_words": dataset.encoding.words,
        "delimiter": dataset.delimiter.code,
        "delimiter_words": dataset.delimiter.words,
        "dropped": len(dataset.dropped),
        "dropped_lines": [{"line": row.line, "reason": row.reason.value} for row in dataset.dropped],
        "flagged": len(long.lines),
        "flagged_lines": list(long.lines),
        "flagged_by": long.basis,
        "duplicate_rows": found.duplicate_rows,
        "text_characters": {
            "shortest": found.lengths.shortest,
            "median": found.lengths.median,
            "percentile_95": found.lengths.percentile_95,
            "longest": found.lengths.longest,
        },
        "warnings": [
            {
                "code": notice.code,
                "level": notice.level.value,
                "sentence": notice.sentence,
                "count": notice.count,
                "lines": list(notice.lines),
            }
            for notice in (*dataset.notices, *harms)
        ],
        "suggestion": None
        if suggestion is None
        else {
            "subsets": suggestion.subsets,
            "per_subset": suggestion.per_subset,
            "sampling_rate": suggestion.sampling_rate,
            "reason": suggestion.reason,
        },
    }


def _plain(report: dict[str, Any]) -> str:
    """The report for a person; written so that any console can show it."""
    rows = ", ".join(f"{label} {count:,}" for label, count in list(report["label_rows"].items())[:30])
    more = len(report["label_rows"]) - 30
    lines = [
        f"{report['name']}: {report['rows']:,} rows, {len(report['labels']):,} labels",
        f"labels: {rows}{f', and {more:,} more' if more > 0 else ''}",
        f"columns: text from {report['text_column']}, label from {report['label_column']}, "
        + (f"person from {report['person_column']}" if report["person_column"] else "no person column"),
        f"read as: {report['encoding_words']}, {report['delimiter_words']}",
        f"left out: {report['dropped']:,} rows; over the token cap: {report['flagged']:,} rows",
    ]
    if report["persons"] is not None:
        lines.append(f"persons: {report['persons']:,}")
    lines += [f"{warning['level']}: {warning['sentence']}" for warning in report["warnings"]]
    if report["suggestion"]:
        lines.append(f"suggestion: {report['suggestion']['reason']}")
    encoding = sys.stdout.encoding or "utf-8"
    return "\n".join(lines).encode(encoding, "backslashreplace").decode(encoding)


def _suggestion(found: Profile, dataset: Dataset) -> SuggestedSizes | None:
    """M and N for the declared pools; without a declared list the label counts are private, so there is none."""
    if not dataset.declared_labels:
        return None
    return suggest_sizes({one.label: one.rows if one.persons is None else one.persons for one in found.labels})


def _merge(pair: str, declared: Sequence[str]) -> tuple[str, str]:
    """OLD=NEW cut where NEW is declared, since a label may hold an equals sign too."""
    cuts = [(pair[:at], pair[at + 1 :]) for at, character in enumerate(pair) if character == "="]
    fitting = [(old, new) for old, new in cuts if old and new in declared]
    if len(fitting) != 1:
        raise ConfigError(
            "--merge must read OLD=NEW with NEW declared by --label; give for example --merge Misc=Other."
        )
    return fitting[0]


def _token_counter() -> Callable[[str], int]:
    from dpicl_core.language_model import default_tokenizer

    tokenizer = default_tokenizer()
    return lambda text: len(tokenizer.encode(text))


def _progress_printer() -> Callable[[float], None] | None:
    """Shows the share done on a terminal; silent elsewhere."""
    if not sys.stderr.isatty():
        return None
    shown = [-1.0]

    def show(fraction: float) -> None:
        if abs(fraction - shown[0]) >= _PROGRESS_STEP or fraction == 1.0:
            shown[0] = fraction
            sys.stderr.write(f"\rreading: {fraction:4.0%}" + ("\n" if fraction == 1.0 else ""))
            sys.stderr.flush()

    return show
