"""Starting a comparison: which mechanisms, what each spends and all together, and the one button that pays for all."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import streamlit as st

from dpicl_core.charged_runs import ReadyRun
from dpicl_core.errors import ConfigError, DPICLError
from dpicl_core.evaluation.comparison import shape_of
from dpicl_core.jobs import (
    ModelCheck,
    RunSnapshot,
    TaskSnapshot,
    TaskState,
    TogetherOffer,
    offer_together,
    pay_and_queue,
    rough_seconds,
)
from dpicl_core.language_model.protocol import ModelInfo
from dpicl_core.ledger import budgets_as_of
from dpicl_core.rounding import percent_left
from dpicl_core.runs import PrivacyRequest
from dpicl_core.values import GenerationPlan, Selection
from pages.support import keep
from pages.support.asset import asked, choice, where
from pages.support.badges import badge
from pages.support.budget import budget_of_table
from pages.support.choices import DEFAULT_EPSILON, MECHANISMS, choices_of, mechanism_of, model_of
from pages.support.compared import MOST_COLUMNS, memory
from pages.support.confirming import charged_to
from pages.support.guard import guarded
from pages.support.polling import polled
from pages.support.state import change, ledger, registry, studio
from pages.support.text import count, duration, loss, plain, refusal
from pages.support.words import TITLES

POLL_SECONDS = 0.5
_MODEL = "compare_model_check"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be compared. beside: runs that stand there already, which are not paid again."""

    plans: tuple[GenerationPlan, ...]
    request: PrivacyRequest
    model: str | None
    beside: tuple[RunSnapshot, ...] = field(default=(), repr=False)


@guarded
def starting(beside: Sequence[RunSnapshot] = ()) -> None:
    """Pick mechanisms, see what they spend, start them. beside: runs on the screen, whose plan the new ones take."""
    picked = _picked(beside)
    if not beside and len(picked) < 2:
        st.caption("Pick two mechanisms or more.")
        return
    if not picked:
        return
    if problem := _not_this_table(beside):
        plain(problem)
        return
    wanted = wanted_for(picked, tuple(beside))
    polled(lambda: _draw(wanted), pending=lambda: _pending(wanted), seconds=POLL_SECONDS)
    if not beside:
        budget_of_table()


def wanted_for(picked: Sequence[str], beside: tuple[RunSnapshot, ...]) -> Wanted:
    """The plan of the Plan screen with each mechanism, or that of the runs on the screen. Raises ConfigError."""
    state = studio()
    if not beside:
        each = [choices_of(state, mechanism=name) for name in picked]
        asked_for = each[0].request
        request = PrivacyRequest(asked_for.epsilon, asked_for.delta)
        return Wanted(tuple(chosen.plan for chosen in each), request, each[0].model)
    base = next((run for run in beside if run.request.epsilon is not None), beside[0])
    plans = tuple(_with_mechanism(base.plan, name) for name in picked)
    epsilon = base.request.epsilon or float(keep.value("plan_epsilon", DEFAULT_EPSILON))
    return Wanted(plans, replace(base.request, epsilon=epsilon), model_of(), beside)


def _with_mechanism(plan: GenerationPlan, name: str) -> GenerationPlan:
    spec = mechanism_of(name)
    return replace(plan, mechanism=spec, selection=plan.selection if spec.releases_vector else Selection())


def _picked(beside: Sequence[RunSnapshot]) -> tuple[str, ...]:
    there = {run.plan.mechanism.name for run in beside}
    room = MOST_COLUMNS - len(beside)
    names = [name for name in MECHANISMS if name not in there][:room]
    usual = {"adadpsyn", "tang-gaussian"} if len(beside) < 2 else set()
    suffix = "_".join(sorted(there)) or "new"
    keys = {name: f"compare_pick_{suffix}_{name}" for name in names}
    with st.container(horizontal=True, gap="medium", key="compare_picks"):
        for name, key in keys.items():
            st.checkbox(TITLES[name], key=keep.ready(key, name in usual))
    keep.note(*keys.values())
    return tuple(name for name, key in keys.items() if keep.value(key))


def _not_this_table(beside: Sequence[RunSnapshot]) -> str:
    """Why mechanisms cannot be added to the runs on the screen, in words; empty where they can."""
    if not beside:
        return ""
    if studio().dataset is None:
        return "To add a mechanism, read the table of these runs on Data again: each run draws from its rows."
    here = where()
    if here is None or here.known is None or any(each.name == beside[0].asset_name for each in here.known.assets):
        return ""
    return (
        f"These runs were charged to data asset {beside[0].asset_name}, and the table of this session is another one. "
        "To add a mechanism, read their table on Data."
    )


def _pending(wanted: Wanted) -> bool:
    """Whether the ledger, the accountants or the model still have to answer."""
    offered = _offered(wanted)
    if offered is None:
        return True
    return not offered.problem and not model_check(wanted).over


@guarded
def _draw(wanted: Wanted) -> None:
    with st.container(border=True, key="compare_confirmation"):
        offered, check = _offered(wanted), model_check(wanted)
        if offered is not None and offered.problem:
            refusal(offered.problem)
            return
        if check.over and check.state is not TaskState.DONE:
            refusal(check.reason)
            st.button("Ask the model again", key="compare_again", on_click=_forget_model_check)
            return
        if problem := _another_model(wanted, check):
            refusal(problem)
            return
        total = loss(offered.epsilon) if offered is not None else "..."
        spends = "Each mechanism spends by itself: together" if len(wanted.plans) > 1 else "This mechanism will spend"
        st.subheader(f"{spends} epsilon {total}, whatever happens after you press.", anchor=False)
        badge("public", "compare_price")
        with st.container(gap="xxsmall"):
            _prices(wanted, offered)
        _terms(wanted, offered)
        _button(wanted, offered if check.state is TaskState.DONE else None)
        if offered is None:
            st.caption("The button opens when the ledger and both accountants have answered, in a few seconds.")
        elif not check.over:
            st.caption(_model_words(check))


def _prices(wanted: Wanted, offered: TogetherOffer | None) -> None:
    for at, plan in enumerate(wanted.plans):
        title = TITLES[plan.mechanism.name]
        if not plan.mechanism.reads_private_rows:
            plain(f"{title}: reads no private row and spends nothing")
        elif offered is None:
            plain(f"{title}: being computed ...")
        else:
            plain(f"{title}: {_price_words(offered.ready[at])}")
    for run in wanted.beside:
        plain(f"{TITLES[run.plan.mechanism.name]}: stands here already and is not paid again")


def _price_words(ready: ReadyRun) -> str:
    tight = max(price.epsilon_tight for price in ready.prices)
    paper = max(price.epsilon_paper for price in ready.prices)
    alone = percent_left(1 - ready.outlook.after.share_spent)
    return f"epsilon {loss(tight)}, by the paper's accountant {loss(paper)}; alone it would leave {alone}"


def _terms(wanted: Wanted, offered: TogetherOffer | None) -> None:
    """Whose budget pays, how it is paid, what will be written, and for how long."""
    several = len(wanted.plans) > 1
    if offered is None or offered.outlook is None:
        plain("The ledger is being asked which data asset pays, and what is left of it ...")
    else:
        if several:
            plain(
                f"Together: epsilon {loss(offered.epsilon)} at delta {offered.delta:g}, the plain sum. Every run "
                "draws by itself, so their losses add up on the asset."
            )
        charged_to(offered.ready[0], offered.outlook, "all of these runs" if several else "this run")
    paid = "All of them are paid in one step" if several else "It is paid"
    plain(
        f"{paid}, before anything is drawn{': all or none' if several else ''}. A stop, a crash or an early end gives "
        "nothing back; a run that was cut short can be gone on with at no new cost."
    )
    plan = wanted.plans[0]
    seconds = sum(rough_seconds(each, registry().pace()) for each in wanted.plans)
    plain(
        f"{'Each' if several else 'It'} writes {count(len(plan.target_labels), 'demonstration')}, up to "
        f"{count(plan.tokens, 'token')} each, for: {', '.join(plan.target_labels[:12])}. "
        f"{'They run one after the other: about' if several else 'About'} {duration(seconds)}."
    )


def _button(wanted: Wanted, offered: TogetherOffer | None) -> None:
    reads = any(plan.mechanism.reads_private_rows for plan in wanted.plans)
    st.button(
        "Spend and start" if reads else "Start (spends nothing)",
        type="primary",
        key="compare_spend",
        icon=":material/play_arrow:",
        disabled=offered is None,
        on_click=_begin,
        args=(wanted, () if offered is None else tuple(each.run_id for each in offered.ready)),
    )


@guarded
def _begin(wanted: Wanted, ready_ids: tuple[str, ...]) -> None:
    """Pay for what was on the screen and queue it, once: a second press finds another token, or the same runs."""
    offered, check = _offered(wanted, as_drawn=True), model_check(wanted)
    jobs, kept = registry(), memory()
    if offered is None or tuple(each.run_id for each in offered.ready) != ready_ids:
        return  # something has changed since the button was drawn: it is drawn anew
    if not isinstance(check.result, ModelInfo):
        return
    ids = pay_and_queue(jobs, offered.ready, check.result, model=wanted.model)
    kept.shown, kept.newer = (*(run.run_id for run in wanted.beside), *ids), True
    kept.started, kept.token = (*kept.started, *ids), secrets.token_urlsafe(16)


def note_started() -> None:
    """Count what was started here among the session's runs, outside of the callback, which may be cut short."""
    own, started = studio().own_runs, memory().started
    if not set(started) <= set(own):
        change(own_runs=tuple(dict.fromkeys((*own, *started))))


def _offered(wanted: Wanted, *, as_drawn: bool = False) -> TogetherOffer | None:
    """The runs as the confirmation states them; None while they are being prepared. as_drawn: as in asset.offer."""
    dataset, chosen = studio().dataset, choice()
    assert dataset is not None
    if where() is None:
        return None
    try:
        book = ledger()
        with book.read() as connection:
            as_of = budgets_as_of(connection)
    except DPICLError as error:
        return TogetherOffer((), None, str(error))
    key = (studio().table_id, memory().token, book.ledger_id, wanted.plans, wanted.request, chosen)
    answer = asked(
        "compare",
        key,
        lambda: offer_together(dataset, wanted.plans, wanted.request, chosen, book),
        as_of=as_of,
        as_drawn=as_drawn,
    )
    return answer.result() if answer.done() else None


def model_check(wanted: Wanted) -> TaskSnapshot:
    """What the child says of the model that will make the runs; asked anew for another plan or model."""
    key = (wanted.model, shape_of(wanted.plans[0]))
    kept = st.session_state.get(_MODEL)
    if kept is None or kept[0] != key or registry().answer(kept[1]) is None:
        _forget_model_check()
        task = ModelCheck(shape_of(wanted.plans[0]))
        kept = (key, registry().ask(task, token=secrets.token_urlsafe(16), model=wanted.model))
        st.session_state[_MODEL] = kept
    found = registry().answer(kept[1])
    if found is None:
        raise ConfigError("the model could not be asked; open this screen again.")
    return found


def _forget_model_check() -> None:
    kept = st.session_state.pop(_MODEL, None)
    if kept is not None:
        registry().forget_task(kept[1])


def _model_words(check: TaskSnapshot) -> str:
    if check.state is TaskState.QUEUED:
        return f"The button opens when the model is free. Runs or other work before it: {max(check.place, 1)}."
    return f"The button opens when the model is ready: {check.fraction:.0%}."


def _another_model(wanted: Wanted, check: TaskSnapshot) -> str:
    """Why the model that is chosen cannot stand beside the runs on the screen; empty where it can."""
    if not isinstance(check.result, ModelInfo):
        return ""
    for run in wanted.beside:
        if run.model is not None and run.model.weights_sha256 != check.result.weights_sha256:
            return (
                f"the runs on the screen were made with model {run.model.name}, and {check.result.name} is chosen on "
                "Plan; choose the first one there, so that mechanisms are compared and not models."
            )
    return ""
