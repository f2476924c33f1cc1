"""The key of a notebook: a hash of all that its outputs depend on.

    python tools/keys.py                                # every notebook with its key
    python tools/keys.py book/personalized/pdp_op.ipynb # and the files behind one

A notebook that ran under its present key need not run again. The key covers its code cells, the
modules that these import, directly or not, the tables that they read, the lock and the version of
Python. Modules count without comments and docstrings, except where a notebook prints docstrings.
A name that a package only passes on leads to the module that defines it, and to the name there.

Nothing is imported: all this is read off the sources. `tools/trace_keys.py` runs the notebooks and
holds the lists against what they open and call.
"""

import ast
import hashlib
import os
import platform
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

import nbformat
from IPython.core.inputtransformer2 import TransformerManager

ROOT = Path(__file__).resolve().parent.parent
OURS = ("pdpbook", "lab", "course")
LOCK = "requirements.txt"
PRINTED_DOCSTRINGS = (
    "pdpbook/pages/exercises",
    "course/hidden",
)  # `check` prints what a property demands
READS = {  # what a module reads, as patterns of files
    "pdpbook/pages/figures.py": [
        "pdpbook/pages/book.mplstyle",
        "pdpbook/pages/layout.py",
    ],  # the style names both
    "pdpbook/datasets/tables.py": ["pdpbook/datasets/data/*.csv"],
    "lab/published.py": ["lab/data/*.csv"],
    "lab/pdpop_files.py": ["lab/data/pdpop_files.csv"],
}
DRUGLIB = "lab/experiments/reviews.py"  # reads the one table that is not in the checkout
DYNAMIC = ("pdpbook.pages.exercises", "course.hidden")  # imported by the name of the sheet


# --- modules ------------------------------------------------------------------------------------


@cache
def file_of(module: str) -> Path | None:
    """Return the file of one of our modules, None for what is not ours."""
    if module.partition(".")[0] not in OURS:
        return None
    path = ROOT / module.replace(".", "/")
    candidates = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in candidates if file.is_file()), None)


def is_package(module: str) -> bool:
    """Return whether a module of ours is a folder of modules."""
    file = file_of(module)
    return file is not None and file.name == "__init__.py"


class _RunTimeCode(ast.NodeTransformer):
    """Remove what is there for type checkers alone."""

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return node.orelse
        return self.generic_visit(node)


def parsed(source: str) -> ast.Module:
    """Return the syntax tree of what runs."""
    tree = _RunTimeCode().visit(ast.parse(source))
    assert isinstance(tree, ast.Module)
    return tree


@cache
def tree_of(file: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return parsed(file.read_text(encoding="utf-8"))


@cache
def passed_on(module: str) -> dict[str, tuple[str, str]]:
    """Return the names that a module imports, each with the module and the name there."""
    file = file_of(module)
    assert file is not None
    return {
        name.asname or name.name: (node.module, name.name)
        for node in tree_of(file).body
        if isinstance(node, ast.ImportFrom) and node.module
        for name in node.names
    }


def origin(module: str, name: str) -> tuple[str, str] | None:
    """Return the module that defines a name of a module, and the name there; None if not ours.

    A module itself has the empty name.
    """
    if file_of(module) is None:
        return None
    if not is_package(module):
        return module, name
    if file_of(f"{module}.{name}"):
        return f"{module}.{name}", ""
    if name in passed_on(module):
        return origin(*passed_on(module)[name])
    return module, name


def attributes(tree: ast.Module, variable: str) -> set[str] | None:
    """Return the attributes that code uses of a variable, None where it uses it by itself."""
    nodes = [*ast.walk(tree)]
    owners = [node for node in nodes if isinstance(node, ast.Attribute)]
    used = [o.attr for o in owners if isinstance(o.value, ast.Name) and o.value.id == variable]
    names = [node for node in nodes if isinstance(node, ast.Name) and node.id == variable]
    return set(used) if len(used) == len(names) else None


def definitions(tree: ast.Module) -> dict[str, tuple[str, str]]:
    """Return what code imports of ours, each with the module that defines it and the name there."""
    found: dict[str, tuple[str, str] | None] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                found |= _of_module(tree, name.name, name.asname or name.name)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for name in node.names:
                inner = f"{node.module}.{name.name}"
                if file_of(inner):
                    found |= _of_module(tree, inner, name.asname or name.name)
                else:
                    found[inner] = origin(node.module, name.name)
    return {name: definition for name, definition in found.items() if definition is not None}


def _of_module(tree: ast.Module, module: str, variable: str) -> dict[str, tuple[str, str] | None]:
    """Return what code uses of a module that it imports under a name."""
    followed = is_package(module) and "." not in variable
    used = attributes(tree, variable) if followed else None
    if used is None:
        return {module: (module, "")}
    return {f"{module}.{name}": origin(module, name) for name in used}


def modules_of(tree: ast.Module) -> set[str]:
    """Return our modules that define what code imports."""
    return {module for module, _ in definitions(tree).values()}


@cache
def imports_of(file: Path) -> set[str]:
    """Return the modules that a module of ours needs directly."""
    return modules_of(tree_of(file))


def modules_behind(modules: set[str]) -> set[Path]:
    """Return the files of modules and of all that they need, directly or not."""
    waiting, files = [*modules], set()
    while waiting:
        file = file_of(waiting.pop())
        if file is not None and file not in files:
            files.add(file)
            waiting += imports_of(file)
    return files


# --- notebooks ----------------------------------------------------------------------------------


def code_of(path: Path) -> list[str]:
    """Return the code cells of a notebook."""
    cells = nbformat.read(path, as_version=4).cells
    return [cell.source for cell in cells if cell.cell_type == "code"]


def code_tree(cells: list[str]) -> ast.Module:
    """Return the syntax tree of code cells, without those that Python will refuse."""
    body: list[ast.stmt] = []
    for cell in cells:
        with suppress(SyntaxError):
            body += parsed(TransformerManager().transform_cell(cell)).body
    return ast.Module(body, [])


def behind(path: Path) -> set[Path]:
    """Return the files that the outputs of a notebook depend on, beside the notebook itself."""
    tree = code_tree(code_of(path))
    sheet = {f"{package}.{path.stem}" for package in DYNAMIC}
    files = modules_behind(modules_of(tree) | (sheet if path.parent.name == "exercises" else set()))
    for module in [*files]:
        name = module.relative_to(ROOT).as_posix()
        files |= {file for pattern in READS.get(name, []) for file in ROOT.glob(pattern)}
        files |= _druglib() if name == DRUGLIB else set()
    strings = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    if any("results/" in text for text in strings):
        files |= {*path.parent.glob("results/*.csv")}
    # a page of the appendix quotes what other notebooks print
    named = (path.parent.parent / f"{text}.ipynb" for text in strings if 0 < len(text) < 80)
    return files | {other for other in named if other.is_file()} | {ROOT / LOCK}


def _druglib() -> set[Path]:
    folder = os.environ.get("PDPBOOK_DATA")
    return {*Path(folder).glob("druglib*.csv")} if folder else set()


@cache
def content(file: Path) -> bytes:
    """Return what counts of a file: of a module its syntax, of a notebook what it printed."""
    if file.suffix == ".py":
        printed = file.relative_to(ROOT).as_posix().startswith(PRINTED_DOCSTRINGS)
        tree = tree_of(file)
        meant = str(sorted(definitions(tree).items()))
        return (ast.dump(tree if printed else without_docstrings(tree)) + meant).encode()
    if file.suffix == ".ipynb":
        cells = nbformat.read(file, as_version=4).cells
        return "".join(str(cell.get("outputs", "")) for cell in cells).encode()
    return file.read_bytes()


def without_docstrings(tree: ast.Module) -> ast.Module:
    """Return a tree with the docstrings of modules, classes and functions taken out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if ast.get_docstring(node, clean=False) is not None:
                node.body = node.body[1:]
    return tree


def key(path: Path) -> str:
    """Return the key of a notebook."""
    cells = code_of(path)
    parts = [platform.python_version(), *cells, str(sorted(definitions(code_tree(cells)).items()))]
    total = hashlib.sha256()
    for part in parts:
        total.update(hashlib.sha256(part.encode()).digest())
    for file in sorted(behind(path)):
        for part in (os.path.relpath(file, ROOT).encode(), content(file)):
            total.update(hashlib.sha256(part).digest())
    return total.hexdigest()


def main(names: list[str]) -> None:
    """Print keys, or the files behind the notebooks that are named."""
    for path in map(Path, names or sorted(map(str, (ROOT / "book").rglob("*.ipynb")))):
        print(key(path.resolve())[:12], path.resolve().relative_to(ROOT))
        for file in sorted(behind(path.resolve())) if names else []:
            print("   ", os.path.relpath(file, ROOT))


if __name__ == "__main__":
    main(sys.argv[1:])
