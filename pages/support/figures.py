"""Figures as pure functions of released events (or, for the cluster picture, of internal diagnostics)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import plotly.graph_objects as go

from dpicl_core.events import TokenReleased
from dpicl_core.jobs import ClusterView, DraftView
from dpicl_core.specs import HALF_DIAMETER
from pages.support.text import for_plotly

HEIGHT = 230
CONFIG: dict[str, Any] = {
    "displayModeBar": False,
    "displaylogo": False,
    "showLink": False,
    "showSendToCloud": False,
    "scrollZoom": False,
    "doubleClick": False,
}
TANG_COLOUR = "#D55E00"
PRIVATE_COLOUR = "#CC79A7"
PUBLIC_COLOUR = "#666666"
PSEUDO_COLOUR = "#56B4E9"
"""Pseudo-records: public, so never in the colour of private points."""
_SLOT = 0.8


@lru_cache(maxsize=16)
def radius_figure(drafts: tuple[DraftView, ...], tokens: int, colour: str) -> go.Figure:
    """R over the refinement steps of every committed token, from sqrt(2)/2 down, and the target r where there is one.

    Each token has a slot; demonstrations stand side by side in it. tokens: T_max, so that the axis never jumps.
    """
    falls: tuple[list[float | None], list[float | None]] = ([], [])
    steps: tuple[list[float], list[float], list[str]] = ([], [], [])
    targets: tuple[list[float], list[float], list[str]] = ([], [], [])
    for at, draft in enumerate(drafts):
        for token in draft.tokens:
            x = _slot(token.position, at, len(drafts))
            radii = [step.radius for step in token.trace.steps]
            for radius in radii:
                steps[0].append(x)
                steps[1].append(radius)
                steps[2].append(_hover(draft, token))
            if radii:
                falls[0].extend((x, x, None))
                falls[1].extend((HALF_DIAMETER, radii[-1], None))
            if token.trace.good_radius is not None:
                targets[0].append(x)
                targets[1].append(token.trace.good_radius)
                targets[2].append(_hover(draft, token))
    figure = go.Figure()
    figure.add_hline(y=HALF_DIAMETER, line={"dash": "dot", "width": 1, "color": PUBLIC_COLOUR})
    figure.add_scatter(
        x=falls[0], y=falls[1], mode="lines", line={"color": colour, "width": 1}, opacity=0.45, showlegend=False,
        hoverinfo="skip",
    )  # fmt: skip
    figure.add_scatter(
        x=steps[0], y=steps[1], mode="markers", name="R, after each step", marker={"color": colour, "size": 7},
        hovertext=steps[2], hoverinfo="text",
    )  # fmt: skip
    figure.add_scatter(
        x=targets[0], y=targets[1], mode="markers", name="r, the target",
        marker={"color": colour, "size": 9, "symbol": "diamond-open", "line": {"width": 1.5}},
        hovertext=targets[2], hoverinfo="text",
    )  # fmt: skip
    return _laid_out(figure, tokens, (0.0, 0.78))


@lru_cache(maxsize=16)
def noise_figure(
    drafts: tuple[DraftView, ...],
    tokens: int,
    colour: str,
    name: str,
    tang: tuple[tuple[str | None, float | None], ...],
) -> go.Figure:
    """Noise per coordinate of the mean each token was taken from, beside Tang's at the same privacy loss.

    tang: by label, or under None with open labels. Polls that saw no new token get the figure of the last.
    """
    limits = dict(tang)
    own: tuple[list[float], list[float], list[str]] = ([], [], [])
    other: tuple[list[float], list[float]] = ([], [])
    for at, draft in enumerate(drafts):
        limit = limits.get(draft.label, limits.get(None))
        for position in range(tokens):
            if limit is not None:
                other[0].append(_slot(position, at, len(drafts)))
                other[1].append(limit)
        for token in draft.tokens:
            if token.trace.steps:
                own[0].append(_slot(token.position, at, len(drafts)))
                own[1].append(token.trace.steps[-1].noise_scale)
                own[2].append(_hover(draft, token))
    top = max([*own[1], *other[1], 1e-6]) * 1.25
    figure = go.Figure()
    figure.add_scatter(
        x=other[0], y=other[1], mode="markers", name="Tang, same privacy loss", hoverinfo="y",
        marker={"color": TANG_COLOUR, "symbol": "line-ew-open", "size": 9, "line": {"width": 2}},
    )  # fmt: skip
    figure.add_scatter(
        x=own[0], y=own[1], mode="markers", name=f"this run ({name})", marker={"color": colour, "size": 7},
        hovertext=own[2], hoverinfo="text",
    )  # fmt: skip
    return _laid_out(figure, tokens, (0.0, top))


def cluster_figure(view: ClusterView, colour: str, *, pseudo: bool = False) -> go.Figure:
    """Private vectors, public vector, noisy means and the ball, in the plane of two principal components.

    pseudo: the vectors are those of pseudo-records, which have a colour, a marker and a name of their own.
    """
    figure = go.Figure()
    points, symbol = (PSEUDO_COLOUR, "triangle-up-open") if pseudo else (PRIVATE_COLOUR, "circle-open")
    if view.centre is not None and view.radius is not None:
        (x, y), radius = view.centre, view.radius
        figure.add_shape(
            type="circle", x0=x - radius, x1=x + radius, y0=y - radius, y1=y + radius,
            line={"color": colour, "width": 1.5, "dash": "dash"}, fillcolor=colour, opacity=0.2, layer="below",
        )  # fmt: skip
    figure.add_scatter(
        x=view.points[:, 0], y=view.points[:, 1], mode="markers",
        name="vectors of pseudo-records" if pseudo else "private vectors",
        marker={"color": points, "symbol": symbol, "size": 10, "line": {"width": 2}},
    )  # fmt: skip
    figure.add_scatter(
        x=view.public[:1], y=view.public[1:], mode="markers", name="public vector",
        marker={"color": PUBLIC_COLOUR, "symbol": "square", "size": 11},
    )  # fmt: skip
    if len(view.means):
        figure.add_scatter(
            x=view.means[:, 0], y=view.means[:, 1], mode="lines+markers", name="noisy means, in order",
            line={"color": colour, "width": 1, "dash": "dot"}, marker={"color": colour, "symbol": "x", "size": 11},
        )  # fmt: skip
    figure.update_layout(
        height=420, margin={"l": 10, "r": 10, "t": 10, "b": 10}, uirevision="keep", showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"}, xaxis={"title": "first component"},
        yaxis={"title": "second component", "scaleanchor": "x"},
    )  # fmt: skip
    return figure


def _slot(position: int, at: int, many: int) -> float:
    """Place of demonstration `at` of `many` within the slot of a token, counted from 1."""
    return position + 1 + (at - (many - 1) / 2) * (_SLOT / many)


def _hover(draft: DraftView, token: TokenReleased) -> str:
    trace = token.trace
    radii = " then ".join(f"{step.radius:.3f}" for step in trace.steps)
    noise = f"{trace.steps[-1].noise_scale:.4f}" if trace.steps else "not released"
    target = "" if trace.good_radius is None else f"<br>r {trace.good_radius:.3f}"
    return (
        f"{draft.index + 1}. {for_plotly(draft.label)}, token {token.position + 1}<br>R {radii or 'none'}{target}"
        f"<br>noise a coordinate {noise}"
    )


def _laid_out(figure: go.Figure, tokens: int, span: tuple[float, float]) -> go.Figure:
    figure.update_layout(
        height=HEIGHT, margin={"l": 10, "r": 10, "t": 4, "b": 4}, uirevision="keep", showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"}, hovermode="closest",
        xaxis={"range": [0.4, tokens + 0.6], "fixedrange": True, "tickformat": "d"},
        yaxis={ "range": list(span), "fixedrange": True},
    )  # fmt: skip
    return figure
