"""What a reader meets in JupyterLab: every link of every notebook leads somewhere.

The links are found with markdown-it, and judged against the files; that they work when clicked is
`tests/site/test_site_lab.py`.
"""

import re
import shutil
from pathlib import Path
from urllib.parse import unquote, urlsplit

import links
import nbformat
import pdp_home
import pytest
import reading
from markdown_it import MarkdownIt
from pybtex.database import parse_file
from reading import Refused

ROOT = Path(__file__).resolve().parent.parent
HOME = pdp_home.place().home
TOC = (ROOT / "_toc.yml").read_text("utf-8")
MARKDOWN = MarkdownIt("commonmark").enable("table")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    links.main(folder)
    return folder / "book"


def notebooks(folder):
    return sorted(folder.rglob("*.ipynb"))


def texts(path):
    notebook = nbformat.read(path, as_version=4)
    return [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]


def linked(source):
    """Words and target of each link, as a reader of Markdown sees them."""
    found = []
    for block in MARKDOWN.parse(source):
        words, target = "", None
        for token in block.children or []:
            if token.type == "link_open":
                words, target = "", token.attrGet("href")
            elif token.type == "link_close":
                found.append((words, target))
            else:
                words += token.content
    return found


def nowhere(path):
    """The links and roles of a notebook that JupyterLab cannot follow."""
    wrong, sources = [], texts(path)
    own = "\n".join(sources)
    for words, target in (link for source in sources for link in linked(source)):
        there = urlsplit(target)
        if target.startswith(HOME):
            page = there.path.removeprefix(urlsplit(HOME).path).removesuffix(".html")
            fine = not page or re.search(rf"(?:file|root): {page}$", TOC, re.M)
        elif there.scheme:
            fine = there.scheme in {"http", "https"}
        else:
            file = path.parent / unquote(there.path) if there.path else path
            fine = file.is_file()
            if fine and there.fragment:
                cells = nbformat.read(file, as_version=4).cells if file.suffix == ".ipynb" else []
                fine = there.fragment in {f"cell-id={cell.id}" for cell in cells}
        if not fine or not words.strip():
            wrong.append(f"[{words}]({target})")
    for role, target in re.findall(r"\{([a-z:]+)\}`([^`]*)`", own):
        label = re.escape(target.rpartition("<")[2].strip(" >"))
        at_home = re.search(rf"^:(?:label|name): *{label}$|\$\$ \({label}\)", own, re.M)
        if role not in {"prf:ref", "eq", "numref"} or not at_home:
            wrong.append(f"{{{role}}}`{target}`")
    drawings = re.findall(r"\{figure\} +(\S+)", own)
    wrong += [name for name in drawings if not (path.parent / name).is_file()]
    return wrong + re.findall(r"^:link.*", own, re.M)


NAMES = [p.relative_to(ROOT / "book").as_posix() for p in notebooks(ROOT / "book")]


@pytest.mark.parametrize("name", [*NAMES, "contents.ipynb"])
def test_no_link_leads_nowhere(prepared, name):
    assert nowhere(prepared / name) == []


@pytest.mark.parametrize(
    "source",
    [
        "[x](../foundations/none.ipynb)",
        "[x](../foundations/noise)",
        "[x](/book/foundations/noise)",
        "[x](noise.ipynb#privacy)",
        "[](noise.ipynb)",
        f"[x]({HOME}book/foundations/none.html)",
        "{doc}`noise`",
        "{cite:t}`wang2019perinstance`",
        "{prf:ref}`thm-pdp-op`",
        ":::{figure} ../_static/diagrams/map.*\n:::",
        ":::{grid-item-card} Begin\n:link: noise\n:::",
    ],
)
def test_a_link_that_leads_nowhere_is_noticed(prepared, source):
    path = prepared / "foundations" / "planted.ipynb"
    cells = [nbformat.v4.new_markdown_cell(source)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    assert len(nowhere(path)) == 1
    path.unlink()


def test_every_page_leads_to_the_contents_and_back_to_its_page(prepared):
    for path in notebooks(prepared):
        if path.stem != "contents":
            (_, contents), (_, page) = linked(texts(path)[0])
            assert (path.parent / contents).resolve() == prepared / "contents.ipynb"
            name = path.relative_to(prepared).with_suffix("").as_posix().replace("release/", "")
            assert page == f"{HOME}book/{name}.html"


def test_the_contents_are_the_table_of_contents(prepared):
    """All but the sections of the back matter, without solutions."""
    found = [t for source in texts(prepared / "contents.ipynb") for _, t in linked(source)]
    listed = re.findall(r"^(?:root|  +- file): book/(\S+)$", TOC, re.M)
    below = ("back/api/", "back/ledger/", "back/grading", "back/bank", "back/cards", "back/papers")
    listed = [name for name in listed if not name.startswith(below)]
    names = [re.sub(r"\.\w+$", "", t.removeprefix(f"{HOME}book/")) for t in found]
    assert [name.replace("exercises/release/", "exercises/") for name in names] == listed
    assert not any(t.startswith("exercises/") and "release" not in t for t in found)


def test_the_second_time_nothing_changes(prepared):
    before = {path: path.read_bytes() for path in notebooks(prepared)}
    links.main(prepared.parent)
    assert {path: path.read_bytes() for path in notebooks(prepared)} == before


def test_what_a_reader_changed_stays(tmp_path):
    shutil.copytree(ROOT / "book", tmp_path / "book")
    path = tmp_path / "book" / "foundations" / "coins.ipynb"
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell("mine = 1"))
    nbformat.write(notebook, path)
    links.main(tmp_path)
    assert "mine = 1" in [cell.source for cell in nbformat.read(path, as_version=4).cells]


def test_the_source_of_what_folds_on_the_site_is_collapsed(prepared):
    path = prepared / "personalized" / "pdp_op.ipynb"
    code = [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]
    hidden = {c.id for c in code if c.metadata.get("jupyter", {}).get("source_hidden")}
    assert {c.id for c in code if re.match("# (check|falsify):", c.source)} < hidden
    assert {c.id for c in code if "plt.show()" in c.source} < hidden
    assert code[0].id in hidden
    assert next(c.id for c in code if c.source.startswith("def pdp_op(")) not in hidden
    exercises = nbformat.read(prepared / "exercises" / "personalized.ipynb", as_version=4)
    assert not any("jupyter" in c.metadata for c in exercises.cells)


def test_a_page_ends_with_the_works_it_cites(prepared):
    source = texts(prepared / "foundations" / "coins.ipynb")
    cited = set(
        re.findall(r"\[([^]]+?),? \(?(\d{4})\)?\]\(#cell-id=works-cited\)", "".join(source))
    )
    heading, _, *entries = source[-1].splitlines()
    assert heading == "## Works cited"
    assert len(entries) == len(cited) > 3
    for authors, year in cited:
        first = authors.split()[0]
        assert any(first in entry and f"({year})" in entry for entry in entries)


# --- the links themselves -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def book():
    return links.Book(ROOT)


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        (
            "By {prf:ref}`thm-sensitivity`.",
            "By [Theorem “Sensitivity of weighted ridge”](sensitivity.ipynb#cell-id="
            "thm-sensitivity).",
        ),
        ("{prf:ref}`thm-pdp-op`", "{prf:ref}`thm-pdp-op`"),
        ("{eq}`eq-pdp-op-x`", "{eq}`eq-pdp-op-x`"),
        ("[tests](#ledger-thm-x)", f"[tests]({HOME}book/back/ledger.html)"),
        (
            "{cite:t}`acharya2024personalized`",
            "[Acharya et al. (2024)](#cell-id=works-cited)",
        ),
        (
            "{cite:p}`amin2019bounding,yang2024private`",
            "([Amin et al., 2019](#cell-id=works-cited); [Yang, 2024](#cell-id=works-cited))",
        ),
        ("{term}`blocks <block>`", f"[blocks]({HOME}book/glossary.html#term-block)"),
        ("[x](../back/api.md)", f"[x]({HOME}book/back/api.html)"),
        ("[x](../foundations/noise.ipynb)", "[x](../foundations/noise.ipynb)"),
        ("[x](../exercises/pac.ipynb)", "[x](../exercises/release/pac.ipynb)"),
        ("[x](accuracy.ipynb#thm-accuracy)", "[x](accuracy.ipynb#cell-id=thm-accuracy)"),
        (
            "[x](../intro.ipynb#find-your-question)",
            "[x](../intro.ipynb#cell-id=find-your-question)",
        ),
        ("$[0, 1](x)$, [x](https://a.org/b.ipynb#c)", "$[0, 1](x)$, [x](https://a.org/b.ipynb#c)"),
    ],
)
def test_what_becomes_of_a_link(book, source, shown):
    assert book.prepared(book.notebooks["personalized/pdp_op"], source) == shown


@pytest.mark.parametrize(
    "source",
    [
        "[x](none.ipynb)",
        "[x](accuracy.ipynb#no-such-heading)",
        "{doc}`accuracy`",
        "{prf:ref}`thm-none`",
        "{cite:t}`nobody2000`",
    ],
)
def test_what_cannot_be_linked_is_refused(book, source):
    with pytest.raises(Refused, match="personalized/pdp_op"):
        book.prepared(book.notebooks["personalized/pdp_op"], source)


def test_works_are_read_as_pybtex_reads_them():
    entries = parse_file(ROOT / "book" / "references.bib").entries
    found = reading.works((ROOT / "book" / "references.bib").read_text("utf-8"))
    assert list(found) == list(entries)
    for key, (short, year, entry) in found.items():
        people = [
            reading.plain(" ".join(p.prelast_names + p.last_names))
            for p in entries[key].persons["author"]
        ]
        wanted = f"{people[0]} et al." if len(people) > 2 else " and ".join(people)
        assert (short, year) == (wanted, entries[key].fields["year"])
        assert all(name in entry for name in people)
        assert reading.plain(entries[key].fields["title"]) in entry
