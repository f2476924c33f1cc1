"""What folds, and the sentence over a folded check: from every committed output, and by hand.

The rules are those of `book/_ext/pdp_sentences.py`; what the built pages show is
`tests/site/test_site_folds.py`.
"""

import re

import nbformat
import notebooks
import pandas as pd
import pytest
import reading
from pdp_sentences import Cell, kinds, label, measured, sentence

PAGES = [path for path in notebooks.sources() if path.parent.name != "exercises"]
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.]*\d)")
COUNTS = re.compile(r"(?<=in )(\d+)(?= cases )|(?<=Tested: )(\d+)(?= prop)|(\d+)(?= mistakes)")
IN_WORDS = {"five": "5", "three": "3"}  # in sentences written by hand


def code_cells(path):
    return [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]


def shown(cell):
    return "".join(o.get("text", "") for o in cell.outputs if o.output_type == "stream")


def check_cells():
    for path in PAGES:
        for cell in code_cells(path):
            if label(cell.source):
                yield pytest.param(cell, id=f"{path.parent.name}/{path.stem}:{cell.id}")


def absent(said, there):
    """Numbers of a sentence that its cells do not print."""
    found = NUMBER.findall(COUNTS.sub("", said))
    printed = there.replace(",", "")
    return [
        number
        for number in found
        if not re.search(rf"(?<![\d.]){re.escape(number.replace(',', ''))}(?!\d|\.\d)", printed)
    ]


LABELS = set(pd.read_csv(reading.ROOT / "book" / "statements.csv")["label"])


@pytest.mark.parametrize("cell", list(check_cells()))
def test_a_sentence_for_every_check(cell):
    lines = measured(shown(cell))
    said = sentence(lines)
    held, broken = (sum(one.broken is which for one in lines) for which in (False, True))
    assert len(lines) == len(re.findall(rf"^{label(cell.source)}  ", shown(cell), re.M)) > 0
    assert said.startswith("Tested: " if held else "With a deliberate mistake it fails:")
    assert ("With a deliberate mistake it fails:" in said) == bool(broken)
    assert said.endswith(".")
    assert not any(name in said for name in LABELS)
    assert not re.search(r"[`$\\*<\n]|[a-z]{2}_|  |[✗✘]", said)
    assert NUMBER.search(said)
    assert absent(said, shown(cell)) == []
    assert len(said) < 420


def test_a_number_that_is_not_printed_is_noticed():
    assert absent("Tested: x: in 3 cases up to 0.12 (at most 1).", "x 0.12 <= 1") == []
    assert absent("Tested: x: 0.12 (at most 1).", "x 0.123 <= 1") == ["0.12"]
    assert (
        absent("With a deliberate mistake it fails: 5 mistakes, among them y (1,200).", "1200 5.0")
        == []
    )


@pytest.mark.parametrize("path", PAGES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_numbers_of_a_sentence_written_by_hand_are_printed(path):
    """A page may write the sentence of a check itself: its numbers are printed or set there."""
    cells = code_cells(path)
    for cell, after in zip(cells, [*cells[1:], None], strict=True):
        said = cell.metadata.get("mystnb", {}).get("code_prompt_show", "")
        if "check" not in cell.metadata.get("tags", []):
            continue
        there = [cell, after] if after and label(after.source) == label(cell.source) else [cell]
        assert label(cell.source)
        assert re.fullmatch(r"Tested[^`]*\.", said)
        for word, number in IN_WORDS.items():
            said = re.sub(rf"\b{word}\b", number, said)
        assert absent(said, "".join(shown(one) + one.source for one in there)) == []


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        (
            "thm-x  loss / budget, one bill   0.126  <= 1\n"
            "thm-x  scaled by the extremes of the file   128  not <= 1",
            "Tested: loss / budget, one bill: 0.126 (at most 1). "
            "With a deliberate mistake it fails: scaled by the extremes of the file (128).",
        ),
        (
            "thm-x  loss / budget, Huber   0.99  <= 1\nthm-x  nearly attained   0.99  >= 0.9\n"
            "thm-x  loss / budget, tight   0.998  <= 1\nthm-x  nearly attained   0.998  >= 0.9",
            "Tested: loss / budget: in 2 cases up to 0.998 (at most 1); "
            "nearly attained: in 2 cases 0.99 or more (at least 0.9).",
        ),
        (
            "thm-x  a, error   <1e-12  <= 1e-09\nthm-x  b, error   <1e-12  <= 1e-09",
            "Tested: error: in 2 cases below 1e-12 (at most 1e-09).",
        ),
        (
            "prop-x  mu / promised, 1 steps  0.989  = 1 (rtol 0.035)",
            "Tested: mu / promised, 1 steps: 0.989 (claimed 1, tolerance 0.035).",
        ),
        ("prop-x  cells, of 14   14  = 14", "Tested: cells, of 14: 14, as claimed."),
        (
            "thm-x  planted: scale_for_rate   2  not <= 1\nthm-x  HalfTheNoise   inf  not <= 1\n"
            "thm-x  GaussianMu   3  not <= 1\nthm-x  TForItsRoot   4  not <= 1",
            "With a deliberate mistake it fails: scale for rate (2); half the noise (no limit); "
            "Gaussian mu (3); T for its root (4).",
        ),
        (
            "\n".join(f"thm-x  part {k}: gap   0.{k}  <= {k}" for k in range(1, 6)),
            "Tested: 5 properties hold, among them part 1, gap: 0.1 (at most 1); "
            "part 2, gap: 0.2 (at most 2); part 3, gap: 0.3 (at most 3).",
        ),
        ("a table\n  0.1  0.2", ""),
    ],
)
def test_sentence(printed, said):
    assert sentence(measured(printed)) == said


OPEN = Cell("print(1)", True)
CHECK = Cell("# check: thm-x\ncheck('thm-x', helper(2))", True)


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        ([CHECK, Cell("# falsify: thm-x\n1", True)], ["check", "falsify"]),
        ([Cell("import numpy as np\nfigures.use()", False)], ["setup"]),
        ([Cell("import numpy as np\nfigures.use()\nprint(len(rows))", True)], ["setup"]),
        ([Cell("import numpy as np\nprint(np.pi)", True)], [""]),
        ([Cell("import numpy as np\ndef f():\n    pass", False)], [""]),
        ([Cell("fig, ax = plt.subplots()\nplt.show()", True)], ["figure"]),
        ([Cell("def helper(x):\n    return x", False), CHECK], ["helper", "check"]),
        ([Cell("def helper(x):\n    return x", False), CHECK, Cell("helper(1)", True)], [""]),
        (
            [Cell("def line(ax):\n    pass", False), Cell("line(plt.gca())\nplt.show()", True)],
            ["helper", "figure"],
        ),
        ([Cell("def other(x):\n    return x", False), CHECK], [""]),
        (
            [
                Cell("def first(x):\n    return x", False),
                Cell("def helper(x):\n    return first(x)", False),
                CHECK,
            ],
            ["helper", "helper", "check"],
        ),
        ([Cell("def test(x):\n    check('thm-x', x)\n\n\ny = 1", False), OPEN], ["helper"]),
        ([Cell("def helper(x):\n    return x\n\n\nassert helper(1)", False), CHECK], [""]),
        ([Cell("%matplotlib inline\nbroken (", False), OPEN], ["", ""]),
    ],
)
def test_kinds(cells, found):
    assert kinds(cells)[: len(found)] == found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_what_prints_a_label_folds(path):
    cells = code_cells(path)
    found = kinds([Cell(cell.source, bool(cell.outputs)) for cell in cells])
    assert [
        cell.id
        for cell, kind in zip(cells, found, strict=True)
        if not kind and (measured(shown(cell)) or re.search(r"\b(check|falsify)\(", cell.source))
    ] == []


def test_most_of_the_code_folds():
    """A rule that stopped to find its cells would leave them open."""
    code = [cell for path in PAGES for cell in code_cells(path)]
    found = [
        kind
        for path in PAGES
        for kind in kinds([Cell(c.source, bool(c.outputs)) for c in code_cells(path)])
    ]
    assert found.count("figure") > 90
    assert found.count("setup") > 20
    assert found.count("helper") > 40
    assert sum("plt.show()" in cell.source for cell in code) == found.count("figure")
