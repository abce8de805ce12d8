"""The table's data asset on the screens: where it belongs, what the steward says of it, what a run would cost it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from concurrent.futures import Future
from dataclasses import replace
from typing import TypeVar

import streamlit as st

from dpicl_core.charged_runs import AssetChoice, refreshed
from dpicl_core.errors import DPICLError
from dpicl_core.jobs import Offer, Whereabouts, offer_for, whereabouts
from dpicl_core.ledger import DEFAULT_CAP_EPSILON, Asset, Standing, all_assets, budgets_as_of, standing
from dpicl_core.ledger.purge import purged_when
from dpicl_core.rounding import percent_left
from dpicl_core.runs import PrivacyRequest
from pages.support import keep
from pages.support.choices import Choices
from pages.support.state import ASKED, background, ledger, studio

Answer = TypeVar("Answer")

NEW_ASSET = ""
"""In the select box of assets: none of those there are."""


def where() -> Whereabouts | None:
    """The assets of this session's table; None while the ledger is being asked."""
    state = studio()
    dataset = state.dataset
    assert dataset is not None
    try:
        book = ledger()
    except DPICLError as error:
        return Whereabouts(None, str(error))
    answer = asked("where", (state.table_id, book.ledger_id), lambda: whereabouts(dataset, book))
    if not answer.done():
        return None
    found = answer.result()
    if found.known is None:
        return found
    try:
        return Whereabouts(refreshed(found.known, book))
    except DPICLError as error:
        return Whereabouts(None, str(error))


def offer(choices: Choices, *, as_drawn: bool = False) -> Offer | None:
    """The run as the confirmation states it; None while it is being prepared. What is shown is what is paid.

    It is prepared anew where somebody has spent meanwhile; as_drawn: for a press of the button, which is about what was
    on the screen (paying looks at the cap again).
    """
    state = studio()
    dataset, plan, chosen = state.dataset, choices.plan, choice()
    assert dataset is not None
    try:
        book = ledger()
        with book.read() as connection:
            as_of = budgets_as_of(connection)
    except DPICLError as error:
        return Offer(None, str(error))
    reads = plan.mechanism.reads_private_rows
    request = PrivacyRequest(choices.request.epsilon if reads else None, choices.request.delta)
    key = (state.table_id, state.confirm_token, book.ledger_id, plan, request, chosen)
    answer = asked(
        "offer", key, lambda: offer_for(dataset, plan, request, chosen, book), as_of=as_of, as_drawn=as_drawn
    )
    return answer.result() if answer.done() else None


def choice() -> AssetChoice:
    """What the fields of the budget say; the engine's defaults where they say nothing."""
    return replace(_choice(), accept_delta=bool(keep.value("plan_accept_delta", False)))


def _choice() -> AssetChoice:
    found = where()
    if found is None or found.known is None:
        return AssetChoice()
    other = str(keep.value("budget_charge_to", NEW_ASSET) or NEW_ASSET)
    if found.known.assets:
        who, why = (str(keep.value(key, "") or "").strip() for key in ("budget_decider", "budget_reason"))
        excepted = bool(keep.value("budget_exception", False)) or len(found.known.assets) > 1
        if excepted and other and who and why:
            return AssetChoice(name=other, override_reason=f"{who}: {why}")
        return AssetChoice()
    if other:
        return AssetChoice(name=other)
    cap = float(keep.value("budget_cap", DEFAULT_CAP_EPSILON))
    return AssetChoice(
        name=str(keep.value("budget_name", "") or "").strip() or None,
        owner=str(keep.value("budget_owner", "") or "").strip() or None,
        cap=None if cap == DEFAULT_CAP_EPSILON else cap,
        rule="sum" if keep.value("budget_rule") == "sum" else None,
    )


def standing_of(asset: Asset) -> Standing:
    """What an asset has spent until now."""
    with ledger().read() as connection:
        return standing(connection, asset)


def known_assets() -> list[Asset]:
    """Every asset of the ledger, oldest first."""
    with ledger().read() as connection:
        return all_assets(connection)


def left_line() -> str:
    """What is left of the table's asset, in one phrase for the header."""
    found = where()
    if found is None:
        return "the ledger is being asked what is left"
    if found.known is None:
        return "the ledger cannot be read, so no run can start"
    if not found.known.assets:
        return "nothing spent from this table yet"
    if len(found.known.assets) > 1:
        return "this table meets several data assets; decide on Generate"
    asset = found.known.assets[0]
    try:
        with ledger().read() as connection:
            if purged_when(connection, asset) is not None:
                return f"asset {asset.name} was ended for good, so no run is charged to it any more"
            spent = standing(connection, asset).share_spent
    except DPICLError:
        return "the ledger cannot be read, so no run can start"
    return f"left of asset {asset.name}: {percent_left(1 - spent)} of {asset.epsilon:g}"


def asked(
    name: str, key: Hashable, question: Callable[[], Answer], *, as_of: Hashable = None, as_drawn: bool = False
) -> Future[Answer]:
    """The session's question of that name, asked anew where the key is another one.

    as_of: what the answer rests on besides, asked anew for another one too unless the answer is wanted as it was drawn.
    """
    slot = f"{ASKED}{name}"
    kept = st.session_state.get(slot)
    if kept is None or kept[0] != key or (kept[1] != as_of and not as_drawn):
        if kept is not None:
            kept[2].cancel()
        kept = st.session_state[slot] = (key, as_of, background().ask(question))
    answer: Future[Answer] = kept[2]
    return answer
