"""Figures are pure functions of events, and words of users stay plain in them."""

from __future__ import annotations

import logging
import tomllib
from pathlib import Path

import pytest

from dpicl_core.events import ReleasedStep, ReleasedTrace, TokenReleased
from dpicl_core.jobs import DraftView
from pages.support.figures import CONFIG, noise_figure, radius_figure
from pages.support.guard import withhold_messages_in_logs
from pages.support.text import duration, for_plotly
from pages.support.words import COLOURS, SENTENCES, TITLES

ROOT = Path(__file__).resolve().parent.parent.parent


def draft(index=0, label="cat", radii=((0.7071, 0.3), (0.7071,))):
    tokens = tuple(
        TokenReleased(
            index,
            at,
            5,
            "a",
            ReleasedTrace(0.12, tuple(ReleasedStep(radius, radius / 5) for radius in own), "radius"),
            False,
        )
        for at, own in enumerate(radii)
    )
    return DraftView(index, label, "a", tokens, None)


def test_every_step_of_every_committed_token_is_drawn():
    figure = radius_figure((draft(), draft(1, "dog")), 6, "#0072B2")
    steps = next(trace for trace in figure.data if trace.name == "R, after each step")
    assert list(steps.y) == [0.7071, 0.3, 0.7071] * 2
    targets = next(trace for trace in figure.data if trace.name == "r, the target")
    assert list(targets.y) == [0.12] * 4
    assert tuple(figure.layout.xaxis.range) == (0.4, 6.6)


def test_noise_stands_beside_tangs_on_one_axis():
    figure = noise_figure((draft(),), 6, "#0072B2", "AdaDPSyn", (("cat", 0.2),))
    tang, own = figure.data
    assert set(tang.y) == {0.2}
    assert len(tang.y) == 6
    assert list(own.y) == pytest.approx([0.06, 0.14142])


def test_markup_in_a_label_is_not_obeyed():
    figure = radius_figure((draft(label="<a href='http://x'>k</a>"),), 6, "#0072B2")
    assert "<a" not in str(figure.data[1].hovertext)
    assert for_plotly("<b>$x$") == "&lt;b&gt;&#36;x&#36;"


def test_figures_offer_to_send_nothing_anywhere():
    assert CONFIG["displayModeBar"] is False
    assert CONFIG["showLink"] is False
    assert CONFIG["showSendToCloud"] is False


def test_each_mechanism_has_a_title_a_colour_and_five_sentences():
    assert set(TITLES) == set(COLOURS) == set(SENTENCES)
    assert all(len(sentences) == 5 for sentences in SENTENCES.values())


def test_durations_are_rounded_for_a_person():
    assert [duration(seconds) for seconds in (0.2, 59.4, 70, 7500)] == ["1 s", "59 s", "1 min 10 s", "2 h 5 min"]


def luminance(colour):
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_texts_and_badges_have_a_contrast_of_four_and_a_half(theme):
    colours = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))["theme"][theme]
    pairs = [
        ("textColor", "backgroundColor"),
        ("textColor", "secondaryBackgroundColor"),
        ("linkColor", "backgroundColor"),
    ]
    pairs += [(f"{name}TextColor", f"{name}BackgroundColor") for name in ("green", "orange", "gray")]
    assert not [pair for pair in pairs if contrast(colours[pair[0]], colours[pair[1]]) < 4.5]


def test_settings_keep_everything_on_this_machine():
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))
    assert settings["browser"]["gatherUsageStats"] is False
    assert settings["server"]["address"] == "127.0.0.1"
    assert settings["server"]["enableXsrfProtection"] is True
    assert settings["server"]["maxUploadSize"] == 200
    assert settings["client"]["showErrorDetails"] == "none"
    assert settings["client"]["disableDataExport"] is True
    assert settings["logger"]["enableRich"] is False


def test_streamlits_log_never_quotes_an_exception(caplog):
    withhold_messages_in_logs()
    logger = logging.getLogger("streamlit.error_util")
    logger.addHandler(caplog.handler)
    try:
        raise ValueError("the marmot under the blue staircase")
    except ValueError as error:
        logger.error("Uncaught app execution", exc_info=error)
    logger.removeHandler(caplog.handler)
    assert "marmot" not in caplog.text
    assert "ValueError at test_figures.py" in caplog.text
