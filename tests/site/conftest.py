"""Tests of the built site: collected only when asked for by name (`make site-test`).

    PDPBOOK_SITE=_build/html python -m pytest -n 2 --dist loadgroup tests/site

`PDPBOOK_SITE` is the folder of built pages (default `_build/html`). `PDPBOOK_SHOTS` is a folder
for screenshots. Where the pages or Chromium are missing the tests are skipped, and say so; they
fail instead when `CI` or `PDPBOOK_DEMAND_BROWSER` is set.
"""

import shutil
from pathlib import Path

import lint_site
import pytest
from support import FOLDER, missing, page_names, serving

HERE = Path(__file__).resolve().parent


def pytest_ignore_collect(collection_path, config):
    """A plain `pytest` or `pytest tests` leaves this folder out."""
    asked = [Path(arg.split("::")[0]).resolve() for arg in config.args]
    return None if any(HERE == p or HERE in p.parents for p in asked) else True


def pytest_generate_tests(metafunc):
    if "page_name" in metafunc.fixturenames:
        metafunc.parametrize("page_name", page_names() or ["book/intro.html"])


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """With `--dist loadgroup` one process parses the pages, one unpacks, one starts JupyterLab."""
    for item in items:
        for costly in {"site", "unpacked", "server"} & {*item.fixturenames}:
            item.add_marker(pytest.mark.xdist_group(costly))


@pytest.fixture(scope="session")
def folder() -> Path:
    if not (FOLDER / "index.html").is_file():
        missing(f"no built site in {FOLDER.name}: run `make book` first")
    return FOLDER


@pytest.fixture(scope="session")
def site(folder):
    """The built pages, each parsed once."""
    return lint_site.read(folder)


@pytest.fixture(scope="session")
def soups(site):
    """The same by name."""
    return site.pages


@pytest.fixture(scope="session")
def exceptions():
    return lint_site.Exceptions.read()


@pytest.fixture(scope="session")
def address(folder):
    with serving(folder) as found:
        yield found


@pytest.fixture(scope="session")
def browser():
    """One Chromium for all pages; it cannot resolve the name of any other host."""
    playwright = pytest.importorskip("playwright.sync_api")
    # The shell draws what Chromium draws, without windows, in three quarters of the time.
    names = ("chromium-headless-shell", "chromium", "chromium-browser")
    program = next(filter(None, map(shutil.which, names)), None)
    if not program:
        missing("no Chromium on PATH (Debian: apt-get install chromium)")
    switches = (
        "no-sandbox disable-gpu disable-quic no-first-run disable-background-networking "
        "disable-component-update disable-sync hide-scrollbars"
    ).split()
    arguments = [f"--{switch}" for switch in switches]
    arguments.append("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=program, args=arguments)
        yield chromium
        chromium.close()
