"""The budget of a table, unfolded on purpose: the standing of its data asset, or the terms of a new one."""

from __future__ import annotations

import streamlit as st

from dpicl_core.ledger import DEFAULT_CAP_EPSILON, Asset, user_name
from dpicl_core.rounding import percent_left, thousandths_up
from pages.support import keep
from pages.support.asset import NEW_ASSET, known_assets, standing_of, where
from pages.support.badges import badge
from pages.support.text import plain, refusal

RULES = {"renyi": "Renyi filter: allows more runs", "sum": "Plain sum: easy to check by hand"}
SHOWN_LABELS = 12


def budget_of_table() -> None:
    """The folded part of the confirmation; needs the ledger's answer."""
    found = where()
    if found is None:
        return
    if found.known is None:
        refusal(found.problem)
        return
    bound = found.known.assets
    with st.expander("Budget of this table", expanded=len(bound) > 1, key="budget"):
        badge("public", "budget")
        for asset in bound:
            _standing(asset)
        if bound:
            _exception(must_choose=len(bound) > 1)
        else:
            _new_asset()
    keep.note(
        "budget_charge_to",
        "budget_name",
        "budget_owner",
        "budget_cap",
        "budget_rule",
        "budget_exception",
        "budget_decider",
        "budget_reason",
    )


def rule_words(asset: Asset) -> str:
    """How the runs of an asset add up."""
    return "plain sum of epsilons and of deltas" if asset.order is None else f"Renyi filter at order {asset.order:g}"


def _standing(asset: Asset) -> None:
    position = standing_of(asset)
    plain(f"By its rows this table belongs to data asset {asset.name}, which {asset.owner} answers for.")
    plain(
        f"Signed for good: the privacy loss of all runs together stays under epsilon {asset.epsilon:g} at delta "
        f"{asset.delta:g}, for every {asset.unit.value}. Runs add up by the {rule_words(asset)}."
    )
    plain(
        f"Spent so far: {100 * position.share_spent:.3g}% of that. Whatever comes next, everything released so far "
        f"stays under epsilon {thousandths_up(position.epsilon_spent):g}."
    )
    labels = position.labels()
    if len(labels) > 1:
        left = [f"{label} {percent_left(1 - position.spent(label) / asset.budget)}" for label in labels[:SHOWN_LABELS]]
        plain("Left for each label: " + ", ".join(left) + (", ..." if len(labels) > SHOWN_LABELS else "") + ".")


def _new_asset() -> None:
    plain(
        "The ledger does not know this table yet. The first run makes it a data asset, with the terms below, which "
        "nobody can change afterwards. Every later run on these rows is charged to it, from this screen, the command "
        "line or a notebook."
    )
    names = [asset.name for asset in known_assets()]
    if names:
        st.selectbox(
            "Charge this table to",
            [NEW_ASSET, *names],
            key=keep.ready("budget_charge_to", NEW_ASSET),
            format_func=lambda name: name or "A new data asset",
            help="An asset that is there already takes this table as its next version.",
        )
    if names and keep.value("budget_charge_to", NEW_ASSET):
        plain("Its terms stand as they were signed.")
        return
    left, right = st.columns(2)
    left.text_input("Name of the data asset (blank: the file's name)", key=keep.ready("budget_name", ""))
    right.text_input(f"Owner, who answers for it (blank: {_safe(user_name())})", key=keep.ready("budget_owner", ""))
    left.number_input(
        "Cap: the privacy loss epsilon of all runs together, for ever",
        0.01,
        1000.0,
        key=keep.ready("budget_cap", DEFAULT_CAP_EPSILON),
        step=1.0,
        help="At the cap runs are refused. A small cap is a strong promise; it cannot be raised later.",
    )
    right.radio(
        "How runs add up",
        list(RULES),
        key=keep.ready("budget_rule", "renyi"),
        format_func=lambda rule: RULES[rule],
        help="Both hold for plans that are chosen after seeing earlier texts.",
    )


def _exception(*, must_choose: bool) -> None:
    if must_choose:
        plain(
            "This table shares rows or persons with more than one data asset, so it is not clear whose budget it "
            "spends. Split the table so that each part meets one asset. Or, where the shared rows are no "
            "person's text, a named person may decide:"
        )
    elif not st.checkbox(
        "Charge another data asset, although rows are shared",
        key=keep.ready("budget_exception", False),
        help="Only where the shared rows are no person's text, such as a header that stands in every file.",
    ):
        return
    names = [asset.name for asset in known_assets()]
    st.selectbox(
        "Data asset to charge",
        [NEW_ASSET, *names],
        key=keep.ready("budget_charge_to", NEW_ASSET),
        format_func=lambda name: name or "Not chosen yet",
    )
    left, right = st.columns(2)
    left.text_input("Who decides", key=keep.ready("budget_decider", ""))
    right.text_input("Why the shared rows are no person's text", key=keep.ready("budget_reason", ""))
    chosen = [keep.value(key) for key in ("budget_charge_to", "budget_decider", "budget_reason")]
    if not all(str(value or "").strip() for value in chosen):
        st.caption("All three are needed; they are recorded in the ledger for good.")


def _safe(text: str) -> str:
    """A name inside a widget's label, which would otherwise be read as markdown."""
    return "".join(character if character.isalnum() or character in " ._-@" else " " for character in text)
