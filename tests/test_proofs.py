"""Long proofs of the built pages: what they show, and what they fold."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("sphinx_proof", reason="needs the extra `book`")
from bs4 import BeautifulSoup
from sphinx.application import Sphinx

EXTENSIONS = Path(__file__).resolve().parents[1] / "book/_ext"
ALGEBRA = "\n\nNow compute. " + "Another step of the algebra follows here. " * 40
END = re.compile(r"(\s|\\\]|\\end\{\w+\})+$")  # of a display formula, after its last sign

# the beginning of a proof, and the end of what is shown of it
OPENINGS = {
    "a paragraph": (r"*The idea.* It is small ($a$ is 1).", "is 1)."),
    "a question": (r"*Is it small?*", "small?"),
    "into a formula": ("It is small, since\n\n$$\na = b,\n$$\n\nand b is 1.", "and b is 1."),
    "up to a formula": ("It is small:\n\n$$\na = b .\n$$", "a = b ."),
    "up to two lines": (
        "It is small, since\n\n$$\n\\begin{aligned} a &= b \\\\\n &= c .\n\\end{aligned}\n$$",
        "&= c .",
    ),
    "two formulas": (
        "As\n\n$$\na = b\n$$\n\nand\n\n$$\nb = c ,\n$$\n\nit is small.",
        "it is small.",
    ),
}
NOT_FOLDED = ["It is small.", "It is small, since\n\n" + "a " * 900]


@pytest.fixture(scope="module")
def proofs(tmp_path_factory):
    """The proofs of a page that was built with Sphinx and mended."""
    spec = importlib.util.spec_from_file_location("pdp_html", EXTENSIONS / "pdp_html.py")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(EXTENSIONS))
    spec.loader.exec_module(module)
    sys.path.remove(str(EXTENSIONS))
    source = tmp_path_factory.mktemp("page")
    bodies = [opening + ALGEBRA for opening, _ in OPENINGS.values()] + NOT_FOLDED
    boxes = [f":::{{prf:proof}}\n{body}\n:::\n" for body in bodies]
    (source / "index.md").write_text("# Proofs\n\n" + "\n".join(boxes), encoding="utf-8")
    settings = {
        "extensions": ["myst_parser", "sphinx_proof"],
        "myst_enable_extensions": ["colon_fence", "dollarmath"],
    }
    out = source / "html"
    Sphinx(source, None, out, source / "trees", "html", settings, status=None).build()
    soup = BeautifulSoup((out / "index.html").read_text(encoding="utf-8"), "html.parser")
    module.mend_body(soup)
    module.fold_proofs(soup)
    return soup.select("div.proof-body")


@pytest.mark.parametrize("name", OPENINGS)
def test_a_long_proof_is_folded_at_the_end_of_a_sentence(proofs, name):
    rest = proofs[list(OPENINGS).index(name)].select_one("details.rest-of-proof")
    assert "Now compute." in rest.get_text()
    shown = "".join(part.get_text() for part in reversed(list(rest.previous_siblings)))
    assert END.sub("", shown).endswith(OPENINGS[name][1])


def test_a_short_proof_and_one_of_a_single_sentence_are_not_folded(proofs):
    assert len(proofs) == len(OPENINGS) + len(NOT_FOLDED)
    assert all(proof.select_one("details") is None for proof in proofs[len(OPENINGS) :])
