"""Grids of cells "Change me": what is committed is what the cell prints, of the code as it is."""

import gzip
import json
import random

import grids
import nbformat
import pdp_live
import pytest

PAGES = grids.spaces()
SLOW = {"foundations/audits", "pac/dpsgd", "pac/noise"}  # seconds, where the others take tenths


def committed(page: str) -> str:
    """What the cell prints in the book."""
    notebook = nbformat.read(grids.ROOT / "book" / f"{page}.ipynb", as_version=4)
    [cell] = [c for c in notebook.cells if c.source == grids.split(page)[1]]
    return "".join(output.text for output in cell.outputs)


@pytest.mark.parametrize("page", PAGES)
def test_a_grid_belongs_to_the_code_as_it_is(page):
    assert not grids.stale(page), f"run: python tools/grids.py {page}"
    kept, cell = grids.kept(page), grids.split(page)[1]
    assert (kept["names"], "".join(kept["parts"])) == (
        grids.in_order(cell, PAGES[page]),
        cell,
    )
    assert 20 <= len(kept["printed"]) <= 100
    assert len({*kept["printed"]}) > len(kept["printed"]) / 2  # the names matter


@pytest.mark.parametrize("page", PAGES)
def test_a_page_starts_with_what_the_book_prints_and_loads_little(page):
    shown, at = pdp_live.grid(grids.place(page)), 0
    for start, values in zip(shown["start"], shown["names"].values(), strict=True):
        at = at * len(values) + start
    assert shown["printed"][at] == committed(page)
    assert len(gzip.compress(pdp_live.grid_script(grids.place(page)).encode())) < 60_000


@pytest.mark.parametrize(
    "page", [pytest.param(p, marks=pytest.mark.slow) if p in SLOW else p for p in PAGES]
)
def test_a_random_setting_prints_the_same_again(page):
    kept = grids.kept(page)
    chosen = [*grids.settings(kept["names"])]
    k = random.randrange(len(chosen))  # another one in each run: a failure names it
    assert grids.printed(page, chosen[k], grids.prepared(page)) == kept["printed"][k], chosen[k]


def test_every_file_is_of_a_page():
    assert {*grids.FOLDER.glob("*.json")} == {grids.place(page) for page in PAGES}


def test_a_key_sees_a_function_behind_and_no_docstring(monkeypatch):
    page = "per_instance/ops"
    key, source = grids.key(page), grids.source
    behind = {
        f"{module}.{name}"
        for module, name in grids.functions_behind(
            [*grids.needed(*grids.split(page)), *grids.ast.parse(grids.split(page)[1]).body]
        )
    }
    called = "pdpbook.per_instance.levels.per_instance_epsilon"
    assert any(name.endswith("per_instance_epsilon") for name in behind), called
    deep = sorted(behind)[0]
    monkeypatch.setattr(grids, "source", lambda m, n: source(m, n) + "x" * (f"{m}.{n}" == deep))
    assert grids.key(page) != key


def test_values_are_put_where_they_are_assigned():
    cell = "# Change me\na, b = 1.0, [2, 3]\nc = 'é'; d = 4\na = a + 1\nprint(a, b, c, d)"
    space = grids.in_order(cell, {"d": ["4", "5"], "b": ["[2, 3]", "[]"], "a": ["1.00", "7"]})
    assert [*space] == ["a", "b", "d"]
    text = grids.with_values(cell, {"a": "7", "b": "[]", "d": "5"})
    assert text == cell.replace("1.0, [2, 3]", "7, []").replace("d = 4", "d = 5")
    with pytest.raises(SystemExit, match=r"a = 1\.0 is none of"):
        grids.in_order(cell, {"a": ["2", "3"]})
    with pytest.raises(SystemExit, match="assigns no x"):
        grids.in_order(cell, {"x": ["2"]})


def test_what_a_cell_needs_comes_before_it():
    earlier = [
        "import numpy as np\nimport os",
        "x = np.ones(3)\nunused = os.getcwd()",
        "x[0] = 2\ndef f(a):\n    return a + x",
    ]
    needed = grids.needed(earlier, "y = 1\nprint(f(y))")
    assert [grids.ast.unparse(node).split("\n")[0] for node in needed] == [
        "import numpy as np",
        "x = np.ones(3)",
        "x[0] = 2",
        "def f(a):",
    ]


def test_json_is_as_it_was_written():
    for page in PAGES:
        text = grids.place(page).read_text(encoding="utf-8")
        assert text == json.dumps(json.loads(text), indent=1) + "\n"
