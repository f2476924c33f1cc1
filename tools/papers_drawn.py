"""Draw twenty lines of each text of the papers, to check that the index misses nothing.

    python tools/papers_drawn.py [FOLDER]

The texts are not part of this project; FOLDER is `../shared/papers` unless another is named. The
seed is fixed, so everybody reads the same lines: each claim in them should have its row in
`book/papers.csv`, and at most one in twenty may miss it. Headings, bibliographies and rows of
numbers are not drawn: a line has ten words or more. The nearest heading is printed before it.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

TEXTS = Path(__file__).resolve().parents[2] / "shared" / "papers"
SEED, LINES, WORDS = 1, 20, 10
HEADING = re.compile(r"(#+ )?\**(Appendix )?(\d|[A-E])(\.\d)?\**\.? +\**[A-Z].{0,90}")
SOURCES = re.compile(r"(#+ )?\**references\**", re.I)
AFTER = re.compile(r"Appendix|Algorithm 1 ")  # the bibliography ends here, or with the text


def candidates(text: str) -> Iterator[tuple[int, str, str]]:
    """The number of each line that can be drawn, the heading before it, and the line."""
    heading, listed = "", False
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.strip()
        if SOURCES.fullmatch(line):
            listed = True
        elif listed and AFTER.match(line):
            listed = False
        if HEADING.fullmatch(line):
            heading = line
        elif not listed and len(re.findall(r"\b[a-zA-Z]{2,}\b", line)) >= WORDS:
            yield number, heading, line


def drawn(text: str) -> list[tuple[int, str, str]]:
    """The lines of a text that the seed draws, in its order."""
    every = list(candidates(text))
    rng = np.random.default_rng(SEED)
    return [every[at] for at in sorted(rng.choice(len(every), LINES, replace=False))]


def main(arguments: list[str]) -> int:
    """Print the lines of every text in the folder; returns the exit code."""
    if len(arguments) > 1:
        print(__doc__)
        return 2
    folder = Path(arguments[0]) if arguments else TEXTS
    texts = sorted(path for path in folder.glob("*.txt"))
    if not texts:
        print(f"{folder} has no texts of the papers")
        return 1
    for path in texts:
        for number, heading, line in drawn(path.read_text(encoding="utf-8")):
            print(f"{path.name}, line {number}, under {heading!r}:\n{line}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
