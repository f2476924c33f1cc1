"""The plot style: set by one call, legible on both page colors."""

import ast
import io
import itertools
import json
import re
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt

from pdpbook.pages import figures

ROOT = Path(__file__).resolve().parents[1]
WHITE, DARK = "#ffffff", "#14181e"  # the page colors of the theme
NAMES = ["BLUE", "VERMILION", "GREEN", "PINK", "GRAY"]
CSS = (ROOT / "book/_static/custom.css").read_text(encoding="utf-8")


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


def dark(color):
    """What the style sheet shows on the dark page in the place of a color."""
    name = re.fullmatch(r"var\((--fig-\w+)\)", figures.THEME[color])[1]
    themed = CSS[CSS.index('html[data-theme="dark"]') :]
    return re.search(rf"{name}: (#[0-9a-f]{{6}});", themed)[1]


def test_contrast_against_known_values():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert contrast("#123456", "#123456") == 1


@pytest.mark.parametrize("name", NAMES)
def test_every_color_can_color_words_in_both_themes(name):
    """WCAG 2.1, 1.4.3: words need a contrast of 4.5:1."""
    color = getattr(figures, name)
    assert contrast(color, WHITE) >= 4.5
    assert contrast(dark(color), DARK) >= 4.5
    assert contrast(color, DARK) < 4.5  # so it has to change


@pytest.mark.parametrize("color", ["#E69F00", "#56B4E9", "#D55E00", "#009E73", "#CC79A7"])
def test_the_colors_left_out_are_noticed(color):
    assert contrast(color, WHITE) < 4.5


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
        assert tuple(mpl.rcParams["figure.figsize"]) == (4.2, 2.9)
        assert mpl.rcParams["svg.fonttype"] == "none"
        assert mpl.rcParams["figure.facecolor"] == figures.PAPER
        assert min(mpl.rcParams[f"{axis}tick.labelsize"] for axis in "xy") >= 10.5
        assert not mpl.rcParams["axes.spines.top"]
        assert not mpl.rcParams["axes.spines.right"]
        cycle = mpl.rcParams["axes.prop_cycle"].by_key()["color"]
        assert cycle == [color for color, _ in figures.SERIES]
        before = dict(mpl.rcParams)
        figures.use()
        assert dict(mpl.rcParams) == before


@pytest.fixture
def drawn():
    """Draw axes in the style of the book, and give the figure after its layout."""
    with mpl.rc_context():
        mpl.rcdefaults()
        figures.use()

        def draw(plot, rows=1, **settings):
            fig, axes = plt.subplots(rows, squeeze=False, **settings)
            for ax in axes.flat:
                plot(ax)
            fig.savefig(io.BytesIO(), format="svg")
            fig.canvas.draw()  # a second time: nothing moves
            return fig

        yield draw
        plt.close("all")


def named(*names):
    def plot(ax):
        for name in names:
            ax.plot([1, 2], [3, 4], label=name)
        ax.set(xlabel="rows", ylabel="error")
        ax.legend(loc="center")

    return plot


@pytest.mark.parametrize(
    ("names", "lines"),
    [
        (["one", "two"], 1),
        (["one", "two", "three", "four", "five"], 2),
        (["a name of thirty letters or so"] * 1 + ["another one as long as the first"], 2),
        (["a name so long that it does not fit beside its mark in one line"], 2),
    ],
)
def test_legends_stand_above_the_plot_which_keeps_its_size(drawn, names, lines):
    bare = drawn(lambda ax: ax.set(xlabel="rows", ylabel="error", ylim=(2.95, 4.05)))
    fig = drawn(named(*names))
    [legend] = fig.legends
    [ax] = fig.axes
    assert ax.get_legend() is None
    assert [text.get_text().replace("\n", " ") for text in legend.get_texts()] == names
    box, frame = legend.get_window_extent(), ax.get_window_extent()
    assert box.y0 >= frame.y1
    assert box.x0 >= 0
    assert box.x1 <= fig.bbox.x1
    assert box.y1 <= fig.bbox.y1
    assert frame.height == pytest.approx(bare.axes[0].get_window_extent().height, rel=0.02)
    rows = {round(text.get_window_extent().y0) for text in legend.get_texts()}
    assert sum(text.get_text().count("\n") for text in legend.get_texts()) + len(rows) == lines


def test_panels_share_one_legend(drawn):
    fig = drawn(named("one", "two"), rows=2)
    assert len(fig.legends) == 1
    assert len(fig.legends[0].get_texts()) == 2
    assert fig.get_size_inches()[0] == figures.WIDTH
    assert 4 < fig.get_size_inches()[1] < 4.5  # two panels of 2 inches, and the legend


def test_exponents_can_be_read_on_a_phone(drawn):
    """Of 334 px, the width of a figure on a screen of 390: every letter has 10 px or more."""
    fig = drawn(lambda ax: ax.set(xscale="log", xlim=(1e-5, 1e3), ylabel="$x_i^2$"))
    picture = io.StringIO()
    fig.savefig(picture, format="svg")
    sizes = {float(size) for size in re.findall(r"font-size: ([\d.]+)px", picture.getvalue())}
    assert len(sizes) > 2  # letters, and what stands above or below them
    assert min(sizes) * 334 / (72 * figures.WIDTH) >= 10


def test_long_names_of_axes_break(drawn):
    def plot(ax):
        ax.set_xlabel("expected excess risk per person (half squared error)")
        ax.set_ylabel("mean squared error on new people, per person")

    [ax] = drawn(plot).axes
    assert ax.get_xlabel() == "expected excess risk per\nperson (half squared error)"
    assert ax.get_ylabel() == "mean squared error on\nnew people, per person"
    for name, frame in ((ax.xaxis.label, ax.figure.bbox), (ax.yaxis.label, ax.figure.bbox)):
        box = name.get_window_extent()
        assert frame.x0 <= box.x0 < box.x1 <= frame.x1
        assert frame.y0 <= box.y0 < box.y1 <= frame.y1


@pytest.mark.parametrize(("count", "picture"), [(900, False), (1100, True)])
def test_clouds_become_pictures(drawn, count, picture):
    def plot(ax):
        ax.plot(range(count), range(count), ".")
        ax.scatter(range(count), range(count))
        ax.plot(range(count), range(count))

    fig = drawn(plot)
    out = io.StringIO()
    fig.savefig(out, format="svg")
    assert ("<image" in out.getvalue()) is picture
    assert not fig.axes[0].lines[1].get_rasterized()


def test_a_label_is_in_the_color_of_its_curve(drawn):
    fig = drawn(lambda ax: figures.label(ax, 0.5, 0.2, "a name", figures.BLUE, ha="right"))
    [words] = fig.axes[0].texts
    assert words.get_text() == "a name"
    assert words.get_color() == figures.BLUE
    assert words.get_position() == (0.5, 0.2)
    assert (words.get_ha(), words.get_va()) == ("right", "center")


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


def test_an_explorable_keeps_seven_digits_of_all_its_floats():
    third = 1 / 3
    data = {
        "number": third,
        "numpy": np.float64(third),
        "large": 55.623145800914244,
        "small": 1.23456789e-12,
        "whole": 12345678901,
        "array": np.array([[third, 2 / 3]]),
        "nested": [{"deep": (third, None, True, "0.33333333333")}],
    }
    html = figures.Explorable("limit", "fig-a-b", data)._repr_html_()
    held = json.loads(re.search(r'<script type="application/json">(.*?)</script>', html)[1])
    assert held == {
        "number": 0.3333333,
        "numpy": 0.3333333,
        "large": 55.62315,
        "small": 1.234568e-12,
        "whole": 12345678901,
        "array": [[0.3333333, 0.6666667]],
        "nested": [{"deep": [0.3333333, None, True, "0.33333333333"]}],
    }


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


# --- with somebody, without, published ------------------------------------------------------------

PERSON = r"(?:you|Ana|Ben|Chi|Dora|Zoe|the far person)\b"
NAMED = re.compile(rf"(?:fit )?(?:(with)|(without))\s{PERSON}")
FIGURES = sorted((ROOT / "book").rglob("*.ipynb"))


def named_colors(source):
    """Words that name a role, the role, and the colors beside them in a call or a tuple."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            beside = node.args + [one.value for one in node.keywords if one.arg == "color"]
        elif isinstance(node, ast.Tuple):
            beside = node.elts
        else:
            continue
        words = [one.value for one in beside if isinstance(one, ast.Constant)]
        roles = [match for one in words if isinstance(one, str) and (match := NAMED.match(one))]
        colors = [ast.unparse(one) for one in beside if isinstance(one, ast.Attribute)]
        if roles:
            yield roles[0][0], "WITH" if roles[0][1] else "WITHOUT", colors


def strangers(source):
    return [
        f"{words!r}: {colors}"
        for words, role, colors in named_colors(source)
        if colors != [f"figures.{role}"]
    ]


def plots():
    for path in FIGURES:
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] == "code" and "plt.show()" in source:
                yield path.relative_to(ROOT), source


def test_roles_have_colors_of_their_own():
    assert len({figures.WITH, figures.WITHOUT, figures.PUBLISHED}) == 3
    panel = (ROOT / "book/_static/explore/panel.js").read_text(encoding="utf-8")
    for role in ("WITH", "WITHOUT", "PUBLISHED"):
        name = re.search(rf"\b{role} = (\w+)", panel)[1]
        variable = re.search(rf'\b{name} = "(var\([\w-]+\))"', panel)[1]
        assert variable == figures.THEME[getattr(figures, role)]


def test_plots_name_roles_in_their_colors():
    found = {str(path): faults for path, source in plots() if (faults := strangers(source))}
    assert found == {}
    assert sum(len(list(named_colors(source))) for _, source in plots()) >= 8


@pytest.mark.parametrize(
    ("line", "ok"),
    [
        ('figures.label(ax, 1, 2, "without Dora", figures.WITHOUT)', True),
        ('figures.label(ax, 1, 2, "without Dora", figures.BLUE)', False),
        ('ax.text(1, 2, "with you", color=figures.WITHOUT)', False),
        ('rows = [(1, "with Zoe", figures.WITH)]', True),
        ('rows = [(1, "with\\nZoe", figures.VERMILION)]', False),
        ('figures.label(ax, 1, 2, "with a delta", figures.BLUE)', True),
    ],
)
def test_a_role_in_another_color_is_noticed(line, ok):
    assert (strangers(line) == []) is ok


def test_plots_take_colors_by_name():
    raw = re.compile(r"[\"'](#[0-9a-fA-F]{3,6}|C\d|tab:\w+)[\"']")
    assert [str(path) for path, source in plots() if raw.search(source)] == []
    assert raw.search('color="#0072b2"')
    assert raw.search("color='C0'")


SAID = re.compile(
    r"(?:name|named|word)\((?:cut \? )?[`\"](?:fit )?(with|without)[ :](?:you|\$\{|apart)"
)
COLOR = re.compile(r"\b(?:WITHOUT|WITH|PUBLISHED|BLUE|WARM|VERMILION|GREEN|GRAY|INK\.\w+)\b")


def script_strangers(text):
    """Lines of a figure that moves in which a role is named in another color, and how many are."""
    lines = [(match, line) for line in text.splitlines() for match in SAID.finditer(line)]
    wrong = [
        line for match, line in lines if COLOR.search(line, match.end())[0] != match[1].upper()
    ]
    return wrong, len(lines)


def test_figures_that_move_name_roles_in_their_colors():
    texts = [file.read_text("utf-8") for file in (ROOT / "book/_static/explore").glob("*.js")]
    assert [wrong for text in texts if (wrong := script_strangers(text)[0])] == []
    assert sum(script_strangers(text)[1] for text in texts) >= 8
    assert script_strangers('axis.name("without you", -0.1, 38, { color: BLUE });')[0]
    assert script_strangers("named(`with ${name}`, left, to(0), WITHOUT)")[0]
