"""The confirmation: what this run costs, whose budget pays, what is left; and the one button that spends."""

from __future__ import annotations

import secrets

import streamlit as st

from dpicl_core.charged_runs import ReadyRun
from dpicl_core.errors import DPICLError
from dpicl_core.jobs import Offer, rough_seconds
from dpicl_core.ledger import Outlook
from dpicl_core.rounding import percent_left
from pages.support.asset import offer, where
from pages.support.budget import rule_words
from pages.support.choices import Choices, choices_of
from pages.support.guard import guarded
from pages.support.polling import polled
from pages.support.refused import refused
from pages.support.resuming import RUN_PARAMETER
from pages.support.state import change, quotes, registry, studio
from pages.support.text import count, duration, loss, plain
from pages.support.words import TITLES

POLL_SECONDS = 0.5


def confirmation() -> None:
    """Polled only while the ledger and the accountants work; what stands then is still, so no click meets a redraw."""
    polled(_draw, pending=lambda: offered_now() is None, seconds=POLL_SECONDS)


def offered_now() -> Offer | None:
    """The offer for the plan as it is chosen; None while something is still being worked out."""
    try:
        choices = choices_of(studio())
    except DPICLError as error:
        return Offer(None, str(error))
    quote = quotes().quote(choices.request)
    if quote.problem:
        return Offer(None, quote.problem)
    return None if where() is None else offer(choices)


@guarded
def _draw() -> None:
    offered = offered_now()
    with st.container(border=True, key="confirmation"):
        if offered is None:
            _being_prepared()
        elif offered.ready is None:
            refused(offered)
        else:
            _ready(offered.ready, choices_of(studio()))


def _being_prepared() -> None:
    """The same places as the finished confirmation, so that nothing jumps."""
    epsilon = quotes().quote(choices_of(studio()).request).epsilon_tight or 0
    _heading(epsilon)
    plain("By the paper's accountant: being computed ...")
    plain("The ledger is being asked which data asset pays, and what is left of it ...")
    _button(None, reads=choices_of(studio()).plan.mechanism.reads_private_rows)
    st.caption("The button opens when the ledger and both accountants have answered, in a few seconds.")


def _heading(epsilon: float) -> None:
    st.subheader(f"This run will spend epsilon {loss(epsilon)}, whatever happens after you press.", anchor=False)


def _ready(ready: ReadyRun, choices: Choices) -> None:
    plan = ready.plan
    reads = plan.mechanism.reads_private_rows
    _heading(max(price.epsilon_tight for price in ready.prices) if reads else 0)
    if reads:
        plain(
            f"By the paper's accountant: {loss(max(price.epsilon_paper for price in ready.prices))}. "
            f"delta {ready.request.delta:g}. A stop, a crash or an early end gives nothing back."
        )
        charged_to(ready, ready.outlook, "this run")
    else:
        plain(f"No private row is read. The run is recorded with data asset {ready.asset.name}, which pays nothing.")
    plain(
        f"{count(len(plan.target_labels), 'demonstration')} by {TITLES[plan.mechanism.name]}, up to "
        f"{count(plan.tokens, 'token')} each, for: {', '.join(plan.target_labels[:12])}. "
        f"About {duration(rough_seconds(plan, registry().pace()))}."
    )
    _button(ready.run_id, reads=reads)


def charged_to(ready: ReadyRun, outlook: Outlook, subject: str) -> None:
    """Whose budget pays, what was spent of it, and what paying would leave. subject: what is paid, in words."""
    asset = ready.asset
    kind = "the new data asset" if ready.is_new else "data asset"
    plain(
        f"Charged to {kind} {asset.name} of {asset.owner}: cap epsilon {asset.epsilon:g} at delta {asset.delta:g} over "
        f"all runs, {rule_words(asset)}. Spent so far: {100 * outlook.before.share_spent:.3g}% of the cap. After "
        f"{subject}: {percent_left(1 - outlook.after.share_spent)} left."
    )
    if outlook.paid_by_all:
        plain(f"Every label pays for {subject}: {outlook.paid_by_all}.")
    if ready.override is not None:
        plain(f"By exception, recorded for good: {ready.override.reason}")


def _button(ready_id: str | None, *, reads: bool) -> None:
    st.button(
        "Spend and start" if reads else "Start (spends nothing)",
        type="primary",
        key="spend",
        icon=":material/play_arrow:",
        disabled=ready_id is None,
        on_click=_start,
        args=(ready_id,),
    )


@guarded
def _start(ready_id: str | None) -> None:
    """Start the run that was on the screen, once: its id is paid once, however often the button is pressed."""
    state = studio()
    if state.dataset is None:
        return
    choices = choices_of(state)
    offered = offer(choices, as_drawn=True)
    if offered is None or offered.ready is None or offered.ready.run_id != ready_id:
        return  # something has changed since the button was drawn: the confirmation is drawn anew
    run_id = registry().submit(offered.ready, token=state.confirm_token, model=choices.model)
    change(run_id=run_id, confirm_token=secrets.token_urlsafe(16), own_runs=(*state.own_runs, run_id))
    st.query_params[RUN_PARAMETER] = run_id
