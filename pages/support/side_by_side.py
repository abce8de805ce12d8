"""Charts that lay several mechanisms over each other, and their numbers as tables: pure functions of snapshots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import plotly.graph_objects as go

from dpicl_core.evaluation.comparison import Released, Unprotected
from dpicl_core.events import ReleasedStep
from dpicl_core.jobs import DraftView
from dpicl_core.specs import HALF_DIAMETER
from pages.support.figures import HEIGHT, PUBLIC_COLOUR
from pages.support.text import loss
from pages.support.words import COLOURS

SYMBOLS = {
    "adadpsyn": "circle",
    "tang-gaussian": "square",
    "tang-noisy-max": "diamond",
    "anchored": "triangle-up",
    "public-only": "x",
}
DASHES = {
    "adadpsyn": "solid",
    "tang-gaussian": "dash",
    "tang-noisy-max": "dashdot",
    "anchored": "dot",
    "public-only": "longdash",
}
NOTHING = "none"


@dataclass(frozen=True, slots=True)
class Curve:
    """One mechanism over tokens. name: fixed words. points: token, counted from 1, and value."""

    name: str
    mechanism: str
    points: tuple[tuple[int, float], ...]


def radius(step: ReleasedStep) -> float:
    return step.radius


def noise(step: ReleasedStep) -> float:
    return step.noise_scale


def curve(name: str, mechanism: str, drafts: Sequence[DraftView], value: Callable[[ReleasedStep], float]) -> Curve:
    """The value of each token's last step, a mean over the demonstrations that came so far."""
    by_position: dict[int, list[float]] = {}
    for draft in drafts:
        for token in draft.tokens:
            if token.trace.steps:
                by_position.setdefault(token.position, []).append(value(token.trace.steps[-1]))
    points = tuple((at + 1, sum(found) / len(found)) for at, found in sorted(by_position.items()))
    return Curve(name, mechanism, points)


@lru_cache(maxsize=16)
def overlaid(curves: tuple[Curve, ...], tokens: int, *, whole_simplex: bool) -> go.Figure:
    """All curves in one chart. tokens: T_max, so that the axis never jumps. whole_simplex: draw the line at 0.707.

    Colour, marker and dash differ by mechanism; a second run of one has open markers.
    """
    figure = go.Figure()
    if whole_simplex:
        figure.add_hline(y=HALF_DIAMETER, line={"dash": "dot", "width": 1, "color": PUBLIC_COLOUR})
    seen: list[str] = []
    for each in curves:
        again = "-open" if each.mechanism in seen else ""
        seen.append(each.mechanism)
        colour = COLOURS[each.mechanism]
        figure.add_scatter(
            x=[at for at, _ in each.points], y=[value for _, value in each.points], mode="lines+markers",
            name=each.name, line={"color": colour, "width": 1.5, "dash": DASHES[each.mechanism]},
            marker={"color": colour, "size": 8, "symbol": SYMBOLS[each.mechanism] + again},
            hovertext=[f"{each.name}, token {at}: {value:.4g}" for at, value in each.points], hoverinfo="text",
            connectgaps=False,
        )  # fmt: skip
    top = 0.78 if whole_simplex else 1.25 * max([value for each in curves for _, value in each.points], default=0.8)
    figure.update_layout(
        height=HEIGHT + 40, margin={"l": 10, "r": 10, "t": 4, "b": 4}, uirevision="keep", showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"}, hovermode="closest",
        xaxis={"range": [0.4, tokens + 0.6], "fixedrange": True, "tickformat": "d"},
        yaxis={"range": [0.0, top], "fixedrange": True},
    )  # fmt: skip
    return figure


def released_table(names: Sequence[str], found: Sequence[Released]) -> dict[str, list[str]]:
    """One line for each run: DP-released and public numbers alone."""
    return {
        "mechanism": list(names),
        "epsilon": [loss(each.epsilon_tight) for each in found],
        "by the paper's accountant": [loss(each.epsilon_paper) for each in found],
        "noise a coordinate": [_cell(each.noise, ".4f") for each in found],
        "last radius R": [_cell(each.radius, ".3f") for each in found],
        "tokens": [str(each.tokens) for each in found],
    }


def radius_table(
    labels: Sequence[str], names: Sequence[str], found: Sequence[Unprotected | None]
) -> dict[str, list[str]]:
    """As the papers' Table 1: a line for each label and one for the average over labels; a column for each run.

    None, or a label of which no token was seen, is an empty place. Internal, not DP.
    """
    ordered = list(dict.fromkeys(labels))
    columns = {
        name: [
            *(_cell(dict(each.radii).get(label) if each else None, ".3f") for label in ordered),
            _cell(each.average if each else None, ".3f"),
        ]
        for name, each in zip(names, found, strict=True)
    }
    return {
        "label": [*ordered, "average over labels"],
        **columns,
        "whole simplex": [f"{HALF_DIAMETER:.3f}"] * (len(ordered) + 1),
    }


def agreement_table(names: Sequence[str], found: Sequence[Unprotected | None]) -> dict[str, list[str]]:
    """Share of tokens that are the choice made without noise. Internal, not DP."""
    return {
        "mechanism": list(names),
        "as without noise": [f"{each.agreement:.0%}" if each else NOTHING for each in found],
        "tokens seen": [str(each.tokens) if each else NOTHING for each in found],
    }


def _cell(value: float | None, form: str) -> str:
    return NOTHING if value is None else format(value, form)
