"""The generated index of the papers: everything that each contains, with its page and a verdict.

`papers_index` reads `book/papers.csv`, a row for each thing in the order of its paper's text:

    paper     A, B, C or D, as in `reading.PAPERS`
    section   where it stands, such as "sec. 3.1, Table 1"; what is before a comma orders the rows
    what      one sentence in our words
    kind      one of KINDS
    page      the page of the book that treats it, such as personalized/pdp_op; empty if none does
    label     the statement of `statements.csv` that it is here, on that page; often empty
    verdict   a word of VERDICTS, and after a colon the reason, where one is needed

and refuses rows that name a page or a statement which is not there, leave the words above, say
the same twice or stand in another order, and a statement from one of the papers without a row.
"""

import csv
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

from reading import PAPERS, ROOT, Page, Refused, called, escaped, link, listed, statements, table

FILE = ROOT / "book" / "papers.csv"
FIELDS = ["paper", "section", "what", "kind", "page", "label", "verdict"]
HEAD = "% Written by tools/pages.py; edit book/papers.csv.\n\n"
KINDS = (
    "definition",
    "statement",
    "algorithm",
    "baseline",
    "data set",
    "table",
    "figure",
    "claim",
    "extension",
    "related work",
)
VERDICTS = {
    "holds": "proved or tested here, as the paper has it",
    "holds with a correction": "true once a slip is mended or a condition is added",
    "sharper here": "true, and a better constant, an exact value or a wider case is proved",
    "does not hold": "our runs or an example say otherwise",
    "run again, agrees": "our numbers agree with what is printed or claimed",
    "run again, agrees in part": "they agree but for what is named",
    "run again, no verdict": "both are shown, and the paper leaves much open or prints nothing",
    "used here": "a definition, a setting, a method or a plan that the book uses or carries out",
    "differs": "the book does it in another way than the paper, and the reason says how",
    "told": "background or earlier work that a page tells or cites; there is nothing to judge",
    "told, not tried": "a page speaks of it, and a test that could be made is missing",
    "left out": "on purpose, for the reason given",
    "not in the book": "no page treats it, as yet",
}
WITH_REASON = {
    "holds with a correction",
    "sharper here",
    "does not hold",
    "run again, agrees in part",
    "run again, no verdict",
    "differs",
    "told, not tried",
    "left out",
}
NUMBERED = ("Table", "Figure")  # their numbers are in `back/published`, too
ITEM = re.compile(
    r"(Definition|Assumption|Theorem|Lemma|Proposition|Corollary|Fact|Claim|Remark|Example|"
    r"Algorithm|Table|Figure) ([A-Z]?\.?[\dIVX]+(?:\.\d+)?)"
)
ROMAN = ["", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X"]
PLACES = (  # patterns of a section, in the order in which a paper has them
    r"abstract",
    r"sec\. (\d+)(?:\.(\d+))?",
    r"Broader Impact",
    r"App\. ([A-Z])(?:\.(\d+))?",
    r"published version",
)
Row = dict[str, str]


def papers_index(pages: dict[str, Page]) -> str:
    """The page with an entry for everything that the papers contain."""
    rows = read()
    if found := faults(rows, pages):
        raise Refused("\n".join(found))
    count = Counter((row["paper"], verdict(row)) for row in rows)
    total = Counter(verdict(row) for row in rows)
    tally = [
        [word, *(str(count[key, word]) for key in PAPERS), str(total[word])] for word in VERDICTS
    ]
    authors = [called(key).partition(" (")[0] for key in PAPERS]
    sums = [str(sum(row["paper"] == key for row in rows)) for key in PAPERS]
    parts = [
        "# Index of the papers\n",
        f"What a reader may look for in the four papers, {len(rows)} entries: definitions, "
        "results, algorithms, data, tables, figures, claims, plans and related work, in the order "
        "of each text and without its bibliography. An entry says in our words what stands there, "
        "what became of it, and on which page.\n",
        "A button for a paper and one for a verdict may be pressed together, and words narrow "
        f"further. What the book still owes is under *not in the book* ({total['not in the book']} "
        f"entries) and *told, not tried* ({total['told, not tried']}).\n",
        f"Numbers of {called('A')} are those of the anonymous version. With quotations: "
        "{doc}`errata`. Table by table: {doc}`published`. As a file: "
        "{download}`papers.csv <../papers.csv>`.\n",
        table(["verdict", *authors, "all"], [*tally, ["all", *sums, str(len(rows))]]),
        "".join(f"- *{word}*: {meaning}\n" for word, meaning in VERDICTS.items()),
    ]
    here = {row["label"]: row for row in statements()}
    for key in PAPERS:
        mine = [row for row in rows if row["paper"] == key]
        head = f"## [{called(key)}]{{.facet .by-paper}}\n"
        parts += [head, listed(f"- {_entry(row, here, pages)}\n" for row in mine)]
    return HEAD + "\n".join(parts)


def read(file: Path = FILE) -> list[Row]:
    """The rows of the file."""
    with file.open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))


def verdict(row: Row) -> str:
    """The word of a verdict, without its reason."""
    return row["verdict"].partition(":")[0]


def items(row: Row) -> list[tuple[str, str]]:
    """What a row numbers, such as ("Table", "1"); numbers of a second version are left out."""
    return ITEM.findall(row["section"].partition(", published")[0])


def faults(rows: list[Row], pages: dict[str, Page]) -> list[str]:
    """What is wrong with the rows, in words."""
    if odd := [row for row in rows if list(row) != FIELDS or None in row.values()]:
        return [f"papers.csv: every row must have {FIELDS}; got {odd[0]}"]
    known = {row["label"]: row for row in statements()}
    found = [fault for row in rows for fault in _own_faults(row, known, pages)]
    if not found:
        found = _order(rows)
    said = Counter(" ".join(re.findall(r"\w+", row["what"].lower())) for row in rows)
    found += [f"{times} rows say {what!r}" for what, times in said.items() if times > 1]
    here = {(row["paper"], row["label"]) for row in rows}
    return found + [
        f"{label} comes from {key} and has no row"
        for label, row in known.items()
        for key in row["paper"]
        if (key, label) not in here
    ]


def _own_faults(row: Row, known: dict[str, Row], pages: dict[str, Page]) -> list[str]:
    where = f"papers.csv, {row['paper']} {row['section']}"
    word, colon, reason = row["verdict"].partition(": ")
    found = []
    if row["paper"] not in PAPERS:
        found.append("no such paper")
    if _place(row) is None:
        found.append("no such section; say abstract, sec. 1.2, Broader Impact, App. A or others")
    if row["kind"] not in KINDS:
        found.append(f"the kind must be one of {KINDS}; got {row['kind']!r}")
    if word not in VERDICTS:
        found.append(f"the verdict must begin with one of {list(VERDICTS)}; got {word!r}")
    if (word in WITH_REASON and not reason) or (colon and not reason.strip()):
        found.append(f"{word!r} needs a reason")
    if not re.fullmatch(r"[A-Z][^.]*\.", row["what"]) or re.search(r"\d", row["what"]):
        found.append(f"what it says must be one sentence without numbers; got {row['what']!r}")
    if row["page"] and row["page"] not in pages:
        found.append(f"there is no page {row['page']}")
    if bool(row["page"]) == (word == "not in the book"):
        found.append("a page stands exactly where the verdict is not 'not in the book'")
    if row["label"] and row["label"] not in known:
        found.append(f"the label {row['label']} is not in statements.csv")
    elif row["label"] and known[row["label"]]["chapter"] != row["page"]:
        found.append(f"{row['label']} stands on {known[row['label']]['chapter']}")
    return [f"{where}: {fault}" for fault in found]


def _order(rows: list[Row]) -> list[str]:
    """Rows that stand before one that they should follow: by paper, section, and own number."""
    found = []
    for one, other in pairwise(rows):
        if _key(other) < _key(one):
            found.append(
                f"papers.csv, {other['paper']} {other['section']}: must stand before "
                f"{one['paper']} {one['section']}"
            )
    last: dict[tuple[str, str, str], list[int]] = {}
    for row in rows:
        for name, number in items(row):
            digits = [int(n) for n in re.findall(r"\d+", number)] or [ROMAN.index(number)]
            here = (row["paper"], row["section"].partition(",")[0], name)
            if digits < last.get(here, digits):
                found.append(f"papers.csv, {row['paper']} {row['section']}: out of order")
            last[here] = digits
    return found


def _place(row: Row) -> tuple[int, ...] | None:
    """Where a section stands in its paper; None if it is none."""
    for at, pattern in enumerate(PLACES):
        if match := re.fullmatch(pattern, row["section"].partition(",")[0]):
            numbers = [n for n in match.groups() if n]
            return (at, *(ord(n) if n.isalpha() else int(n) for n in numbers))
    return None


def _key(row: Row) -> tuple[str, tuple[int, ...]]:
    return row["paper"], _place(row) or ()


def _entry(row: Row, known: dict[str, Row], pages: dict[str, Page]) -> str:
    word, _, reason = row["verdict"].partition(": ")
    place = row["section"][0].upper() + row["section"][1:]
    head = f"**{place}** ({row['kind']}). {row['what']}"
    judged = f"[{word}]{{.facet .by-verdict}}" + (f": {escaped(reason)}" if reason else "")
    links = []
    if row["page"]:
        title = pages[row["page"]].title.partition(":")[0]
        links.append(f"{{doc}}`{title} <../{row['page']}>`")
    if row["label"]:
        links.append(link(known[row["label"]]))
    if row["kind"] in ("table", "figure"):
        links += [_printed(row["paper"], *item) for item in items(row) if item[0] in NUMBERED]
    return f"{head} {judged}." + (f" {', '.join(links)}." if links else "")


def _printed(paper: str, name: str, number: str) -> str:
    return f"[numbers](#printed-{paper}-{name}-{number})".lower()
