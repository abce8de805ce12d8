"""Runs of this table that were paid for and are not over: go on at no new cost, or close them for good."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime

import streamlit as st

from dpicl_core.charged_runs import InterruptedRun, ResumableRun, interrupted_runs
from dpicl_core.errors import ConfigError
from dpicl_core.ledger import user_name
from pages.support.asset import where
from pages.support.choices import model_of
from pages.support.guard import guarded
from pages.support.state import change, ledger, registry, studio
from pages.support.text import duration, loss, plain
from pages.support.words import TITLES

RUN_PARAMETER = "run"
SHOWN_RUNS = 5
_RECENT_SECONDS = 120
CLOSING_WORDS = "closed as partial by a person on the Generate screen"


def interrupted(only: str | None = None) -> None:
    """Offer each run that may go on. only: its id in the ledger, where one run alone is on the screen."""
    found = [run for run in _found() if only in (None, run.stored.id)]
    for run in found[:SHOWN_RUNS]:
        _offer(run, alone=only is not None)
    if len(found) > SHOWN_RUNS:
        plain(f"{len(found) - SHOWN_RUNS} more stand in the ledger: `ledger list` on the command line.")


def _found() -> list[InterruptedRun]:
    """Not those that are on, or in the queue, on this very server."""
    here = where() if studio().dataset is not None else None
    if here is None or here.known is None:
        return []
    going_on = registry().going_on()
    return [run for run in interrupted_runs(here.known, ledger()) if run.stored.id not in going_on]


def _offer(run: InterruptedRun, *, alone: bool) -> None:
    """alone: the run is on the screen, so that its mechanism, price and reason stand there already."""
    stored = run.stored
    with st.container(border=True, key=f"interrupted_{stored.id}"):
        which = "This run" if alone else "A run of this table"
        st.subheader(f"{which} was interrupted at token {run.tokens_done} of {run.tokens_most}.", anchor=False)
        mechanism = stored.plan.mechanism.name
        if not alone:
            plain(
                f"{TITLES.get(mechanism, mechanism)}, started {_when(stored.created_at)} by {stored.actor}, charged to "
                f"data asset {run.asset_name}: epsilon {loss(stored.epsilon)}, spent already. "
                + (f"It ended early: {stored.reason}" if stored.reason else "")
            )
        if stored.state == "running" and (seconds := _seconds_since(run.last_stored_at)) < _RECENT_SECONDS:
            plain(
                f"It may still be going on in another place: something of it was stored {duration(seconds)} ago. Going "
                "on here stops it there."
            )
        if not run.same_file:
            plain("It was made of another version of this table. To go on, read that very file.")
        with st.container(horizontal=True, vertical_alignment="center"):
            st.button(
                "Go on",
                key=f"go_on_{stored.id}",
                type="primary",
                icon=":material/play_arrow:",
                disabled=not run.same_file,
                on_click=_go_on,
                args=(stored.id,),
                help="From the stored tokens, with fresh secret draws; nothing is paid again.",
            )
            with st.popover("Close as partial", icon=":material/task_alt:"):
                plain("The run then ends for good, with the texts as far as they came. What it reserved stays spent.")
                st.button("Close it for good", key=f"close_{stored.id}", on_click=_close, args=(stored.id,))


@guarded
def _go_on(ledger_run_id: str) -> None:
    run, dataset = _the(ledger_run_id), studio().dataset
    assert dataset is not None
    work = ResumableRun(run.stored, run.asset_name, dataset, ledger(), user_name())
    _show(registry().submit(work, token=secrets.token_urlsafe(16), model=model_of()))


@guarded
def _close(ledger_run_id: str) -> None:
    run = _the(ledger_run_id)
    _show(registry().close_partial(ledger(), ledger_run_id, CLOSING_WORDS, asset_name=run.asset_name))


def _the(ledger_run_id: str) -> InterruptedRun:
    for run in _found():
        if run.stored.id == ledger_run_id:
            return run
    raise ConfigError("this run goes on already, or has ended meanwhile; look at it again.")


def _show(run_id: str) -> None:
    own = studio().own_runs
    change(run_id=run_id, own_runs=own if run_id in own else (*own, run_id))
    st.query_params[RUN_PARAMETER] = run_id


def _when(moment: str) -> str:
    return datetime.fromisoformat(moment).strftime("%Y-%m-%d %H:%M UTC")


def _seconds_since(moment: str) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()
