"""What this buys: price, noise, risk in words, feasibility and time, beside the slider. Declared numbers alone."""

from __future__ import annotations

import math

import streamlit as st

from dpicl_core.errors import DPICLError
from dpicl_core.jobs import LabelQuote, Quote, rough_seconds
from dpicl_core.rounding import percent_left
from dpicl_core.values import GenerationPlan
from pages.support.asset import offer, where
from pages.support.badges import badge, figure_heading
from pages.support.choices import Choices, choices_of
from pages.support.guard import guarded
from pages.support.polling import polled
from pages.support.refused import refused
from pages.support.state import quotes, registry, studio
from pages.support.text import duration, loss, number, plain, refusal, warning

_HIGH_NOISE = 1.5
"""A label whose noise is this many times that of the best label is named."""


def what_this_buys() -> None:
    """The right column. While slow numbers are being worked out it asks again twice a second."""
    polled(_column, pending=price_pending, seconds=0.5)


def price_pending() -> bool:
    """Whether a number of this plan's price, or what its asset says, is still being worked out; the column polls."""
    try:
        choices = choices_of(studio())
    except DPICLError:
        return False
    quote = quotes().quote(choices.request)
    return not quote.complete or (not quote.problem and (where() is None or offer(choices) is None))


@guarded
def _column() -> None:
    state = studio()
    st.subheader("What this buys", anchor=False)
    badge("public", "bought")
    try:
        choices = choices_of(state)
    except DPICLError as error:
        refusal(str(error))
        return
    quote = quotes().quote(choices.request)
    if quote.problem:
        refusal(quote.problem)
    else:
        _price(quote)
        _budget(choices, known=quote.complete)
        _drowned(quote, choices.plan)
    with st.container(key="bought_more"):  # what a phone folds away
        if not quote.problem:
            _noise(quote, choices.plan)
            _risk(quote, choices.plan)
        _feasibility(quote, choices.plan)
        seconds = rough_seconds(choices.plan, registry().pace())
        st.markdown(f"About **{duration(seconds)}** on this machine, once the model is loaded.")


def _price(quote: Quote) -> None:
    paper = "being computed ..." if quote.epsilon_paper is None else loss(quote.epsilon_paper)
    st.markdown(f"The privacy loss epsilon **{loss(quote.epsilon_tight or 0)}**, by the tight accountant")
    st.caption(f"By the paper's accountant: {paper}")


def _budget(choices: Choices, *, known: bool) -> None:
    """What would be left of the table's asset, or that it cannot pay; asked once the price is known, not before, so
    that a slider on its way asks nothing. known: whether it is."""
    offered = offer(choices) if known and where() is not None else None
    if offered is None:
        plain("Budget: the ledger is being asked ...")
    elif offered.ready is None:
        refused(offered)
    elif choices.plan.mechanism.reads_private_rows:
        left = percent_left(1 - offered.ready.outlook.after.share_spent)
        plain(f"Budget: this run would leave {left} of asset {offered.ready.asset.name}.")
    else:
        plain("Budget: no row is read, so nothing is spent.")


def _drowned(quote: Quote, plan: GenerationPlan) -> None:
    noise = max((label.noise for label in quote.labels if label.target and label.noise is not None), default=0.0)
    if drowns(noise, plan.vocabulary):
        warning(
            f"the noise is as large as the votes. Even if all groups agreed on a word, noise would often make another "
            f"of the {plan.vocabulary} candidates win, so expect words by chance. More rows, fewer or shorter texts, "
            "or a larger epsilon help; so does a larger M, as far as the rows reach. Public only needs no row at all."
        )


def drowns(noise: float, candidates: int) -> bool:
    """Whether noise (standard deviation a coordinate) reaches a unanimous vote, which is 1.

    The largest of K such noises is at most noise * sqrt(2 ln K) in the mean.
    """
    return noise * math.sqrt(2 * math.log(max(candidates, 2))) >= 1


def _noise(quote: Quote, plan: GenerationPlan) -> None:
    targets = [label for label in quote.labels if label.target]
    own = [label.noise for label in targets if label.noise is not None]
    tang = [label.tang_noise for label in targets if label.tang_noise is not None]
    if own and tang and plan.mechanism.name != "tang-gaussian":
        st.markdown(f"Noise a coordinate **{number(max(own))}**; Tang's at the same privacy loss {number(max(tang))}")
    elif own:
        st.markdown(f"Noise a coordinate **{number(max(own))}** (this is Tang's)")
    elif plan.mechanism.reads_private_rows:
        st.markdown("Noise is one-sided and on scores, so it has no figure to compare.")
    else:
        st.markdown("No noise: no private row is read.")
    if plan.mechanism.name == "adadpsyn":
        st.caption("This is the noise of its first mean; it falls with the radius while the run goes on.")


def _risk(quote: Quote, plan: GenerationPlan) -> None:
    unit = plan.unit.value
    if not plan.mechanism.reads_private_rows:
        plain(f"The released texts cannot say anything about any {unit}.")
        return
    with st.container(border=True):
        plain(
            f"Starting from 50:50, the best possible guess whether this {unit} or another was used is right at most "
            f"{-(-(quote.best_guess_percent or 50) * 10 // 1) / 10:g}% of the time on average."
        )
        with st.expander("More about the risk"):
            if quote.sayings is None:
                plain("Being computed ...")
            for sentence in quote.sayings or ():
                plain(sentence)


def _feasibility(quote: Quote, plan: GenerationPlan) -> None:
    figure_heading("Labels", "public", "feasible")
    noises = [label.noise for label in quote.labels if label.noise]
    best = min(noises, default=None)
    st.dataframe(
        {
            "label": ["all rows" if label.label is None else label.label for label in quote.labels],
            f"{plan.unit.value}s": [label.units for label in quote.labels],
            "rate": ["none" if label.sampling_rate is None else f"{label.sampling_rate:.3f}" for label in quote.labels],
            "feasible": [verdict(label, best, plan.vocabulary) for label in quote.labels],
        },
        hide_index=True,
        width="stretch",
        height=min(38 + 35 * len(quote.labels), 290),
        key="feasible_table",
        alt="Table of labels with their rows, sampling rate and whether they are feasible",
    )


def verdict(label: LabelQuote, best: float | None, candidates: int) -> str:
    """Whether a label can be written for, in a few words. best: the least noise of all; candidates: word pieces."""
    if not label.feasible:
        return f"no: one token draws {label.needs}"
    if label.noise and drowns(label.noise, candidates):
        return "by chance: noise drowns the votes"
    if label.noise and best and label.noise > _HIGH_NOISE * best:
        return f"noise {label.noise / best:.1f}x: merge or leave out"
    return "yes" if label.target else "yes (not chosen)"
