"""Diagrams: the rules, on those of the book and on planted faults; and how they get into a page."""

import importlib.util
import re
from pathlib import Path
from types import SimpleNamespace

import diagrams
import matplotlib as mpl
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt
from bs4 import BeautifulSoup

from pdpbook.pages import figures

ROOT = Path(__file__).resolve().parents[1]
SPEC = importlib.util.spec_from_file_location("pdp_svg", ROOT / "book/_ext/pdp_svg.py")
pdp_svg = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(pdp_svg)
DRAWN = sorted(diagrams.FOLDER.glob("*.svg"))
every_diagram = pytest.mark.parametrize("file", DRAWN, ids=lambda file: file.stem)

GOOD = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 330 100" role="img"
 aria-labelledby="a-t a-d" fill="currentColor">
<title id="a-t">One box, and its name</title>
<desc id="a-d">A blue box stands on the left. To its right is a word, in the color of text.</desc>
<style>.a-box{fill:var(--fig-blue,#0072b2)} .a-line{fill:none;stroke:currentColor}
.a-without{stroke:var(--fig-soft,#6b737d);stroke-dasharray:5 4}</style>
<rect class="a-box" x="5" y="5" width="40" height="40"/><path class="a-line" d="M5,50h40"/>
<g font-size="14"><text x="60" y="30">box</text></g>
<text x="60" y="70" font-size="14">line</text>
<path class="a-without" d="M60,80h40"/>
</svg>
"""
PLANTED = {
    "no title": ('<title id="a-t">One box, and its name</title>', "", "no <title>"),
    "short description": ("A blue box stands on the left. To its right is", "See", "no <desc>"),
    "unnamed": ("a-t a-d", "a-d", "does not name the <title>"),
    "no role": ('role="img"', "", 'no role="img"'),
    "no viewBox": ('viewBox="0 0 330 100"', "", "no viewBox"),
    "sized": ("role=", 'width="330" role=', "width on the root"),
    "small": ('y="70" font-size="14"', 'y="70" font-size="11"', "high on a phone"),
    "small group": ('g font-size="14"', 'g font-size="11"', "high on a phone"),
    "no size": ('y="70" font-size="14"', 'y="70"', "no font-size"),
    "pixels": ('y="70" font-size="14"', 'y="70" font-size="14px"', "no font-size in units"),
    "own color": ("#0072b2)", "#0072b3)", "not a color of figures"),
    "bare color": ("var(--fig-blue,#0072b2)", "#0072b2", "not a color of figures"),
    "color on an element": ('x="5" y', 'fill="red" x="5" y', "not a color of figures"),
    "unknown class": ('class="a-line"', 'class="b-line"', "class b-line is not in the style"),
    "other color of a role": ("soft,#6b737d", "blue,#0072b2", "not in the color of without"),
    "role as a line": (";stroke-dasharray:5 4", "", "class a-without is not dashed"),
    "other color of words": ('14">line', '14" class="a-box">with Zoe', "color of with"),
    "leaking style": (".a-box{", "text{", "more than classes of its own"),
    "two prefixes": (".a-line{", ".b-line{", "more than one prefix"),
    "inline style": ('x="5" y', 'style="x:1" x="5" y', "attribute style"),
    "script": ("<style>", "<script>1</script><style>", "<script> is not for diagrams"),
    "event": ('x="5" y', 'onclick="x()" x="5" y', "attribute onclick"),
    "link in an image": ("<g font", '<a href="a/b.html"/><g font', 'no role="group"'),
    "link elsewhere": ("<g font", '<a href="//x.org/a"/><g font', "attribute href"),
    "image": ("<style>", '<image href="data:x"/><style>', "something from elsewhere: data:"),
    "font": ("<style>", "<style>@import 'x';", "something from elsewhere: @import"),
    "address": ("fill:none", "fill:url(x.svg#a)", "something from elsewhere: url("),
}


@every_diagram
def test_diagrams_keep_the_rules(file):
    assert list(diagrams.faults(file.read_text(encoding="utf-8"))) == []


@every_diagram
def test_the_pdf_is_of_the_svg(file):
    svg = file.read_text(encoding="utf-8")
    assert diagrams.is_of(file.with_suffix(".pdf"), svg)
    assert not diagrams.is_of(file.with_suffix(".pdf"), svg + " ")


def test_classes_of_diagrams_differ():
    """Styles of one hold for all others on the page."""
    prefixes = [set(re.findall(r"\.([a-z]+)-", file.read_text("utf-8"))) for file in DRAWN]
    assert DRAWN
    assert all(len(one) == 1 for one in prefixes)
    assert len(set.union(*prefixes)) == len(DRAWN)


def test_a_good_diagram_has_no_fault():
    assert list(diagrams.faults(GOOD)) == []


@pytest.mark.parametrize("name", PLANTED)
def test_planted_faults_of_diagrams_are_found(name):
    old, new, what = PLANTED[name]
    assert GOOD.count(old) == 1
    assert any(what in fault for fault in diagrams.faults(GOOD.replace(old, new)))


def test_the_style_sheet_has_every_color_once_a_theme():
    css = (ROOT / "book/_static/custom.css").read_text(encoding="utf-8")
    for color in diagrams.COLORS - {"none", "currentColor"}:
        name, light = re.fullmatch(r"var\((--fig-\w+), (#\w+)\)", color).groups()
        found = re.findall(rf"{name}: ([^;]+);", css)
        expected = ["var(--pst-color-background)"] if name == "--fig-paper" else [light]
        assert found[:1] == expected
        assert len(found) == 3 - len(expected) - (name == "--fig-paper")


# --- into the page -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def plot(tmp_path_factory):
    """A plot with every kind of thing that ids, colors and fonts come from."""
    with mpl.rc_context():
        mpl.rcdefaults()
        figures.use()
        fig, ax = plt.subplots()
        ax.plot([1, 10, 100], [1, 2, 3], marker="o", label="a name")
        ax.fill_between([1, 100], 1, 2, color=figures.GREEN, alpha=0.3)
        ax.bar([3], [1], color=figures.PINK, edgecolor="white")
        ax.axvline(5, color="black")
        ax.set(xscale="log", xlabel="rows & <more>", ylabel=r"$\varepsilon_0$ of all")
        figures.reference_line(ax, 2.5, "level 0.12345")
        ax.legend()
        file = tmp_path_factory.mktemp("plot") / "plot.svg"
        fig.savefig(file)
        plt.close(fig)
    return file.read_text(encoding="utf-8")


PAGE = """<html><body><figure>
<img alt="A &quot;plot&quot; of a &lt; b" src="../_images/p.svg"/>
</figure><img alt="The same again" src="../_images/p.svg"/><img alt="D" src="../_images/d.svg"/>
<img alt="A photograph" src="../_images/q.png"/></body></html>"""


@pytest.fixture
def page(tmp_path, plot):
    """A built page with a plot, the same once more, and a diagram, after the build."""
    (tmp_path / "book").mkdir()
    (tmp_path / "_images").mkdir()
    (tmp_path / "_images/p.svg").write_text(plot, encoding="utf-8")
    diagram = diagrams.FOLDER / "mean_idea.svg"
    (tmp_path / "_images/d.svg").write_text(diagram.read_text("utf-8"), encoding="utf-8")
    built = tmp_path / "book/page.html"
    built.write_text(PAGE, encoding="utf-8")
    app = SimpleNamespace(builder=SimpleNamespace(format="html"), outdir=tmp_path)
    pdp_svg.finish(app, None)
    return built


def test_pictures_stand_in_the_page(page):
    text = page.read_text(encoding="utf-8")
    soup = BeautifulSoup(text, "html.parser")
    assert [image["src"] for image in soup.find_all("img")] == ["../_images/q.png"]
    assert not soup.find("a")  # nothing leads to a file that is gone
    assert not [*(page.parent.parent / "_images").glob("*.svg")]
    one, two, three = soup.select("svg.inline-figure")
    assert [one["aria-label"], two["aria-label"]] == ['A "plot" of a < b', "The same again"]
    assert all(svg["role"] == "img" and not svg.has_attr("width") for svg in (one, two, three))
    title, desc = (soup.find(id=name) for name in three["aria-labelledby"].split())
    assert title.name == "title"
    assert desc.name == "desc"
    app = SimpleNamespace(builder=SimpleNamespace(format="html"), outdir=page.parent.parent)
    pdp_svg.finish(app, None)
    assert page.read_text(encoding="utf-8") == text


def test_ids_are_unique_and_found(page):
    soup = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
    ids = [tag["id"] for tag in soup.find_all(id=True)]
    assert len(ids) == len(set(ids))
    used = set(re.findall(r'(?:url\(|href=")#([^)"]+)', page.read_text(encoding="utf-8")))
    assert len(used) >= 4  # clip paths and marks, twice
    assert used <= set(ids)


def test_plots_take_colors_and_fonts_of_the_page(page, plot):
    assert "#0072b2" in plot
    assert "DejaVu" in plot
    text = page.read_text(encoding="utf-8").split("diagram")[0]
    assert not re.search(r"#[0-9a-f]{6}\b|DejaVu|<style|<metadata|xlink", text)
    for color in ("currentColor", "var(--fig-blue)", "var(--fig-pink)", "var(--fig-paper)"):
        assert color in text
    assert "level 0.12345" in text  # numbers lose digits in attributes only
    assert "rows &amp; &lt;more>" in text or "rows &amp; &lt;more&gt;" in text
    assert len(text) < 0.6 * 2 * len(plot)
    assert not re.search(r'x="\d+\.\d{3}', text)


def test_a_cloud_of_points_says_its_look_once():
    def use(k, color):
        return f'<use href="#m1" x="{k}" y="{2 * k}" style="fill: {color}"/>'

    cloud = "".join(use(k, "red" if k < 3 else "blue") for k in range(6))
    assert pdp_svg.SAME.sub(pdp_svg.together, f"<g>{cloud}</g>") == (
        '<g><g style="fill: red"><use href="#m1" x="0" y="0"/><use href="#m1" x="1" y="2"/>'
        '<use href="#m1" x="2" y="4"/></g><g style="fill: blue"><use href="#m1" x="3" y="6"/>'
        '<use href="#m1" x="4" y="8"/><use href="#m1" x="5" y="10"/></g></g>'
    )
    assert pdp_svg.SAME.sub(pdp_svg.together, use(1, "red")) == use(1, "red")


def test_code_in_the_color_of_the_text_has_no_tags(page):
    code = '<span class="n">x</span><span class="w"> </span><span class="o">=</span>'
    code += '<span class="w"> </span><span class="k">not</span><span class="w"> </span>'
    page.write_text(f"<pre>{code}</pre>", encoding="utf-8")
    app = SimpleNamespace(builder=SimpleNamespace(format="html"), outdir=page.parent)
    pdp_svg.finish(app, None)
    assert page.read_text(encoding="utf-8") == '<pre>x = <span class="k">not</span> </pre>'


def test_a_link_to_a_page_has_no_classes_that_nobody_asks_for(page):
    long = '<a class="reference internal" href="a.html"><span class="doc">A page</span></a>'
    short = '<a href="a.html">A page</a>'
    kept = '<a class="reference internal" href="a.html#b" data-preview="c">B</a>'
    page.write_text(f"<p>{long}, {kept}</p>", encoding="utf-8")
    app = SimpleNamespace(builder=SimpleNamespace(format="html"), outdir=page.parent)
    pdp_svg.finish(app, None)
    assert page.read_text(encoding="utf-8") == f"<p>{short}, {kept}</p>"


def test_other_builders_and_failed_builds_keep_their_files(tmp_path):
    (tmp_path / "page.html").write_text(PAGE, encoding="utf-8")
    for kind, exception in (("latex", None), ("html", ValueError())):
        app = SimpleNamespace(builder=SimpleNamespace(format=kind), outdir=tmp_path)
        pdp_svg.finish(app, exception)
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == PAGE
