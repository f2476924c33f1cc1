"""Form of the notebooks: canonical, readable on a phone, every number printed by a cell.

Each rule is a function of a notebook that returns what is wrong with it; the tests run them on
every notebook and on small ones with one planted fault each. That the notebooks run and print
what is committed is nbval's part.
"""

import ast
import asyncio
import copy
import itertools
import os
import re
from pathlib import Path

import checkout
import form
import nbformat
import notebooks
import pages
import pytest
import reading
from nbformat import v4

ROOT = Path(__file__).resolve().parent.parent

LINES, COLUMNS, PRINTED = 25, 75, 80
ALT = range(60, 401)
WORDS = range(1200, 4501)
# decimals in prose that no cell prints, each with its reason: {("foundations/coins", "1.96"): ...}
TYPED = {
    ("intro", "3.11"): "the version of Python the package needs",
    ("exercises/accounting", "1.001"): "how exact an answer has to be",
}


# --- the rules: form -----------------------------------------------------------------------------


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def not_canonical(notebook):
    """What tools/notebooks.py would change, and what it cannot: counts, stderr, errors."""
    wrong = []
    if notebooks.canonical(copy.deepcopy(notebook)) != notebook:
        wrong.append("not in canonical form: run tools/notebooks.py")
    counts = [cell.execution_count for cell in code_cells(notebook)]
    if counts != list(range(1, len(counts) + 1)):
        wrong.append(f"execution counts are {counts}, not 1, 2, 3, ...: run it from a fresh kernel")
    for cell in code_cells(notebook):
        for output in cell.outputs:
            if output.output_type == "error" or output.get("name") == "stderr":
                wrong.append(f"cell {cell.id} committed an error, a warning or stderr")
            if any(re.match("image/|application/pdf", kind) for kind in output.get("data", {})):
                wrong.append(f"cell {cell.id} committed an image")
    wrong += [
        f"cell id {cell.id!r} is not made of words"
        for cell in notebook.cells
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", cell.id) or not re.search("[a-z]", cell.id)
    ]
    return wrong


def too_long(notebook):
    """Code cells of more than 25 lines or 75 characters, printed lines of more than 80."""
    wrong = []
    for cell in code_cells(notebook):
        lines = cell.source.splitlines()
        if len(lines) > LINES:
            wrong.append(f"cell {cell.id} has {len(lines)} lines, more than {LINES}")
        wrong += [
            f"cell {cell.id} has a line of {len(line)} characters, more than {COLUMNS}: {line}"
            for line in lines
            if len(line) > COLUMNS
        ]
        for output in cell.outputs:
            text = "".join(output.get("text", "")) or output.get("data", {}).get("text/plain", "")
            if "text/html" in output.get("data", {}):
                continue  # a table, which scrolls in its box
            wrong += [
                f"cell {cell.id} printed a line of {len(line)} characters, more than {PRINTED}"
                for line in text.splitlines()
                if len(line) > PRINTED
            ]
    return wrong


MANTISSA = re.compile(r"(?<![\w.])(\d+\.?\d*)(?:[eE][+-]?\d+)?")
DIGITS = 10


def digits(number):
    """How many significant digits a number shows."""
    significant = number.replace(".", "").lstrip("0")
    return len(significant if "." in number else significant.rstrip("0"))


def too_many_digits(notebook):
    """Numbers of which processors may end the last digit differently, strings and HTML included."""
    return [
        f"cell {cell.id} printed {number}, more than {DIGITS} digits"
        for cell in code_cells(notebook)
        for number in MANTISSA.findall(reading.printed(cell))
        if digits(number) > DIGITS
    ]


def unlabelled_figures(notebook):
    """Figure cells without caption, name or an alt text that says what one sees."""
    wrong, names = [], set()
    for cell in code_cells(notebook):
        mystnb = cell.metadata.get("mystnb", {})
        figure, alt = mystnb.get("figure", {}), mystnb.get("image", {}).get("alt", "")
        if "plt.show()" not in cell.source:
            if figure:
                wrong.append(f"cell {cell.id} has a figure's caption and no plt.show()")
            continue
        if "figsize" in cell.source:
            wrong.append(f"figure cell {cell.id} has a figsize of its own")
        if set(mystnb.get("image", {})) - {"alt"}:
            wrong.append(f"figure cell {cell.id} says more of its image than the alt text")
        caption, name = figure.get("caption", ""), figure.get("name", "")
        if not caption.strip():
            wrong.append(f"figure cell {cell.id} has no caption")
        if not re.fullmatch(r"fig-[a-z0-9-]+", name) or name in names:
            wrong.append(f"figure cell {cell.id} has no name of its own fig-...; got {name!r}")
        names.add(name)
        if len(alt) not in ALT:
            wrong.append(
                f"figure cell {cell.id} has an alt text of {len(alt)} characters, not 60 to 400"
            )
        if alt and alt.strip(" .") == caption.strip(" ."):
            wrong.append(f"figure cell {cell.id} repeats its caption as alt text")
    return wrong


def unseeded(notebook):
    """Draws that another run would not repeat."""
    wrong = []
    for cell in code_cells(notebook):
        source = re.sub(r"^[%!].*$", "", cell.source, flags=re.M)
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, ast.Call):
                continue
            called = ast.unparse(node.func)
            if called.endswith("default_rng") and not (node.args or node.keywords):
                wrong.append(f"cell {cell.id}: default_rng() without a seed")
            elif re.match(r"(np|numpy)\.random\.[a-z]", called) and "default_rng" not in called:
                wrong.append(f"cell {cell.id}: {called} draws from a global generator")
    return wrong


def unsaid(notebook):
    """Values that a cell shows because its last line returns one: print what is worth showing.

    The value of a hidden test is its points, for nbgrader, and no page shows the cell.
    """
    return [
        f"cell {cell.id} shows a bare value: {output['data'].get('text/plain', '')[:40]}"
        for cell in code_cells(notebook)
        for output in cell.outputs
        if output["output_type"] == "execute_result"
        and "remove-cell" not in cell.metadata.get("tags", [])
    ]


# --- the rules: prose ----------------------------------------------------------------------------


def markdown(notebook, *, notation=True):
    """All markdown of a page, code blocks taken out; on request without its table of notation."""
    text = "\n\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    text = re.sub(r"^```(?!\{).*?^```", "", text, flags=re.M | re.S)
    if not notation:
        text = re.sub(r"^## Notation\b.*?(?=^## |\Z)", "", text, flags=re.M | re.S)
    return text


def prose(notebook, *, notation=True):
    """The words of a page without mathematics, code, roles, citations and targets of links."""
    text = markdown(notebook, notation=notation)
    text = re.sub(r"\$\$.*?\$\$", " ", text, flags=re.S)
    text = re.sub(r"(?<!\\)\$[^$]*?(?<!\\)\$", " ", text)
    text = re.sub(r"\{[a-z:]+\}`[^`]*`", " ", text)
    text = re.sub(r"`[^`]*`", " ", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    text = re.sub(r"^[:`]{3,}\{.*$", lambda m: m[0].partition("}")[2], text, flags=re.M)
    return re.sub(r"^(?::[\w-]+:.*|[:`]{3,})$", "", text, flags=re.M)


NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?!\w|\.\d)", re.I)
DECIMAL = re.compile(r"(?<![\w.,])\d[\d,]*\.\d+(?!\w|\.\d)(?P<percent> percent| ?%)?")

STATEMENT = re.compile(rf"\b({'|'.join(reading.NUMBERED.values())}) \d+(\.\d+)*")  # of a paper


def unprinted(notebook, name=""):
    """Decimals of three or more digits, in prose, captions and alt texts, that no cell printed."""
    shown = []
    for cell in code_cells(notebook):
        text = re.sub(r"<[^>]*>", " ", pages.printed(cell))
        shown += [abs(float(number.replace(",", ""))) for number in NUMBER.findall(text)]
    texts = [prose(notebook, notation=False)]
    for cell in code_cells(notebook):
        mystnb = cell.metadata.get("mystnb", {})
        texts += [
            mystnb.get("figure", {}).get("caption", ""),
            mystnb.get("image", {}).get("alt", ""),
        ]
    wrong = []
    for match in DECIMAL.finditer(STATEMENT.sub(" ", "\n".join(texts))):
        text = match[0].rstrip(" %percnt").replace(",", "")
        if len(text.replace(".", "").lstrip("0")) < 3 or (name, text) in TYPED:
            continue
        places = len(text.partition(".")[2])
        reach = 0.5 * 10.0**-places * (1 + 1e-9)
        scales = (1, 100) if match["percent"] else (1,)
        if not any(abs(number * k - float(text)) <= reach for number in shown for k in scales):
            wrong.append(f"{match[0]} stands in prose, and no cell of the page printed it")
    return wrong


def disordered(notebook):
    """Headings: the first cell begins with the only title, and no level is skipped."""
    if not notebook.cells or not re.match(r"# \S", notebook.cells[0].source):
        return ["the first cell does not begin with the title"]
    levels = [len(marks) for marks in re.findall(r"^(#+) ", markdown(notebook), re.M)]
    wrong = ["there is more than one title"] if levels.count(1) > 1 else []
    for above, below in itertools.pairwise(levels):
        if below > above + 1:
            wrong.append(f"a heading of level {below} follows one of level {above}")
    return wrong


SECTIONS = {"": ("Summary", "Notation"), "core": ("Exercises", "Summary"), "depth": ("Summary",)}
SECTIONS |= {"appendix": ()}


def incomplete(notebook):
    """A chapter's length, and the sections that every page of its form has."""
    text, kind = markdown(notebook), form.mark(notebook)
    if kind not in SECTIONS:
        return [f"its form is {kind!r}, not one of {', '.join(filter(None, SECTIONS))}"]
    wrong = [
        f"there is no section {section!r}"
        for section in SECTIONS[kind]
        if not re.search(rf"^## {section}\b", text, re.M)
    ]
    count = len(re.findall(r"[A-Za-z][\w'-]*", prose(notebook)))
    if count not in WORDS:
        wrong.append(f"{count} words, not {WORDS[0]} to {WORDS[-1]}")
    if kind == "core":
        wrong += _unlike_a_core_chapter(notebook, text)
    return wrong


def _unlike_a_core_chapter(notebook, text):
    """What a core chapter has once; `tests/test_form.py` measures the rest."""
    wrong = []
    if text.count("{dropdown} For readers of the paper") != 1:
        wrong.append("there is not one folded box 'For readers of the paper'")
    if sum("minimal" in cell.metadata.get("tags", []) for cell in code_cells(notebook)) != 1:
        wrong.append("there is not one cell with the tag 'minimal'")
    exercises = re.findall(r"^::::\{exercise\}.*?^::::$", text, re.M | re.S)
    for exercise in exercises:
        if not re.search(r":::\{dropdown\} Hint\n.*:::\{dropdown\} Solution\n", exercise, re.S):
            wrong.append(f"an exercise has no hint or no solution: {exercise.splitlines()[0]}")
    if len(exercises) not in range(4, 7):
        wrong.append(f"{len(exercises)} exercises, not 4 to 6")
    return wrong


AMOUNT = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")


def unquoted(notebook):
    """Sentences of checks whose numbers their cells neither print nor set."""
    wrong, cells = [], code_cells(notebook)
    for cell, after in zip(cells, [*cells[1:], None], strict=True):
        if "check" not in cell.metadata.get("tags", []):
            continue
        said = cell.metadata.get("mystnb", {}).get("code_prompt_show", "")
        if not re.fullmatch(r"Tested.*\. With a deliberate mistake it fails: .*\.", said):
            wrong.append(f"check {cell.id} does not say what was tested and what is noticed")
        checked = {name for kind, name in pages.markers(cell.source) if kind == "check"}
        broken = {name for kind, name in pages.markers(after.source if after else "")}
        if not checked or checked != broken:
            wrong.append(f"check {cell.id} is not followed by its counterexample")
            continue
        known = "".join(one.source + pages.printed(one) for one in (cell, after))
        wrong += [
            f"check {cell.id} says {number}, which is neither printed nor set"
            for number in AMOUNT.findall(said)
            if not re.search(rf"(?<![\d.]){re.escape(number.replace(',', ''))}(?!\d|\.\d)", known)
        ]
    return wrong


def misrendered(notebook):
    """What MyST takes for something else, without a warning."""
    wrong = []
    for cell in notebook.cells:
        if cell.cell_type != "markdown":
            continue
        lines, inside = cell.source.splitlines(), False
        for k, line in enumerate(lines):
            if not line.startswith("$$"):
                continue
            one_line = line.count("$$") > 1
            above = lines[k - 1].strip() if k else ""
            below = lines[k + 1].strip() if k + 1 < len(lines) else ""
            if not inside and above:
                wrong.append(f"cell {cell.id}: no blank line before the $$ after {above!r}")
            if (inside or one_line) and below and not below.startswith(":::"):
                wrong.append(f"cell {cell.id}: no blank line after the $$ before {below!r}")
            inside = not inside and not one_line
        if inside:
            wrong.append(f"cell {cell.id}: a $$ is not closed")
        for directive, title, _ in pages.DIRECTIVE.findall(cell.source):
            if directive.startswith("prf:") and re.search(r"[()]", re.sub(r"\$.*?\$", "", title)):
                wrong.append(f"cell {cell.id}: the title {title!r} has parentheses of its own")
    return wrong


# --- the notebooks -------------------------------------------------------------------------------

RULES = [
    not_canonical,
    too_long,
    too_many_digits,
    unlabelled_figures,
    unseeded,
    unsaid,
    disordered,
    misrendered,
    unquoted,
]
CHAPTERS = pages.published()


def identifier(value):
    if isinstance(value, Path):
        return str(value.relative_to(ROOT / "book").with_suffix(""))
    return getattr(value, "__name__", None)


def read(path):
    return nbformat.read(path, as_version=4)


every_notebook = pytest.mark.parametrize("path", notebooks.sources(), ids=identifier)


@pytest.mark.parametrize("rule", RULES, ids=identifier)
@every_notebook
def test_form(path, rule):
    assert rule(read(path)) == []


@every_notebook
def test_committed_bytes_are_the_canonical_ones(path):
    committed = path.read_text(encoding="utf-8")
    canonical = notebooks.text(notebooks.canonical(nbformat.reads(committed, as_version=4)))
    assert committed == canonical, "run tools/notebooks.py on it"


@every_notebook
def test_every_decimal_in_prose_is_printed_on_the_page(path):
    assert unprinted(read(path), identifier(path)) == []


@pytest.mark.parametrize("name", CHAPTERS)
def test_chapters_are_complete(name):
    assert incomplete(read(CHAPTERS[name])) == []


def test_every_exception_is_still_needed():
    for name, text in TYPED:
        assert re.search(rf"(?<!\d){re.escape(text)}", prose(read(ROOT / "book" / f"{name}.ipynb")))


# --- a notebook with one planted fault each ------------------------------------------------------

ALT_TEXT = "A curve falls from 1 to 0.123 between 0 and 6 nats; beyond 5 nats it is nearly flat."
FIGURE = {
    "mystnb": {
        "figure": {"name": "fig-loss", "caption": "The loss falls."},
        "image": {"alt": ALT_TEXT},
    }
}


def good():
    """A small notebook without a fault, in which 0.123 and 1,234.5 are printed."""
    first = v4.new_code_cell(
        "rng = np.random.default_rng(3)\nprint(x)", id="set-up", execution_count=1
    )
    first.outputs = [v4.new_output("stream", name="stdout", text="0.12345 and 1,234.5\n<0.001\n")]
    second = v4.new_code_cell("plt.show()", id="picture", execution_count=2, metadata=FIGURE)
    second.outputs = [v4.new_output("display_data", data={"text/plain": "<Figure size 9x5>"})]
    text = "## Summary\n\nIt is 0.123, or 12.3 percent, of 1,234.5.\n\n$$\nx\n$$\n\n"
    text += "## Notation\n\n| 9.876 |"
    title = v4.new_markdown_cell("# Title\n\nA claim.", id="title")
    notebook = v4.new_notebook(cells=[title, first, second, v4.new_markdown_cell(text, id="end")])
    return notebooks.canonical(notebook)


def planted(change):
    notebook = good()
    change(notebook)
    return notebook


def code(source):
    return lambda nb: nb.cells[1].update(source=source)


def words(source):
    return lambda nb: nb.cells[3].update(source=source)


def output(kind, **fields):
    return lambda nb: nb.cells[1].outputs.append(v4.new_output(kind, **fields))


def figure(**fields):
    return lambda nb: nb.cells[2].metadata["mystnb"]["figure"].update(fields)


def alt(text):
    return lambda nb: nb.cells[2].metadata["mystnb"]["image"].update(alt=text)


def formed(kind, more=""):
    def change(notebook):
        notebook.metadata["pdpbook"] = {"form": kind}
        notebook.cells[3].source += more

    return change


EXERCISE = "\n\n::::{exercise} One\n:::{dropdown} Hint\nWords.\n:::\n::::"
SENTENCE = (
    "Tested in 1,000 cases: it is 0.5. "
    "With a deliberate mistake it fails: half the noise (2 times)."
)


def wrongly(sentence, broken="thm-x"):
    """A check with its sentence, and its counterexample."""

    def change(notebook):
        cells = notebook.cells
        cells[1].source = "# check: thm-x\nsolve(1000)"
        cells[1].outputs[0].text = "thm-x  largest loss       0.5  <= 1\n"
        cells[1].metadata.update(tags=["check"], mystnb={"code_prompt_show": sentence})
        cells[2].source = f"# falsify: {broken}\nplt.show()"
        cells[2].outputs = [v4.new_output("stream", name="stdout", text="thm-x  half  2  not <= 1")]

    return change


def test_a_sentence_that_quotes_its_cells_passes():
    assert unquoted(planted(wrongly(SENTENCE))) == []


@pytest.mark.parametrize("rule", [*RULES, unprinted], ids=identifier)
def test_a_good_notebook_passes(rule):
    assert rule(good()) == []


PLANTED = [
    (not_canonical, lambda nb: nb.cells[1].update(id="0a1b2c3d"), "not in canonical form"),
    (not_canonical, lambda nb: nb.cells[1].update(id="title"), "not in canonical form"),
    (not_canonical, lambda nb: nb.cells[1].update(id="12"), "not made of words"),
    (not_canonical, lambda nb: nb.cells[1].update(id="Set_Up"), "not made of words"),
    (not_canonical, lambda nb: nb.cells[1].update(source="x\n"), "not in canonical form"),
    (not_canonical, lambda nb: nb.cells[2].update(execution_count=3), "[1, 3], not 1, 2, 3"),
    (not_canonical, lambda nb: nb.cells[2].update(execution_count=None), "[1, None], not 1, 2"),
    (
        not_canonical,
        lambda nb: nb.cells[1].metadata.update(execution={"iopub.status.busy": "now"}),
        "not in canonical form",
    ),
    (not_canonical, lambda nb: nb.metadata.update(author="me"), "not in canonical form"),
    (not_canonical, output("display_data", data={"image/png": "AAAA"}), "committed an image"),
    (not_canonical, output("display_data", data={"application/pdf": "AA"}), "committed an image"),
    (not_canonical, output("stream", name="stderr", text="Warning"), "a warning or stderr"),
    (not_canonical, output("error", ename="E", evalue="", traceback=[]), "committed an error"),
    (too_long, code("\n".join("x" * 26)), "26 lines, more than 25"),
    (too_long, code("x" * 76), "a line of 76 characters, more than 75"),
    (too_long, output("stream", name="stdout", text="a\n" + "x" * 81), "printed a line of 81"),
    (too_long, output("execute_result", data={"text/plain": "x" * 81}), "printed a line of 81"),
    (
        too_many_digits,
        output("display_data", data={"text/html": '{"all":[1,55.62314580091424]}'}),
        "printed 55.62314580091424, more than 10 digits",
    ),
    (too_many_digits, output("stream", name="stdout", text="0.012345678901e-7"), "0.012345678901"),
    (unsaid, output("execute_result", data={"text/plain": "0.5"}), "shows a bare value: 0.5"),
    (unlabelled_figures, figure(caption=""), "has no caption"),
    (
        unlabelled_figures,
        lambda nb: nb.cells[2].update(source="plt.subplots(figsize=(9, 5))\nplt.show()"),
        "has a figsize of its own",
    ),
    (unlabelled_figures, figure(name="loss"), "no name of its own"),
    (
        unlabelled_figures,
        lambda nb: nb.cells[2].metadata["mystnb"]["image"].update(width="640px"),
        "says more of its image than the alt text",
    ),
    (unlabelled_figures, alt("Too short to say anything."), "alt text of 26 characters"),
    (unlabelled_figures, alt("x" * 401), "alt text of 401 characters"),
    (unlabelled_figures, figure(caption=ALT_TEXT), "repeats its caption"),
    (unlabelled_figures, lambda nb: nb.cells[2].metadata.clear(), "has no caption"),
    (unlabelled_figures, lambda nb: nb.cells.append(nb.cells[2]), "no name of its own"),
    (unlabelled_figures, lambda nb: nb.cells[2].update(source="x = 1"), "no plt.show()"),
    (unseeded, code("rng = np.random.default_rng()"), "default_rng() without a seed"),
    (unseeded, code("from numpy.random import default_rng\ndefault_rng()"), "without a seed"),
    (unseeded, code("np.random.seed(0)"), "np.random.seed draws from a global generator"),
    (unseeded, code("%time\nx = numpy.random.normal()"), "numpy.random.normal draws"),
    (unprinted, words("It is 0.124."), "0.124 stands in prose"),
    (unprinted, words("It is 12.4 percent."), "12.4 percent stands in prose"),
    (unprinted, words("It is 12.3 nats."), "12.3 stands in prose"),
    (unprinted, words("It is 0.000999, say."), "0.000999 stands in prose"),
    (unprinted, words("It is 1,235.5."), "1,235.5 stands in prose"),
    (unprinted, words(":::{prf:theorem} Of 3.14\n:label: thm-x\n\nIt is 4.56.\n:::"), "4.56"),
    (unprinted, words("| ours | printed |\n| --- | --- |\n| 0.123 | 0.456 |"), "0.456 stands"),
    (unprinted, figure(caption="It falls to 0.456."), "0.456 stands in prose"),
    (unprinted, alt("It falls to 0.456."), "0.456 stands in prose"),
    (disordered, lambda nb: nb.cells[0].update(source="Words.\n\n# Title"), "does not begin"),
    (disordered, lambda nb: nb.cells.reverse(), "does not begin with the title"),
    (disordered, words("# Another title"), "more than one title"),
    (disordered, words("## Section\n\n#### Deep"), "level 4 follows one of level 2"),
    (disordered, words("### Deep"), "level 3 follows one of level 1"),
    (misrendered, words("Text\n$$\nx\n$$"), "no blank line before the $$ after 'Text'"),
    (misrendered, words("$$\nx\n$$\nText"), "no blank line after the $$ before 'Text'"),
    (misrendered, words("$$\nx\n\nText"), "a $$ is not closed"),
    (misrendered, words(":::{prf:lemma} Bound (ours)\n:label: lem-x\n\nx\n:::"), "parentheses"),
    (incomplete, words("## Notation\n\nWords."), "there is no section 'Summary'"),
    (incomplete, words("## Summary\n\nWords."), "there is no section 'Notation'"),
    (incomplete, words("word " * 1100), "words, not 1200 to 4500"),
    (incomplete, formed("long"), "its form is 'long', not one of core, depth, appe"),
    (incomplete, formed("core"), "there is no section 'Exercises'"),
    (incomplete, formed("core"), "not one folded box 'For readers of the paper'"),
    (incomplete, formed("core"), "not one cell with the tag 'minimal'"),
    (incomplete, formed("core"), "0 exercises, not 4 to 6"),
    (incomplete, formed("core", EXERCISE), "no hint or no solution: ::::{exercise} One"),
    (unquoted, wrongly("Tested: it is 0.5."), "does not say what was tested and what is noti"),
    (unquoted, wrongly(SENTENCE, "thm-y"), "not followed by its counterexample"),
    (unquoted, wrongly(SENTENCE.replace("0.5", "0.6")), "says 0.6, which is neither printed"),
    (incomplete, words("word " * 4600), "words, not 1200 to 4500"),
    (incomplete, words("`code` " * 1500 + "$x$ " * 1500), "words, not 1200 to 4500"),
]


@pytest.mark.parametrize(("rule", "change", "message"), PLANTED)
def test_planted_faults_are_noticed(rule, change, message):
    found = rule(planted(change))
    assert any(message in fault for fault in found), found


@pytest.mark.parametrize(
    "text",
    [
        "With code `0.456`, math $0.456$ and $$0.456$$, and {cite:t}`someone-0.456`.",
        "```python\nx = 0.456\n```",
        "Versions 1.2.3 and Table 4.56a, a [link](https://a.org/0.456).",
        "About 0.12, or 12 percent, or 1.2, or 0.0012.",
        "Printed 0.1235 and 0.12345 in full.",
    ],
)
def test_what_is_no_number_in_prose(text):
    assert unprinted(planted(words(text))) == []


def test_headings_in_code_are_no_headings():
    assert disordered(planted(words("```python\n# a comment\n```"))) == []


def test_canonical_form_is_reached_in_one_step():
    notebook = good()
    for kind in ("image/png", "image/svg+xml", "application/pdf"):
        notebook.cells[1].outputs += [v4.new_output("display_data", data={kind: "AAAA"})]
    notebook.cells[1].metadata["execution"] = {"iopub.status.busy": "now"}
    notebook.cells[1].id, notebook.cells[3].id = "title", "0a1b2c3d"
    once = notebooks.canonical(notebook)
    assert notebooks.canonical(copy.deepcopy(once)) == once
    assert [cell.id for cell in once.cells] == ["title", "title-2", "picture", "summary"]


def broken_formulas(notebook):
    """Lines of a sentence that begin with 1., or with + or - in a formula: they become a list."""
    faults = []
    for cell in notebook.cells:
        if cell.cell_type != "markdown":
            continue
        prose = re.sub(r"^ *\$\$.*?\$\$", "", cell.source, flags=re.M | re.S)
        for paragraph in re.split(r"\n\s*\n", prose):
            for match in re.finditer(r"\n {0,3}[-+*] ", paragraph):
                if paragraph[: match.start()].count("$") % 2:
                    line = paragraph[match.start() :].strip().splitlines()[0]
                    faults.append(f"cell {cell.id} has a formula broken before: {line}")
            for match in re.finditer(r"^(?! |[-*+:#]|\d+\. ).*[^:\n]\n(1\. .*)", paragraph, re.M):
                faults.append(f"cell {cell.id} has a sentence broken before: {match[1]}")
    return faults


@every_notebook
def test_no_formula_is_broken_into_a_list(path):
    assert broken_formulas(read(path)) == []


def test_a_formula_broken_into_a_list_is_noticed():
    for text in ("The sum $a\n+ b$ is it.", "Their label is\n1. They leave."):
        cell = nbformat.v4.new_markdown_cell(text)
        assert broken_formulas(nbformat.v4.new_notebook(cells=[cell]))
    cell = nbformat.v4.new_markdown_cell("Steps:\n1. first\n2. second\n\nThen\n\n1. again")
    assert not broken_formulas(nbformat.v4.new_notebook(cells=[cell]))


def test_a_kernel_that_finds_another_package_is_refused(tmp_path):
    """As in a second checkout, where the environment has the first."""
    other = tmp_path / "pdpbook"
    other.mkdir()
    (other / "__init__.py").write_text("")
    notebook = v4.new_notebook(cells=[v4.new_code_cell("1 + 1")])
    env = os.environ | {"PYTHONPATH": str(tmp_path)}
    with pytest.raises(checkout.OtherCheckout, match="Python found"):
        asyncio.run(notebooks.run(notebook, tmp_path, 60, env))


def test_another_package_is_refused():
    checkout.refuse_other(checkout.ROOT / "pdpbook" / "__init__.py")
    with pytest.raises(checkout.OtherCheckout):
        checkout.refuse_other("/elsewhere/pdpbook/__init__.py")
    absent = {"content": {"user_expressions": {"source": {"evalue": "No module named 'pdpbook'"}}}}
    with pytest.raises(checkout.OtherCheckout, match="No module named"):
        checkout.refuse_other_in_kernel(absent)
