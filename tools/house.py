"""Where things live: the floors of the package, held against its imports, and their picture.

`tools/pages.py` writes the page `back/house` and its picture from `FLOORS`. Imports go from a floor
to the floors under it: `tests/test_style.py` holds every module against that.
"""

import importlib

from functions import INSIDE
from reading import GENERATED, code, table

#: floor -> what it is for, and the folders and modules that stand on it
FLOORS = {
    9: ("what pages need", "pages"),
    8: ("plan", "plan"),
    7: ("attack, rehearse, publish", "audit rehearsal inference publish"),
    6: (
        "mechanisms",
        "personalized objective_perturbation logistic sufficient_statistics gradient posterior "
        "user_level gwa pac",
    ),
    5: ("people of a fit", "participants"),
    4: ("sums, releases", "sums release label_mean"),
    3: ("promises, constants", "guarantees sensitivity per_instance linear user_records"),
    2: ("noise, algebra, data", "noise ridge datasets tables"),
    1: ("users, domains", "domains users _pandas"),
    0: ("checks of input", "check advice minimal _extras"),
    -1: ("who is who", "names"),
}
FLOOR = {module: floor for floor, (_, names) in FLOORS.items() for module in names.split()}

#: what stands beside the package, in no wheel
GARDEN = {
    "book": "the chapters, notebooks that run, and the pages made from them",
    "course": "hidden properties, graders, nbgrader and Gradescope, cards and syllabi",
    "lab": "long runs, comparisons, benchmarks and mutants, beside the tables they write",
    "tests": "tests, with the planted bugs in `tests/plants` and the site in `tests/site`",
    "tools": "what makes pages and pictures from notebooks, docstrings and tables",
    "binder": "the environment in which a reader runs a chapter",
}

WIDTH, HIGH, LETTER = 380, 26, 13.2
STYLE = """.hs-room{fill:none;stroke:currentColor}
.hs-door{fill:var(--fig-blue,#0072b2);fill-opacity:.16;stroke:currentColor}
.hs-ground{stroke:currentColor;stroke-opacity:.4}"""


def _rows(names: list[str]) -> list[list[tuple[str, float, float]]]:
    """Rooms of a floor, each with its place and width, in as many rows as they need."""
    found: list[list[tuple[str, float, float]]] = [[]]
    x = 0.0
    for name in names:
        wide = 7.3 * len(name) + 14
        if found[-1] and x + wide > WIDTH:
            found.append([])
            x = 0.0
        found[-1].append((name, x, wide))
        x += wide + 6
    return found


def picture(_: object = None) -> str:
    """The house as SVG: the highest floor on top; rooms with a page of their own are shaded."""
    parts, y = [], 0.0
    for floor in sorted(FLOORS, reverse=True):
        role, names = FLOORS[floor]
        y += 16
        parts.append(
            f'<text x="0" y="{y:g}" font-size="{LETTER}" font-style="italic">{role}</text>'
        )
        y += 7
        for row in _rows(names.split()):
            for name, x, wide in row:
                kind = "hs-room" if name.startswith("_") or name in INSIDE else "hs-door"
                place = f'x="{x + 1:g}" y="{y:g}" width="{wide - 1:g}" height="{HIGH}"'
                parts.append(f'<rect {place} rx="3" class="{kind}"/>')
                middle = f'x="{x + wide / 2:g}" y="{y + 17.5:g}"'
                words = f'font-size="{LETTER}" text-anchor="middle"'
                parts.append(f"<text {middle} {words}>{name}</text>")
            y += HIGH + 5
        y += 5
        if floor:
            line = f'x1="0" y1="{y - 2:g}" x2="{WIDTH}" y2="{y - 2:g}"'
            parts.append(f'<line {line} class="hs-ground"/>')
    told = "; ".join(f"{role} ({names.replace(' ', ', ')})" for role, names in FLOORS.values())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y:g}" role="img" '
        'aria-labelledby="hs-t hs-d" fill="currentColor">\n'
        '<title id="hs-t">The floors of the package</title>\n'
        f'<desc id="hs-d">From the ground up: {told}.</desc>\n'
        f"<style>\n{STYLE}\n</style>\n" + "\n".join(parts) + "\n</svg>\n"
    )


def _first_line(name: str) -> str:
    """What a folder or module says of itself."""
    return (importlib.import_module(f"pdpbook.{name}").__doc__ or "").strip().partition("\n")[0]


def house(_: object = None) -> str:
    """The page `back/house`: the picture, and a line about every room."""
    rooms = [
        (name, role, _first_line(name))
        for _floor, (role, names) in sorted(FLOORS.items(), reverse=True)
        for name in names.split()
    ]
    return (
        GENERATED
        + """# Where things live

A module imports from the floors under its own and from no other, so whoever reads it needs to know
only what stands below. Every theorem of the book has its code on the floor of the mechanisms, or
under it. A test holds the picture against the imports.

:::{figure} ../_static/diagrams/house.*
:name: fig-house
:alt: Modules of pdpbook as rooms on ten floors, names of people at the bottom, pages on top.

The floors of `pdpbook`. Imports go down only; shaded rooms have a page in {doc}`api`.
:::

"""
        + table(["room", "floor", "what is in it"], [(code(n), r, w) for n, r, w in rooms])
        + "\n## Beside the house\n\n"
        + table(["folder", "what is in it"], [(code(n), w) for n, w in GARDEN.items()])
    )
