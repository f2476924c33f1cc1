"""Count what two editions have, from their sources: lines, tokens a line, tests, statements.

    python tools/editions.py FOLDER      # a work tree of any commit: prints a row a count

`lab/data/editions.csv` has the counts of the last commit of the second edition and of 1.0; its
header says how they were made, and `tools/pages.py` makes a page of it.
"""

import ast
import csv
import io
import json
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

from reading import GENERATED, ROOT, Page, table

RECORD = ROOT / "lab" / "data" / "editions.csv"
SILENT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
HEAD = ["what", "second edition", "1.0"]
TEXT = """\
# From the second edition to 1.0

Neither was released before; this is what changed between them, counted from the sources by
`tools/editions.py`. The second edition is commit {second}; 1.0 was counted on {date}.

{table}
*Lines of code* have at least one token; comments, docstrings and blank lines have none. A *token*
is a word, a number, a text or a sign of Python. *Functions that test* are counted as they are
written: most run for many cases. The package has more lines than before, with fewer tokens in each.
Weights of pages and times of commands are not here: those of the second edition were not recorded.
"""


def docstrings(tree: ast.Module) -> set[int]:
    """The lines that docstrings fill."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, owners) and node.body and ast.get_docstring(node) is not None:
            text = node.body[0]
            lines |= set(range(text.lineno, (text.end_lineno or text.lineno) + 1))
    return lines


def tokens(source: str) -> tuple[int, int]:
    """How many tokens Python code has, and how many lines have one."""
    skipped, lines, count = docstrings(ast.parse(source)), set(), 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in SILENT and token.start[0] not in skipped:
            count += 1
            lines.add(token.start[0])
    return count, len(lines)


def code(root: Path, folder: str) -> tuple[int, int, int]:
    """Lines, lines of code and tokens of all Python files of a folder."""
    files = [path.read_text(encoding="utf-8") for path in sorted((root / folder).rglob("*.py"))]
    counted = [tokens(text) for text in files]
    written = sum(len(text.splitlines()) for text in files)
    return written, sum(lines for _, lines in counted), sum(count for count, _ in counted)


def cells(root: Path) -> Iterator[str]:
    """The code cells of all pages."""
    for path in sorted((root / "book").rglob("*.ipynb")):
        if "release" not in path.parts:
            for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
                if cell["cell_type"] == "code":
                    yield "".join(cell["source"])


def tests(root: Path) -> int:
    """Functions that pytest calls, as they are written."""
    found = 0
    for path in sorted((root / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        named = [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        found += sum(name.startswith("test_") for name in named)
    return found


def counts(root: Path) -> dict[str, float]:
    """What a work tree has."""
    lines, of_code, count = code(root, "pdpbook")
    rows = (root / "book" / "statements.csv").read_text(encoding="utf-8").splitlines()
    everything = list(cells(root))
    found: dict[str, float] = {
        "lines of the package": lines,
        "lines of code of the package": of_code,
        "tokens a line of code": round(count / of_code, 1),
        "modules of the package": len(list((root / "pdpbook").rglob("*.py"))),
        "functions that test": tests(root),
        "notebooks": len({*(root / "book").rglob("*.ipynb")}),
        "statements": len(list(csv.DictReader(rows))),
        "cells that check a statement": sum(one.startswith("# check: ") for one in everything),
        "cells that break one": sum(one.startswith("# falsify: ") for one in everything),
    }
    for folder in ("tests", "tools", "lab", "course"):
        found[f"lines of {folder}"] = code(root, folder)[0]
    return found


def recorded() -> tuple[dict[str, str], list[list[str]]]:
    """What the header of the record says, and its rows."""
    lines = RECORD.read_text(encoding="utf-8").splitlines()
    said = dict(line.removeprefix("# ").split(": ", 1) for line in lines if line[0] == "#")
    _, *rows = csv.reader(line for line in lines if line[0] != "#")
    return said, rows


def editions(_: dict[str, Page]) -> str:
    """The page."""
    said, rows = recorded()
    shown = [[name, *(f"{float(value):,g}" for value in values)] for name, *values in rows]
    return GENERATED + TEXT.format(
        second=said["second edition"], date=said["counted on"], table=table(HEAD, shown)
    )


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__)
        return 2
    for name, value in counts(Path(arguments[0])).items():
        print(f"{name},{value}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
