"""Figures of the Evaluate screen as pure functions of what the measures found. All of it is internal, not DP."""

from __future__ import annotations

from itertools import cycle

import plotly.graph_objects as go

from dpicl_core.evaluation import Consensus, Curve, Spread
from dpicl_core.evaluation.results import AccuracyResult, AttackLine, MembershipResult
from dpicl_core.evaluation.sets import NOISE_FREE, PUBLIC_ONLY, REAL_ROWS, ZERO_SHOT
from dpicl_core.specs import HALF_DIAMETER
from pages.support.figures import PRIVATE_COLOUR, PUBLIC_COLOUR
from pages.support.text import for_plotly
from pages.support.words import COLOURS, TITLES

REAL_PROMPT = "real rows"
"""The kind of an attack on a real row in the prompt."""

_NAMES = {
    ZERO_SHOT: "No demonstration (0-shot)",
    PUBLIC_ONLY: "Public only",
    REAL_ROWS: "Random real rows",
    NOISE_FREE: "Without noise",
    REAL_PROMPT: "A real row in the prompt",
}
_LEGEND_BELOW = {"orientation": "h", "yref": "container", "y": 0.0, "yanchor": "bottom"}
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
_SYMBOLS = ("circle-open", "square-open", "diamond-open", "triangle-up-open", "x-open", "star-open")


def name_of(kind: str) -> str:
    """A set's kind as the screens call it: fixed words and numbers alone."""
    mechanism, _, terms = kind.partition(" ")
    return _NAMES.get(kind) or f"{TITLES.get(mechanism, mechanism)}{', ' if terms else ''}{terms}"


def colour_of(kind: str) -> str:
    """The mechanism's colour; private things have the private one."""
    if kind in (REAL_ROWS, NOISE_FREE, REAL_PROMPT):
        return PRIVATE_COLOUR
    return COLOURS.get(kind.partition(" ")[0].rstrip(","), PUBLIC_COLOUR)


def accuracy_figure(result: AccuracyResult, labels: int | None) -> go.Figure:
    """Mean accuracy of every set with its interval over seeds, raw and calibrated. labels: how many there are, for the
    line of guessing; None where they are open."""
    figure = go.Figure()
    if labels is not None:
        figure.add_vline(x=1 / labels, line={"dash": "dot", "width": 1, "color": PUBLIC_COLOUR})
    names = [_short(name_of(line.kind)) for line in result.sets]
    colours = [colour_of(line.kind) for line in result.sets]
    series = [("as the model says", "circle-open", [line.raw for line in result.sets])]
    if any(line.calibrated is not None for line in result.sets):
        series.append(("calibrated", "diamond", [line.calibrated for line in result.sets]))
    for at, (name, symbol, spreads) in enumerate(series):
        figure.add_scatter(
            x=[None if spread is None else spread.mean for spread in spreads],
            y=[place + (0.14 if at else -0.14) for place in range(len(names))],
            mode="markers", name=name, hovertext=[_spread_words(spread) for spread in spreads], hoverinfo="text",
            marker={"color": colours, "symbol": symbol, "size": 11, "line": {"width": 2}},
            error_x={
                "type": "data", "symmetric": False, "width": 5, "thickness": 1.5, "color": PUBLIC_COLOUR,
                "array": [_reach(spread, upper=True) for spread in spreads],
                "arrayminus": [_reach(spread, upper=False) for spread in spreads],
            },
        )  # fmt: skip
    figure.update_layout(
        height=110 + 48 * len(names), margin={"l": 10, "r": 10, "t": 4, "b": 4}, showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"}, hovermode="closest",
        xaxis={"range": [-0.02, 1.02], "fixedrange": True, "title": "share of labels that are right"},
        yaxis={
            "tickvals": list(range(len(names))), "ticktext": names, "fixedrange": True,
            "range": [len(names) - 0.5, -0.5],
        },
    )  # fmt: skip
    return figure


def roc_figure(result: MembershipResult) -> go.Figure:
    """The curve of every attack, beside it the highest curve that the composed loss allows any attack, and guessing."""
    figure = go.Figure()
    figure.add_scatter(
        x=[0, 1], y=[0, 1], mode="lines", name="guessing", hoverinfo="skip",
        line={"color": PUBLIC_COLOUR, "width": 1, "dash": "dot"},
    )  # fmt: skip
    for line, dash in zip(result.attacks, cycle(_DASHES), strict=False):
        colour = colour_of(line.attack.kind)
        if line.ceiling is not None:
            _add_ceiling(figure, line, line.ceiling, colour)
        figure.add_scatter(
            x=line.attack.curve.false_positive, y=line.attack.curve.true_positive, mode="lines",
            name=f"{name_of(line.attack.kind)}: AUC {line.attack.area.value:.2f}",
            line={"color": colour, "width": 2.5, "dash": "dash" if line.ceiling is None else dash},
        )  # fmt: skip
    figure.update_layout(
        height=460, margin={"l": 10, "r": 10, "t": 4, "b": 4}, showlegend=True, hovermode="closest",
        legend=_LEGEND_BELOW,
        xaxis={"range": [-0.01, 1.01], "fixedrange": True, "title": "others taken for members"},
        yaxis={"range": [-0.01, 1.02], "fixedrange": True, "title": "members found"},
    )  # fmt: skip
    return figure


def consensus_figure(found: Consensus, labels: tuple[str, ...]) -> go.Figure:
    """Radius of the smallest ball around a private vector that holds 80%, token by token. labels: of each text."""
    figure = go.Figure()
    figure.add_hline(y=HALF_DIAMETER, line={"dash": "dot", "width": 1, "color": PUBLIC_COLOUR})
    for at, (label, symbol) in enumerate(zip(labels, cycle(_SYMBOLS), strict=False)):
        own = [token for token in found.tokens if token.demonstration == at]
        figure.add_scatter(
            x=[token.position + 1 for token in own], y=[token.radius for token in own], mode="lines+markers",
            name=f"{at + 1}. {for_plotly(label)}", line={"color": PRIVATE_COLOUR, "width": 1, "dash": "dot"},
            marker={"color": PRIVATE_COLOUR, "symbol": symbol, "size": 9, "line": {"width": 1.5}},
        )  # fmt: skip
    figure.update_layout(
        height=320, margin={"l": 10, "r": 10, "t": 4, "b": 4}, showlegend=True, hovermode="closest",
        legend=_LEGEND_BELOW,
        xaxis={"title": "token", "tickformat": "d", "fixedrange": True},
        yaxis={"title": "radius", "rangemode": "tozero", "fixedrange": True},
    )  # fmt: skip
    return figure


def _add_ceiling(figure: go.Figure, line: AttackLine, ceiling: Curve, colour: str) -> None:
    figure.add_scatter(
        x=ceiling.false_positive, y=ceiling.true_positive, mode="lines", fill="tozeroy", opacity=0.9,
        name=f"ceiling of {name_of(line.attack.kind)}: AUC {ceiling.area:.2f}",
        fillcolor=_faint(colour), line={"color": colour, "width": 1.2, "dash": "dashdot"}, hoverinfo="skip",
    )  # fmt: skip


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.08)"


def _short(name: str) -> str:
    """A name on two lines, so that it leaves room for the figure on a phone."""
    first, separator, rest = name.partition(", epsilon")
    if separator:
        return f"{first}<br>epsilon{rest}"
    middle = name.find(" ", len(name) // 3)
    return name if len(name) < 14 or middle < 0 else f"{name[:middle]}<br>{name[middle + 1 :]}"


def _reach(spread: Spread | None, *, upper: bool) -> float:
    if spread is None or spread.low is None or spread.high is None:
        return 0.0
    return spread.high - spread.mean if upper else spread.mean - spread.low


def _spread_words(spread: Spread | None) -> str:
    if spread is None:
        return ""
    if spread.low is None or spread.high is None:
        return f"{spread.mean:.3f}, one seed"
    return f"{spread.mean:.3f}, 95% interval {spread.low:.2f} to {spread.high:.2f}"
