"""The plot style: set by one call, legible on both page colors."""

from __future__ import annotations

import itertools
import json
import re

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt

from pdpbook import figures

PAGES = {"white": "#ffffff", "dark": "#14181e"}  # the page colors of the theme
NAMES = ["BLUE", "VERMILION", "GREEN", "PINK", "GRAY"]


def luminance(color):
    """Relative luminance as WCAG 2 defines it."""
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)


def legible(color):
    return all(contrast(color, page) >= 3 for page in PAGES.values())


def test_contrast_against_known_values():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert contrast("#123456", "#123456") == 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("page", PAGES)
def test_every_color_is_legible(name, page):
    """WCAG 2.1, 1.4.11: graphics need a contrast of 3:1."""
    assert contrast(getattr(figures, name), PAGES[page]) >= 3


@pytest.mark.parametrize("color", ["#E69F00", "#56B4E9", "#F0E442", "#000000", "#333333"])
def test_the_colors_left_out_are_noticed(color):
    assert not legible(color)


def test_series_pair_every_color_with_a_marker_of_its_own():
    colors, markers = zip(*figures.SERIES, strict=True)
    assert list(colors) == [getattr(figures, name) for name in NAMES]
    assert len(set(markers)) == len(set(colors)) == len(NAMES)
    for one, other in itertools.combinations(colors, 2):
        assert one.lower() != other.lower()


def test_use_sets_the_style():
    with mpl.rc_context():
        mpl.rcdefaults()
        figures.use()
        assert tuple(mpl.rcParams["figure.figsize"]) == (6.4, 3.6)
        assert mpl.rcParams["figure.dpi"] == 144
        assert mpl.rcParams["figure.facecolor"] == "white"
        assert not mpl.rcParams["axes.spines.top"]
        assert not mpl.rcParams["axes.spines.right"]
        cycle = mpl.rcParams["axes.prop_cycle"].by_key()["color"]
        assert cycle == [color for color, _ in figures.SERIES]
        before = dict(mpl.rcParams)
        figures.use()
        assert dict(mpl.rcParams) == before


def test_reference_line_returns_its_axes_and_draws_one_named_level():
    fig, ax = plt.subplots()
    try:
        ax.plot([0, 1], [0, 2])
        assert figures.reference_line(ax, 1.5, "the promise", color=figures.VERMILION) is ax
        line = ax.lines[-1]
        assert list(line.get_ydata()) == [1.5, 1.5]
        assert line.get_linestyle() == "--"
        assert line.get_color() == figures.VERMILION
        [note] = ax.texts
        assert note.get_text() == "the promise"
        assert note.xy == (1, 1.5)
        fig.canvas.draw()
    finally:
        plt.close(fig)


def test_an_explorable_holds_its_data_and_one_sentence():
    data = {"sizes": np.array([3, 1]), "epsilon": np.float64(0.5), "name": "a </script> b"}
    shown = figures.Explorable("limit", "fig-a-b", data)
    html = shown._repr_html_()
    held = re.search(r'<script type="application/json">(.*?)</script>', html)[1]
    assert json.loads(held) == {"sizes": [3, 1], "epsilon": 0.5, "name": "a </script> b"}
    assert f"<p>{shown!r}</p>" in html
    assert 'data-explore="limit" data-figure="fig-a-b"' in html
    assert "On the web page" in repr(shown)
    assert 'src="../../_static/explore/limit.js"' in html
    nearer = figures.Explorable("limit", "fig-a-b", data, root="../")._repr_html_()
    assert nearer == html.replace("../../_static", "../_static")


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"script": "Limit.js"}, ValueError, "script must be lower-case letters"),
        ({"figure": "a-b"}, ValueError, "figure must be a name fig-..."),
        ({"data": {"x": np.array([np.nan])}}, ValueError, "Out of range float"),
        ({"data": {"x": {1, 2}}}, TypeError, "data must be numbers, strings, lists and arrays"),
    ],
)
def test_what_no_explorable_can_hold_is_refused(change, error, message):
    with pytest.raises(error, match=message):
        figures.Explorable(**{"script": "limit", "figure": "fig-a-b", "data": {}} | change)
