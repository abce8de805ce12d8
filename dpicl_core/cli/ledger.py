"""`ledger`: what was spent, by whom, on what; proof that it was not changed; backups; runs that were interrupted."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from dpicl_core.charged_runs import close_partial, resume, stored_record
from dpicl_core.cli import ledger_purge
from dpicl_core.cli.inputs import add_model_options, stage_printer
from dpicl_core.cli.parsing import HelpFormatter, positive, whole
from dpicl_core.cli.progress import RunProgress
from dpicl_core.data import declare_labels, read_dataset, write_neutralised_csv
from dpicl_core.errors import ConfigError, LedgerError
from dpicl_core.export import document_for
from dpicl_core.files import check_writable, write_atomically
from dpicl_core.language_model import load_model
from dpicl_core.ledger import (
    DEFAULT_CAP_EPSILON,
    AssetReport,
    AssetTerms,
    Ledger,
    RunLine,
    asset_named,
    asset_reports,
    best_order,
    check_run,
    create_asset,
    events_of,
    everything,
    open_ledger,
    reading_of,
    restore_backup,
    run_lines,
    stored_run,
    total_if_fixed_in_advance,
    user_name,
    verify_ledger,
    write_backup,
)
from dpicl_core.rounding import percent_left, rounded_up
from dpicl_core.runs import RunRecord
from dpicl_core.unsigned_export import write_recorded
from dpicl_core.values import PrivacyUnit


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its own commands to the parser."""
    parser = subparsers.add_parser(
        "ledger",
        help="what was spent: list, verify, export, backup, restore, resume a run",
        description="The ledger of data assets and runs. It lives in DPICL_HOME, or where DPICL_DATABASE_URL says.",
        formatter_class=HelpFormatter,
    )
    commands = parser.add_subparsers(
        dest="ledger_command", metavar="COMMAND", required=True, help="what to do with the ledger"
    )
    _add_readers(commands)
    _add_writers(commands)
    _add_runs(commands)
    ledger_purge.add_parser(commands)


def _command(
    commands: Any, name: str, help_text: str, action: Callable[[argparse.Namespace], int]
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=help_text, description=help_text[0].upper() + help_text[1:] + ".", formatter_class=HelpFormatter
    )
    parser.set_defaults(run=action)
    return parser


def _add_readers(commands: Any) -> None:
    parser = _command(commands, "list", "list assets with what is left, and runs, newest first", _list)
    parser.add_argument("--asset", metavar="NAME", help="runs of this asset only")
    parser.add_argument("--limit", type=whole(1), default=50, metavar="N", help="runs to list at most")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser = _command(commands, "show", "show one run, or one asset, with everything that happened to it", _show)
    parser.add_argument("name", metavar="RUN|ASSET", help="id of a run, or name of an asset")
    _command(commands, "verify", "check that nothing was changed, added or removed by other means", _verify)
    parser = _command(commands, "export", "write assets, runs and events for reading elsewhere", _export)
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="a .json file, or .csv for the runs alone"
    )


def _add_writers(commands: Any) -> None:
    parser = _command(
        commands, "create", "name a data asset and sign its cap before any file is charged to it", _create
    )
    parser.add_argument("name", metavar="NAME", help="public name of the asset")
    parser.add_argument(
        "--label", action="append", default=[], required=True, metavar="LABEL", help="public label; repeat"
    )
    parser.add_argument("--cap", type=positive, default=DEFAULT_CAP_EPSILON, metavar="EPSILON", help="over all runs")
    parser.add_argument(
        "--delta", type=positive, required=True, help="over all runs; at most a tenth of 1/units is usual"
    )
    parser.add_argument("--owner", metavar="NAME", help="who answers for it; default: the operating-system user")
    parser.add_argument("--rule", choices=("renyi", "sum"), default="renyi", help="how runs add up, for good")
    parser.add_argument("--person-column", metavar="COLUMN", help="protect persons, told apart by this column")
    parser = _command(
        commands, "backup", "copy the ledger AND ITS SECRET into one file; keep it as safe as the table", _backup
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="where it goes, for example ledger.zip")
    parser = _command(commands, "restore", "put a backup into an empty ledger", _restore)
    parser.add_argument("file", type=Path, metavar="FILE", help="a file that `ledger backup` made")
    parser.add_argument(
        "--accept-loss", metavar="WORDS", help="why spending recorded after the backup may be forgotten"
    )


def _add_runs(commands: Any) -> None:
    parser = _command(commands, "resume", "go on with an interrupted run at no new cost", _resume)
    parser.add_argument("run_id", metavar="RUN", help="id of the run")
    parser.add_argument(
        "--data", type=Path, required=True, metavar="FILE", help="the same file that it was started with"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="where the demonstrations JSON goes")
    add_model_options(parser, also="; the one that the run was started with")
    parser = _command(commands, "close", "end an interrupted run for good; what it reserved stays spent", _close)
    parser.add_argument("run_id", metavar="RUN", help="id of the run")
    parser.add_argument("--reason", required=True, metavar="WORDS", help="recorded under your name")
    parser = _command(
        commands, "document", "write the demonstrations JSON of an ended run once more, at no cost", _document
    )
    parser.add_argument("run_id", metavar="RUN", help="id of the run")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="where it goes")


def _list(arguments: argparse.Namespace) -> int:
    with open_ledger().read() as connection:
        reports = asset_reports(connection)
        asset = None if arguments.asset is None else asset_named(connection, arguments.asset)
        if arguments.asset is not None and asset is None:
            raise ConfigError(f"the ledger has no asset {arguments.asset}; list all with `ledger list`.")
        lines = run_lines(connection, asset_id=None if asset is None else asset.id, limit=arguments.limit)
    if arguments.json:
        content = {"assets": [_report_json(report) for report in reports], "runs": [asdict(line) for line in lines]}
        sys.stdout.write(json.dumps(content, ensure_ascii=False) + "\n")
        return 0
    text = [_asset_line(report) for report in reports] or ["no asset yet: the first run makes one"]
    text += ["", *(_run_line(line) for line in lines)] if lines else []
    sys.stdout.write("\n".join(text) + "\n")
    return 0


def _report_json(report: AssetReport) -> dict[str, Any]:
    return {**asdict(report), "asset": asdict(report.asset)}


def _asset_line(report: AssetReport) -> str:
    asset = report.asset
    counted = "" if report.rows is None else f", {report.rows} rows"
    counted += "" if report.persons is None else f" of {report.persons} persons"
    counted += "" if report.purged_at is None else f", purged {report.purged_at[:10]}"
    who = f"{asset.owner}, unit {asset.unit.value}{counted}"
    return (
        f"{asset.name}: {percent_left(report.share_left)} left of epsilon {asset.epsilon:g} at delta {asset.delta:g}; "
        f"spent epsilon {rounded_up(report.epsilon_spent)} in {report.runs} runs ({who})"
    )


def _run_line(line: RunLine) -> str:
    return (
        f"{line.created_at[:19]}  {line.id}  {line.asset}  {line.actor}  {line.mechanism}  "
        f"epsilon {rounded_up(line.epsilon)}  "
        f"{line.state}  {line.tokens} tokens  exports {line.exports}  internal views {line.internal_views}"
    )


def _show(arguments: argparse.Namespace) -> int:
    ledger = open_ledger()
    with ledger.read() as connection:
        asset = asset_named(connection, arguments.name)
        run_id = None if asset is not None else stored_run(connection, arguments.name).id
        happened = events_of(
            connection, run_id=run_id, asset_id=None if asset is None else asset.id, without=("token",)
        )
        text = []
        if asset is not None:
            report = next(each for each in asset_reports(connection) if each.asset.id == asset.id)
            text = [_asset_line(report), f"labels: {', '.join(asset.labels)}"]
            text += [f"  {label}: {percent_left(share)} left" for label, share in report.share_left_by_label.items()]
            total = total_if_fixed_in_advance(connection, asset)
            text.append(f"if all plans had been fixed in advance: epsilon {rounded_up(total)} at delta {asset.delta:g}")
        else:
            text += [_run_line(line) for line in run_lines(connection) if line.id == run_id]
    for event in happened:
        details = ", ".join(f"{name} {value}" for name, value in event.details.items() if value is not None)
        text.append(f"{event.at[:19]}  {event.actor}  {event.kind}  {details}".rstrip())
    sys.stdout.write("\n".join(text) + "\n")
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    verdict = verify_ledger(open_ledger())
    if not verdict.holds:
        raise LedgerError("the ledger was changed by other means: " + "; ".join(verdict.problems) + ".")
    sys.stdout.write(
        f"The ledger holds: {verdict.events} events and {verdict.rows} records, none changed or missing.\n"
    )
    return 0


def _export(arguments: argparse.Namespace) -> int:
    check_writable(arguments.out)
    ledger = open_ledger()
    if arguments.out.suffix == ".csv":
        with ledger.read() as connection:
            lines = [asdict(line) for line in run_lines(connection)]
        header = list(RunLine.__dataclass_fields__)
        write_neutralised_csv(arguments.out, header, [[str(line[name]) for name in header] for line in lines])
    else:
        content = json.dumps(everything(ledger), indent=2, ensure_ascii=False)
        write_atomically(arguments.out, (content + "\n").encode())
    sys.stdout.write(f"written to {arguments.out}\n")
    return 0


def _create(arguments: argparse.Namespace) -> int:
    renyi = arguments.rule == "renyi"
    terms = AssetTerms(
        name=arguments.name,
        owner=arguments.owner or user_name(),
        unit=PrivacyUnit.ROW if arguments.person_column is None else PrivacyUnit.PERSON,
        labels=tuple(dict.fromkeys(arguments.label)),
        epsilon=arguments.cap,
        delta=arguments.delta,
        rule=arguments.rule,
        order=best_order(arguments.cap, arguments.delta) if renyi else None,
        person_column=arguments.person_column,
    )
    ledger = open_ledger()
    with ledger.write() as connection:
        asset = create_asset(connection, ledger, terms, actor=user_name())
    sys.stdout.write(
        f"asset {asset.name} of {asset.owner}: epsilon {asset.epsilon:g} at delta {asset.delta:g} for good. "
        f"Charge a file to it with generate --asset {asset.name}.\n"
    )
    return 0


def _backup(arguments: argparse.Namespace) -> int:
    facts = write_backup(open_ledger(), arguments.out)
    sys.stdout.write(
        f"written to {arguments.out}: {facts.events} events AND THE LEDGER'S SECRET. Whoever has the file can test "
        "whether a row stands in an asset; keep it as safe as the tables themselves.\n"
    )
    return 0


def _restore(arguments: argparse.Namespace) -> int:
    facts = restore_backup(arguments.file, actor=user_name(), accept_loss=arguments.accept_loss)
    lost = f"; {facts.lost_events} later events are lost, which is recorded" if facts.lost_events else ""
    sys.stdout.write(f"restored: {facts.events} events{lost}. Run `ledger verify` now.\n")
    return 0


def _resume(arguments: argparse.Namespace) -> int:
    check_writable(arguments.out)
    ledger = open_ledger()
    with ledger.read() as connection:
        stored = stored_run(connection, arguments.run_id)
        columns = reading_of(connection, stored)
    text_column, label_column, person_column = columns
    dataset = read_dataset(
        arguments.data, text_column=text_column, label_column=label_column, person_column=person_column
    )
    if not stored.plan.task.open_labels:
        dataset = declare_labels(dataset, labels=stored.plan.task.labels)
    console = Console(stderr=True, quiet=arguments.quiet)
    model = load_model(arguments.model, progress=stage_printer(console), cache_bytes=arguments.cache_bytes)
    with RunProgress(stored.plan.tokens, console) as progress:
        record = resume(stored.id, dataset, model, ledger=ledger, on_event=progress.show)
    return _write(ledger, record, arguments.out)


def _close(arguments: argparse.Namespace) -> int:
    record = close_partial(arguments.run_id, arguments.reason)
    done = sum(len(demonstration.token_ids) for demonstration in record.demonstrations)
    sys.stdout.write(
        f"closed with {done} tokens; nothing is given back. Write what there is with "
        f"`ledger document {arguments.run_id} --out FILE`.\n"
    )
    return 0


def _document(arguments: argparse.Namespace) -> int:
    check_writable(arguments.out)
    ledger = open_ledger()
    with ledger.read() as connection:
        check_run(connection, ledger, arguments.run_id)
        record = stored_record(stored_run(connection, arguments.run_id))
    return _write(ledger, record, arguments.out)


def _write(ledger: Ledger, record: RunRecord, path: Path) -> int:
    document = document_for(record)
    write_recorded(document, path, ledger, run_id=record.run_id, actor=user_name())
    sys.stdout.write(f"{document.guarantee.sentence}\nwritten to {path}\n")
    return 0
