"""What publication adds to the built pages: addresses that moved, and links to the release.

`book/redirects.yml` maps an old address to the page that answers now; each row becomes a small
page, made from `redirect.html`, that sends the reader on. Links to Binder open the branch while a
version is in development and the tag once it is released; `CITATION.cff` says which.
"""

from __future__ import annotations

import posixpath
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from sphinx.errors import ExtensionError

TEMPLATE = Path(__file__).with_name("redirect.html")


def redirect(old: str, new: str, title: str, home: str) -> str:
    """The page at the old address, with links relative to it."""
    folder = posixpath.dirname(old) or "."
    values = {
        "target": posixpath.relpath(new, folder),
        "root": "../" * old.count("/"),
        "canonical": home + new,
        "title": title,
    }
    text = TEMPLATE.read_text(encoding="utf-8")
    for name, value in values.items():
        text = text.replace("{{ " + name + " }}", escape(value))
    return text


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


def pin_binder(app, out: Path) -> None:
    """A page of a release opens the notebook of that release, whatever the branch holds by then."""
    citation = yaml.safe_load(Path(app.confdir, "CITATION.cff").read_text(encoding="utf-8"))
    if "dev" in citation["version"]:
        return
    options = app.config.html_theme_options
    slug = urlsplit(options["repository_url"]).path.strip("/")
    binder = f"{options['launch_buttons']['binderhub_url']}/v2/gh/{slug}/"
    branch, tag = f"{binder}{options['repository_branch']}?", f"{binder}v{citation['version']}?"
    for page in out.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        if branch in text:
            page.write_text(text.replace(branch, tag), encoding="utf-8")


def finish(app, exception) -> None:
    if not exception and app.builder.format == "html":
        write_redirects(app, Path(app.outdir))
        pin_binder(app, Path(app.outdir))


def setup(app) -> dict[str, bool]:
    app.connect("build-finished", finish, priority=950)  # after pdp_html has mended the pages
    return {"parallel_read_safe": True, "parallel_write_safe": True}
