"""When Sphinx makes a page anew, and that it writes pages on all cores."""

from __future__ import annotations

import os
from pathlib import Path


def depend_on_run(app, docname: str, source: list[str]) -> None:
    """Make a page anew when its notebook ran again, though its source is the same."""
    ran = Path(app.srcdir, "_build", "executed", f"{docname}.ipynb")
    if ran.is_file():
        app.env.note_dependency(os.path.relpath(ran, app.srcdir))


def write_on_all_cores(app, env) -> None:
    """Statements can only be read one page after the other; written they can be at once."""
    app.parallel = 1 + (os.cpu_count() or 1)  # Sphinx counts itself as one


def setup(app) -> dict[str, bool]:
    app.connect("source-read", depend_on_run)
    app.connect("env-check-consistency", write_on_all_cores)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
