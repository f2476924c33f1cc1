"""What the tests of the site share: the folder, a server, and how to skip."""

import functools
import gzip
import http.server
import os
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("PDPBOOK_SITE") or ROOT / "_build" / "html").resolve()

# Bytes, packed: a first visit, before the reader does anything; and what a later page asks for
# besides _static, which all pages share and the browser keeps, with the fonts of formulas.
FIRST, LATER = 700_000, 150_000
SHARED = "_static/"
PACKED = {".png", ".jpg", ".woff", ".woff2", ".ico", ".pdf", ".zip"}

# Pages of one template each. Of each the largest is seen as all other pages are.
TEMPLATES = ("book/back/api/", "book/back/ledger/", "s/", "slides/")


@functools.cache
def page_names() -> list[str]:
    """The pages that are driven."""
    names = [p.relative_to(FOLDER).as_posix() for p in sorted(FOLDER.rglob("*.html"))]
    # A redirect sends one on at once; the front door, which is one, has a test of its own.
    moved = yaml.safe_load((ROOT / "book" / "redirects.yml").read_text("utf-8"))
    names = [name for name in names if name[0] != "_" and name not in moved]
    # The pages of single statements are made alike, of boxes that the others show: every 20th.
    lasting = [name for name in names if name.startswith("s/")]
    return [name for name in names if name not in lasting] + lasting[::20]


def one_of_many(name: str) -> bool:
    """Whether a page has a template, and a larger page from it stands for both."""
    for prefix in TEMPLATES:
        made = [page for page in page_names() if page.startswith(prefix)]
        if name in made:
            return name != max(made, key=lambda page: (FOLDER / page).stat().st_size)
    return False


def missing(what: str):
    """Skip, and say what is missing; fail where that was promised to be there."""
    if os.environ.get("CI") or os.environ.get("PDPBOOK_DEMAND_BROWSER"):
        pytest.fail(what)
    pytest.skip(what)


class Quiet(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keep the connection: fifty small files a page

    def log_message(self, *args):
        pass


@contextmanager
def serving(folder: Path):
    """The address of a server of this folder on this machine."""
    handler = functools.partial(Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def weight(folder: Path, names: set[str]) -> int:
    """Bytes of these files, packed as servers of static pages do."""
    total = 0
    for path in (folder / name for name in names):
        if path.is_file():
            data = path.read_bytes()
            total += len(data if path.suffix in PACKED else gzip.compress(data, 6))
    return total
