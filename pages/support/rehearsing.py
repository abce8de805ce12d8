"""Rehearsing the plan of the Plan screen: what is asked, whether the answer still belongs to the plan, and the button.

It spends nothing and reads no private row: what goes to the child process are the plan's public settings and the
public counts that its price is made of.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from dpicl_core.errors import DPICLError
from dpicl_core.jobs import RehearsalTask, Rehearsed, rough_rehearsal_seconds
from dpicl_core.rehearsal import RehearsalRequest, plan_is_worse, recommend, sentences
from dpicl_core.specs import AnchoredSpec, TangGaussianSpec
from pages.support import keep
from pages.support.choices import MECHANISMS, Choices, choices_of, mechanism_of
from pages.support.guard import guarded
from pages.support.session_tasks import asked_about, begin, found, going_on, progress
from pages.support.state import quotes, registry, studio
from pages.support.text import duration, plain, warning
from pages.support.words import TITLES

NAME = "rehearsal"
ANCHOR = "rehearsal"
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Rehearsed beside the plan's own; all of them are stops of the slider."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a rehearsal is about. model: None for the default one."""

    request: RehearsalRequest
    model: str | None


def asked_now(choices: Choices) -> Asked:
    """The rehearsal of the plan as it stands; the same for every chosen mechanism. Raises ConfigError."""
    priced = choices.request
    request = RehearsalRequest(
        plan=replace(choices.plan, mechanism=TangGaussianSpec()),
        mechanisms=tuple(spec for spec in map(mechanism_of, MECHANISMS) if spec.noise_multipliers()),
        epsilons=tuple(sorted({*EPSILONS, priced.epsilon})),
        pool_units=priced.pool_units,
        delta=priced.delta,
        at=priced.epsilon,
        accountant=priced.accountant,
    )
    return Asked(request, choices.model)


def answer() -> tuple[Asked, Rehearsed] | None:
    """The last rehearsal of this session that came to its end, of whatever plan; None where there is none."""
    about = asked_about(NAME)
    snapshot = None if about is None else found(NAME, about)
    if not isinstance(about, Asked) or snapshot is None or not isinstance(snapshot.result, Rehearsed):
        return None
    return about, snapshot.result


def changed_since(then: Asked, now: Asked, result: Rehearsed) -> tuple[str, ...]:
    """What of the plan is other now, in the words of the screen; nothing where the rehearsal still belongs to it.

    The chosen mechanism and epsilon do not matter, since all of them were tried; nor does the proposed schedule.
    """
    old, new = then.request, now.request
    known = {spec.name: spec for spec in old.mechanisms}
    asked = {spec.name: spec for spec in new.mechanisms}
    anchored = asked["anchored"]
    took = isinstance(anchored, AnchoredSpec) and anchored.schedule == result.found.proposed_schedule
    checks = (
        ("the prompt words", old.plan.task != new.plan.task),
        ("the demonstrations", old.plan.target_labels != new.plan.target_labels),
        ("M", old.plan.subsets != new.plan.subsets),
        ("N", old.plan.per_subset != new.plan.per_subset),
        ("T_max", old.plan.tokens != new.plan.tokens),
        ("K", old.plan.vocabulary != new.plan.vocabulary),
        ("the settings of AdaDPSyn", known["adadpsyn"] != asked["adadpsyn"]),
        ("the schedule of Anchored", known["anchored"] != anchored and not took),
        ("delta", old.delta != new.delta),
        ("the rows", old.pool_units != new.pool_units),
        ("the model", then.model != now.model),
    )
    named = tuple(name for name, differs in checks if differs)
    same_rest = replace(new, mechanisms=old.mechanisms, epsilons=old.epsilons, at=old.at)
    return named if named or same_rest == old else ("its settings",)


def rehearse_here() -> None:
    """The button, what goes on, and in a few sentences what came of it."""
    with st.container(key="rehearse"):
        _button()
        about = asked_about(NAME)
        if about is not None:
            progress(NAME, about, narrow=True)
        _result()


@guarded
def _button() -> None:
    choices = _choices()
    about = asked_about(NAME)
    busy = about is not None and going_on(NAME, about)
    again = answer() is not None
    st.button(
        "Rehearse again, free" if again else "Rehearse, free",
        key="rehearse_free",
        icon=":material/science:",
        disabled=choices is None or busy,
        on_click=_begin,
        help="The model writes pseudo-records from the instruction alone, and every mechanism adds its noise to them. "
        "Nothing is spent and no private row is read.",
    )
    if choices is not None and not again and not busy:
        seconds = rough_rehearsal_seconds(asked_now(choices).request, registry().pace())
        st.caption(f"What would the noise change? Spends nothing, reads no row; about {duration(seconds)}.")


@guarded
def _begin() -> None:
    asked = asked_now(choices_of(studio()))
    begin(NAME, asked, RehearsalTask(asked.request), asked.model)


def _choices() -> Choices | None:
    """The plan, where it has a price; the column beside says what is wrong where it has none."""
    try:
        choices = choices_of(studio())
    except DPICLError:
        return None
    return None if quotes().quote(choices.request).problem else choices


@guarded
def _result() -> None:
    last, choices = answer(), _choices()
    if last is None:
        return
    then, result = last
    if choices is None:
        st.caption(f"[The rehearsal of the plan before](#{ANCHOR}) stands below.")
        return
    if changed := changed_since(then, asked_now(choices), result):
        plain(other_plan(changed))
        return
    advice = recommend(result.found)
    with st.container(border=True, key="rehearsal_advice"):
        for sentence in sentences(result.found, advice, titled=titled)[:-1]:  # the last stands beside the chart
            plain(sentence)
        worse = plan_is_worse(result.found, str(keep.value("plan_mechanism")), choices.request.epsilon, titled=titled)
        if worse:
            warning(worse)
        mine = choices.request.epsilon == advice.epsilon and keep.value("plan_mechanism") == advice.mechanism
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.button(
                f"Take {titled(advice.mechanism)} at epsilon {advice.epsilon:g}",
                key="rehearsal_take",
                icon=":material/check:",
                disabled=mine,
                on_click=_take,
                args=(advice.mechanism, advice.epsilon),
            )
            if advice.public_may_do or result.found.public_unchanged.mean >= advice.unchanged.mean:
                st.button(
                    "Take Public only",
                    key="rehearsal_take_public",
                    icon=":material/check:",
                    disabled=keep.value("plan_mechanism") == "public-only",
                    on_click=keep.put,
                    kwargs={"plan_mechanism": "public-only"},
                    help="It reads no private row and spends nothing.",
                )
            if mine:
                st.caption("The plan has them.", width="content")
        st.markdown(f"[Chart, pictures and a schedule: the rehearsal below](#{ANCHOR})")


def other_plan(changed: tuple[str, ...], which: str = "The rehearsal below") -> str:
    """That the rehearsal shown is another plan's, and what to do. which: how the sentence calls it."""
    listed = changed[0] if len(changed) == 1 else f"{', '.join(changed[:-1])} and {changed[-1]}"
    return f"{which} belongs to another plan: since then {listed} changed. Rehearse again to see this one."


def titled(mechanism: str) -> str:
    """A mechanism's title within a sentence, where a comma would read as a list."""
    return TITLES[mechanism].replace(",", "")


def _take(mechanism: str, epsilon: float) -> None:
    keep.put(plan_mechanism=mechanism, plan_epsilon=epsilon)
