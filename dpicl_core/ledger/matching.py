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
from dpicl_core.ledger.fingerprints import Fingerprint, Weight
from dpicl_core.ledger.store import Ledger
from dpicl_core.specs import require

SHARED_TENTH = 0.1
"""Share of rows that binds a file to an asset where no long row does."""

_CHUNK = 2000


@dataclass(frozen=True, slots=True)
class Meeting:
    """How much a file shares with an asset. shared, long: its rows that stand there, in all and of eight words or more.

    share: of the file's telling rows, or of the asset's, whichever is larger.
    """

    asset: Asset
    shared: int
    long: int
    share: float

    @property
    def binds(self) -> bool:
        """Whether the file must be charged to the asset."""
        return self.long > 0 or self.share >= SHARED_TENTH


def meetings(connection: Connection, mark: Fingerprint) -> list[Meeting]:
    """The assets that share a row with the file, those that bind it first."""
    weight_here: dict[str, Weight] = {entry.row: entry.weight for entry in mark.marks}
    telling = sum(weight >= Weight.SOMETHING for weight in weight_here.values())
    shared: dict[str, set[str]] = {}
    for chunk in _chunks(list(weight_here)):
        query = sa.select(schema.rows.c.asset_id, schema.rows.c.row_hash).where(schema.rows.c.row_hash.in_(chunk))
        for asset_id, row in connection.execute(query):
            shared.setdefault(asset_id, set()).add(row)
    found = []
    for asset in all_assets(connection):
        rows = shared.get(asset.id)
        if not rows:
            continue
        common = sum(weight_here[row] >= Weight.SOMETHING for row in rows)
        # a file padded with other rows, or cut to a few, still shares a tenth of one side
        share = common / max(min(telling, _telling_rows(connection, asset.id)), 1)
        long = sum(weight_here[row] is Weight.EVERYTHING for row in rows)
        found.append(Meeting(asset, len(rows), long, share))
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
            f"this file shares rows with {len(bound)} assets ({_listed(bound)}), so it is not clear which budget it "
            "spends. Split the file so that each part meets one asset; or, if the shared rows are no person's text, "
            "name the asset with --asset and say why with --override-reason, which is recorded under your name."
        )
    if wanted is not None and others:
        raise BudgetError(
            f"this file shares rows with asset {_listed(others)}, so it is charged there, not to {wanted}. Leave "
            "--asset out; or, if the shared rows are no person's text, name an existing asset and say why with "
            "--override-reason, which is recorded under your name."
        )
    return bound[0].asset if bound else named


def relabelled_rows(connection: Connection, asset: Asset, mark: Fingerprint) -> int:
    """Rows of the file that the asset knows under other labels alone; short rows prove nothing.

    Budgets for each label are only right while a row keeps its label.
    """
    telling = {entry.pair: entry.row for entry in mark.marks if entry.weight >= Weight.SOMETHING}
    known_rows: set[str] = set()
    known_pairs: set[str] = set()
    for row, pair in _known(connection, asset, telling.values()):
        known_rows.add(row)
        known_pairs.add(pair)
    return sum(row in known_rows and pair not in known_pairs for pair, row in telling.items())


def tie_file(connection: Connection, ledger: Ledger, asset: Asset, mark: Fingerprint, *, actor: str) -> str:
    """Tie this version of a file to its asset, new rows added; the version's id. Known versions change nothing."""
    query = sa.select(schema.files.c.id).where(
        schema.files.c.asset_id == asset.id, schema.files.c.file_hash == mark.file_hash
    )
    known = connection.execute(query).scalar()
    if known is not None:
        return str(known)
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
    known_rows = {row for row, _ in _known(connection, asset, (entry.row for entry in mark.marks))}
    fresh = [
        {
            "asset_id": asset.id,
            "pair_hash": entry.pair,
            "row_hash": entry.row,
            "weight": int(entry.weight),
            "file_id": str(file["id"]),
        }
        for entry in mark.marks
        if entry.row not in known_rows
    ]
    facts = [chain.Fact("asset_files", str(file["id"]), chain.row_digest(file))]
    if fresh:
        connection.execute(schema.rows.insert(), fresh)
        facts.append(chain.Fact("asset_rows", str(file["id"]), chain.group_digest(fresh)))
    details = {"rows": mark.rows, "persons": mark.persons, "new_rows": len(fresh)}
    chain.append(connection, ledger, "file-tied", actor=actor, asset_id=asset.id, facts=facts, details=details)
    return str(file["id"])


def _telling_rows(connection: Connection, asset_id: str) -> int:
    query = sa.select(sa.func.count(sa.distinct(schema.rows.c.row_hash))).where(
        schema.rows.c.asset_id == asset_id, schema.rows.c.weight >= int(Weight.SOMETHING)
    )
    return int(connection.execute(query).scalar() or 0)


def _known(connection: Connection, asset: Asset, hashes: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The asset's rows among these, each as row and pair; sought by row alone, since that is what is indexed."""
    for chunk in _chunks(list(dict.fromkeys(hashes))):
        columns = (schema.rows.c.asset_id, schema.rows.c.row_hash, schema.rows.c.pair_hash)
        for asset_id, row, pair in connection.execute(sa.select(*columns).where(schema.rows.c.row_hash.in_(chunk))):
            if asset_id == asset.id:
                yield row, pair


def _chunks(values: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(values), _CHUNK):
        yield values[start : start + _CHUNK]


def _listed(found: Iterable[Meeting]) -> str:
    return "; ".join(f"{meeting.asset.name}: {meeting.shared} rows" for meeting in found)
