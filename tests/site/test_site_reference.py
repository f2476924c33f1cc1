"""The pages of the package: what a docstring names is linked, and attributes keep their names."""

import csv
from collections.abc import Iterator

import pytest
from bs4 import BeautifulSoup
from pdp_docstrings import exported
from sklearn.base import BaseEstimator
from support import ROOT

import pdpbook.gradient
import pdpbook.gwa
import pdpbook.pac
import pdpbook.personalized
import pdpbook.posterior
import pdpbook.sufficient_statistics
import pdpbook.user_level

REFERENCE = "book/back/api/"
with (ROOT / "book" / "statements.csv").open(encoding="utf-8") as table:
    LABELS = {row["label"] for row in csv.DictReader(table)}


def faults(soup: BeautifulSoup) -> Iterator[str]:
    for code in soup.select("article dl.py code"):
        if code.get_text() in LABELS:
            yield f"{code.get_text()} is no link"
    for head in soup.select("article dl.py dl.field-list > dt"):
        if head.get_text().strip(":") == "Type":
            yield "the description of an attribute was taken for a type"
    for _ in soup.select("article dl.py ol"):
        yield "a letter or number with its period was taken for a list"


def test_labels_are_links_and_attributes_are_described(soups):
    names = [name for name in soups if name.startswith(REFERENCE)]
    assert len(names) > 10
    assert {name: found for name in names if (found := [*faults(soups[name])])} == {}


ESTIMATORS = [
    (module.__name__.removeprefix("pdpbook."), name)
    for module in (
        pdpbook.gradient,
        pdpbook.gwa,
        pdpbook.pac,
        pdpbook.personalized,
        pdpbook.posterior,
        pdpbook.sufficient_statistics,
        pdpbook.user_level,
    )
    for name in exported(module)
    if isinstance(getattr(module, name), type) and issubclass(getattr(module, name), BaseEstimator)
]


@pytest.mark.parametrize(("module", "name"), ESTIMATORS)
def test_fitted_attributes_keep_their_underscore(soups, module, name):
    soup = soups[f"{REFERENCE}{module}.html"]
    entry = soup.find(id=f"pdpbook.{module}.{name}").find_parent("dl")
    words = {word.get_text() for word in entry.select("dl.field-list strong")}
    assert any("guarantee_" in word.split(", ") for word in words)


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("<code>thm-pdp-op</code>", 1),
        ("<a href='#'>Theorem 7.3</a> <code>lam</code>", 0),
        ("<dl class='field-list'><dt>Type:</dt></dl>", 1),
        ("<dl class='field-list'><dt>Returns:</dt></dl>", 0),
        ("<ol type='A'><li></li></ol>", 1),
    ],
)
def test_planted_faults_are_noticed(body, count):
    html = f"<article><dl class='py'><dd>{body}</dd></dl></article>"
    assert len(list(faults(BeautifulSoup(html, "html.parser")))) == count
