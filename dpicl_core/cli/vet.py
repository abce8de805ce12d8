"""`vet`: look at what a run released, decide on every text, sign."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from dpicl_core.cli.parsing import HelpFormatter
from dpicl_core.errors import ConfigError, ExportError
from dpicl_core.export import document_bytes
from dpicl_core.files import check_writable, read_bytes, write_atomically
from dpicl_core.ledger import Ledger, open_ledger
from dpicl_core.sign_off import VettableRun, another_try, record_export, sign, vettable_run
from dpicl_core.verification import read_document
from dpicl_core.vetting import Approve, Decision, Edit, Reject, marked, summary


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "vet",
        help="look at a run's texts, approve, reject or edit each, and sign",
        description="Show what a run released with checks that read no private row; or, with decisions, sign a "
        "demonstrations file. Every decision is recorded in the ledger under the reviewer's name. Reasons, edits and "
        "the justification leave with the file or stay in the ledger, so nothing of a private row may stand in them.",
        formatter_class=HelpFormatter,
    )
    parser.add_argument(
        "run_or_file", metavar="RUN|FILE", help="id of a run that has ended, or its demonstrations JSON"
    )
    group = parser.add_argument_group("decisions, by the number of the demonstration")
    group.add_argument("--approve", action="append", default=[], metavar="N|all", help="leave as released; repeat")
    group.add_argument("--reject", action="append", default=[], metavar="N=REASON", help="leave out; repeat")
    group.add_argument(
        "--edit", action="append", default=[], metavar="N=TEXT", help="put this text in its place, marked; repeat"
    )
    group = parser.add_argument_group("signature")
    group.add_argument("--reviewer", metavar="NAME", help="who answers for the decisions")
    group.add_argument("--justification", metavar="WORDS", help="why this epsilon is justified")
    group.add_argument("--out", type=Path, metavar="FILE", help="where the signed JSON goes")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Show the texts, or sign."""
    ledger = open_ledger()
    vettable = _found(ledger, arguments.run_or_file)
    if not (arguments.approve or arguments.reject or arguments.edit):
        sys.stdout.write("".join(line + "\n" for line in _shown(ledger, vettable)))
        return 0
    given = (("--reviewer", arguments.reviewer), ("--justification", arguments.justification), ("--out", arguments.out))
    for option, value in given:
        if value is None:
            raise ConfigError(f"{option} is needed to sign; leave the decisions out to look at the texts alone.")
    check_writable(arguments.out)
    decisions = decisions_from(
        arguments.approve, arguments.reject, arguments.edit, len(vettable.document.demonstrations)
    )
    document = sign(
        ledger,
        vettable.stored.id,
        decisions,
        reviewer=arguments.reviewer,
        justification=arguments.justification,
    )
    content = document_bytes(document)
    record_export(ledger, document, "json", content)
    write_atomically(arguments.out, content)
    assert document.vetting is not None
    sys.stdout.write(
        f"{summary(document.vetting)}; selection: {document.vetting.selection}\nsigned and written to {arguments.out}. "
        f"The certificate: export {arguments.out} --format certificate --out certificate.html\n"
    )
    return 0


def decisions_from(
    approved: Sequence[str], rejected: Sequence[str], edited: Sequence[str], count: int
) -> tuple[Decision, ...]:
    """One decision for each of `count` demonstrations. Raises ConfigError for a wrong number, none, or two."""
    chosen: dict[int, Decision] = {}
    pairs: list[tuple[int, Decision]] = []
    for entry in rejected:
        number, reason = _split("--reject", "REASON", entry, count)
        pairs.append((number, Reject(reason)))
    for entry in edited:
        number, text = _split("--edit", "TEXT", entry, count)
        pairs.append((number, Edit(text)))
    pairs += [(_number("--approve", entry, count), Approve()) for entry in approved if entry != "all"]
    for number, decision in pairs:
        if number in chosen:
            raise ConfigError(f"demonstration {number} has two decisions; give one.")
        chosen[number] = decision
    if "all" in approved:
        chosen = {number: chosen.get(number, Approve()) for number in range(1, count + 1)}
    missing = [str(number) for number in range(1, count + 1) if number not in chosen]
    if missing:
        raise ConfigError(
            f"demonstration {', '.join(missing[:5])} has no decision; give --approve, --reject or --edit for each, or "
            "--approve all for those that are left."
        )
    return tuple(chosen[number] for number in range(1, count + 1))


def _found(ledger: Ledger, name: str) -> VettableRun:
    """The run of that id, or the one that a file names, if its texts are the ledger's."""
    path = Path(name)
    if not path.is_file():
        return vettable_run(ledger, name)
    document = read_document(read_bytes(path))
    if document.run is None:
        raise ExportError(f"{path.name} names no run of a ledger, so nobody can sign it; make the run again.")
    vettable = vettable_run(ledger, document.run)
    if document.vetting is None and document.demonstrations != vettable.document.demonstrations:
        raise ExportError(f"{path.name} does not hold the texts that its run released; vet the run itself.")
    return vettable


def _shown(ledger: Ledger, vettable: VettableRun) -> Iterable[str]:
    prices = {}
    for number, (shown, findings) in enumerate(
        zip(vettable.document.demonstrations, vettable.findings, strict=True), start=1
    ):
        yield f"{number}. {shown.label}: {shown.text or '(no text)'}"
        for finding in findings:
            place = f": {marked(shown.text, finding.spans)}" if finding.spans else ""
            yield f"   look at this: it {finding.sentence}{place}"
        if shown.label not in prices:
            prices[shown.label] = another_try(ledger, vettable.stored, shown.label).words()
        yield f"   {prices[shown.label]}"
    for view in vettable.views:
        yield f"opened before approval, by the ledger: {view.view} at {view.at[:19]}"
    if vettable.views:
        yield "so a signed file will say: selection: informed by private data, not covered by the guarantee"
    yield "nothing is signed yet; decide on each with --approve, --reject and --edit"


def _split(option: str, what: str, entry: str, count: int) -> tuple[int, str]:
    number, mark, rest = entry.partition("=")
    if not mark:
        raise ConfigError(f"{option} must look like N={what}, but has no equals sign; give a number first.")
    return _number(option, number, count), rest


def _number(option: str, text: str, count: int) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= count:
        raise ConfigError(
            f"{option} takes a number from 1 to {count}, but is {text[:20]!r}; see vet without decisions."
        )
    return int(text)
