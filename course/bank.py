"""The exercises of the chapters as a bank of questions: by topic and difficulty, solutions apart.

    python -m course bank FOLDER
    python -m course exam FOLDER --minutes 90 --from foundations pac

The second draws an exam from it: `exam.md` and, apart, `exam-solutions.md`. The first
writes `questions.md`, `solutions.md`, and `moodle.xml` with both: as the documentation of Moodle's
XML format asks, a first line `<?xml`, a dummy question of the type `category` before those of each
topic, a name and a text in every question, HTML in CDATA. They are essays: the hint is what
everybody reads afterwards, the solution what graders read.
"""

import html
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from xml.sax.saxutils import escape

import nbformat
import numpy as np

from course.checkout import LINK, ROLE, Refused, published, read, table, words
from course.sheets import handed_out, linked, to_page

BOX = re.compile(r"^(:{4,})\{exercise\} (.+)\n:label: (\S+)\n((?:.|\n)*?)^\1$", re.M)
FOLDED = re.compile(r"^:::\{dropdown\} (Hint|Solution)\n((?:.|\n)*?)^:::$", re.M)
DIFFICULTY = {"Warm-up": 1, "Break it": 2, "Derivation": 2, "Extension": 3}  # by how a box begins
MINUTES = {"Warm-up": 8, "Break it": 12, "Derivation": 15, "Extension": 20}  # our estimates


@dataclass(frozen=True)
class Question:
    """One box, in Markdown that needs no book."""

    part: str
    page: str
    label: str
    title: str
    difficulty: int
    text: str
    hint: str
    solution: str
    name: str = ""  # of the page
    kind: str = ""

    @property
    def minutes(self) -> int:
        """What we think that it takes; nobody has timed a class."""
        return MINUTES[self.kind]


def questions() -> list[Question]:
    """Every exercise of the chapters, by topic and within it by difficulty."""
    found = []
    for name, path in published().items():
        notebook = nbformat.read(path, as_version=4)
        page, part = read(f"book/{name}", notebook).title, words(name.partition("/")[0])
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                found += [_question(name, part, page, match) for match in BOX.finditer(cell.source)]
    topics = list(dict.fromkeys((one.part, one.page) for one in found))
    return sorted(found, key=lambda one: (topics.index((one.part, one.page)), one.difficulty))


def _question(name: str, part: str, page: str, match: re.Match[str]) -> Question:
    _, title, label, body = match.groups()
    linking = ROLE.sub(lambda role: linked(role, name), body)
    alone = handed_out(LINK.sub(lambda link: to_page(link, name), linking))
    folded = {kind: text.strip() for kind, text in FOLDED.findall(alone)}
    kind = next((kind for kind in DIFFICULTY if title.startswith(kind)), "Derivation")
    text = FOLDED.sub("", alone).strip()
    return Question(
        part,
        page,
        label,
        title,
        DIFFICULTY[kind],
        text,
        folded["Hint"],
        folded["Solution"],
        name,
        kind,
    )


def write(folder: Path) -> int:
    """Write the three documents; returns the exit code."""
    bank = questions()
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in (
        (
            "questions.md",
            _document("Questions", bank, lambda one: f"{one.text}\n\n*Hint.* {one.hint}"),
        ),
        ("solutions.md", _document("Solutions", bank, lambda one: one.solution)),
        ("moodle.xml", moodle(bank)),
    ):
        (folder / name).write_text(content, encoding="utf-8")
    print(f"{len(bank)} questions in {folder}: questions.md, solutions.md, moodle.xml")
    return 0


def listing() -> str:
    """The questions of each chapter for the page of the book, with kind and minutes."""
    bank, parts = questions(), []
    kinds = ", ".join(f"{sum(one.kind == kind for one in bank)} *{kind}*" for kind in MINUTES)
    parts.append(
        f"{len(bank)} questions, {sum(one.minutes for one in bank)} minutes by our estimates: "
        f"{kinds}.\n"
    )
    for part, own in groupby(bank, lambda one: one.part):
        parts.append(f"## {part}\n")
        for name, some in groupby(own, lambda one: one.name):
            rows = [[one.title, one.kind, str(one.minutes)] for one in some]
            minutes = sum(int(row[2]) for row in rows)
            parts.append(f"{{doc}}`/book/{name}`: {len(rows)} questions, {minutes} minutes.\n")
            listed = table(["question", "kind", "minutes"], rows)
            parts.append(f":::{{dropdown}} The questions\n{listed}:::\n")
    return "\n".join(parts)


def exam(folder: Path, minutes: int, topics: list[str], seed: int) -> int:
    """Write an exam and, apart, its solutions; returns the exit code.

    Questions are drawn topic by topic in turn, of the kind that there is least of so far, until
    none is left that fits into the time. A minute is a point.
    """
    bank = questions()
    known = {name: [q for q in bank if f"{q.name}/".startswith(f"{name}/")] for name in topics}
    if unknown := [name for name in topics if not known[name]]:
        raise Refused(f"there are no questions on {', '.join(unknown)}")
    if minutes < min(MINUTES.values()):
        raise Refused(f"an exam takes {min(MINUTES.values())} minutes or more; got {minutes}")
    rng = np.random.default_rng(seed)
    pool = [q for name in topics for q in known[name]] if topics else bank
    pool = [pool[k] for k in rng.permutation(len(pool))]
    chosen: list[Question] = []
    while fits := [q for q in pool if q.minutes <= minutes - sum(one.minutes for one in chosen)]:
        pages, kinds = Counter(q.name for q in chosen), Counter(q.kind for q in chosen)
        best = min(fits, key=lambda q: (pages[q.name], kinds[q.kind]))
        chosen.append(best)
        pool.remove(best)
    chosen.sort(key=lambda one: one.minutes)
    folder.mkdir(parents=True, exist_ok=True)
    time = sum(one.minutes for one in chosen)
    for name, title, solved in (("exam", "Exam", False), ("exam-solutions", "Solutions", True)):
        parts = [f"# {title}\n\n{time} points, {minutes} minutes."]
        for number, one in enumerate(chosen, start=1):
            about = one.title.partition(": ")[2] or one.title
            head = f"## {number}. {about[:1].upper()}{about[1:]} ({one.minutes} points)"
            body = one.solution if solved else one.text
            parts.append(f"{head}\n\n*{one.part}: {one.page}*\n\n{body}")
        (folder / f"{name}.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    print(f"{len(chosen)} questions, {time} minutes, in {folder}: exam.md, exam-solutions.md")
    return 0


def _document(title: str, bank: list[Question], body: Callable[[Question], str]) -> str:
    """Questions or solutions under their topics, numbered alike in both."""
    parts, before = [f"# {title}"], ("", "")
    for number, one in enumerate(bank, start=1):
        if (one.part, one.page) != before:
            parts.append(f"## {one.part}: {one.page}")
        before = one.part, one.page
        parts.append(
            f"### {number}. {one.title}\n\nDifficulty {one.difficulty} of 3, `{one.label}`"
        )
        parts.append(body(one))
    return "\n\n".join(parts) + "\n"


# --- Moodle ---------------------------------------------------------------------------------------


def moodle(bank: list[Question]) -> str:
    """The questions in Moodle's XML format."""
    parts, before = [], ""
    for one in bank:
        topic = f"{one.part}: {one.page}".replace("/", "//")  # a single stroke makes a subcategory
        if topic != before:
            place = escape(f"$course$/top/Privacy, Personally/{topic}")
            parts.append(
                f'<question type="category"><category><text>{place}</text></category></question>'
            )
        before = topic
        tags = f"<tag><text>difficulty {one.difficulty}</text></tag>"
        parts.append(
            '<question type="essay">\n'
            f"<name><text>{escape(one.title)}</text></name>\n"
            f'<questiontext format="html">{_text(one.text)}</questiontext>\n'
            f'<generalfeedback format="html">{_text(one.hint)}</generalfeedback>\n'
            f"<defaultgrade>{one.difficulty}</defaultgrade>\n"
            f"<idnumber>{one.label}</idnumber>\n"
            "<responseformat>editor</responseformat>\n"
            f'<graderinfo format="html">{_text(one.solution)}</graderinfo>\n'
            f"<tags>{tags}</tags>\n</question>"
        )
    return '<?xml version="1.0" encoding="UTF-8"?>\n<quiz>\n' + "\n".join(parts) + "\n</quiz>\n"


def _text(markdown: str) -> str:
    whole = as_html(markdown).replace("]]>", "]]]]><![CDATA[>")
    return f"<text><![CDATA[{whole}]]></text>"


def as_html(markdown: str) -> str:
    """The little Markdown that exercises use, in HTML; formulas as MathJax wants them in Moodle."""
    kept: list[str] = []

    def keep(made: str) -> str:
        kept.append(made)
        return f"\0{len(kept) - 1}\0"

    text = re.sub(
        r"^```\w*\n(.*?)^```$",
        lambda m: keep(f"<pre>{html.escape(m[1])}</pre>"),
        markdown,
        flags=re.M | re.S,
    )
    text = re.sub(r"`([^`]+)`", lambda m: keep(f"<code>{html.escape(m[1])}</code>"), text)
    text = re.sub(r"\$\$(.+?)\$\$", lambda m: keep(html.escape(f"\\[{m[1]}\\]")), text, flags=re.S)
    text = re.sub(r"\$(.+?)\$", lambda m: keep(html.escape(f"\\({m[1]}\\)")), text, flags=re.S)
    text = html.escape(text, quote=False)
    text = re.sub(r"\[([^]]+)\]\(([^)\s]+)\)", r'<a href="\2">\1</a>', text)
    text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", text, flags=re.S)
    text = re.sub(r"\*(.+?)\*", r"<em>\1</em>", text, flags=re.S)
    blocks = [_block(block) for block in re.split(r"\n{2,}", text.strip())]
    return re.sub(r"\0(\d+)\0", lambda m: kept[int(m[1])], "\n".join(blocks))


def _block(block: str) -> str:
    """A paragraph, a list or a table."""
    for mark, tag in ((r"- ", "ul"), (r"\d+\. ", "ol")):
        if re.match(mark, block):
            items = re.split(rf"^{mark}", block, flags=re.M)[1:]
            return f"<{tag}>" + "".join(f"<li>{item.strip()}</li>" for item in items) + f"</{tag}>"
    if block.startswith("|"):
        rows = [line.strip("| ").split("|") for line in block.split("\n")]
        rows = [row for row in rows if set("".join(row)) - set(":- ")]
        lines = ["".join(f"<td>{cell.strip()}</td>" for cell in row) for row in rows]
        return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"
    return f"<p>{block}</p>"
