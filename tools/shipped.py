"""The page of licenses: what the built site has from others, and under which terms.

A license is said by words of the installed package, which must still be there: a package that
changes its terms stops `tools/pages.py`. `tests/site/test_site_licenses.py` holds the files of the
built site against this list, so nothing is shipped that the page does not name.
"""

import json
import re
from dataclasses import dataclass, field
from importlib.metadata import Distribution, distribution
from pathlib import Path

from reading import GENERATED, ROOT, Page, Refused, table

THEME = "pydata_sphinx_theme/theme/pydata_sphinx_theme/static"
BSD_3 = "BSD 3-Clause"
BSD_2 = "BSD 2-Clause"
MIT = "MIT"


@dataclass(frozen=True)
class Part:
    """Something of others that is in the site."""

    name: str
    package: str  #: of the lock, that brings it
    what: str  #: it does, or is
    holder: str  #: of the copyright
    license: str
    words: str  #: which say so in `said_in`
    said_in: str = "LICENSE"  #: LICENSE, METADATA, or a file below the folder of all packages
    files: tuple[str, ...] = field(default=(), kw_only=True)  #: patterns below `_static/`


PARTS = [
    Part(
        "Sphinx",
        "sphinx",
        "search, style of pages, small pictures",
        "the Sphinx team",
        BSD_2,
        "two clause BSD licence",
        files=(
            *("basic.css", "doctools.js", "documentation_options.js", "file.png", "minus.png"),
            *("plus.png", "language_data.js", "searchtools.js", "sphinx_highlight.js"),
        ),
    ),
    Part(
        "Sphinx Book Theme",
        "sphinx-book-theme",
        "theme: pages, their script, logos of launch buttons",
        "Chris Holdgraf",
        BSD_3,
        "BSD 3-Clause License",
        files=(
            *("scripts/sphinx-book-theme.js", "styles/sphinx-book-theme.css", "images/logo_*"),
            "locales/*/LC_MESSAGES/booktheme.*",
        ),
    ),
    Part(
        "PyData Sphinx Theme",
        "pydata-sphinx-theme",
        "theme: side bars, dark pages",
        "pandas",
        BSD_3,
        "BSD 3-Clause License",
        files=(
            *("scripts/pydata-sphinx-theme.js", "styles/pydata-sphinx-theme.css"),
            "styles/theme.css",
        ),
    ),
    Part(
        "Bootstrap",
        "pydata-sphinx-theme",
        "style sheet and script below the theme",
        "the Bootstrap Authors",
        MIT,
        "Licensed under MIT",
        f"{THEME}/scripts/bootstrap.js.LICENSE.txt",
        files=("scripts/bootstrap.js", "scripts/bootstrap.js.LICENSE.txt"),
    ),
    Part(
        "Font Awesome Free",
        "pydata-sphinx-theme",
        "font of the icons, cut to those that pages show",
        "Fonticons, Inc.",
        "icons CC BY 4.0, fonts SIL OFL 1.1, code MIT",
        "Icons: CC BY 4.0, Fonts: SIL OFL 1.1, Code: MIT License",
        f"{THEME}/scripts/fontawesome.js.LICENSE.txt",
        files=("vendor/fontawesome/webfonts/*",),
    ),
    Part(
        "MathJax",
        "sphinx-mathjax-offline",
        "formulas: their style sheet, with its fonts, cut to the signs that pages show",
        "the MathJax Consortium",
        "Apache 2.0",
        "License: Apache License 2.0",
        "METADATA",
        files=("formulas.css", "mathjax/*"),
    ),
    Part(
        "MyST-NB",
        "myst-nb",
        "style of cells",
        "ExecutableBookProject",
        BSD_3,
        "BSD 3-Clause License",
        files=("mystnb.*.css",),
    ),
    Part(
        "Pygments",
        "pygments",
        "colors of code",
        "the authors of Pygments",
        BSD_2,
        "License-Expression: BSD-2-Clause",
        "METADATA",
        files=("pygments.css",),
    ),
    Part(
        "sphinx-copybutton",
        "sphinx-copybutton",
        "button that copies a cell",
        "Chris Holdgraf",
        MIT,
        "MIT License",
        files=("copybutton*", "copy-button.svg", "check-solid.svg"),
    ),
    Part(
        "clipboard.js",
        "sphinx-copybutton",
        "what that button calls",
        "Zeno Rocha",
        MIT,
        "Licensed MIT",
        "sphinx_copybutton/_static/clipboard.min.js",
        files=("clipboard.min.js",),
    ),
    Part(
        "sphinx-togglebutton",
        "sphinx-togglebutton",
        "folds",
        "Chris Holdgraf",
        MIT,
        "MIT License",
        files=("togglebutton.*",),
    ),
    Part(
        "sphinx-thebe",
        "sphinx-thebe",
        "one picture, which comes with the theme",
        "Chris Holdgraf",
        MIT,
        "MIT License",
        files=("play-solid.svg",),
    ),
    Part(
        "sphinx-design",
        "sphinx-design",
        "cards, tabs, folds",
        "Chris Sewell",
        MIT,
        "MIT License",
        files=("sphinx-design.min.css", "design-tabs.js"),
    ),
    Part(
        "Octicons",
        "sphinx-design",
        "icons within cards and folds",
        "GitHub Inc.",
        MIT,
        "MIT License",
        "sphinx_design/compiled/octicon_LICENSE",
    ),
    Part(
        "sphinx-proof",
        "sphinx-proof",
        "boxes of statements",
        "ExecutableBookProject",
        MIT,
        "MIT License",
        files=("proof.css",),
    ),
    Part(
        "sphinx-exercise",
        "sphinx-exercise",
        "boxes of exercises",
        "ExecutableBookProject",
        MIT,
        "MIT License",
        files=("exercise.css",),
    ),
]
LOCK_OF_LIVE = ROOT / "book" / "_ext" / "live" / "package-lock.json"
MICROPYTHON = "node_modules/@micropython/micropython-webassembly-pyscript"
IN_LIVE = "micropython.js"  # below `_static/`

#: what our extensions make below `_static/`; all else of ours lies in `book/_static`
OURS = ("grids/*.js", "live.js")

TEXT = """\
# Licenses

What of this site is ours, and what it has from others. `make pages` writes this page from what is
installed, and stops where a package no longer says what stands here.

## Ours

| what | terms |
| --- | --- |
| text, figures, slides | [CC BY 4.0](https://creativecommons.org/licenses/by/4.0/) |
| code, in cells and in `pdpbook` | [BSD 3-Clause](https://opensource.org/license/bsd-3-clause) |
| the four tables | those that each had, `pdpbook/datasets/data/README.md` says which |

Sentences that are quoted from papers are their authors'.

## From others, in every built site

{others}
Formulas are drawn when the site is built, and fonts are cut to what pages show. No file is loaded
from another site.

## Only where `make live` was run

{live}
"""


def license_of(found: Distribution) -> str:
    """The text of the license files of a package."""
    names = [one for one in found.files or [] if re.match(r"LICEN[SC]E|COPYING", one.name)]
    return "\n".join(Path(found.locate_file(one)).read_text(encoding="utf-8") for one in names)


def said(part: Part) -> str:
    """The text in which a package says under which terms it is."""
    found = distribution(part.package)
    if part.said_in == "LICENSE":
        return license_of(found)
    if part.said_in == "METADATA":
        return found.read_text("METADATA") or ""
    return Path(found.locate_file(part.said_in)).read_text(encoding="utf-8")


def row(part: Part) -> list[str]:
    """The row of the page, if the package says what it claims."""
    if part.words not in said(part):
        raise Refused(f"{part.package} no longer says {part.words!r} of {part.name}")
    version = distribution(part.package).version
    brings = f"`{part.package}` {version}"
    return [part.name, part.what, part.holder, part.license, brings]


def micropython() -> list[str]:
    """The row of the interpreter of live cells, from its lock."""
    locked = json.loads(LOCK_OF_LIVE.read_text(encoding="utf-8"))["packages"][MICROPYTHON]
    name = MICROPYTHON.removeprefix("node_modules/")
    brings = f"`{name}` {locked['version']}"
    what = "interpreter of the cells that one changes in the page"
    return ["MicroPython", what, "Damien P. George and others", locked["license"], brings]


def licenses(_: dict[str, Page]) -> str:
    """The page."""
    head = ["what", "in the site", "copyright", "license", "brought by"]
    return GENERATED + TEXT.format(
        others=table(head, list(map(row, PARTS))),
        live=table(head, [micropython()]),
    )
