"""Live cells in Chromium, opened as files: what the interpreter prints, and how it ends.

Most of it needs no built pages: a page is made of the cells alone, with their buttons and scripts.
"""

import html
import io
import re
from contextlib import redirect_stdout

import numpy as np
import pdp_live
import pytest
from bs4 import BeautifulSoup
from drive import OVERFLOW, PHONE, audit, settle
from support import FOLDER, missing, weight

from pdpbook.pages.exercises import assignment

LIVE = {live.name: live for page in pdp_live.PAGES for live in pdp_live.cells(page)}
COINS = "foundations/coins change"
LEAVE_CELLS = """() => {
  for (const one of document.querySelectorAll("article section > *"))
    if (!one.matches(".cell:has(.live-code), section")) one.remove();
}"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A folder of pages, each with the cells of one page of the book."""
    if not pdp_live.PACKAGE.is_dir():
        missing("no interpreter: run `make live` first")
    folder = tmp_path_factory.mktemp("live")
    (folder / "_static").mkdir()
    (folder / "_static" / "live.js").write_text(pdp_live.script(), "utf-8")
    (folder / "_static" / "micropython.js").write_text(pdp_live.interpreter(), "utf-8")
    for page in (*pdp_live.PAGES, *pdp_live.EXERCISES):
        cells = "".join(
            f"<div class='cell'><div class='cell_input'><pre>{html.escape(live.code)}\n</pre></div>"
            "<div class='cell_output'><pre>as in the book</pre></div></div>"
            for live in pdp_live.cells(page)
        )
        text = f"<!DOCTYPE html><html><head><meta charset=utf-8></head><body>{cells}</body></html>"
        soup = BeautifulSoup(text, "html.parser")
        file = folder / "book" / f"{page}.html"
        pdp_live.mark(soup, f"book/{page}.html")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(str(soup), "utf-8")
    return folder


@pytest.fixture
def tab(browser):
    """A page without a network, whose errors fail the test."""
    wrong = []
    with browser.new_context(offline=True) as context:
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on(
            "request", lambda request: request.url.startswith("http") and wrong.append(request.url)
        )
        yield page
    assert not wrong


def opened(tab, pages, name):
    """The cell of this name, as it is after the first click and run."""
    tab.goto((pages / "book" / f"{name.split()[0]}.html").as_uri())
    cell = tab.locator("div.cell", has=tab.locator(f"[data-live='{name}']"))
    cell.locator(".live-start").click()
    return ended(cell)


def ended(cell):
    cell.get_by_text(re.compile("^(Done|Error|Stopped)")).first.wait_for(timeout=60_000)
    return cell


def run(cell, code):
    """What a cell prints, and its last word, for this code."""
    cell.locator("textarea").fill(code)
    cell.get_by_role("button", name="Run").click()
    ended(cell)
    return cell.locator(".live-printed").inner_text(), cell.locator("output").inner_text()


def in_cpython(live) -> str:
    """What it prints in CPython: with NumPy, or where it draws, with the same uniforms."""
    names = {"np": np}
    if not live.name.endswith("change"):
        exec((pdp_live.HERE / "arrays.py").read_text("utf-8"), names)
    for code in ((pdp_live.HERE / "package.py").read_text("utf-8"), live.context):
        exec(code, names)
    with redirect_stdout(io.StringIO()) as out:
        exec(live.code, names)
        exec(live.trial, names)
    return out.getvalue()


@pytest.mark.parametrize("name", LIVE)
def test_a_cell_prints_in_the_page_what_cpython_prints(tab, pages, name):
    cell = opened(tab, pages, name)
    assert cell.locator(".live-printed").inner_text() == in_cpython(LIVE[name])
    assert cell.locator("output").inner_text() == "Done."
    assert not cell.locator(".cell_output").is_visible()


def test_the_noise_broken_in_the_page_shows_in_the_number(tab, pages):
    cell = opened(tab, pages, "foundations/coins open")
    code = LIVE["foundations/coins open"].code
    printed, _ = run(
        cell, code.replace("np.tanh(epsilon / 2)\n    fair", "np.tanh(epsilon)\n    fair")
    )
    assert printed.endswith("REFUTED\n")
    cell.get_by_role("button", name="Reset").click()
    assert cell.locator("textarea").input_value() == code
    assert cell.locator(".cell_output").is_visible()


ANSWERS = {  # to the exercise on coins, as `check` judges them
    "return 1 / (1 + np.exp(-np.asarray(epsilon, dtype=float)))": 0,
    "return 0.5 + np.tanh(np.asarray(epsilon) / 2) / 2": 0,
    "return 1 / (1 + np.exp(epsilon))": 2,
    "return np.exp(epsilon)": 2,
    "return 1 / (1 + np.exp(-epsilom))": 3,
}


def test_an_exercise_is_answered_and_judged_in_the_page(tab, pages):
    tab.goto((pages / "book/exercises/foundations.html").as_uri())
    cell = tab.locator("div.cell")
    cell.locator(".live-start").click()
    cell.get_by_text("Not written yet.").wait_for()
    stub = cell.locator("textarea").input_value()
    assert "- not written yet" in run(cell, stub)[0]
    exercise = assignment("foundations").exercises["truth_probability"]
    for answer, faults in ANSWERS.items():
        code = re.sub(r"raise NotImplementedError.*", answer, stub)
        names = {"np": np}
        exec(code, names)
        wanted = exercise.faults(names["truth_probability"], "visible", 0)
        told, _ = run(cell, code)
        assert re.findall(r"^- (.*)$", told, re.M) == [one.split("; it")[0] for one in wanted]
        assert len(wanted) == faults


WRONG = {  # code, what is printed, the last word
    "a name": ("x = 1\nprint(y)", "Line 2: NameError", "Error in line 2 of the cell."),
    "syntax": ("x = 1\ny = (2\nz = 3", "Line 3: SyntaxError", "Error in line 3 of the cell."),
    "in a function": ("def f(x):\n    return x / 0\n\nf(3)", "Line 2: Zero", "Error in line 2"),
    "no such function": ("np.median([1])", "np.median does not run in the page", "Error in line 1"),
    "with what to use": ("np.sort([1])", "use sorted(x)", "Error in line 1"),
    "no such module": ("import scipy", "in the page there are np and math", "Error in line 1"),
    "too much": ("while True:\n    print('x' * 99)", "the rest is cut off", "Error in line 2"),
    "memory": ("x = [0] * 10**9", "use fewer or smaller arrays", "Error in line 1"),
    "endless": ("while True:\n    pass", "Stopped after 1 seconds", "Stopped."),
}


def test_bad_input_is_answered(tab, pages):
    cell = opened(tab, pages, COINS)
    tab.evaluate("pdpLive.limit = 1")
    for what, (code, said, last) in WRONG.items():
        printed, status = run(cell, code)
        assert (said in printed, status.startswith(last)) == (True, True), what
        assert len(printed) < 21_000
    printed, status = run(cell, LIVE[COINS].code)  # and none of it stays
    assert (printed, status) == (in_cpython(LIVE[COINS]), "Done.")


def test_the_keyboard_alone_is_enough(tab, pages):
    tab.goto((pages / "book/foundations/coins.html").as_uri())
    cell = tab.locator("div.cell").nth(1)
    cell.locator(".live-start").focus()
    tab.keyboard.press("Enter")
    ended(cell)
    code = cell.locator("textarea")
    assert code.evaluate("node => node === document.activeElement")
    tab.keyboard.press("Control+Home")
    tab.keyboard.type("for k in range(2):")
    tab.keyboard.press("Enter")
    tab.keyboard.type("print(k)")  # on a line that is already indented
    tab.keyboard.press("Enter")
    tab.keyboard.press("Control+Enter")
    ended(cell)
    assert cell.locator(".live-printed").inner_text().startswith("0\n1\n")
    assert cell.locator(".live-printed").get_attribute("aria-live") == "polite"
    tab.keyboard.press("Tab")  # the code is no trap
    assert cell.get_by_role("button", name="Run").evaluate(
        "node => node === document.activeElement"
    )


def built(tab, name):
    if not (FOLDER / "_static" / "live.js").is_file():
        missing("a site without live cells: run `make live book` first")
    tab.goto((FOLDER / "book" / f"{name}.html").as_uri())


def test_nothing_is_loaded_before_the_first_click(tab, folder):
    asked = set()
    tab.on("request", lambda request: asked.add(request.url))
    built(tab, "foundations/coins")
    assert tab.locator(".live-start").count() == 2
    assert not [url for url in asked if url.endswith(("live.js", "micropython.js"))]
    tab.locator(".live-start").first.click()
    ended(tab.locator("div.cell.tag_minimal"))
    loaded = {
        url.split("/_static/")[1] for url in asked if url.endswith(("live.js", "micropython.js"))
    }
    assert loaded == {"live.js", "micropython.js"}
    assert weight(FOLDER, {f"_static/{name}" for name in loaded}) < 260_000


def test_other_values_of_a_grid_are_shown(tab, folder):
    page = "per_instance/ops"
    kept = pdp_live.grid(pdp_live.GRIDS / "per_instance-ops.json")
    tab.goto((FOLDER / "book" / f"{page}.html").as_uri())
    cell = tab.locator("div.cell:has(.live-bar)")
    as_printed = cell.locator(".cell_output pre").inner_text()
    cell.locator(".live-start").click()
    cell.locator("select").first.wait_for()
    for select in cell.locator("select").all():
        select.select_option(index=0)
    assert cell.locator(".cell_output pre").inner_text() == kept["printed"][0]
    first = [values[0] for values in kept["names"].values()]
    assert (
        f"lam, gamma, delta = {', '.join(first)}\n" in cell.locator(".cell_input pre").inner_text()
    )
    cell.get_by_role("button", name="Reset").click()
    assert cell.locator(".cell_output pre").inner_text() == as_printed
    assert cell.locator(".cell_input pre span").count()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_open_cell_is_accessible_and_fits_a_phone(browser, folder, scheme):
    with browser.new_context(offline=True, viewport=PHONE, color_scheme=scheme) as context:
        tab = context.new_page()
        built(tab, "foundations/coins")
        settle(tab)
        for cell in (
            tab.locator("div.cell.tag_minimal"),
            tab.locator("div.cell", has=tab.locator(f"[data-live='{COINS}']")),
        ):
            cell.locator(".live-start").click()
            ended(cell)
        run(cell, "x = 1\nprint(y)")
        assert tab.evaluate(OVERFLOW) == []
        tab.evaluate(LEAVE_CELLS)
        assert audit(tab, colors=True) + audit(tab, colors=False) == []
