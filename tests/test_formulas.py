"""Inline formulas on the built pages: parts of long ones, and what stays beside them."""

import importlib.util
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

FILE = Path(__file__).resolve().parents[1] / "book/_ext/pdp_formulas.py"
SPEC = importlib.util.spec_from_file_location("pdp_formulas", FILE)
pdp_formulas = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(pdp_formulas)

SUM = r"ms_1 - s_2 = \sum_i\min(\varepsilon_i,m)\,(m - \min(\varepsilon_i,m))"
NORM = r"2\lambda\|\theta-\bar\theta\|^2 \le g\,\|\theta-\bar\theta\| \le r\,\|\theta-\bar\theta\|"


def mended(text: str) -> BeautifulSoup:
    soup = BeautifulSoup(f"<article>{text}</article>", "html.parser")
    pdp_formulas.mend_formulas(soup)
    return soup


def formula(tex: str) -> str:
    return rf"<span class='math notranslate'>\({tex}\)</span>"


@pytest.mark.parametrize(
    ("tex", "parts"),
    [
        ("a = b", 1),
        (SUM, 2),
        (NORM, 3),
        (r"\Pr\left[\sum_j w_j x_j \ge \sum_j v_j y_j\right] + \alpha + \beta", 1),
        (r"\bigl\{\theta : \|\theta\| \le \alpha + \beta + \gamma + \delta + \eta\bigr\}", 1),
        (r"\begin{cases}a = b + c + d + e\\ f = g + h + i + j\end{cases} + k + l", 1),
        (r"x_{i = 1 + 2 + 3} + y_{j = 4 + 5 + 6} + z_{k = 7 + 8 + 9}", 1),
        (r"\alpha + \beta + \gamma + \delta + \eta + \theta =_d \lambda + \mu + \nu + \xi", 1),
        (r"= \alpha + \beta + \gamma + \delta + \eta + \theta + \lambda + \mu + \nu + \xi", 1),
    ],
)
def test_a_long_formula_is_cut_after_its_outer_relations(tex, parts):
    found = pdp_formulas.split(tex)
    assert len(found) == parts
    assert "".join(found).replace("{}", "") == tex
    assert all(part.endswith("{}") for part in found[:-1])


def test_parts_stand_in_order_and_look_like_the_whole():
    spans = mended(f"<p>Here {formula(NORM)} holds.</p>").select("span.math.notranslate")
    assert [span.get_text() for span in spans] == [
        rf"\({part}\)" for part in pdp_formulas.split(NORM)
    ]


def test_a_formula_in_a_table_is_not_cut():
    assert len(mended(f"<table><td>{formula(SUM)}</td></table>").select("span.math")) == 1


@pytest.mark.parametrize(
    ("before", "after", "held"),
    [
        ("at most ", ". Then", "X."),
        ("known (", "), or", "(X),"),
        ("an ", "-private fit", "X-"),
        ("the “", "” of it", "“X”"),
        ("all ", " of them", None),
        ("of ", "", None),
        ("as ", "(see)", None),
    ],
)
def test_what_touches_a_formula_stays_with_it(before, after, held):
    soup = mended(f"<p>{before}{formula('x')}{after}</p>")
    assert soup.get_text() == rf"{before}\(x\){after}"
    found = [whole.get_text().replace(r"\(x\)", "X") for whole in soup.select(".unbroken")]
    assert found == ([held] if held else [])


def test_punctuation_stays_with_the_last_part():
    (whole,) = mended(f"<p>Here {formula(SUM)}.</p>").select(".unbroken")
    assert whole.get_text() == rf"\({pdp_formulas.split(SUM)[-1]}\)."
