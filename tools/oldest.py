"""The lowest versions that `pyproject.toml` allows, and the tests that are tried with them.

    python tools/oldest.py versions     what pip is held to, a line a library
    python tools/oldest.py tests        the tests of the package alone

`make test-oldest` installs the first and runs the second. Tests of the book and its tools are left
out: these run with the versions of `requirements.txt` and no others.
"""

import ast
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
EXTRAS = ("tables", "gwa", "accounting", "plots")  # what readers install, without those of the book
#: a record of releases is made by a tool that needs the package alone
OF_THE_PACKAGE = {"record"}


def versions(project: dict) -> list[str]:
    """The lower end of each range, as a constraint of pip."""
    ranges = [*project["dependencies"]]
    for extra in EXTRAS:
        ranges += project["optional-dependencies"][extra]
    return [f"{name}=={low}" for name, low in map(lower_end, ranges)]


def lower_end(one: str) -> tuple[str, str]:
    """The name of a requirement, and the lowest version that it allows."""
    found = re.fullmatch(r"([\w.-]+)>=([\d.]+)(?:,<[\d.]+)?", one)
    if not found:
        raise ValueError(f"{one} must read name>=lowest, or name>=lowest,<highest")
    return found[1], found[2]


def tools() -> set[str]:
    """Modules of the book, which the lowest versions are not tried with."""
    folders = (ROOT / "tools", ROOT / "book" / "_ext")
    found = {path.stem for folder in folders for path in folder.glob("*.py")}
    return (found - OF_THE_PACKAGE) | {"course", "docutils", "sphinx", "bs4"}


def imported(path: Path) -> set[str]:
    """The first words of what a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


def package_tests(folder: Path = TESTS) -> list[str]:
    """The test files that need no module of the book, not by what they import either."""
    imports = {path.stem: imported(path) for path in folder.glob("*.py")}

    def needs_the_book(name: str) -> bool:
        helpers = imports[name] & imports.keys()
        return bool(imports[name] & tools()) or any(map(needs_the_book, helpers))

    names = [name for name in sorted(imports) if re.match("test_(?!lab)", name)]
    return [f"tests/{name}.py" for name in names if not needs_the_book(name)]


def main(arguments: list[str]) -> int:
    if arguments == ["versions"]:
        text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
        print(*versions(tomllib.loads(text)["project"]), sep="\n")
    elif arguments == ["tests"]:
        print(*package_tests(), sep="\n")
    else:
        print(__doc__)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
