"""What a rehearsal found, below the plan: the chart, how sure it is, a schedule to take, and pictures."""

from __future__ import annotations

import streamlit as st

from dpicl_core.jobs import PicturedToken, Rehearsed
from dpicl_core.rehearsal import Rehearsal, recommend, schedule_sentence, sentences
from dpicl_core.specs import AnchoredSpec
from pages.support import keep
from pages.support.badges import figure_heading
from pages.support.choices import DEFAULT_EPSILON, choices_of, mechanism_of
from pages.support.figures import CONFIG, cluster_figure
from pages.support.guard import guarded
from pages.support.rehearsal_figures import agreement_figure, agreement_table, agreement_words
from pages.support.rehearsing import ANCHOR, Asked, answer, asked_now, changed_since, other_plan, titled
from pages.support.state import studio
from pages.support.text import plain, warning
from pages.support.words import COLOURS

PSEUDO = "pseudo-records, no private row was read"


@guarded
def rehearsal() -> None:
    """Everything below the plan; nothing before a rehearsal came to its end."""
    last = answer()
    if last is None:
        return
    then, result = last
    with st.container(border=True, key="rehearsal"):
        st.subheader("Rehearsal", anchor=ANCHOR)
        changed = _changed(then, result)
        if changed:
            warning(other_plan(changed, "This rehearsal"))
        left, right = st.columns([11, 9], gap="medium")
        with left:
            _chart(result)
        with right:
            _words(result, current=not changed)
            _schedule(result, current=not changed)
        st.fragment(_pictures)(result)


def _changed(then: Asked, result: Rehearsed) -> tuple[str, ...]:
    return changed_since(then, asked_now(choices_of(studio())), result)


def _chart(result: Rehearsed) -> None:
    figure_heading("Share of tokens the noise leaves unchanged, by epsilon", "public", "rehearsal", why=PSEUDO)
    st.plotly_chart(
        agreement_figure(result.found, _own_epsilon()),
        width="stretch",
        key="rehearsal_chart",
        config=CONFIG,
        alt=agreement_words(result.found),
    )
    with st.expander("The numbers"):
        st.dataframe(
            agreement_table(result.found),
            hide_index=True,
            width="stretch",
            key="rehearsal_table",
            alt="Table of the share of tokens left unchanged, with 95% intervals, by mechanism and epsilon",
        )


def _words(result: Rehearsed, *, current: bool) -> None:
    """All sentences for another plan's rehearsal; else only those that do not stand beside the plan already."""
    found = result.found
    told = sentences(found, recommend(found), titled=titled)
    for sentence in told[-1:] if current else told:
        plain(sentence)
    st.caption(
        f"Intervals: 95% over {found.steps} tokens, {found.draws} draws of noise on each. Tokens of one text hang "
        f"together, so the truth is a little less sure than they say. {own_epsilon_words(found, _own_epsilon())}"
    )


def own_epsilon_words(found: Rehearsal, own: float) -> str:
    """Where the plan's epsilon stands in the chart."""
    if own in {each.epsilon for each in found.forecasts}:
        return "The epsilon of the plan is bold."
    return f"The plan's epsilon, {own:g}, was not rehearsed itself: look between its neighbours, or rehearse again."


def _own_epsilon() -> float:
    return float(keep.value("plan_epsilon", DEFAULT_EPSILON))


def _schedule(result: Rehearsed, *, current: bool) -> None:
    found = result.found
    radii = ", ".join(f"{radius:g}" for radius in found.proposed_schedule)
    with st.container(border=True, key="rehearsal_schedule"):
        st.markdown(f"**Proposed schedule for Anchored: {radii}**")
        plain(schedule_sentence(found))
        plan = mechanism_of("anchored")
        has = isinstance(plan, AnchoredSpec) and plan.schedule == found.proposed_schedule
        has = has and keep.value("plan_mechanism") == "anchored"
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.button(
                "Use this schedule",
                key="rehearsal_use_schedule",
                icon=":material/check:",
                disabled=has or not current,
                on_click=_use_schedule,
                args=(radii,),
                help="Chooses Anchored and puts these radii under Advanced. They come from public things alone.",
            )
            if has:
                st.caption("The plan has it.", width="content")


def _use_schedule(radii: str) -> None:
    keep.put(plan_schedule=radii, plan_mechanism="anchored")


@guarded
def _pictures(result: Rehearsed) -> None:
    figure_heading("Cluster picture of the pseudo-records", "public", "rehearsal_clusters", why=PSEUDO)
    labels = tuple(dict.fromkeys(token.label for token in result.tokens))
    names = tuple(name for name, _ in result.tokens[0].views)
    left, right = st.columns([11, 9], gap="medium")
    with right:
        label = st.selectbox("Text for", labels, key="rehearsal_label")
        tokens = [token for token in result.tokens if token.label == (label or labels[0])]
        number = st.slider("Token", 1, max(len(tokens), 2), key="rehearsal_token", disabled=len(tokens) < 2)
        chosen = keep.value("plan_mechanism")
        mechanism = st.selectbox(
            "Mechanism",
            names,
            index=names.index(chosen) if chosen in names else 0,
            format_func=titled,
            key="rehearsal_mechanism",
        )
        token = tokens[min(number, len(tokens)) - 1]
        _token(token, mechanism or names[0], result)
    with left:
        st.plotly_chart(
            cluster_figure(dict(token.views)[mechanism or names[0]], COLOURS[mechanism or names[0]], pseudo=True),
            width="stretch",
            key="rehearsal_clusters_chart",
            config=CONFIG,
            alt="Next-word vectors of pseudo-records for one token in two principal components, with the public "
            "vector, and with ball and noisy means where the mechanism has them",
        )


def _token(token: PicturedToken, mechanism: str, result: Rehearsed) -> None:
    view = dict(token.views)[mechanism]
    plain(f"The text without noise, as far as this token: {token.text}")
    plain(
        "Each point is what the model expects next after one group of pseudo-records. One draw of the noise at "
        f"epsilon {result.found.at:g}. These two directions hold {view.kept_variance:.0%} of the spread."
    )
    if view.inside is not None:
        plain(f"{view.inside} of {len(view.points)} vectors lie inside the ball.")
    elif not len(view.means):
        plain("This mechanism releases the winner alone: there is no ball and no noisy mean to draw.")
