"""Which runs stand side by side: their pages' ids are in the address, so a reload or a second tab keeps them."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

import streamlit as st

from dpicl_core.evaluation.comparison import shape_of
from dpicl_core.jobs import RunSnapshot
from pages.support.state import registry
from pages.support.text import loss
from pages.support.words import TITLES

RUNS_PARAMETER = "runs"
MOST_COLUMNS = 5
_SEPARATOR = "."
_MEMORY = "compare"


@dataclass(frozen=True, slots=True)
class Column:
    """One run and how it is called beside the others. name: fixed words and numbers alone."""

    at: int
    name: str
    snapshot: RunSnapshot = field(repr=False)

    @property
    def mechanism(self) -> str:
        return self.snapshot.plan.mechanism.name


@dataclass(slots=True)
class Memory:
    """What a session knows of its comparisons.

    shown: pages on the screen. newer: whether they are newer than the address, which is then put right. started: pages
    of the runs that this session paid for here. token: another one for each payment.

    Streamlit may cut a callback short wherever it touches the session's state, to run the script for a later press. So
    this is one object that is fetched before a payment and changed in place after it: what was paid is never lost.
    """

    shown: tuple[str, ...] = ()
    newer: bool = False
    started: tuple[str, ...] = ()
    token: str = field(default_factory=lambda: secrets.token_urlsafe(16))


def memory() -> Memory:
    """This session's."""
    if _MEMORY not in st.session_state:
        st.session_state[_MEMORY] = Memory()
    found: Memory = st.session_state[_MEMORY]
    return found


def shown_ids() -> tuple[str, ...]:
    """The ids of the address, else those this session looked at last, which then go into the address."""
    asked, kept = ids_of(st.query_params.get(RUNS_PARAMETER, "")), memory()
    if asked and not kept.newer:
        kept.shown = asked
    elif kept.shown:
        st.query_params[RUNS_PARAMETER] = _SEPARATOR.join(kept.shown)
    kept.newer = False
    return kept.shown


def ids_of(address: str) -> tuple[str, ...]:
    """The different ids of an address, as many as have room."""
    return tuple(dict.fromkeys(part for part in address.split(_SEPARATOR) if part))[:MOST_COLUMNS]


def show(ids: Sequence[str]) -> None:
    """Put these runs side by side."""
    memory().shown = tuple(ids)
    st.query_params[RUNS_PARAMETER] = _SEPARATOR.join(ids)


def leave() -> None:
    """Begin anew; the runs stay where they are."""
    memory().shown = ()
    if RUNS_PARAMETER in st.query_params:
        del st.query_params[RUNS_PARAMETER]


def snapshots_of(ids: Sequence[str]) -> tuple[RunSnapshot, ...]:
    """The runs of these ids that this server knows."""
    return tuple(found for each in ids if (found := registry().snapshot(each)) is not None)


def columns_of(snapshots: Sequence[RunSnapshot]) -> tuple[Column, ...]:
    """The runs that can stand beside the first: one plan, one data asset."""
    fitting = [each for each in snapshots if alike(each, snapshots[0])]
    return tuple(Column(at, name, each) for at, (name, each) in enumerate(zip(names_of(fitting), fitting, strict=True)))


def alike(one: RunSnapshot, other: RunSnapshot) -> bool:
    """Whether two runs share plan and asset. A run of a new asset has no asset's id yet, but its name."""
    return shape_of(one.plan) == shape_of(other.plan) and one.asset_name == other.asset_name


def names_of(snapshots: Sequence[RunSnapshot]) -> list[str]:
    """A name for each: the mechanism, with epsilon where there are two of it, and a number where even that is equal."""
    titles = [TITLES[each.plan.mechanism.name] for each in snapshots]
    full = [
        title if titles.count(title) == 1 else f"{title}, epsilon {loss(each.epsilon_tight)}"
        for title, each in zip(titles, snapshots, strict=True)
    ]
    return [name if full.count(name) == 1 else f"{name} ({full[: at + 1].count(name)})" for at, name in enumerate(full)]
