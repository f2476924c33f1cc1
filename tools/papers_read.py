"""Which rows of `book/papers.csv` answer each sentence of a paper.

    python tools/papers_read.py [FOLDER]

prints every sentence of the texts that has no entry yet, and every entry without its sentence.
`tests/papers/A-anonymous.csv` and its like have an entry for each sentence that `papers_drawn`
may draw. They hold none of the papers' words:

    line      the line of the text
    sentence  which of the line's sentences, from 1
    mark      the first eight digits of the sentence's hash: another text needs another reading
    rows      marks of the rows of the index that answer it, such as "3fa1c2 90be11"
    nothing   where there are none, why: one of NOTHING

The texts are not part of this project; FOLDER is `../shared/papers` unless another is named.
"""

import csv
import re
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import papers_index as index
from papers_drawn import TEXTS, candidates
from reading import ROOT

FOLDER = ROOT / "tests" / "papers"
NOTHING = {
    "notation": "names a quantity or a set, and says nothing of it",
    "step": "one line of a proof whose statement has its row",
    "signpost": "says where something stands, or what comes next",
    "repeat": "says again what an earlier sentence says, whose rows are named by its line",
    "layout": "a caption's grammar, a list's head, a heading, acknowledgments, a rest of a formula",
}
ENDS = re.compile(r"(?<=[.?!])(?<!et al\.)(?<!i\.e\.)(?<!e\.g\.)\s+(?=[A-Z“\"(*•-])")


def sentences(text: str) -> Iterator[tuple[int, int, str]]:
    """Line, place in the line and words of each sentence that may be drawn."""
    for line, _, words in candidates(text):
        for place, sentence in enumerate(ENDS.split(words), start=1):
            yield line, place, sentence


def mark_of(words: str, digits: int) -> str:
    """The first digits of the hash of some words, however they are spaced."""
    return sha256(" ".join(words.split()).encode()).hexdigest()[:digits]


def read(file: Path) -> list[dict[str, str]]:
    """The entries of one text, none where there is no file."""
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def faults(text: str, entries: list[dict[str, str]], rows: set[str]) -> list[str]:
    """What is wrong with the entries of one text; `rows` are the marks of its paper's rows."""
    there = {
        (str(line), str(place), mark_of(words, 8)): words for line, place, words in sentences(text)
    }
    here = {(one["line"], one["sentence"], one["mark"]) for one in entries}
    found = [
        f"no entry: {' '.join(key)} {words}" for key, words in there.items() if key not in here
    ]
    found += [f"no such sentence: {' '.join(key)}" for key in sorted(here - set(there))]
    for one in entries:
        where = f"line {one['line']}, sentence {one['sentence']}"
        named = one["rows"].split()
        word, _, again = one["nothing"].partition(" ")
        if bool(named) == bool(word):
            found.append(f"{where}: must have rows, or why it has none")
        if lost := [mark for mark in named if mark not in rows]:
            found.append(f"{where}: no rows {lost}")
        if word and word not in NOTHING:
            found.append(f"{where}: {word!r} is none of {list(NOTHING)}")
        if (word == "repeat") != bool(re.fullmatch(r"\d+", again)):
            found.append(f"{where}: a repeat names the line that it repeats, and only a repeat")
    return found


def main(arguments: list[str]) -> int:
    """Print what is wrong with the entries of every text; returns the exit code."""
    folder = Path(arguments[0]) if arguments else TEXTS
    texts = sorted(folder.glob("*.txt"))
    if not texts:
        print(f"{folder} has no texts of the papers")
        return 1
    failed = False
    for path in texts:
        marks = {mark_of(r["what"], 6) for r in index.read() if path.stem.startswith(r["paper"])}
        text = path.read_text(encoding="utf-8")
        for fault in faults(text, read(FOLDER / f"{path.stem}.csv"), marks):
            print(f"{path.stem}: {fault}")
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
