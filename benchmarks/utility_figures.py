"""Figures as plain SVG: bars with intervals, and ROC curves. Pure text, no library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

COLOURS = ("#0b5cad", "#c2410c", "#15803d", "#7e22ce", "#a16207", "#be185d", "#0f766e", "#475569", "#111827")
STYLE = 'font-family="sans-serif" font-size="13" fill="#111827"'


@dataclass(frozen=True, slots=True)
class Bar:
    """value, low and high within [0, 1]; no interval where low is None."""

    label: str
    value: float
    low: float | None
    high: float | None


def bars_figure(title: str, bars: Sequence[Bar]) -> str:
    """One horizontal row a bar: a dot at the value, a line over the interval, and the value in words."""
    left, width, step, top = 260, 420, 26, 48
    height = top + step * len(bars) + 40

    def x(share: float) -> float:
        return left + width * share

    parts = [f'<text x="12" y="24" {STYLE} font-weight="bold">{escape(title)}</text>']
    for tick in range(0, 101, 20):
        at = x(tick / 100)
        parts.append(f'<line x1="{at}" y1="{top - 8}" x2="{at}" y2="{height - 32}" stroke="#d1d5db"/>')
        parts.append(f'<text x="{at}" y="{height - 14}" text-anchor="middle" {STYLE}>{tick}%</text>')
    for number, bar in enumerate(bars):
        y = top + step * number + 8
        parts.append(f'<text x="{left - 12}" y="{y + 4}" text-anchor="end" {STYLE}>{escape(bar.label)}</text>')
        if bar.low is not None and bar.high is not None:
            parts.append(
                f'<line x1="{x(bar.low):.1f}" y1="{y}" x2="{x(bar.high):.1f}" y2="{y}" stroke="{COLOURS[0]}" '
                'stroke-width="3"/>'
            )
        parts.append(f'<circle cx="{x(bar.value):.1f}" cy="{y}" r="5" fill="{COLOURS[0]}"/>')
        parts.append(f'<text x="{left + width + 14}" y="{y + 4}" {STYLE}>{100 * bar.value:.1f}</text>')
    return _svg(left + width + 70, height, title, parts)


def curves_figure(title: str, curves: Mapping[str, Sequence[float]], bounds: Mapping[str, Sequence[float]]) -> str:
    """ROC curves: true-positive rates at equally spaced false-positive rates from 0 to 1, and the line of guessing.

    bounds: what no curve can exceed in the long run; drawn dashed.
    """
    left, top, side = 56, 44, 360
    parts = [
        f'<text x="12" y="24" {STYLE} font-weight="bold">{escape(title)}</text>',
        f'<rect x="{left}" y="{top}" width="{side}" height="{side}" fill="none" stroke="#6b7280"/>',
        f'<line x1="{left}" y1="{top + side}" x2="{left + side}" y2="{top}" stroke="#9ca3af" stroke-dasharray="4 4"/>',
        f'<text x="{left + side / 2}" y="{top + side + 34}" text-anchor="middle" {STYLE}>false-positive rate</text>',
        f'<text x="18" y="{top + side / 2}" text-anchor="middle" {STYLE} '
        f'transform="rotate(-90 18 {top + side / 2})">true-positive rate</text>',
    ]
    drawn = [(label, heights, "none") for label, heights in curves.items()]
    drawn += [(label, heights, "7 4") for label, heights in bounds.items()]
    for number, (label, heights, dash) in enumerate(drawn):
        colour = COLOURS[number % len(COLOURS)]
        last = max(len(heights) - 1, 1)
        points = " ".join(
            f"{left + side * index / last:.1f},{top + side * (1 - height):.1f}" for index, height in enumerate(heights)
        )
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
        )
        y = top + 12 + 22 * number
        parts.append(
            f'<line x1="{left + side + 18}" y1="{y}" x2="{left + side + 46}" y2="{y}" stroke="{colour}" '
            f'stroke-width="2" stroke-dasharray="{dash}"/>'
        )
        parts.append(f'<text x="{left + side + 54}" y="{y + 4}" {STYLE}>{escape(label)}</text>')
    height = max(top + side + 48, top + 22 * len(drawn) + 20)
    return _svg(left + side + 240, height, title, parts)


def _svg(width: int, height: int, title: str, parts: Sequence[str]) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'role="img" aria-label="{escape(title)}">',
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            *parts,
            "</svg>\n",
        ]
    )
