"""What publication adds to the built pages: where the book lives, moved addresses, a sitemap.

`pdp_home` says where the book lives; every address of the site, of the repository and of Binder
follows from it. Without a repository there are no buttons that lead to one. `book/redirects.yml`
maps an old address to the page that answers now; each row becomes a small page that sends the
reader on, and page 404 answers for every other address.
"""

from __future__ import annotations

import posixpath
import re
from html import escape
from pathlib import Path

import pdp_home
import yaml
from sphinx.errors import ExtensionError

PLAIN = Path(__file__).with_name("plain.html").read_text(encoding="utf-8")
SENT_ON = """<meta http-equiv="refresh" content="0; url={target}">
<link rel="canonical" href="{canonical}">
<link rel="icon" href="{root}_static/favicon.ico" sizes="48x48">
<link rel="icon" href="{root}_static/favicon.svg" type="image/svg+xml">"""
SITEMAP = """<?xml version="1.0" encoding="utf-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
{}
</urlset>
"""
BUTTONS = ("use_repository_button", "use_edit_page_button", "use_issues_button")
TO_CLONE = "ADDRESS-OF-THE-REPOSITORY"  # what pages say as long as there is none
TO_A_PAGE = re.compile(r"\]\(\.\./\.\./([\w/]+)\.(?:ipynb|md)")  # from book/exercises/release
LOST = '<meta name="robots" content="noindex">\n<link rel="icon" href="data:,">'


def plain(title: str, meta: str, text: str) -> str:
    """A page with a title and one paragraph, that needs no other file."""
    page = PLAIN.replace("{{ title }}", escape(title))
    return page.replace("{{ meta }}", meta).replace("{{ text }}", text)


def redirect(old: str, new: str, title: str, home: str) -> str:
    """The page at the old address, with links relative to it."""
    target = escape(posixpath.relpath(new, posixpath.dirname(old) or "."))
    root = "../" * old.count("/")
    meta = SENT_ON.format(target=target, canonical=escape(home + new), root=root)
    goal = f'<a href="{target}">this page of the book</a>'
    return plain(title, meta, f"What you look for is on {goal}.")


def not_found(home: str) -> str:
    """Page 404, with absolute addresses: it is shown at any depth."""
    first = f'<a href="{home}book/intro.html">the first page</a>, where every chapter is listed'
    text = f'It may have moved. Try {first}, or <a href="{home}search.html">search the book</a>.'
    return plain("This page is not in the book", LOST, text)


def write_redirects(app, out: Path) -> None:
    rows = yaml.safe_load(Path(app.confdir, "book", "redirects.yml").read_text(encoding="utf-8"))
    titles = {app.builder.get_target_uri(name): t.astext() for name, t in app.env.titles.items()}
    for old, new in rows.items():
        if new not in titles or old in titles or not old.endswith(".html"):
            raise ExtensionError(
                f"redirects.yml: {old}: {new} must lead from an address without a page to a page"
            )
        (out / old).parent.mkdir(parents=True, exist_ok=True)
        page = redirect(old, new, titles[new], app.config.html_baseurl)
        (out / old).write_text(page, encoding="utf-8")


def write_sitemap(app, out: Path) -> None:
    """Every page at its address, also those that this build did not make anew."""
    named = [app.builder.get_target_uri(name) for name in sorted(app.env.found_docs)]
    pages = [name for name in [*named, "genindex.html", "search.html"] if (out / name).is_file()]
    rows = [f"<url><loc>{escape(app.config.html_baseurl + name)}</loc></url>" for name in pages]
    (out / "sitemap.xml").write_text(SITEMAP.format("\n".join(rows)), encoding="utf-8")


def address_downloads(app, out: Path) -> None:
    """A notebook that a student downloads has left the book: its links lead to the site."""
    site = rf"]({app.config.html_baseurl}book/\1.html"
    for file in (out / "_downloads").rglob("*.ipynb"):
        text = file.read_text(encoding="utf-8")
        file.write_text(TO_A_PAGE.sub(site, text), encoding="utf-8")


def lead_home(app, config) -> None:
    """Tell Sphinx, the theme and the previews where the book lives."""
    place = pdp_home.place(Path(app.confdir))
    config.html_baseurl = config.ogp_site_url = place.home
    config.pdp_repository = place.repository
    config.pdp_opened = pdp_home.opened(Path(app.confdir))
    config.html_theme_options["repository_url"] = place.repository
    for button in BUTTONS:
        config.html_theme_options[button] = bool(place.repository)
    if not place.repository:
        config.html_theme_options["launch_buttons"] = {}


def name_repository(app, docname: str, source: list[str]) -> None:
    """Commands that clone the repository name its address, once it has one."""
    if app.config.pdp_repository:
        source[0] = source[0].replace(TO_CLONE, app.config.pdp_repository)


def open_notebooks(app, pagename, templatename, context, doctree) -> None:
    """Binder opens what was released, and of a page of exercises the student's notebook."""
    edited = f"/{app.config.html_theme_options.get('repository_branch')}?"
    for group in context.get("header_buttons", []):
        if group["label"] == "launch-buttons":
            for button in group["buttons"]:
                url = button["url"].replace(edited, f"/{app.config.pdp_opened}?")
                button["url"] = url.replace("/book/exercises/", "/book/exercises/release/")


def finish(app, exception) -> None:
    if not exception and app.builder.format == "html":
        page = not_found(app.config.html_baseurl)
        Path(app.outdir, "404.html").write_text(page, encoding="utf-8")
        write_redirects(app, Path(app.outdir))
        write_sitemap(app, Path(app.outdir))
        address_downloads(app, Path(app.outdir))


def setup(app) -> dict[str, bool]:
    app.add_config_value("pdp_opened", "", "html")  # another one makes every page anew
    app.add_config_value("pdp_repository", "", "env")
    app.connect("config-inited", lead_home, priority=400)  # before the theme reads its options
    app.connect("source-read", name_repository)
    app.connect("html-page-context", open_notebooks, priority=600)  # the theme adds them at 501
    app.connect("build-finished", finish, priority=950)  # after pdp_html has mended the pages
    return {"parallel_read_safe": True, "parallel_write_safe": True}
