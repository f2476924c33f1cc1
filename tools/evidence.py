"""The generated pages about the papers: their corrections, and their numbers against ours.

`errata` and `published_numbers` read `errata.yml` and `published.yml`: a quotation for every
correction, a few words for it and for every table and figure, and the evidence. The evidence is
one of

    {line: "label | what"}              a line that a check or falsifier of that label printed
    {page: chapter, text: "...",        a printed line that begins so, the first of `lines`; if need
     under: "...", heads: 1, lines: 3}  be below `heads` lines of the same cell that begin `under`
    {page: chapter, csv: file,          rows of a file of results, and what to show of them
     where: {...}, columns: [...]}
    {quoted: paper, table: "1"}         what the paper prints, with `flagged` only the suspect cells

and is shown as the committed notebooks have it. Evidence that a chapter of this release no longer
prints is refused; what belongs to a later chapter is named as pending.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from numbers import Real
from typing import Any

import pandas as pd
import yaml
from pdp_sentences import item
from reading import (
    PAPERS,
    ROOT,
    Page,
    Refused,
    called,
    code,
    entry,
    escaped,
    link,
    listed,
    statements,
    table,
)

from lab.published import table as printed_numbers

HEAD = "% Written by tools/pages.py; edit book/{}.yml or the notebooks that it names.\n\n"

KINDS = {
    "error": "what is printed does not hold: a claim, a number, a line of an algorithm or a proof",
    "condition": "it holds under a condition that is not stated",
    "sharper": "it holds, and more is true",
    "remark": "it holds, or can be read in several ways, and a reader should know what we add",
}
ANSWERS = {"error": "Instead", "condition": "Needed", "sharper": "Sharper", "remark": "Beside it"}
VERDICTS = {
    "reproduced": "the printed numbers lie within the stated band or tolerance of ours",
    "in part": "the printed numbers lie within it, but for the cells that are named",
    "claim holds": "no number is printed; what caption, text or curves say is true of our numbers",
    "side by side": "both are shown; what the paper leaves open is too much for a verdict",
    "redrawn": "no number is printed; the same question, with our numbers",
    "not reproducible": "for the reason given",
    "pending": "the chapter that holds it is not in this release",
}
BARE = ("claim holds", "redrawn")  # without numbers to compare with
FIELDS = {
    "corrections": {"paper", "place", "kind", "quote", "instead", "evidence"},
    "cautions": {"paper", "place", "version", "instead", "evidence"},
    "noted": {"paper", "place", "quote", "instead"},
    "published": {"paper", "item", "chapter", "shows", "verdict", "judged", "evidence"},
    "rules": {"paper", "rule"},
}
OPEN = 3  # printed lines; more of them fold
Evidence = dict[str, Any]
Row = dict[str, Any]


def errata(pages: dict[str, Page]) -> str:
    """The page of what we found in the papers, each with what a chapter printed about it."""
    source = _source("errata")
    rows, cautions, noted = source["corrections"], source["cautions"], source["noted"]
    every = [(row["paper"], row["kind"]) for row in rows]
    every += [(row["paper"], "remark") for row in noted]
    count = Counter(kind for _, kind in every)
    parts = [
        "# Errata\n",
        f"What we found in the four papers: {count['error']} errors, {count['condition']} missing "
        f"conditions, {count['sharper']} results that can be sharpened, and {count['remark']} "
        f"remarks, {len(noted)} of them on wording alone. Each entry quotes the paper, says what "
        "we would write, and gives the measured line that shows it.\n",
        "Read them with care. We worked from texts of the papers, so a slip may be one of our "
        "copy. Most are harmless, and the theorems stand; an entry says so where a promise of "
        "privacy breaks.\n",
        _tally(every, KINDS),
        "".join(f"- *{kind}*: {meaning}\n" for kind, meaning in KINDS.items()),
        f"At the end stand {len(cautions)} *cautions*, which correct nobody.\n",
    ]
    for key, mine in _by_paper(rows):
        entries = []
        for number, row in enumerate(mine, start=1):
            where = f"errata.yml, {key}{number}, {row['place']}"
            head = f"**{number}. {row['place']}** ([{row['kind']}]{{.facet}})"
            instead = f"*{ANSWERS[row['kind']]}:* {_flat(row['instead'])}"
            shown = _shown(where, row["instead"], row["evidence"], pages)
            anchor = f"erratum-{key}{number}".lower()
            entries.append(entry(anchor, head, _printed(row), instead, *shown))
        parts += [f"## {called(key)}\n", listed(entries)]
    parts.append("## Cautions\n")
    parts.append(
        "Where our text of a paper has lost a formula we cannot say what is printed. We say which "
        "*version* of a statement would fail, so that nobody writes it down from memory.\n"
    )
    entries = []
    for number, row in enumerate(cautions, start=1):
        where = f"errata.yml, caution {number}, {row['place']}"
        head = f"**{called(row['paper'])}, {row['place']}** ([caution]{{.facet}})"
        version = f"*A version that would fail:* {_flat(row['version'])}"
        instead = f"*Instead:* {_flat(row['instead'])}"
        shown = _shown(where, row["instead"], row["evidence"], pages)
        entries.append(entry(f"caution-{number}", head, version, instead, *shown))
    parts += [listed(entries), "## Noted, and not measured\n"]
    parts.append("Remarks on wording, which no computation can show.\n")
    entries = []
    for number, row in enumerate(noted, start=1):
        head = f"**{called(row['paper'])}, {row['place']}** ([remark]{{.facet}})"
        entries.append(entry(f"noted-{number}", head, f"{_printed(row)} {_flat(row['instead'])}"))
    parts.append(listed(entries))
    return HEAD.format("errata") + "\n".join(parts)


def _printed(row: Row) -> str:
    return f'*Printed:* "{_flat(row["quote"])}".'


def _tally(pairs: list[tuple[str, str]], kinds: Iterable[str]) -> str:
    """How many of each kind in each paper."""
    count, total = Counter(pairs), Counter(kind for _, kind in pairs)
    kinds = [kind for kind in kinds if total[kind]]
    lines = [[f"{{cite:t}}`{PAPERS[k]}`", *(str(count[k, kind]) for kind in kinds)] for k in PAPERS]
    return table(["paper", *kinds], [*lines, ["all", *(str(total[kind]) for kind in kinds)]])


def published_numbers(pages: dict[str, Page]) -> str:
    """The page with an entry for every table and figure of the papers, what holds first."""
    source = _source("published")
    given = [(row, _verdict(row, pages)) for row in source["published"]]
    count = Counter(verdict for _, verdict in given)
    bare = sum(count[verdict] for verdict in BARE)
    gone = count["not reproducible"]
    lost = f"; {gone} cannot be computed again" if gone else ""
    parts = [
        "# Printed and ours\n",
        f"The four papers print {len(given)} tables and figures. {len(given) - bare} of them give "
        f"numbers: {count['reproduced']} are reproduced whole, {count['in part']} but for cells "
        f"that are named, and {count['side by side']} leave too much open for a verdict"
        f"{lost}. Of the other {bare}, which give none, {count['claim holds']} claim something "
        f"that holds with our numbers, and {count['redrawn']} are drawn anew with our numbers.\n",
        _tally([(row["paper"], verdict) for row, verdict in given], VERDICTS),
        "By which rule a number agrees stands [at the end](#how-numbers-are-compared). In "
        "pictures, paper by paper: {doc}`../papers/personalized`, {doc}`../papers/users` and "
        "{doc}`../papers/pac`.\n",
    ]
    for verdict, meaning in VERDICTS.items():
        if mine := [row for row, one in given if one == verdict]:
            parts.append(f"## {verdict.capitalize()} ({len(mine)})\n")
            parts.append(f"{meaning.capitalize()}.\n")
            parts.append(listed(_result(row, verdict, pages) for row in mine))
    parts.append("## How numbers are compared\n")
    parts += [f"- {called(row['paper'])}. {_flat(row['rule'])}" for row in source["rules"]]
    return HEAD.format("published") + "\n".join(parts) + "\n"


def _result(row: Row, verdict: str, pages: dict[str, Page]) -> str:
    anchor = f"printed-{row['paper']}-{row['item']}".lower().replace(" ", "-")
    name = called(row["paper"]).partition(" (")[0]
    item = f"**[{name}]{{.facet}}, {row['item']}{_as_published(row)}.**"
    head = f"{item} {_flat(row['shows'])}"
    if verdict == "pending":
        return entry(anchor, f"{head} *Pending:* {code(row['chapter'])} is a later chapter.")
    where = f"published.yml, {row['paper']} {row['item']}"
    shown = _shown(where, row["judged"], row["evidence"], pages, 99)
    judged = f"*{verdict.capitalize()}:* {_flat(row['judged'])}"
    return entry(anchor, f"{head} {judged}", _folded("\n\n".join(shown)))


def _as_published(row: Row) -> str:
    """The number in the published version of a paper, where that is another one or none."""
    number = row.get("number_published", row["item"])
    if number == "none":
        return ", not in the published version"
    return "" if number == row["item"] else f", published as {number}"


def pending(pages: dict[str, Page]) -> list[str]:
    """What waits for a chapter that is not in this release: rows of the two files, by name."""
    source = {**_source("errata"), **_source("published")}
    waiting = [
        f"{row['paper']} {row['place']}: {chapter}"
        for row in [*source["corrections"], *source["cautions"]]
        for chapter in dict.fromkeys(_chapters(row["evidence"]))
        if chapter not in pages
    ]
    return waiting + [
        f"{row['paper']} {row['item']}: {chapter}"
        for row in source["published"]
        for chapter in dict.fromkeys([row["chapter"], *_chapters(row["evidence"])])
        if chapter not in pages
    ]


# --- the two files --------------------------------------------------------------------------------


def _source(name: str) -> dict[str, list[Row]]:
    found = yaml.safe_load((ROOT / "book" / f"{name}.yml").read_text(encoding="utf-8"))
    faults = []
    for section, rows in found.items():
        for row in rows:
            place = row.get("place") or row.get("item")
            where = f"{name}.yml, {section}, {row.get('paper')} {place}"
            fields = FIELDS[section]
            if section == "published" and row.get("paper") == "A":
                fields = fields | {"number_published"}
            if set(row) != fields:
                faults.append(f"{where}: must have {sorted(fields)}; got {sorted(row)}")
            elif row["paper"] not in PAPERS:
                faults.append(f"{where}: no such paper")
            elif row.get("kind", "error") not in KINDS:
                faults.append(f"{where}: the kind must be one of {sorted(KINDS)}")
            elif not row.get("quote", "needless").strip():
                faults.append(f"{where}: no quotation")
            elif row.get("verdict", "in part") not in VERDICTS:
                faults.append(f"{where}: the verdict must be one of {sorted(VERDICTS)}")
            elif name == "errata" and all("quoted" in one for one in row.get("evidence", [{}])):
                faults.append(f"{where}: no evidence")
    if faults:
        raise Refused("\n".join(faults))
    return found


def _by_paper(rows: list[Row]) -> Iterator[tuple[str, list[Row]]]:
    for key in PAPERS:
        if mine := [row for row in rows if row["paper"] == key]:
            yield key, mine


def _flat(text: str) -> str:
    return " ".join(text.split())


def _verdict(row: Row, pages: dict[str, Page]) -> str:
    return row["verdict"] if row["chapter"] in pages else "pending"


def _doc(chapter: str) -> str:
    return f"{{doc}}`../{chapter}`"


def _chapters(evidence: Iterable[Evidence]) -> list[str]:
    """The chapters that hold evidence, known ones only."""
    home = {row["label"]: row["chapter"] for row in statements()}
    found = []
    for one in evidence:
        if "line" in one:
            found.append(home.get(one["line"].partition(" | ")[0], ""))
        elif "page" in one:
            found.append(one["page"])
    return [chapter for chapter in found if chapter]


# --- the evidence ---------------------------------------------------------------------------------


def _shown(
    where: str, words: str, evidence: list[Evidence], pages: dict[str, Page], lines: int = OPEN
) -> list[str]:
    """The evidence as MyST, a piece a sentence, table or block; one of more lines than that folds.

    Refuses what is not printed any more, and decimals in the words that no piece shows.
    """
    rows = {row["label"]: row for row in statements()}
    chapters = {row["chapter"] for row in rows.values()}
    faults, parts, later = [], [], []

    def source(one: Evidence) -> tuple[str, str]:
        label = one.get("line", "").partition(" | ")[0]
        return rows[label]["chapter"] if label in rows else one.get("page", ""), label

    for (chapter, label), several in groupby(evidence, key=source):
        block: list[str] = []
        if label and not chapter:
            faults.append(f"{where}: the label {label} is not in statements.csv")
            continue
        known = chapter in chapters or (ROOT / "book" / f"{chapter}.ipynb").is_file()
        if chapter and not known:
            faults.append(f"{where}: there is no chapter {chapter}")
            continue
        if chapter and chapter not in pages:
            later.append(chapter)
            continue
        for one in several:
            try:
                if "quoted" in one:
                    parts += [_quoted(one)]
                elif "csv" in one:
                    parts += [_results(one)]
                elif "line" in one:
                    block += _lines(one, label, pages)
                else:
                    apart = block and ("under" in one or one.get("lines", 1) > 1)
                    block += [*([""] if apart else []), *_text(one, pages)]
            except Refused as refusal:
                faults.append(f"{where}: {refusal}")
        if block and label:
            parts.append(f"*Measured* for {link(rows[label])}: {'; '.join(dict.fromkeys(block))}.")
        elif block:
            text = f"{_doc(chapter)} prints:\n\n```text\n" + "\n".join(block) + "\n```"
            parts.append(_folded(text) if len(block) > lines else text)
    shown = "\n".join(parts)
    for number in re.findall(r"\d+\.\d+", words):
        if number not in shown and not later:
            faults.append(f"{where}: the words say {number}, and the evidence does not")
    if faults:
        raise Refused("\n".join(faults))
    for chapter in dict.fromkeys(later):
        parts.append(f"Pending: {code(chapter)} is a later chapter.\n")
    return parts


def _lines(one: Evidence, label: str, pages: dict[str, Page]) -> list[str]:
    what = one["line"].partition(" | ")[2]
    found = [
        line
        for page in pages.values()
        for lines in (page.measured, page.falsified)
        for line in lines.get(label, [])
        if line.what == what
    ]
    if not found:
        raise Refused(f"no chapter prints the line {one['line']!r} any more")
    return [escaped(item([line.said])) for line in found]


def _text(one: Evidence, pages: dict[str, Page]) -> list[str]:
    """A printed line and those after it, below its heading if one is asked for."""
    text, under, count = one["text"], one.get("under", ""), one.get("lines", 1)
    found = []
    for output in pages[one["page"]].outputs:
        above = [k for k, line in enumerate(output) if under and _begins(line, under)]
        if under and not above:
            continue
        first = above[0] + one.get("heads", 1) if above else 0
        for k in range(first, len(output)):
            if _begins(output[k], text):
                heading = output[above[0] : above[0] + one.get("heads", 1)] if above else []
                found.append([*heading, *output[k : k + count]])
                if above:
                    break
    if len(found) != 1:
        raise Refused(f"{one['page']} prints {len(found)} lines that begin {text!r}, not one")
    return [line.rstrip() for line in found[0]]


def _folded(body: str) -> str:
    return f":::{{dropdown}} The numbers\n{body}\n:::"


def _begins(line: str, start: str) -> bool:
    return _flat(line).startswith(_flat(start))


def _results(one: Evidence) -> str:
    """The rows of a file of results that answer to `where`, as a table."""
    path = ROOT / "book" / one["csv"]
    if not path.is_file():
        raise Refused(f"there is no file book/{one['csv']}")
    frame = pd.read_csv(path, comment="#")
    for column, wanted in one["where"].items():
        if column not in frame:
            raise Refused(f"book/{one['csv']} has no column {column!r}")
        several = wanted if isinstance(wanted, list) else [wanted]
        frame = frame[frame[column].isin(several)]
        if set(several) - set(frame[column]):
            raise Refused(f"book/{one['csv']} has no row with {column} = {wanted}")
    columns = one["columns"]
    heads = columns if isinstance(columns, dict) else {name: name for name in columns}
    if missing := set(heads.values()) - set(frame):
        raise Refused(f"book/{one['csv']} has no column {sorted(missing)}")
    lines = [[_cell(row[name]) for name in heads.values()] for _, row in frame.iterrows()]
    head = f"{escaped(_flat(one['title']))}, from " if "title" in one else "From "
    return f"{head}{code(one['csv'])}:\n\n{table(list(heads), lines)}"


def _quoted(one: Evidence) -> str:
    """What a paper prints: one table, or its suspect cells with the likely values."""
    frame = printed_numbers(one["quoted"])
    frame = frame[frame["table"] == str(one["table"])]
    if one.get("flagged"):
        frame = frame[frame["flag"]]
        lines = [
            [f"{r.row_value}, {r.method}, {_metric(r.metric)}", r.printed, _cell(r.likely_value)]
            for r in frame.itertuples()
        ]
        head = ["cell", "printed", "likely"]
        return f"Suspect cells of Table {one['table']}:\n\n{table(head, lines)}"
    keys = [name for name in ("data", "row_value") if frame[name].nunique() > 1]
    column = "method" if frame["method"].nunique() > 1 else "metric"
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    for row in frame.to_dict("records"):
        cells.setdefault(tuple(row[k] for k in keys), {})[row[column]] = row["printed"]
    columns = list(dict.fromkeys(frame[column]))
    lines = [
        [escaped(text) for text in (*key, *(found.get(name, "") for name in columns))]
        for key, found in cells.items()
    ]
    named = {"row_value": frame["row_param"].iloc[0].replace("_", " ")}
    head = [named.get(name, name) for name in keys] + [escaped(c) for c in columns]
    return f"As printed:\n\n{table(head, lines)}"


def _metric(name: str) -> str:
    return "plain" if name.startswith("unregularized") else "penalized"


def _cell(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, Real) else escaped(str(value))
