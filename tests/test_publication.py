"""Redirects, links to a release, outside links, and the lint of what machines read.

Small books are built where only a build can tell; rules of the lint see one planted fault each.
"""

import http.server
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pdp_html
import publication
import pytest
from bs4 import BeautifulSoup
from sphinx.errors import ExtensionError

ROOT = Path(__file__).resolve().parent.parent
SPEC = importlib.util.spec_from_file_location("pdp_publish", ROOT / "book/_ext/pdp_publish.py")
pdp_publish = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(pdp_publish)

# --- a small book, built -------------------------------------------------------------------------

HOME = "https://home.org/b/"
SMALL = """
title: A small book
only_build_toc_files: true
execute: {{execute_notebooks: "off"}}
repository: {{url: "https://github.com/o/r", branch: main}}
launch_buttons: {{notebook_interface: jupyterlab, binderhub_url: "https://hub.org"}}
html: {{baseurl: "{home}"}}
sphinx:
  recursive_update: true
  local_extensions: {{pdp_publish: book/_ext/}}
  config: {{language: en, linkcheck_timeout: 5}}
"""


@pytest.fixture
def small(tmp_path):
    """Build a book of two pages; its version, its redirects and a link are for the test."""

    def make(version="2.0.0", redirects="old/a.html: book/two.html", link="", builder="html"):
        shutil.copytree(ROOT / "book" / "_ext", tmp_path / "book" / "_ext", dirs_exist_ok=True)
        files = {
            "_config.yml": SMALL.format(home=HOME),
            "_toc.yml": "format: jb-book\nroot: book/intro\nchapters: [{file: book/two}]",
            "CITATION.cff": f"version: {version}",
            "book/redirects.yml": "{}" if builder != "html" else redirects,
            "book/intro.md": f"# First\n\nSee [here]({link or 'two.md'}).\n\n## Part\n",
        }
        for name, text in files.items():
            (tmp_path / name).write_text(text, "utf-8")
        cell = {
            "cell_type": "markdown",
            "id": "a",
            "metadata": {},
            "source": "# Tea & two\n\n## Part",
        }
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
        notebook = {"cells": [cell], "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
        if not (tmp_path / "book/two.ipynb").is_file():  # else a second build makes it anew
            (tmp_path / "book/two.ipynb").write_text(json.dumps(notebook), "utf-8")
        program = [
            Path(sys.executable).with_name("jupyter-book"),
            "build",
            ".",
            "--builder",
            builder,
        ]
        done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=False)
        return done, tmp_path / "_build" / "html"

    return make


@pytest.mark.slow
def test_an_old_address_leads_on_and_a_release_opens_its_tag(small):
    done, html = small()
    assert done.returncode == 0, done.stderr
    soup = BeautifulSoup((html / "old/a.html").read_text("utf-8"), "html.parser")
    assert publication.target(soup) == "../book/two.html"
    assert publication.canonical(soup) == [HOME + "book/two.html"]
    assert soup.h1.get_text() == "Tea & two"
    page = (html / "book/two.html").read_text("utf-8")
    assert "https://hub.org/v2/gh/o/r/v2.0.0?urlpath=lab/tree/book/two.ipynb" in page
    assert "/v2/gh/o/r/main" not in page
    assert (html / "404.html").read_text("utf-8") == pdp_publish.not_found(HOME)
    done, html = small(version="2.1.0.dev0")
    assert done.returncode == 0, done.stderr
    assert "/v2/gh/o/r/binder?urlpath" in (html / "book/two.html").read_text("utf-8")


@pytest.mark.slow
def test_the_sitemap_lists_the_pages_that_a_build_left_as_they_were(small):
    pages = ["book/intro.html", "book/two.html", "genindex.html", "search.html"]
    written = set()
    for link in ("two.md", "two.ipynb"):
        done, html = small(link=link)
        assert done.returncode == 0, done.stderr
        listed = re.findall("<loc>(.*)</loc>", (html / "sitemap.xml").read_text("utf-8"))
        assert listed == [HOME + page for page in pages]
        written.add((html / "book/two.html").stat().st_mtime_ns)
    assert len(written) == 1  # the second time only the first page was made


@pytest.mark.slow
def test_a_redirect_to_no_page_stops_the_build(small):
    done, _ = small(redirects="old.html: book/gone.html")
    assert done.returncode
    assert "old.html: book/gone.html" in done.stderr


class Answers(http.server.BaseHTTPRequestHandler):
    def do_HEAD(self):
        self.send_response(200 if self.path == "/here" else 404)
        self.end_headers()

    do_GET = do_HEAD

    def log_message(self, *args):
        pass


@pytest.mark.slow
def test_a_dead_link_is_found(small):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/"
    try:
        alive, _ = small(link=address + "here", builder="linkcheck")
        dead, _ = small(link=address + "gone", builder="linkcheck")
    finally:
        server.shutdown()
        server.server_close()
    assert alive.returncode == 0, alive.stderr
    assert dead.returncode != 0
    assert "404" in dead.stdout + dead.stderr


@pytest.mark.parametrize("old", ["book/intro.html", "old", "old.htm"])
def test_a_row_that_hides_a_page_or_is_none_is_refused(tmp_path, old):
    (tmp_path / "book").mkdir()
    (tmp_path / "book/redirects.yml").write_text(f"{old}: book/two.html")
    titles = {name: SimpleNamespace(astext=str) for name in ("book/intro", "book/two")}
    app = SimpleNamespace(
        confdir=tmp_path,
        env=SimpleNamespace(titles=titles),
        builder=SimpleNamespace(get_target_uri="{}.html".format),
    )
    with pytest.raises(ExtensionError, match="must lead from an address without a page"):
        pdp_publish.write_redirects(app, tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "goal", "root"),
    [
        ("index.html", "book/intro.html", "book/intro.html", ""),
        ("book/a/b.html", "book/c/d.html", "../c/d.html", "../../"),
        ("book/a.html", "book/b.html", "b.html", "../"),
    ],
)
def test_a_redirect_is_relative_and_escaped(old, new, goal, root):
    text = pdp_publish.redirect(old, new, "a < b", HOME)
    soup = BeautifulSoup(text, "html.parser")
    assert publication.target(soup) == soup.main.a["href"] == goal
    assert soup.select_one("link[rel=icon]")["href"] == root + "_static/favicon.ico"
    assert soup.title.get_text() == "a < b"
    assert "{{" not in text


def test_page_404_is_the_same_at_any_depth():
    page = pdp_publish.not_found(HOME)
    soup = BeautifulSoup(page, "html.parser")
    assert [link["href"] for link in soup.main("a")] == [
        HOME + "book/intro.html",
        HOME + "search.html",
    ]
    assert list(publication.not_found(HOME, {"404.html": soup})) == []
    assert "{{" not in page


# --- the lint of what machines read --------------------------------------------------------------

PAGE = (
    "<link rel='canonical' href='{home}{name}'><meta property='og:url' content='{home}{name}'>"
    "<meta property='og:title' content='t'><meta property='og:description' content='d {name}'>"
    "<meta name='description' content='d {name}'>"
    "<meta property='og:image' content='{home}c.png'><meta property='og:image:alt' content='a'>"
    "<meta name='twitter:card' content='summary'>"
)
AWAY = (
    "<meta http-equiv='refresh' content='0; url=book/one.html'>"
    "<link rel='canonical' href='{home}book/one.html'>"
)
BOX = "<div class='proof' id='thm-x'></div>"
LASTING = (
    "<meta name='robots' content='noindex'><link rel='canonical' href='{home}book/one.html#thm-x'>"
)
NOT_FOUND = "<a href='{home}book/one.html'>x</a><link href='data:,'>"


@pytest.fixture
def site(tmp_path):
    """A right site: file -> text."""
    files = {name: PAGE.format(home=HOME, name=name) for name in ("book/one.html", "search.html")}
    files["book/one.html"] += BOX
    files["s/thm-x.html"] = LASTING.format(home=HOME)
    files |= {"index.html": AWAY.format(home=HOME), "404.html": NOT_FOUND.format(home=HOME)}
    listed = "".join(f"<loc>{HOME}{name}</loc>" for name in ("book/one.html", "search.html"))
    files |= {"sitemap.xml": listed, "c.png": "x"}

    def faults(redirects=None):
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text, "utf-8")
        pages = {n: BeautifulSoup(t, "html.parser") for n, t in files.items() if n[-5:] == ".html"}
        rows = {"index.html": "book/one.html"} if redirects is None else redirects
        return {(page, rule) for page, rule, _ in publication.rows(tmp_path, HOME, pages, rows)}

    return files, faults


def test_a_right_site_has_no_fault(site):
    assert site[1]() == set()


@pytest.mark.parametrize(
    ("file", "old", "new", "page", "rule"),
    [
        ("book/one.html", "rel='canonical'", "", "book/one.html", "canonical"),
        ("search.html", "b/search", "b/find", "search.html", "canonical"),
        ("index.html", "b/book/one", "b/book/two", "index.html", "canonical"),
        ("s/thm-x.html", "#thm-x", "#thm-y", "s/thm-x.html", "canonical"),
        ("s/thm-x.html", "book/one", "search", "s/thm-x.html", "canonical"),
        ("s/thm-x.html", "noindex", "index", "sitemap.xml", "sitemap"),
        ("book/one.html", "thm-x", "thm-y", "s/thm-y.html", "canonical"),
        ("book/one.html", "thm-x", "thm-y", "s/thm-x.html", "canonical"),
        ("index.html", "url=book/one", "url=book/two", "index.html", "redirect"),
        ("index.html", "book/one.html", "index.html", "index.html", "redirect"),
        ("sitemap.xml", f"<loc>{HOME}search.html</loc>", "", "sitemap.xml", "sitemap"),
        ("sitemap.xml", "search", "find", "sitemap.xml", "sitemap"),
        ("sitemap.xml", "b/search", "b/book/one", "sitemap.xml", "sitemap"),
        ("book/one.html", "c.png", "d.png", "book/one.html", "preview"),
        ("book/one.html", "twitter:card", "x", "book/one.html", "preview"),
        (
            "book/one.html",
            "='description' content='d",
            "='description' content='",
            "book/one.html",
            "preview",
        ),
        ("book/one.html", "content='d ", "content='" + "d" * 300, "book/one.html", "preview"),
        (
            "book/one.html",
            f"og:url' content='{HOME}",
            "og:url' content='/",
            "book/one.html",
            "preview",
        ),
        ("404.html", f"{HOME}book", "book", "404.html", "not-found"),
        ("404.html", "data:,", "/favicon.ico", "404.html", "not-found"),
    ],
)
def test_planted_faults_of_addresses_are_noticed(site, file, old, new, page, rule):
    files, faults = site
    assert old in files[file]
    files[file] = files[file].replace(old, new)
    assert (page, rule) in faults()


def test_pages_and_rows_of_redirects_are_the_same(site):
    files, faults = site
    assert faults({}) == {("index.html", "redirect")}
    assert faults({"index.html": "book/two.html"}) == {("index.html", "redirect")}
    assert faults({"index.html": "book/one.html", "old.html": "book/one.html"}) == {
        ("old.html", "redirect")
    }
    del files["404.html"]
    assert faults() == {("404.html", "not-found")}


# --- what a link to a page says of it ------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("<p>One thing. Another.</p><p>A third.</p>", "One thing. Another."),
        (f"<p>{'a ' * 60}end. B{'b ' * 60}</p>", "a " * 60 + "end."),
        (f"<p>Short. B{'b ' * 99}end.</p>", "Short. B" + "b " * 99 + "end."),
        (f"<p>Short. A{'b ' * 200}</p>", "Short. A" + "b " * 145 + " …"),
        (r"<p>A budget \(\varepsilon\) and \(\sigma C\), by Wang [ 2019].</p>",
         "A budget ε and σC, by Wang [2019]."),
        ("<p>What is in it: <a>all</a>.</p><p>A module.</p>", "A module."),
    ],
)  # fmt: skip
def test_a_page_is_described_by_its_first_sentences(page, said):
    soup = BeautifulSoup(f"<article>{page}</article>", "html.parser")
    assert pdp_html.description(soup).split() == said.split()
    assert len(pdp_html.description(soup)) <= publication.LONGEST


PART = "<div class='bd-links'><details class='part' open><summary>PAC</summary></details></div>"


def test_a_page_shows_the_card_of_its_part(tmp_path):
    (tmp_path / "_static/cards").mkdir(parents=True)
    (tmp_path / "_static/cards/pac.png").touch()

    def shown(name):
        page = f"<meta property='og:image' content='{HOME}_static/card.png'>"
        page += f"<meta property='og:image:alt' content='Us'>{PART}"
        soup = BeautifulSoup(page, "html.parser")
        pdp_html.mend_card(soup, name, tmp_path)
        return [meta["content"] for meta in soup("meta")]

    assert shown("book/pac/noise.html") == [HOME + "_static/cards/pac.png", "PAC, a part of Us"]
    for other in ("book/start.html", "book/back/ledger.html", "search.html"):
        assert shown(other) == [HOME + "_static/card.png", "Us"]
