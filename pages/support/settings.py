"""The folded parts of the Plan screen: prompt words with their preview, and the numbers under Advanced."""

from __future__ import annotations

import streamlit as st

from dpicl_core.planning import DEFAULT_MECHANISM, DEFAULT_NOISE_SPLIT, DEFAULT_VOCABULARY
from dpicl_core.prompts import generation_prompt
from dpicl_core.values import Example, Task
from pages.support import keep
from pages.support.badges import figure_heading
from pages.support.state import Studio
from pages.support.text import plain


def prompt_preview(task: Task) -> None:
    """Instruction and headers, and the exact prompts that they make; private places stay in braces."""
    with st.expander("Prompt words and preview"):
        st.text_area("Instruction", key=keep.ready("plan_instruction", task.instruction), height=90)
        left, right = st.columns(2)
        left.text_input("Label header", key=keep.ready("plan_label_header", task.generation_label_header))
        right.text_input("Text header", key=keep.ready("plan_text_header", task.generation_text_header))
        keep.note("plan_instruction", "plan_label_header", "plan_text_header")
        target = (tuple(keep.value("plan_targets") or ()) or task.labels)[0]
        rows = int(keep.value("plan_per_subset") or task.per_subset)
        figure_heading("Public prompt", "public", "public_prompt")
        with st.container(border=True):
            plain(generation_prompt(task, [], target, " {text so far}"))
        figure_heading("Private prompt: one for each of the M groups", "public", "private_prompt")
        with st.container(border=True):
            shown = [Example("{label of a drawn row}", "{its text}") for _ in range(rows)]
            plain(generation_prompt(task, shown, target, " {text so far}"))
        st.caption("The places in braces are filled anew for every token, with rows that are drawn in secret.")


def advanced(state: Studio) -> None:
    """M, N, K, T_max, and the settings of the chosen mechanism."""
    assert state.task is not None
    task, mechanism = state.task, keep.value("plan_mechanism", DEFAULT_MECHANISM)
    with st.expander("Advanced"):
        left, right = st.columns(2)
        left.number_input(
            "M, groups for each token", 2, 1000, key=keep.ready("plan_subsets", task.subsets),
            help="More groups: less noise on the mean, more rows drawn, slower.",
        )  # fmt: skip
        right.number_input("N, rows in a group", 1, 100, key=keep.ready("plan_per_subset", task.per_subset))
        left.number_input(
            "T_max, tokens of a demonstration at most", 1, 2000, key=keep.ready("plan_tokens", task.tokens),
            help="Paid for whether they are written or not.",
        )  # fmt: skip
        right.number_input(
            "K, candidate tokens", 2, 100_000, key=keep.ready("plan_vocabulary", DEFAULT_VOCABULARY),
            help="The likeliest tokens of the public prompt; only they can be chosen.",
        )  # fmt: skip
        if mechanism == "adadpsyn":
            left.number_input("T^, refinements of a token at most", 1, 20, key=keep.ready("plan_iterations", 1))
            right.number_input("lambda, margin added to the radius", 0.0, 10.0, key=keep.ready("plan_margin", 0.2))
            st.text_input(
                "Noise split: radius search, means, coverage checks (shares that add to 1)",
                key=keep.ready("plan_split", ", ".join(f"{share:g}" for share in DEFAULT_NOISE_SPLIT)),
            )
        elif mechanism == "anchored":
            st.text_input(
                "Schedule: radii that fall, fixed in advance from public things",
                key=keep.ready("plan_schedule", "0.30, 0.15"),
            )
        keep.note(
            "plan_subsets",
            "plan_per_subset",
            "plan_tokens",
            "plan_vocabulary",
            "plan_iterations",
            "plan_margin",
            "plan_split",
            "plan_schedule",
        )
