"""The playground: one typed query, answered with each set of demonstrations in the prompt, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from threading import Event
from typing import Any

import streamlit as st

from dpicl_core.documents import DemonstrationsDocument
from dpicl_core.errors import DPICLError
from dpicl_core.evaluation import DemonstrationSet, set_of
from dpicl_core.evaluation.playground import LONGEST_QUERY, PlaygroundAnswer, PlaygroundTask
from dpicl_core.evaluation.remote import RemoteModel, ask_remote, request_bytes
from dpicl_core.evaluation.sets import REAL_ROWS, ZERO_SHOT
from dpicl_core.jobs import BackgroundDesk
from dpicl_core.values import Task
from pages.support import keep, session_tasks
from pages.support.badges import badge
from pages.support.choices import MODEL_KINDS, model_of
from pages.support.evaluated import Evaluated
from pages.support.evaluation_figures import name_of
from pages.support.guard import guarded
from pages.support.polling import polled
from pages.support.state import ASKED
from pages.support.text import plain, refusal
from pages.support.words import MODEL_KINDS as KIND_WORDS
from pages.support.words import MODEL_NAME_HELP

PLAN, REMOTE = "plan", "remote"
_WHO = {PLAN: "The model chosen on Plan", **KIND_WORDS, REMOTE: "An OpenAI-compatible address"}
_SLOT = "playground"
_AWAY = f"{ASKED}playground_away"
_COLUMNS = 3
_FIELDS = ("play_query", "play_who", "play_name", "remote_address", "remote_model", "remote_key")


@dataclass(frozen=True, slots=True)
class _Away:
    """A question to an address. stop: set to leave out the sets that were not asked yet."""

    about: tuple[str | None, ...]
    answers: Future[tuple[PlaygroundAnswer, ...]] = field(repr=False)
    stop: Event


def playground(of: Evaluated) -> None:
    """The whole section."""
    with st.container(border=True, key="playground"):
        st.subheader("Playground", anchor=False)
        plain(
            "Type a query of your own; every set of demonstrations answers it. It reads released texts and your query "
            "alone and is not recorded, unless you add real rows. Do not type a private row."
        )
        st.text_area("Query", key=keep.ready("play_query", ""), height=90, max_chars=LONGEST_QUERY)
        st.selectbox("Who answers", list(_WHO), key=keep.ready("play_who", PLAN), format_func=_WHO.__getitem__)
        who = keep.value("play_who", PLAN)
        if who in MODEL_KINDS and who != "default":
            st.text_input(MODEL_NAME_HELP[who], key=keep.ready("play_name", ""))
        elif who == REMOTE:
            _address()
        sets = _sets(of, who)
        keep.note(*_FIELDS)
        if who == REMOTE:
            _preview(of.task, sets)
        going = session_tasks.going_on(_SLOT, of.about) or _waiting(of)
        st.button(
            "Ask",
            key="play_ask",
            type="primary",
            icon=":material/send:",
            disabled=going or not sets,
            on_click=_ask,
            args=(of, sets, who),
        )
        _answers(of, who)


def _address() -> None:
    left, right = st.columns(2)
    left.text_input(
        "Address (it usually ends in /v1)",
        key=keep.ready("remote_address", ""),
        placeholder="http://127.0.0.1:8000/v1",
        max_chars=500,
    )
    right.text_input("Name of the model there", key=keep.ready("remote_model", ""), max_chars=200)
    st.text_input(
        "Key (blank: none)",
        key=keep.ready("remote_key", ""),
        type="password",
        autocomplete="off",
        max_chars=500,
        help="Kept in the memory of this session alone, and forgotten with the table.",
    )
    st.caption("Sent there: the instruction, released texts, and your query. Never a private row.")


def _sets(of: Evaluated, who: str) -> tuple[DemonstrationSet, ...]:
    """The chosen sets. Real rows can be chosen for a model on this machine alone; they are drawn by the task."""
    known = {
        **{f"{at}": _numbered(at, document) for at, document in enumerate(of.documents, start=1)},
        ZERO_SHOT: DemonstrationSet(ZERO_SHOT, (), internal=False),
    }
    names = {key: _title(each.kind) for key, each in known.items()}
    offered = [key for key, each in known.items() if not each.internal]
    if who != REMOTE and of.private is not None:
        known[REAL_ROWS] = DemonstrationSet(REAL_ROWS, (), internal=True)
        names[REAL_ROWS] = "One real row a label (internal, recorded)"
        offered.append(REAL_ROWS)
    chosen = keep.ready(f"play_sets_{'_'.join(map(str, of.about))}", [key for key in offered if key != REAL_ROWS])
    st.session_state[chosen] = [key for key in st.session_state[chosen] if key in offered]
    st.multiselect("Sets", offered, key=chosen, format_func=names.__getitem__)
    keep.note(chosen)
    return tuple(known[key] for key in keep.value(chosen) if key in offered)


def _numbered(at: int, document: DemonstrationsDocument) -> DemonstrationSet:
    """Runs of one kind are told apart by their place."""
    found = set_of(document)
    return replace(found, kind=f"{at}. {found.kind}")


def _title(kind: str) -> str:
    number, dot, rest = kind.partition(". ")
    return f"{number}. {name_of(rest)}" if dot and number.isdigit() else name_of(kind)


def _preview(task: Task, sets: Sequence[DemonstrationSet]) -> None:
    """Exactly what would leave this machine."""
    with st.expander("What would be sent, to the letter"):
        try:
            remote = _remote()
            if remote.leaves_unencrypted:
                plain("This address is not encrypted (http): whoever is on the way can read query, texts and key.")
            plain(f"To {remote.endpoint}")
            for shown in sets:
                plain(request_bytes(remote, task, shown, _query()).decode("utf-8"))
        except DPICLError as error:
            plain(str(error))


@guarded
def _ask(of: Evaluated, sets: tuple[DemonstrationSet, ...], who: str) -> None:
    session_tasks.forget(_SLOT)
    st.session_state.pop(_AWAY, None)
    query = _query()
    if who == REMOTE:
        remote, task, stop = _remote(), of.task, Event()
        for shown in sets:  # whatever is wrong with it is said before anything is sent
            request_bytes(remote, task, shown, query)
        answers = _outward().ask(lambda: _asked_away(remote, task, sets, query, stop))
        st.session_state[_AWAY] = _Away(of.about, answers, stop)
        return
    real = any(shown.kind == REAL_ROWS for shown in sets)
    asked = PlaygroundTask(
        task=of.task,
        sets=tuple(shown for shown in sets if not shown.internal),
        query=query,
        plan=of.accuracy((), rows=1, seeds=1, calibrate=True, fold=False).plan if real else None,
        private=of.private if real else None,
    )
    session_tasks.begin(_SLOT, of.about, asked, _local_model(who))


def _asked_away(
    remote: RemoteModel, task: Task, sets: Sequence[DemonstrationSet], query: str, stop: Event
) -> tuple[PlaygroundAnswer, ...]:
    """Set after set, until one fails or a person has stopped it."""
    answers = []
    for shown in sets:
        if stop.is_set():
            break
        answers.append(ask_remote(remote, task, shown, query))
    return tuple(answers)


def _answers(of: Evaluated, who: str) -> None:
    if _away(of) is not None:
        polled(lambda: _waiting_words(of), pending=lambda: _waiting(of), seconds=session_tasks.POLL_SECONDS)
        return
    session_tasks.progress(_SLOT, of.about)
    snapshot = session_tasks.found(_SLOT, of.about)
    if snapshot is not None and snapshot.over and isinstance(snapshot.result, tuple):
        _side_by_side(snapshot.result)


def _waiting_words(of: Evaluated) -> None:
    away = _away(of)
    if away is None:
        return
    if not away.answers.done():
        with st.container(horizontal=True, vertical_alignment="center"):
            plain("The address is being asked ...")
            st.button("Stop", key="play_stop", icon=":material/stop:", on_click=_stop, args=(of,))
        return
    error = away.answers.exception()
    if isinstance(error, DPICLError):
        refusal(str(error))
    elif error is not None:
        refusal(f"The address could not be asked ({type(error).__name__}); check it and try again.")
    else:
        _side_by_side(away.answers.result())


def _side_by_side(answers: Sequence[PlaygroundAnswer]) -> None:
    """An answer under its set; probabilities for fixed labels of a model on this machine, its text otherwise."""
    for start in range(0, len(answers), _COLUMNS):
        row = answers[start : start + _COLUMNS]
        for at, (column, answer) in enumerate(zip(st.columns(_COLUMNS), row, strict=False), start=start):
            with column, st.container(border=True, key=f"answer_{at}"):
                st.text(_title(answer.kind))
                badge(_badge_of(answer), f"answer_{at}")
                plain(_words(answer))
                if answer.shares:
                    _shares(answer, at)


def _words(answer: PlaygroundAnswer) -> str:
    """The answer; both where calibration changes it."""
    if not answer.shares:
        return answer.text or "(no text)"
    fair = max(answer.shares, key=lambda share: share.calibrated).label
    return answer.text if fair == answer.text else f"{answer.text}; calibrated: {fair}"


def _shares(answer: PlaygroundAnswer, at: int) -> None:
    bar: dict[str, Any] = {"min_value": 0.0, "max_value": 1.0, "format": "%.2f", "width": 105}
    st.dataframe(
        {
            "label": [share.label for share in answer.shares],
            "probability": [share.raw for share in answer.shares],
            "calibrated": [share.calibrated for share in answer.shares],
        },
        hide_index=True,
        width="stretch",
        height=min(38 + 35 * len(answer.shares), 290),
        column_config={
            "probability": st.column_config.ProgressColumn("probability", **bar),
            "calibrated": st.column_config.ProgressColumn("calibrated", **bar),
        },
        key=f"shares_{at}",
        alt="Probability of every label, as the model says and calibrated",
    )


def _badge_of(answer: PlaygroundAnswer) -> str:
    return "internal" if answer.internal else "public" if answer.kind == ZERO_SHOT else "released"


def _away(of: Evaluated) -> _Away | None:
    away = st.session_state.get(_AWAY)
    return away if isinstance(away, _Away) and away.about == of.about else None


def _waiting(of: Evaluated) -> bool:
    away = _away(of)
    return away is not None and not away.answers.done()


def _stop(of: Evaluated) -> None:
    """Wait no longer; what was sent cannot be called back."""
    away = _away(of)
    if away is not None:
        away.stop.set()
        st.session_state.pop(_AWAY, None)


def _query() -> str:
    return str(keep.value("play_query", "") or "")


def _remote() -> RemoteModel:
    address, name, key = (str(keep.value(f"remote_{part}", "") or "").strip() for part in ("address", "model", "key"))
    return RemoteModel(address, name, key)


def _local_model(who: str) -> str | None:
    if who == PLAN:
        return model_of()
    return None if who == "default" else str(keep.value("play_name", "") or "").strip() or None


@st.cache_resource(show_spinner=False)
def _outward() -> BackgroundDesk:
    """Threads that wait for addresses, so that the ones that prepare runs never do."""
    return BackgroundDesk()
