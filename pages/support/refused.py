"""A plan that its data asset cannot pay: one sentence, and one button for each smaller plan that would fit."""

from __future__ import annotations

import streamlit as st

from dpicl_core.jobs import Offer
from dpicl_core.ledger import SmallerPlan
from pages.support import keep
from pages.support.choices import EPSILONS
from pages.support.text import count, refusal


def refused(offered: Offer) -> None:
    """The refusal of an offer without a run."""
    fitting = [found for option in offered.options if (found := as_choice(option)) is not None]
    problem = offered.problem
    if fitting:
        problem += "These would fit: " + ", or ".join(words for words, _ in fitting) + "."
    elif offered.options:
        problem += "No smaller plan that can be chosen here fits any more."
    refusal(problem)
    with st.container(horizontal=True):
        for index, (words, settings) in enumerate(fitting):
            st.button(f"Take {words}", key=f"smaller_{index}", on_click=keep.put, kwargs=settings)


def as_choice(option: SmallerPlan) -> tuple[str, dict[str, float]] | None:
    """A smaller plan in words and as settings of Plan; None where the slider does not go down to its epsilon."""
    asked = option.largest if option.setting == "epsilon" else option.epsilon
    at_most = None if asked is None else max((value for value in EPSILONS if value <= asked), default=None)
    if asked is not None and at_most is None:
        return None
    epsilon = "" if at_most is None else f"epsilon {at_most:g}"
    settings: dict[str, float] = {} if at_most is None else {"plan_epsilon": at_most}
    if option.setting == "epsilon":
        return epsilon, settings
    count_ = int(option.largest)
    words = count(count_, "demonstration") if option.setting == "shots" else f"at most {count(count_, 'token')} each"
    key = "plan_shots" if option.setting == "shots" else "plan_tokens"
    return f"{words} at {epsilon}" if epsilon else words, {**settings, key: count_}
