"""How a file finds the asset that it must be charged to, by keyed hashes of its rows."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from dpicl_core.errors import BudgetError
from dpicl_core.ledger import chain, schema
from dpicl_core.ledger.assets import Asset, all_assets, asset_named
from dpicl_core.ledger.fingerprints import ROW_WEIGHTS, Fingerprint, RowMark, Weight
from dpicl_core.ledger.store import Ledger
from dpicl_core.specs import require
from dpicl_core.values import PrivacyUnit

SHARED_TENTH = 0.1
"""Share of rows that binds a file to an asset where no long row does."""

_CHUNK = 2000


@dataclass(frozen=True, slots=True)
class Meeting:
    """How much a file shares with an asset. shared, long: its rows that stand there, in all and of eight words or more.

    share: of the file's telling rows, or of the asset's, whichever is larger. same_file: the very file was charged
    there, in this reading or in another. persons, person_share: the same for persons of a person column.
    """

    asset: Asset
    shared: int
    long: int
    share: float
    same_file: bool = False
    persons: int = 0
    person_share: float = 0.0

    @property
    def binds(self) -> bool:
        """Whether the file must be charged to the asset."""
        return self.same_file or self.long > 0 or max(self.share, self.person_share) >= SHARED_TENTH

    def words(self) -> str:
        """What is shared, for a person."""
        parts = ["the very file"] if self.same_file else []
        parts += [f"{self.shared} rows"] if self.shared else []
        parts += [f"{self.persons} persons"] if self.persons else []
        return f"{self.asset.name}: {', '.join(parts)}"


def meetings(connection: Connection, mark: Fingerprint) -> list[Meeting]:
    """The assets that share a row, a person or the whole file, those that bind it first."""
    weight_here: dict[str, Weight] = {entry.row: entry.weight for entry in mark.marks}
    telling = sum(entry in ROW_WEIGHTS for entry in weight_here.values())
    shared: dict[str, set[str]] = {}
    for chunk in _chunks([*weight_here, *mark.other_marks]):
        query = sa.select(schema.rows.c.asset_id, schema.rows.c.row_hash).where(schema.rows.c.row_hash.in_(chunk))
        for asset_id, row in connection.execute(query):
            shared.setdefault(asset_id, set()).add(row)
    file = schema.files.c
    tied = set(connection.execute(sa.select(file.asset_id).where(file.file_hash == mark.file_hash)).scalars())
    found = []
    for asset in all_assets(connection):
        met = shared.get(asset.id, set())
        if not met and asset.id not in tied:
            continue
        rows, persons = met & weight_here.keys(), met & mark.person_marks
        common = sum(weight_here[row] in ROW_WEIGHTS for row in rows)
        # a file padded with other rows, or cut to a few, still shares a tenth of one side
        share = common / max(min(telling, _count(connection, asset.id, ROW_WEIGHTS)), 1)
        known = _count(connection, asset.id, (Weight.A_PERSON,)) if persons else 1
        found.append(
            Meeting(
                asset=asset,
                shared=len(rows),
                long=sum(weight_here[row] is Weight.EVERYTHING for row in rows),
                share=share,
                same_file=asset.id in tied or mark.bytes_mark in met,
                persons=len(persons),
                person_share=len(persons) / max(min(len(mark.person_marks), known), 1),
            )
        )
    return sorted(found, key=lambda meeting: (not meeting.binds, -meeting.long, -meeting.share))


def asset_for(connection: Connection, mark: Fingerprint, *, wanted: str | None, override: bool) -> Asset | None:
    """The asset that a file is charged to; None where none knows it and none is wanted by an existing name.

    wanted: a name given by the steward; an existing asset of that name takes a file that no asset knows, as its next
    version. override: a named person decided against the match, with a reason that the caller records.
    Raises BudgetError, with the choice explained, where the file meets two assets, or another one than wanted.
    """
    bound = [meeting for meeting in meetings(connection, mark) if meeting.binds]
    named = None if wanted is None else asset_named(connection, wanted)
    others = [meeting for meeting in bound if named is None or meeting.asset.id != named.id]
    if override:
        require(
            named is not None, "an override must name an existing asset with --asset; list them with `ledger list`."
        )
        return named
    if len(bound) > 1:
        raise BudgetError(
            f"this file shares rows or persons with {len(bound)} assets ({_listed(bound)}), so it is not clear which "
            "budget it spends. Split the file so that each part meets one asset; or, if the shared rows are no "
            "person's text, name the asset with --asset and say why with --override-reason, which is recorded under "
            "your name."
        )
    if wanted is not None and others:
        raise BudgetError(
            f"this file shares rows or persons with asset {_listed(others)}, so it is charged there, not to {wanted}. "
            "Leave --asset out; or, if the shared rows are no person's text, name an existing asset and say why with "
            "--override-reason, which is recorded under your name."
        )
    return bound[0].asset if bound else named


def share_anything(connection: Connection, asset_id: str, other_id: str) -> bool:
    """Whether two assets have a telling row, a person or a file in common, as after an override."""
    one, other = schema.rows.alias(), schema.rows.alias()
    query = (
        sa.select(one.c.row_hash)
        .join(other, other.c.row_hash == one.c.row_hash)
        .where(one.c.asset_id == asset_id, other.c.asset_id == other_id, one.c.weight != int(Weight.NOTHING))
        .limit(1)
    )
    return connection.execute(query).first() is not None


def relabelled_rows(connection: Connection, asset: Asset, mark: Fingerprint) -> int:
    """Rows of the file of which the ledger cannot say that their unit pays where it has always paid; short rows prove
    nothing.

    Budgets for each label are only right while a unit keeps its label. A row counts here where the asset knows it under
    other labels alone; where another version of the table had it under several labels, as nobody knows which of them it
    is; and, where persons are protected, where the asset knows the row and not the person, who may be one that it knows
    under another name.
    """
    telling = [entry for entry in mark.marks if entry.tells]
    this_version = _version(connection, asset, mark)
    known: dict[str, dict[str, str]] = {}
    for row, pair, file_id in _known(connection, asset, (entry.row for entry in telling)):
        known.setdefault(row, {})[pair] = file_id
    by_person = asset.unit is PrivacyUnit.PERSON
    people = {row for row, _, _ in _known(connection, asset, mark.person_marks)} if by_person else set()

    def strange(entry: RowMark) -> bool:
        pairs = known.get(entry.row)
        if pairs is None:
            return False
        several = len(pairs) > 1 and any(file_id != this_version for file_id in pairs.values())
        return entry.pair not in pairs or several or (by_person and not entry.persons <= people)

    return sum(strange(entry) for entry in telling)


def tie_file(connection: Connection, ledger: Ledger, asset: Asset, mark: Fingerprint, *, actor: str) -> str:
    """Tie this version of a file to its asset, new rows added; the version's id. Known versions change nothing."""
    known = _version(connection, asset, mark)
    if known is not None:
        return known
    file = {
        "id": secrets.token_hex(16),
        "asset_id": asset.id,
        "file_hash": mark.file_hash,
        "rows": mark.rows,
        "persons": mark.persons,
        "text_column": mark.text_column,
        "label_column": mark.label_column,
        "person_column": mark.person_column,
        "added_at": chain.now(),
        "added_by": actor,
    }
    connection.execute(schema.files.insert().values(**file))
    # a pair under a second label is not added: a relabelled row stays relabelled, whatever runs come after
    marks = [(entry.pair, entry.row, entry.weight) for entry in mark.marks]
    marks += [(other, other, weight) for other, weight in mark.other_marks.items()]
    known_rows = {row for row, _, _ in _known(connection, asset, (row for _, row, _ in marks))}
    fresh = [
        {"asset_id": asset.id, "pair_hash": pair, "row_hash": row, "weight": int(weight), "file_id": str(file["id"])}
        for pair, row, weight in marks
        if row not in known_rows
    ]
    facts = [chain.Fact("asset_files", str(file["id"]), chain.row_digest(file))]
    if fresh:
        connection.execute(schema.rows.insert(), fresh)
        facts.append(chain.Fact("asset_rows", str(file["id"]), chain.group_digest(fresh)))
    new_rows = sum(entry["weight"] not in (Weight.THE_FILE, Weight.A_PERSON) for entry in fresh)
    details = {"rows": mark.rows, "persons": mark.persons, "new_rows": new_rows}
    chain.append(connection, ledger, "file-tied", actor=actor, asset_id=asset.id, facts=facts, details=details)
    return str(file["id"])


def _version(connection: Connection, asset: Asset, mark: Fingerprint) -> str | None:
    """The id of this very table among the asset's files."""
    query = sa.select(schema.files.c.id).where(
        schema.files.c.asset_id == asset.id, schema.files.c.file_hash == mark.file_hash
    )
    return connection.execute(query).scalar()


def _count(connection: Connection, asset_id: str, weights: Sequence[Weight]) -> int:
    """Distinct marks of these weights that an asset has."""
    query = sa.select(sa.func.count(sa.distinct(schema.rows.c.row_hash))).where(
        schema.rows.c.asset_id == asset_id, schema.rows.c.weight.in_([int(weight) for weight in weights])
    )
    return int(connection.execute(query).scalar() or 0)


def _known(connection: Connection, asset: Asset, hashes: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """The asset's marks among these, each as row, pair and version; sought by row alone, since that is indexed."""
    column = schema.rows.c
    for chunk in _chunks(list(dict.fromkeys(hashes))):
        columns = (column.asset_id, column.row_hash, column.pair_hash, column.file_id)
        for asset_id, row, pair, file_id in connection.execute(sa.select(*columns).where(column.row_hash.in_(chunk))):
            if asset_id == asset.id:
                yield row, pair, file_id


def _chunks(values: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(values), _CHUNK):
        yield values[start : start + _CHUNK]


def _listed(found: Iterable[Meeting]) -> str:
    return "; ".join(meeting.words() for meeting in found)
