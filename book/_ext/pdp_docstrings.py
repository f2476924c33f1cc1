"""Docstrings as pages: what they name, the pages of the package link.

A docstring is read in a terminal, so it says `gaussian_mu`, ``lem-gaussian-mechanism`` and
*foundations/noise*, and carries no links. On the pages in `book/back/api` these words lead to the
function, the statement and the chapter. Nothing in the docstrings has to change for that.
"""

from __future__ import annotations

import csv
import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from types import ModuleType

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

import pdpbook.pages

PAGES = "book/back/api/"


def exported(module: ModuleType) -> list[str]:
    """The names a module offers: its `__all__`, or its own; a folder, all that it imports."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    home = module.__name__.partition(".")[0] if hasattr(module, "__path__") else module.__name__
    return sorted(
        name
        for name, thing in vars(module).items()
        if name[0] != "_" and f"{getattr(thing, '__module__', '')}.".startswith(f"{home}.")
    )


def modules_of_package() -> list[str]:
    """Modules and folders of the package by name; of the folder `pages`, what is in it."""
    names = {module.name for module in pkgutil.iter_modules(pdpbook.__path__)} - {"pages"}
    names |= {f"pages.{module.name}" for module in pkgutil.iter_modules(pdpbook.pages.__path__)}
    return sorted(name for name in names if name[0] != "_")


def public() -> tuple[dict[str, str], set[str]]:
    """Full names of functions and classes by `module.name` and, if only one has it, by `name`.

    Second, the names of their arguments: where a docstring says one of these, it means that.
    """
    long: dict[str, str] = {}
    short: dict[str, set[str]] = {}
    arguments: set[str] = set()
    for found in modules_of_package():
        module = importlib.import_module(f"pdpbook.{found}")
        for name in exported(module):
            thing = getattr(module, name)
            if inspect.isclass(thing) or inspect.isroutine(thing):
                long[f"{found}.{name}"] = f"{module.__name__}.{name}"
                short.setdefault(name, set()).add(f"{module.__name__}.{name}")
                if not (inspect.isclass(thing) and issubclass(thing, Exception)):
                    arguments.update(inspect.signature(thing).parameters)
    return long | {name: full.pop() for name, full in short.items() if len(full) == 1}, arguments


class LinkDocstrings(SphinxTransform):
    """Mark labels, chapters and names of the package in docstrings as references."""

    default_priority = 650  # the text is read, references are not resolved

    def apply(self, **kwargs) -> None:
        if not self.env.docname.startswith(PAGES):
            return
        table = Path(self.app.srcdir, "book", "statements.csv").read_text(encoding="utf-8")
        labels = {row["label"] for row in csv.DictReader(table.splitlines())}
        names, arguments = public()
        module = self.env.docname.removeprefix(PAGES)
        for node in list(self.document.findall(nodes.literal)):
            word, around = node.astext().removesuffix("()"), signatures(node)
            if around is None or word in arguments:
                continue
            full = names.get(f"{module}.{word}") or names.get(word)
            if word in labels:
                node.replace_self(self.link("prf", "ref", word, node.deepcopy()))
            elif full and full not in around:
                node.replace_self(self.link("py", "obj", full, node.deepcopy()))
        for node in list(self.document.findall(nodes.emphasis)):
            if f"book/{node.astext()}" in self.env.found_docs:
                chapter = f"/book/{node.astext()}"
                node.replace_self(self.link("std", "doc", chapter, node.deepcopy()))
            else:  # the type of a result, such as "PureDP or GaussianDP"
                words = re.split(r"(\W+)", node.astext())
                classes = {w: names[w] for w in words if w[:1].isupper() and w in names}
                if classes and signatures(node) is not None:
                    node[:] = [
                        self.link("py", "obj", classes[w], nodes.inline("", w))
                        if w in classes
                        else nodes.Text(w)
                        for w in words
                    ]

    def link(self, domain: str, kind: str, target: str, shown: nodes.Element) -> nodes.Element:
        reference = addnodes.pending_xref(
            "", refdomain=domain, reftype=kind, reftarget=target, refexplicit=True, refwarn=True,
            refdoc=self.env.docname,
        )  # fmt: skip
        reference += shown
        return reference


def signatures(node: nodes.Node) -> set[str] | None:
    """What the docstring around a node is of; None where there is none, or a link already."""
    found: set[str] = set()
    while (node := node.parent) is not None:
        if isinstance(node, nodes.reference | addnodes.pending_xref | addnodes.desc_signature):
            return None
        if isinstance(node, addnodes.desc):
            found.update(i for line in node.findall(addnodes.desc_signature) for i in line["ids"])
    return found


def keep_colon(app, what, name, obj, options, lines) -> None:
    """Napoleon takes "shape (n,): what it is", the docstring of an attribute, for a type.

    It looks at the first line alone, so an empty comment goes first.
    """
    if what in {"attribute", "property"} and lines:
        lines[:0] = ["..", ""]


def setup(app) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", keep_colon, priority=400)  # before Napoleon
    app.add_transform(LinkDocstrings)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
