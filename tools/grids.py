"""Run cells "Change me" over many settings, for pages where a reader chooses one.

    python tools/grids.py [pac/noise ...]

`book/grids.yml` says which cells, and which values each name takes. What a cell prints at each
setting is committed in `book/_ext/grids`, under a key of all that it depends on: the cell, what it
uses of earlier cells, the functions of `pdpbook` that these call, directly or not, and tables. With
no argument, all pages whose key has changed. `make book` runs nothing of this.
"""

import ast
import contextlib
import hashlib
import io
import itertools
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from keys import READS, ROOT, code_of, definitions, file_of, origin, tree_of, without_docstrings

FOLDER = ROOT / "book" / "_ext" / "grids"
CHANGE = "# Change me"
Function = tuple[str, str]  # the module that defines it, and its name there


def spaces() -> dict[str, dict[str, list[str]]]:
    """Return the values of each name, by page."""
    found = yaml.safe_load((ROOT / "book" / "grids.yml").read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def place(page: str) -> Path:
    """Return where the outputs of a page are kept."""
    return FOLDER / f"{page.replace('/', '-')}.json"


def split(page: str) -> tuple[list[str], str]:
    """Return the earlier code cells of a page, and its cell "Change me"."""
    cells = code_of(ROOT / "book" / f"{page}.ipynb")
    at = next(k for k, code in enumerate(cells) if code.startswith(CHANGE))
    return cells[:at], cells[at]


# --- one setting --------------------------------------------------------------------------------


def values(cell: str, names: list[str]) -> dict[str, ast.expr]:
    """Return the expression that a cell first assigns to each of these names."""
    found: dict[str, ast.expr] = {}
    for node in ast.parse(cell).body:
        if not isinstance(node, ast.Assign):
            continue
        [target] = node.targets
        several = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
        pairs = (
            zip(target.elts, node.value.elts, strict=True) if several else [(target, node.value)]
        )
        for name, value in pairs:
            if isinstance(name, ast.Name) and name.id in names:
                found.setdefault(name.id, value)
    if missing := set(names) - found.keys():
        raise SystemExit(f"the cell assigns no {', '.join(sorted(missing))}")
    return found


def parts(cell: str, names: list[str]) -> list[str]:
    """Return the text of a cell, cut around the values of these names; every other one is a value.

    The names are in the order in which the cell has them.
    """
    text, lines = cell.encode(), [0]  # as columns are counted
    for line in text.split(b"\n"):
        lines.append(lines[-1] + len(line) + 1)
    found, last = [], 0
    for value in sorted(values(cell, names).values(), key=lambda v: (v.lineno, v.col_offset)):
        assert value.end_lineno is not None
        assert value.end_col_offset is not None
        first = lines[value.lineno - 1] + value.col_offset
        end = lines[value.end_lineno - 1] + value.end_col_offset
        found += [text[last:first].decode(), text[first:end].decode()]
        last = end
    return [*found, text[last:].decode()]


def in_order(cell: str, space: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the names with their values, as the cell has them; the book's value must be one."""
    found = values(cell, [*space])
    order = sorted(space, key=lambda name: (found[name].lineno, found[name].col_offset))
    for name in order:
        if ast.unparse(found[name]) not in [ast.unparse(ast.parse(v).body[0]) for v in space[name]]:
            raise SystemExit(f"{name} = {ast.unparse(found[name])} is none of {space[name]}")
    return {name: space[name] for name in order}


def with_values(cell: str, chosen: dict[str, str]) -> str:
    """Return a cell with other values."""
    text = parts(cell, [*chosen])
    text[1::2] = chosen.values()
    return "".join(text)


def settings(space: dict[str, list[str]]) -> Iterator[dict[str, str]]:
    """Go through all settings; the last name changes fastest."""
    for chosen in itertools.product(*space.values()):
        yield dict(zip(space, chosen, strict=True))


# --- what a cell needs --------------------------------------------------------------------------


def names_in(node: ast.AST) -> set[str]:
    """Return every name that code reads or writes."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def defined(node: ast.stmt) -> set[str]:
    """Return the names that a statement gives a value, or whose value it changes."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(name.asname or name.name).partition(".")[0] for name in node.names}
    changed = set()
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):  # table.insert(...)
        owner = node.value.func
        if isinstance(owner, ast.Attribute) and isinstance(owner.value, ast.Name):
            changed.add(owner.value.id)
    for one in ast.walk(node):
        if isinstance(getattr(one, "ctx", None), ast.Store):
            while isinstance(one, ast.Subscript | ast.Attribute):  # a part of what a name holds
                one = one.value
            changed |= {one.id} if isinstance(one, ast.Name) else set()
    return changed


def needed(earlier: list[str], cell: str) -> list[ast.stmt]:
    """Return the earlier statements that give a value to what the cell uses, directly or not."""
    wanted, own, found = set(), set(), []
    for node in ast.parse(cell).body:
        wanted |= names_in(node) - own - (defined(node) if isinstance(node, ast.Assign) else set())
        own |= defined(node)
    for node in reversed([node for code in earlier for node in ast.parse(code).body]):
        if defined(node) & wanted:
            wanted |= names_in(node)
            found.append(node)
    return found[::-1]


def used_by(module: str, name: str) -> set[Function]:
    """Return what a definition of ours uses of ours, itself not among it."""
    file = file_of(module)
    assert file is not None
    tree = tree_of(file)
    own = {each: node for node in tree.body for each in defined(node)}
    if not name:  # the module by itself
        return {(module, each) for each in own if not isinstance(own[each], ast.ImportFrom)}
    if name not in own:
        return set()
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    inside = names_in(own[name])
    kept = [node for node in imports if defined(node) & inside]
    ours = set(definitions(ast.Module([*kept, own[name]], [])).values())
    return (ours | {(module, each) for each in inside & own.keys()}) - {(module, name)}


def functions_behind(statements: list[ast.stmt]) -> set[Function]:
    """Return the definitions of ours that code uses, directly or not."""
    waiting, found = [*definitions(ast.Module(statements, [])).values()], set()
    while waiting:
        module, name = waiting.pop()
        module, name = origin(module, name) or (module, name)
        if (module, name) not in found and file_of(module):
            found.add((module, name))
            waiting += used_by(module, name)
    return found


def source(module: str, name: str) -> str:
    """Return the syntax of a definition, without docstrings."""
    file = file_of(module)
    assert file is not None
    nodes = [node for node in tree_of(file).body if name in defined(node)]
    return "".join(ast.dump(without_docstrings(ast.Module([node], []))) for node in nodes)


def key(page: str) -> str:
    """Return the key of a grid."""
    earlier, cell = split(page)
    statements = needed(earlier, cell)
    total = hashlib.sha256(json.dumps([cell, spaces()[page]]).encode())
    for node in statements:
        total.update(ast.unparse(node).encode())
    behind = functions_behind([*statements, *ast.parse(cell).body])
    for module, name in sorted(behind):
        total.update(f"{module}.{name} {source(module, name)}".encode())
    files = {os.path.relpath(file, ROOT) for module, _ in behind if (file := file_of(module))}
    for file in sorted(
        {path for name in files for p in READS.get(name, []) for path in ROOT.glob(p)}
    ):
        total.update(file.read_bytes())
    return total.hexdigest()


# --- running ------------------------------------------------------------------------------------


def prepared(page: str) -> dict[str, Any]:
    """Return the names that a cell needs, with their values."""
    earlier, cell = split(page)
    names: dict[str, Any] = {"__name__": "grid", "display": lambda *shown: None}
    code = ast.Module(needed(earlier, cell), [])
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(code, page, "exec"), names)
    return names


def printed(page: str, chosen: dict[str, str], names: dict[str, Any]) -> str:
    """Return what the cell of a page prints at a setting."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(with_values(split(page)[1], chosen), dict(names))
    return out.getvalue()


def run(page: str) -> None:
    """Run a cell at all settings, and keep what it prints."""
    cell = split(page)[1]
    space = in_order(cell, spaces()[page])
    names = prepared(page)
    lines = [printed(page, chosen, names) for chosen in settings(space)]
    kept = {"key": key(page), "names": space, "parts": parts(cell, [*space]), "printed": lines}
    FOLDER.mkdir(exist_ok=True)
    place(page).write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print(f"{page}: {len(lines)} settings", flush=True)


def kept(page: str) -> dict[str, Any]:
    """Return what is committed of a page."""
    found = json.loads(place(page).read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def stale(page: str) -> bool:
    """Return whether a page has to run again."""
    return not place(page).is_file() or kept(page)["key"] != key(page)


if __name__ == "__main__":
    for asked in sys.argv[1:] or filter(stale, spaces()):
        run(asked)
