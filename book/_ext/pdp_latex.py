"""The book as one PDF: chapters first, what goes deeper after them, solutions last.

The builder for LaTeX sees all pages as one tree. Here that tree is given what a web page has and
paper has not: parts with titles, numbers equal to those of the site, boxes for statements and
proofs, hints that are not folded, solutions where one does not see them too early. Code that the
site folds is left out; a check is the sentence that it folds to. How it all looks is the preamble
in `_config.yml`. HTML is not touched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

from docutils import nodes
from pdp_folds import is_cell, part, streams
from pdp_home import HERE
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.texescape import escape
from sphinx_exercise.nodes import exercise_enumerable_node, exercise_node
from sphinx_proof.nodes import NODE_TYPES, proof_node, unenumerable_node

STATEMENTS = (*NODE_TYPES.values(), unenumerable_node)
COUNTERS = {"figure": "figure", "table": "table", "displaymath": "equation"}
LONG, WIDE = 30, 80  # rows, from which Sphinx lets a table break; characters of a line
SHORT = 800  # characters of a box that stays on one page, with the heading before it
EXERCISES, PAPERS = "book/exercises/", "book/papers/"
DEPTH, LAST = "Appendix: depth pages", "Solutions"
ON_PAPER = (
    "First come the chapters and the exercises. Appendices hold the depth pages, in the order of "
    "their chapters, and the pages of the papers; after the back matter stand the solutions. A "
    "figure that moves on the web is one of its pictures here. Code that a web page folds, such as "
    "that of figures and checks, is not printed: it is in the notebooks"
)
MOVES = "On the web page of the book"  # what stands for a figure to move
REFERENCE = "book/back/api"  # a fifth of the pages if it were not set smaller
FOLDED = "Solutions on this page are closed; open them after you have tried."
APART = "Solutions have a chapter of their own, at the end of the book."
SOLUTION = re.compile(r"^( *)### BEGIN SOLUTION\n.*?^ *### END SOLUTION", re.M | re.S)
MARKER = re.compile(r"^ *### (?:BEGIN|END) SOLUTION\n?", re.M)
HINT = re.compile(r"<details><summary>(.*?)</summary>(.*?)</details>", re.S)


def tex(text: str) -> nodes.raw:
    return nodes.raw("", text, format="latex")


def title_of(node: nodes.Element) -> list[nodes.Node]:
    """The words of the title of a section or box."""
    first = node.next_node(nodes.title)
    return [child.deepcopy() for child in first.children] if first else []


def page_of(node: nodes.Node) -> str:
    """The page that a node stands on."""
    while not (isinstance(node, nodes.Element) and "docname" in node):
        node = node.parent
    return node["docname"]


def box(kind: str, name: list[nodes.Node], body: list[nodes.Node], label: str = ""):
    """An environment of the preamble around a body, with its title as argument."""
    anchor = rf"\phantomsection\label{{\detokenize{{{label}}}}}\nobreak%" if label else "%"
    opening = [tex(rf"\begin{{{kind}}}{anchor}")]
    if name:
        whole = sum(len(child.astext()) for child in body) < SHORT
        kept = "[breakable=false]" if whole else ""
        opening = [tex(rf"\begin{{{kind}}}{kept}{{%")]
        opening += [nodes.inline("", "", *name), tex(f"}}{anchor}")]
    return [*opening, *body, tex(rf"\end{{{kind}}}")]


def code(source: str, like: nodes.literal_block) -> nodes.literal_block:
    return nodes.literal_block(source, source, **like.attributes)


def is_dropdown(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and node.get("design_component") == "dropdown"


def is_check(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and "sentence" in node


def is_exercise(node: nodes.Node) -> bool:
    return isinstance(node, exercise_enumerable_node | exercise_node)


def files(node: nodes.Element) -> list[addnodes.start_of_file]:
    return list(node.findall(addnodes.start_of_file))


def shorten(cell: nodes.container, appendix: bool) -> None:
    """What the web page folds is left out, but for printed tables of an appendix, with a title."""
    kind, mode, output = cell.get("fold"), cell.get("hide_mode"), part(cell, "output")
    for line in streams(output) if output else []:
        if line.astext().startswith(MOVES):
            words = nodes.emphasis("", line.astext().strip())
            line.replace_self(nodes.paragraph("", "", words))
    if not kind and mode not in {"input", "all"}:
        return
    if source := part(cell, "source"):
        cell.remove(source)
    if output and (kind or mode == "all"):
        prompt = cell.get("prompt_show", "")
        log = kind or "sentence" in cell or "tag_breaks" in cell["classes"]
        if log or not appendix or re.search(r"^Show|\b[Cc]ode\b", prompt):
            for line in streams(output):
                output.remove(line)
        else:
            title = prompt if prompt[-1:] in ".?!" else f"{prompt}."
            lead = nodes.paragraph("", "", nodes.strong("", title), tex(r"\nobreak"))
            cell.insert(0, lead)
    if not output and "sentence" not in cell:
        cell.parent.remove(cell)


class Paper(SphinxPostTransform):
    """Makes of the assembled pages a book."""

    default_priority = 900  # references are resolved, the bibliography is at the end
    formats = ("latex",)

    def run(self, **kwargs) -> None:
        for cell in list(self.document.findall(is_cell)):
            page = page_of(cell)
            if not page.startswith(EXERCISES):
                shorten(cell, appendix=page.startswith(PAPERS) or not self.number(page))
        chapters, graded = self.solve_exercises(), self.solve_graded()
        self.bind([chapters, graded])
        for node in list(self.document.findall(is_dropdown)):
            if node[0].astext() == "Proof" and isinstance(node[1], proof_node):
                node.replace_self(node.children[1:])  # it says so itself
        for node in list(self.document.findall(proof_node)):
            node.replace_self(box("pdpproof", [], bold_word(node[0].children)))
        for kind in STATEMENTS:
            for node in list(self.document.findall(kind)):
                node.replace_self(self.statement(node))
        for kind in (exercise_enumerable_node, exercise_node):
            for node in list(self.document.findall(kind)):
                label = f"exercise:{node['label']}"  # as sphinx-exercise refers to it
                node.replace_self(box("pdpexercise", title_of(node), node[1].children, label))
        for node in list(self.document.findall(is_dropdown)):
            node.replace_self(box("pdpaside", node[0].children, node.children[1:]))
        for node in list(self.document.findall(nodes.raw)):
            if match := HINT.search(node.astext()):
                name = nodes.Text(unescape(match[1]))
                node.replace_self(box("pdpaside", [name], list(paragraphs(match[2]))))
        for node in list(self.document.findall(is_check)):
            tick = tex(r"\texttt{✓}~")
            node.insert(0, nodes.paragraph("", "", tick, nodes.Text(node["sentence"])))
        for node in list(self.document.findall(nodes.table)):
            fit(node)
        self.flatten_cards()

    def bind(self, solutions: list[addnodes.start_of_file]) -> None:
        """The front page is a chapter, the captions are parts, numbers are those of the site."""
        root, page = self.document.next_node(nodes.section), self.config.root_doc
        wrappers = [n for n in root.children if "toctree-wrapper" in n.get("classes", [])]
        captions = [t["caption"] for t in self.env.get_doctree(page).findall(addnodes.toctree)]
        front = [child for child in root.children[1:] if child not in wrappers]
        opening = nodes.section("", nodes.title("", "", *title_of(root)), *front)
        address = self.config.html_baseurl
        link = nodes.reference("", address, refuri=address)
        where = [] if address.startswith(HERE) else [nodes.Text(", at "), link]
        words = nodes.paragraph("", "", nodes.Text(ON_PAPER), *where, nodes.Text("."))
        opening[1:1] = box("pdpaside", [nodes.Text("On paper")], [words])
        for file in self.document.findall(addnodes.start_of_file):
            file.insert(0, tex(self.counters(file["docname"])))
            if file["docname"] == REFERENCE:
                file.insert(0, tex(r"\begingroup\small\fvset{fontsize=\footnotesize}"))
                file.append(tex(r"\endgroup"))
        parts = list(zip(captions, wrappers, strict=True))
        back, depth = parts.pop(), nodes.compound("", *self.take_depth())
        papers = [one for one in parts if files(one[1])[0]["docname"].startswith(PAPERS)]
        parts = [one for one in parts if one not in papers]
        parts.append((DEPTH, depth))
        parts += [(f"Appendix: {caption[0].lower()}{caption[1:]}", one) for caption, one in papers]
        parts += [back, (LAST, nodes.compound("", *solutions))]
        for caption, wrapper in parts:
            name = escape(caption, self.config.latex_engine)
            wrapper.insert(0, tex(rf"\setcounter{{secnumdepth}}{{-2}}\part{{{name}}}"))
        root.children = [root[0]]
        root.extend([tex(self.counters(page)), opening, *(wrapper for _, wrapper in parts)])

    def number(self, page: str) -> int:
        """The number of a chapter; 0 for a page that has none."""
        return self.env.toc_secnumbers.get(page, {}).get("", (0,))[0]

    def take_depth(self) -> list[addnodes.start_of_file]:
        """The pages below numbered chapters, taken from there."""
        found = []
        for file in self.document.findall(addnodes.start_of_file):
            if self.number(file["docname"]):
                found += files(file)[1:]
        for file in found:
            file.parent.remove(file)
        return found

    def counters(self, page: str) -> str:
        """LaTeX counts chapters and figures itself: let it start where the site starts."""
        number = self.number(page)
        start = {"secnumdepth": 0 if number else -1, "chapter": max(number - 1, 0)}
        for kind, found in self.env.toc_fignumbers.get(page, {}).items():
            if kind in COUNTERS:
                places = list(found.values())
                start[COUNTERS[kind]] = min(place[-1] for place in places) - 1
                if not number:  # a depth page counts on in its chapter
                    start["chapter"] = places[0][0] if len(places[0]) > 1 else 0
        return "".join(rf"\setcounter{{{name}}}{{{value}}}" for name, value in start.items())

    def statement(self, node: nodes.Element) -> list[nodes.Node]:
        page, label = page_of(node), node["label"]
        numbers = self.env.toc_fignumbers.get(page, {}).get(node.get("countertype"), {})
        number = ".".join(str(k) for k in numbers.get(label, ()))
        name = nodes.Text(f"{node['realtype'].title()} {number}".rstrip())
        body = node.next_node(nodes.section).children
        return box("pdpstatement", [name, *title_of(node)], body, f"{page}:{label}")

    def solve_exercises(self) -> addnodes.start_of_file:
        """The solutions of the exercises of all pages, in one chapter, with a way there."""
        chapter = nodes.section("", nodes.title("", "Solutions of the exercises"))
        for file in list(self.document.findall(addnodes.start_of_file)):
            section = nodes.section("", nodes.title("", "", *title_of(file)))
            for node in list(file.findall(is_exercise)):
                solved = [one for one in node.findall(is_dropdown) if one[0].astext() == "Solution"]
                if page_of(node) != file["docname"] or not solved:
                    continue
                label = rf"\detokenize{{solution:{node['label']}}}"
                section += tex(rf"\phantomsection\label{{{label}}}")
                section += nodes.rubric("", "", *title_of(node))
                for one in solved:
                    section += moved(one.children[1:], file["docname"])
                    way = tex(rf"\hyperref[{label}]{{Solution: page~\pageref*{{{label}}}}}")
                    one.replace_self(nodes.paragraph("", "", way))
            if len(section) > 1:
                chapter += section
        return addnodes.start_of_file("", chapter, docname="book/solutions")

    def solve_graded(self) -> addnodes.start_of_file:
        """Those of the graded exercises, which their pages hold as code."""
        chapter = nodes.section("", nodes.title("", "Solutions of the graded exercises"))
        for file in self.document.findall(addnodes.start_of_file):
            if not file["docname"].startswith(EXERCISES):
                continue
            section = nodes.section("", nodes.title("", "", *title_of(file)))
            for node in list(file.findall(is_solution)):
                section += nodes.rubric("", "", *title_of(section_of(node)))
                section += moved(solved(node), file["docname"])
            for text in list(file.findall(nodes.Text)):
                line = text.replace("\n", " ")
                if FOLDED in line:
                    text.parent.replace(text, nodes.Text(line.replace(FOLDED, APART)))
            chapter += section
        return addnodes.start_of_file("", chapter, docname=EXERCISES + "solutions")

    def flatten_cards(self) -> None:
        """A grid of cards becomes a list of paragraphs, each with its title in bold."""
        for node in list(self.document.findall(is_design)):
            if node["design_component"] == "card-title":
                words = [word for line in node.children for word in line.children]
                node.replace_self(nodes.paragraph("", "", nodes.strong("", "", *words)))
        for node in list(self.document.findall(is_design)):
            node.replace_self([paragraph(child) for child in node.children])


def is_design(node: nodes.Node) -> bool:
    return isinstance(node, nodes.container) and bool(node.get("is_div"))


def paragraph(node: nodes.Node) -> nodes.Node:
    """A line that stands outside of a paragraph, such as the link of a card, in one."""
    bare = isinstance(node, nodes.TextElement) and not isinstance(node, nodes.paragraph)
    return nodes.paragraph("", "", *node.children) if bare else node


def bold_word(body: list[nodes.Node]) -> list[nodes.Node]:
    """A proof, with its first word in bold."""
    text = body[0].next_node(nodes.Text)
    if text.startswith("Proof."):
        rest = nodes.Text(text.removeprefix("Proof."))
        text.parent.replace(text, [nodes.strong("", "Proof."), rest])
    return body


def fit(table: nodes.table) -> None:
    """A table of several pages gets widths from its words; others LaTeX measures."""
    for entry in table.findall(nodes.entry):
        if not entry.astext().strip():
            entry.clear()  # an empty paragraph is a line high
    rows = list(table.findall(nodes.row))
    if len(rows) <= LONG or "colwidths-given" in table["classes"]:
        return
    columns = zip(*(row.children for row in rows), strict=True)
    texts = [[cell.astext() for cell in column] for column in columns]
    lines = [max(map(len, column)) for column in texts]
    if sum(lines) <= WIDE:
        return
    words = [max(len(word) for cell in column for word in cell.split()) for column in texts]
    room, wanted = WIDE - sum(words), sum(lines) - sum(words)
    share = max(0, room) / max(1, wanted)  # every column has its longest word, and some of the rest
    table["classes"].append("colwidths-given")
    for spec, word, line in zip(table.findall(nodes.colspec), words, lines, strict=True):
        spec["colwidth"] = round(3 + word + share * (line - word))
    if room < WIDE / 2:
        place = table.parent.index(table)
        table.parent.insert(place + 1, tex(r"\endgroup"))
        table.parent.insert(place, tex(r"\begingroup\footnotesize"))


def section_of(node: nodes.Node) -> nodes.section:
    while not isinstance(node, nodes.section):
        node = node.parent
    return node


def is_solution(node: nodes.Node) -> bool:
    if isinstance(node, nodes.literal_block):
        return bool(SOLUTION.search(node.astext()))
    return is_dropdown(node) and node[0].astext().startswith("A model answer")


def solved(node: nodes.Element) -> list[nodes.Node]:
    """What goes to the chapter of solutions; its place keeps the question only."""
    if isinstance(node, nodes.literal_block):
        source = node.astext()
        node.replace_self(code(SOLUTION.sub(r"\1# YOUR CODE HERE", source), node))
        return [code(MARKER.sub("", source), node)]
    node.parent.remove(node)
    return node.children[1:]


def moved(body: list[nodes.Node], page: str) -> list[nodes.Node]:
    """What leaves its page; its links to places there name the page."""
    for node in body:
        for link in node.findall(nodes.reference):
            place = link.get("refid") or link.get("refuri", "").partition("#")[2]
            if "refid" in link or link.get("refuri", "").startswith("#"):
                link["refuri"] = f"%{page}#{place}"
    return body


def paragraphs(text: str) -> Iterator[nodes.paragraph]:
    """Words of a hint, in which Markdown was not read: only code in backticks."""
    for block in re.split(r"\n\s*\n", unescape(text).strip()):
        pieces = re.split(r"`([^`]+)`", block)
        kinds = (nodes.Text, lambda piece: nodes.literal(piece, piece))
        yield nodes.paragraph("", "", *(kinds[k % 2](piece) for k, piece in enumerate(pieces)))


def draw_people(app, config) -> None:
    """The logo as TikZ, for the title page: the same circles and paths."""
    svg = Path(app.confdir, "book", "_static", "logo.svg").read_text(encoding="utf-8")
    lines = []
    for color, x, y, r, path in re.findall(
        r'fill="#(\w+)"><circle cx="([\d.]+)" cy="([\d.]+)" r="([\d.]+)"/><path d="([^"]+)"', svg
    ):
        lines.append(rf"\definecolor{{pdpperson}}{{HTML}}{{{color}}}")
        lines.append(rf"\fill[pdpperson] ({x}pt,{y}pt) circle ({r}pt) svg {{{path}}};")
    picture = "\n".join([r"\newcommand{\pdppeople}{\begin{tikzpicture}[yscale=-1]", *lines])
    config.latex_elements["preamble"] += picture + "\n\\end{tikzpicture}}\n"


def setup(app) -> dict[str, bool]:
    app.add_post_transform(Paper)
    app.connect("config-inited", draw_people)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
