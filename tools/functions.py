"""Which function carries out a statement, and which tests use it; how and with what the book ran.

A function belongs to a statement when its docstring names the label, or when the summary of the
statement's chapter names the function. Its test is the file that uses its name most often: others
may use it, too.
"""

import ast
import csv
import importlib
import inspect
import re
import sys
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

from reading import GENERATED, ROOT, Page, code, escaped, link, statements, table

sys.path.append(str(ROOT / "book" / "_ext"))
from pdp_docstrings import exported, modules_of_package

# Their docstrings name labels, and carry out none; nor does a check of input.
ABOUT_LABELS = ("pdpbook.pages.statements", "pdpbook.pages.exercises", "pdpbook.check")
#: rooms of the estimators: what they have is for them alone
INSIDE = {
    "domains",
    "linear",
    "names",
    "pages.layout",
    "participants",
    "release",
    "tables",
    "user_records",
    "users",
}
# Beside the package: their functions are listed, and have no page.
LAB = ("lab.chapters", "lab.comparison", "lab.experiments")


def modules() -> list[str]:
    """Every module of the package that has a page; a folder counts as one, but for `pages`."""
    return [f"pdpbook.{name}" for name in modules_of_package() if name not in INSIDE]


def named(thing: object) -> list[str]:
    """The words of a docstring, of a class with those of its methods, that may be labels."""
    things = [thing]
    if inspect.isclass(thing):
        things += [v for k, v in vars(thing).items() if inspect.isroutine(v) and k[0] != "_"]
    docs = "\n".join(inspect.getdoc(one) or "" for one in things)
    return list(dict.fromkeys(re.findall(r"\b[a-z]+(?:-[a-z0-9]+)+\b", docs)))


@cache
def public() -> dict[str, tuple[str, object]]:
    """Public functions and classes by name, with their module; the first module that has one."""
    found: dict[str, tuple[str, object]] = {}
    for name in [*modules(), *LAB]:
        module = importlib.import_module(name)
        for one in exported(module) if name not in ABOUT_LABELS else []:
            thing = getattr(module, one)
            if inspect.isclass(thing) or inspect.isroutine(thing):
                found.setdefault(one, (name, thing))
    return found


def doers(pages: dict[str, Page]) -> dict[str, list[str]]:
    """The functions of every label: those of the chapter's summary, then those that name it."""
    found: dict[str, list[str]] = {}
    for page in pages.values():
        for label, said in page.functions.items():
            spans = re.findall(r"`([^`]+)`", said)
            found[label] = [n for span in spans for n in re.findall(r"\w+", span) if n in public()]
    for name, (_, thing) in public().items():
        for label in named(thing):
            found.setdefault(label, []).append(name)
    return {label: list(dict.fromkeys(names)) for label, names in found.items()}


@cache
def uses(folder: Path) -> dict[str, Counter[str]]:
    """How often each test file uses each name, in code."""
    found = {}
    for path in sorted(folder.glob("test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
        names += [node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
        found[path.name] = Counter(names)
    return found


def home(name: str, folder: Path) -> str:
    """The test file that uses a name most often; empty where none does."""
    best = max(uses(folder).items(), key=lambda item: item[1][name])
    return best[0] if best[1][name] else ""


def shown(name: str) -> str:
    """A function by name: a link where it has a page, else its module, too."""
    module = public()[name][0]
    return code(f"{module}.{name}") if module in LAB else f"{{py:obj}}`{name} <{module}.{name}>`"


def functions(pages: dict[str, Page]) -> str:
    """The page from statement to function to test."""
    here = {label for page in pages.values() for label in page.boxes}
    found = {label: names for label, names in doers(pages).items() if label in here and names}
    rows = [row for row in statements() if row["label"] in here]
    covered = sum(row["label"] in found for row in rows)
    parts = [
        "# Functions\n",
        "From a statement to the code that carries it out, and to the test of that code. A number "
        "leads to the box on its page, a name to the package. A function is listed when its "
        "docstring names the statement or the summary of the chapter names the function; its test "
        "is the file in `tests/` that uses it most often, and others may use it, too.\n",
        f"{covered} of the {len(rows)} statements have a function. The others are definitions, "
        "assumptions, and steps of proofs that nobody has to compute; what is proved among them is "
        "measured in the {doc}`ledger`.\n",
    ]
    for page in pages.values():
        mine = [row for row in rows if row["label"] in page.boxes and row["label"] in found]
        if not mine:
            continue
        parts.append(f"## {page.title}\n")
        lines = []
        for row in mine:
            names = found[row["label"]]
            files = dict.fromkeys(filter(None, (home(n, ROOT / "tests") for n in names)))
            lines.append(
                [
                    f"{link(row)}: {escaped(row['statement'])}",
                    ", ".join(map(shown, names)),
                    ", ".join(map(code, files)) or "on its page only",
                ]
            )
        parts.append(table(["statement", "function", "test"], lines))
    return GENERATED + "\n".join(parts)


def runs(pages: dict[str, Page]) -> str:
    """The page of run times, which the builder fills in, and of versions."""
    lock = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    pins = {k.replace("_", "-"): v for k, v in re.findall(r"^([\w.-]+)==(\S+)$", lock, re.M)}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    extras = project["optional-dependencies"]
    parts = [one for name in ("tables", "gwa", "accounting", "plots") for one in extras[name]]
    book = [one for one in extras["book"] if not one.startswith("pdpbook")]

    def versions(ranges: list[str]) -> str:
        names = [re.match(r"[\w.-]+", one)[0] for one in ranges]
        return table(["library", "version"], [[code(name), pins[name]] for name in names])

    return GENERATED + "\n".join(
        [
            "# Runs\n",
            "How long every notebook took when these pages were built, and with which versions. "
            "The seconds are those of one machine that may have had other work; the versions are "
            "exact, and `make book` installs them.\n",
            "## Run times\n",
            "```{nb-exec-table}\n```\n",
            "## Versions\n",
            f"Python {project['requires-python'].removeprefix('>=')} or later. The chapters "
            "compute with these libraries.\n",
            versions([*project["dependencies"], *parts]),
            "The pages are built with these. `requirements.txt` has every other library.\n",
            versions(book),
            in_binder((ROOT / "lab" / "benchmarks" / "binder.csv").read_text(encoding="utf-8")),
        ]
    )


BINDER = """\
## In Binder

`make binder-check` builds Binder's environment from nothing, with Python {python}, and runs every
notebook through its JupyterLab {jupyterlab}, as a browser does. On {date}, {whole} chapters and
solved exercises ran to their end, and {stubs} student's notebooks stopped at their first stub. The
environment has {installed} MB, and {on_disk} MB with the byte code that `pip` compiles. It took
{install} seconds to install and {start} seconds to answer, on a machine with other work. Seconds
below are processor seconds of the kernel, its start included.

{table}"""


def in_binder(record: str) -> str:
    """The last record of Binder's environment, `binder.csv` in `lab/benchmarks`, as a section."""
    rows = list(csv.DictReader(record.splitlines()))
    facts = {row["name"]: row["value"] for row in rows if row["kind"] == "environment"}
    runs = [row for row in rows if row["kind"] != "environment"]
    stubs = sum(row["kind"] == "student" for row in runs)
    return BINDER.format(
        python=facts["python"].removeprefix("python-"),
        jupyterlab=facts["jupyterlab"],
        date=facts["date"],
        whole=len(runs) - stubs,
        stubs=stubs,
        installed=facts["megabytes installed"],
        on_disk=facts["megabytes with byte code"],
        install=facts["seconds to install"],
        start=facts["seconds until the server answers"],
        table=table(
            ["notebook", "cells", "seconds", "note"],
            [[code(row["name"]), row["cells"], row["value"], row["note"]] for row in runs],
        ),
    )
