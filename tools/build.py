"""Build the pages with Jupyter Book.

    python tools/build.py [html | latex | linkcheck]

Warnings are errors. Sphinx sees which pages changed; what it makes them with it does not see, so
when that changed, or the last build did not end well, all pages are made anew.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "_build"
JUPYTER_BOOK = Path(sys.executable).parent / "jupyter-book"
MADE_WITH = ("book/_ext", "book/_static", "book/_extra", "_config.yml", "_toc.yml", "book/*.yml")
MADE_WITH += ("book/*.csv", "requirements.txt", "_build/live/node_modules/.package-lock.json")
HOME, REPOSITORY = "PDPBOOK_HOME", "PDPBOOK_REPOSITORY"  # of a site that is published
MARK = BUILD / "made_with"  # what the pages of the last build were made with, if it ended well


def made_with() -> str:
    """Return a hash of all that pages are made with."""
    total = hashlib.sha256(f"{os.environ.get(HOME)} {os.environ.get(REPOSITORY)}".encode())
    for file in sorted(_files()):
        total.update(f"{file.relative_to(ROOT)} {file.stat().st_size} ".encode())
        total.update(file.read_bytes())
    return total.hexdigest()


def _files() -> Iterator[Path]:
    for pattern in MADE_WITH:
        for path in ROOT.glob(pattern):
            inside = [path] if path.is_file() else path.rglob("*")
            yield from (p for p in inside if p.is_file() and p.suffix != ".pyc")


def clear_if_changed() -> None:
    """Remove all pages if they were made with something else, or not to the end."""
    now = made_with()
    before = MARK.read_text(encoding="utf-8") if MARK.is_file() else ""
    if before != now:
        for name in (".doctrees", "html", "latex"):
            shutil.rmtree(BUILD / name, ignore_errors=True)
    MARK.unlink(missing_ok=True)


def build(builder: str) -> int:
    """Return 0 if all pages were made, without a warning."""
    command = [JUPYTER_BOOK, "build", ROOT, "--builder", builder]
    # its own last words are about a file: `make book` has better ones
    return subprocess.run(
        [*command, "-q", "-W", "-n", "--keep-going"], stdout=subprocess.DEVNULL
    ).returncode


def main(builder: str = "html") -> int:
    """Build, and leave a mark if all went well."""
    print("Making the pages: one to two minutes if all are new", flush=True)
    clear_if_changed()
    status = build(builder)
    if status == 0:
        MARK.parent.mkdir(exist_ok=True)
        MARK.write_text(made_with(), encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
