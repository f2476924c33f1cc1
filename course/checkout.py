"""The checkout that holds this package, and its tools, which read and write the book."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "tools"), str(ROOT / "book" / "_ext")]

from form import mark  # noqa: E402
from notebooks import METADATA, text  # noqa: E402
from pdp_home import place  # noqa: E402
from reading import (  # noqa: E402
    LINK,
    REFERENCE,
    ROLE,
    Page,
    Refused,
    files,
    published,
    read,
    statements,
    table,
    words,
)

__all__ = [
    "LINK",
    "METADATA",
    "REFERENCE",
    "ROLE",
    "ROOT",
    "Page",
    "Refused",
    "files",
    "mark",
    "place",
    "published",
    "read",
    "statements",
    "table",
    "text",
    "words",
]
