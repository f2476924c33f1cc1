"""What publication adds to the built pages: moved addresses, a sitemap, links to the release.

`book/redirects.yml` maps an old address to the page that answers now; each row becomes a small
page that sends the reader on, and page 404 answers for every other address. Links to Binder open
the branch while a version is in development and the tag once it is released; `CITATION.cff` says
which.
"""

from __future__ import annotations

import posixpath
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

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


def pin_binder(app, out: Path) -> None:
    """A page of a release opens the notebook of that release, whatever the branch holds by then."""
    if "dev" in app.config.pdp_version:
        return
    options = app.config.html_theme_options
    slug = urlsplit(options["repository_url"]).path.strip("/")
    binder = f"{options['launch_buttons']['binderhub_url']}/v2/gh/{slug}/"
    branch, tag = f"{binder}{options['repository_branch']}?", f"{binder}v{app.config.pdp_version}?"
    for page in out.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        if branch in text:
            page.write_text(text.replace(branch, tag), encoding="utf-8")


def note_version(app, config) -> None:
    """A new version makes every page anew, so that all of them link to the same release."""
    citation = Path(app.confdir, "CITATION.cff").read_text(encoding="utf-8")
    config.pdp_version = yaml.safe_load(citation)["version"]


def finish(app, exception) -> None:
    if not exception and app.builder.format == "html":
        page = not_found(app.config.html_baseurl)
        Path(app.outdir, "404.html").write_text(page, encoding="utf-8")
        write_redirects(app, Path(app.outdir))
        write_sitemap(app, Path(app.outdir))
        pin_binder(app, Path(app.outdir))


def setup(app) -> dict[str, bool]:
    app.add_config_value("pdp_version", "", "html")
    app.connect("config-inited", note_version)
    app.connect("build-finished", finish, priority=950)  # after pdp_html has mended the pages
    return {"parallel_read_safe": True, "parallel_write_safe": True}
