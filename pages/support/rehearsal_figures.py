"""The rehearsal as a figure and a table: pure functions of what it found. All of it is public."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from dpicl_core.rehearsal import Forecast, Interval, Rehearsal
from pages.support.figures import PUBLIC_COLOUR
from pages.support.side_by_side import DASHES, SYMBOLS
from pages.support.text import number
from pages.support.words import COLOURS, TITLES

HEIGHT = 380
PROPOSED = "Anchored, proposed radii"
PUBLIC = "Public only"
_SLOT = 0.5
"""Width that the mechanisms of one epsilon share, in steps of the axis."""


def lines_of(found: Rehearsal) -> tuple[tuple[str, str, tuple[Forecast, ...]], ...]:
    """Name, mechanism and forecasts of every line: the mechanisms, then the proposed radii where they are others."""
    names = tuple(dict.fromkeys(each.mechanism for each in found.forecasts))
    lines = [(TITLES[name], name, tuple(f for f in found.forecasts if f.mechanism == name)) for name in names]
    if found.proposes_another:
        lines.append((PROPOSED, "anchored", found.proposed))
    return tuple(lines)


def agreement_figure(found: Rehearsal, own_epsilon: float) -> go.Figure:
    """Share of tokens left unchanged over epsilon, for every mechanism, with 95% intervals.

    Epsilons stand at even steps and the mechanisms side by side within a step, so that no interval hides another.
    own_epsilon: of the plan, marked on the axis where it was rehearsed.
    """
    lines = lines_of(found)
    epsilons = sorted({each.epsilon for each in found.forecasts})
    figure = go.Figure()
    _add_public(figure, found.public_unchanged, len(epsilons))
    for at, (name, mechanism, forecasts) in enumerate(lines):
        proposed, colour = name == PROPOSED, COLOURS[mechanism]
        offset = (at - (len(lines) - 1) / 2) * (_SLOT / len(lines))
        shares = [each.unchanged for each in forecasts]
        figure.add_scatter(
            x=[epsilons.index(each.epsilon) + offset for each in forecasts], y=[share.mean for share in shares],
            mode="lines+markers", name=name, hoverinfo="text", opacity=1.0,
            hovertext=[f"{name}, epsilon {each.epsilon:g}<br>{in_percent(each.unchanged)}" for each in forecasts],
            line={"color": colour, "width": 1.5, "dash": "longdashdot" if proposed else DASHES[mechanism]},
            marker={"color": colour, "size": 9, "symbol": SYMBOLS[mechanism] + ("-open" if proposed else "")},
            error_y={
                "type": "data", "symmetric": False, "width": 3, "thickness": 1.2, "color": colour,
                "array": [share.high - share.mean for share in shares],
                "arrayminus": [share.mean - share.low for share in shares],
            },
        )  # fmt: skip
    figure.update_layout(
        height=HEIGHT, margin={"l": 10, "r": 10, "t": 8, "b": 4}, uirevision="keep", showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"}, hovermode="closest",
        xaxis={
            "fixedrange": True, "zeroline": False,
            "range": [-0.5, len(epsilons) - 0.5], "tickvals": list(range(len(epsilons))),
            "ticktext": [f"<b>epsilon {each:g}</b>" if each == own_epsilon else f"{each:g}" for each in epsilons],
        },
        yaxis={"range": [0, 1.02], "tickformat": ".0%", "fixedrange": True},
    )  # fmt: skip
    return figure


def agreement_words(found: Rehearsal) -> str:
    """The figure in one sentence, for those who cannot see it."""
    parts = [
        f"{name} {forecasts[0].unchanged.mean:.0%} at epsilon {forecasts[0].epsilon:g} to "
        f"{forecasts[-1].unchanged.mean:.0%} at epsilon {forecasts[-1].epsilon:g}"
        for name, _, forecasts in lines_of(found)
    ]
    share = found.public_unchanged.mean
    return f"Share of tokens left unchanged over epsilon: {'; '.join(parts)}; {PUBLIC} {share:.0%} without any row"


def agreement_table(found: Rehearsal) -> dict[str, list[str]]:
    """The figure's numbers: one row for each mechanism, one column for each epsilon."""
    lines = lines_of(found)
    columns = {"mechanism": [*(name for name, _, _ in lines), PUBLIC]}
    for at, epsilon in enumerate(sorted({each.epsilon for each in found.forecasts})):
        own = [in_percent(forecasts[at].unchanged) for _, _, forecasts in lines]
        columns[f"epsilon {number(epsilon)}"] = [*own, in_percent(found.public_unchanged)]
    return columns


def in_percent(share: Interval) -> str:
    """`90% (86% to 95%)`."""
    return f"{share.mean:.0%} ({share.low:.0%} to {share.high:.0%})"


def _add_public(figure: go.Figure, share: Interval, epsilons: int) -> None:
    """A level line with a band: the public prompt alone is the same at every epsilon."""
    ends: Sequence[float] = (-0.5, epsilons - 0.5)
    figure.add_scatter(
        x=[*ends, *reversed(ends)], y=[share.low, share.low, share.high, share.high], fill="toself", mode="lines",
        line={"width": 0}, fillcolor=PUBLIC_COLOUR, opacity=0.2, hoverinfo="skip", showlegend=False,
    )  # fmt: skip
    middle = [*range(epsilons)]
    figure.add_scatter(
        x=[ends[0], *middle, ends[1]], y=[share.mean] * (epsilons + 2), mode="lines+markers", name=PUBLIC,
        line={"color": PUBLIC_COLOUR, "width": 1.5, "dash": DASHES["public-only"]}, hoverinfo="text",
        marker={"color": PUBLIC_COLOUR, "size": [0, *[8] * epsilons, 0], "symbol": SYMBOLS["public-only"]},
        hovertext=f"{PUBLIC}, without any row<br>{in_percent(share)}",
    )  # fmt: skip
