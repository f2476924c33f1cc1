"""The lint of the built pages finds nothing, and finds each fault that is planted."""

import re
import shutil

import lint_site
import pytest
from support import ROOT

HEAD = '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>A page</title>%s</head>'
BODY = "<body><main><article class='bd-article'><h1 id='top'>A page</h1>%s</article></main></body>"
GOOD = (
    "<p id='a'>Words, <code>a[i](x)</code>, <code>$HOME</code>, a <b>bound</b>.</p>"
    r"<p>Let <span class='math'>\(\varepsilon > 0\)</span> (see <a href='other.html#b'>there</a>,"
    " <a href='#a'>above</a> and <a href='https://example.org/x#y'>elsewhere</a>).</p>"
    "<h2>A section</h2><pre>:::{note} $x$ **kw ??</pre><h3>A part</h3><h2>Another</h2>"
    "<figure><img src='p.png' alt='A curve that falls from one to zero'></figure>"
    "<figure><svg role='img' class='inline-figure' aria-label='A curve that falls, and its label'>"
    "<defs><path id='f1-m0' d='M0 0'/></defs><use href='#f1-m0' style='fill: currentColor'/>"
    "<path style='fill: var(--fig-blue, #0072b2)' clip-path='url(#f1-m0)'/></svg></figure>"
)
PLANTED = {  # rule, what it says, body
    "dollar": ("stray", "dollar", "<p>The bound $x + 1$ holds.</p>"),
    "dollar in a cell": ("stray", "dollar", "<table><tr><td>$x$</td></tr></table>"),
    "eq label": ("stray", "equation label", "<p>a = b (eq-bound)</p>"),
    "colon fence": ("stray", "colon fence", "<p>:::{prf:theorem} Name</p>"),
    "role": ("stray", "a role", "<p>See {prf:ref}`thm-x`.</p>"),
    "role beside code": ("stray", "a role", "<p>See {numref}<code>fig-x</code>.</p>"),
    "raw TeX": ("stray", "raw TeX", r"<p>at most \varepsilon nats</p>"),
    "raw Markdown": ("stray", "raw Markdown", "<p>a [link](there.md)</p>"),
    "raw emphasis": ("stray", "raw Markdown", "<li>this is **bold</li>"),
    "missing citation": ("stray", "missing citation", "<p>by Warner [?]</p>"),
    "missing number": ("stray", "missing citation", "<p>in Theorem ??</p>"),
    "unresolved": ("stray", "unresolved", "<p><span class='xref std'>thm-x</span></p>"),
    "failed role": ("stray", "failed", "<p><span class='problematic'>x</span></p>"),
    "no figure": ("stray", "not drawn", "<pre>&lt;Figure size 640x480 with 1 Axes&gt;</pre>"),
    "traceback": ("stray", "traceback", "<pre>Traceback (most recent call last)</pre>"),
    "orphan": ("orphan", "may part", "<p>At most <span class='math'>\\(x\\)</span>. Then</p>"),
    "duplicate id": ("duplicate-id", "id=a stands 2", "<p id='a'>x</p><p id='a'>y</p>"),
    "no alt": ("image", "too little", "<img src='p.png'>"),
    "empty alt": ("image", "too little", "<img src='p.png' alt=''>"),
    "short alt": ("image", "too little", "<img src='p.png' alt='a plot'>"),
    "file as alt": ("image", "too little", "<img src='p.png' alt='../../_images/0123456789.png'>"),
    "unnamed picture": ("image", "too little", "<svg class='inline-figure' role='img'></svg>"),
    "picture without a role": (
        "image",
        "too little",
        "<svg class='inline-figure' aria-label='A curve that falls, and its label'></svg>",
    ),
    "picture outside": (
        "image",
        "does not stand in the page",
        "<img src='_images/a.svg' alt='A curve that falls from one to zero'>",
    ),
    "color of its own": (
        "image",
        "#bdbdbd in 'A curve that falls, and its label' does not follow the theme",
        "<svg role='img' class='inline-figure' aria-label='A curve that falls, and its label'>"
        "<path style='fill: #bdbdbd; stroke: none'/></svg>",
    ),
    "empty figure": ("image", "no image", "<figure id='f'><figcaption>c</figcaption></figure>"),
    "second h1": ("heading", "2 h1", "<h1>Again</h1>"),
    "skipped level": ("heading", "h3 after h1", "<h3>Deep</h3>"),
    "script": ("other-host", "fetches", "<script src='https://cdn.example.org/x.js'></script>"),
    "image": ("other-host", "fetches", "<img alt='A picture from elsewhere' src='//x.org/p.png'>"),
    "style": ("other-host", "fetches", "<style>@import 'https://x.org/a.css';</style>"),
    "font": ("other-host", "fetches", "<style>a {src: url(https://x.org/f.woff)}</style>"),
    "live code": ("other-host", "live code", "<script>const THEBE_JS_URL = ''</script>"),
    "dead link": ("link", "leads nowhere", "<p><a href='gone.html'>gone</a></p>"),
    "dead anchor": ("link", "no such place", "<p><a href='other.html#gone'>gone</a></p>"),
    "dead own anchor": ("link", "no such place", "<p><a href='#gone'>gone</a></p>"),
    "undefined": ("link", "leads nowhere", "<p><a href='undefined'>x</a></p>"),
    "undefined anchor": ("link", "leads nowhere", "<p><a href='#undefined'>x</a></p>"),
    "outside": ("link", "leads nowhere", "<p><a href='../../x.html'>x</a></p>"),
    "own address": ("link", "leads nowhere", "<p><a href='https://home.org/b/gone.html'>x</a></p>"),
}


@pytest.fixture
def tiny(tmp_path):
    """A folder with two pages; the body of one is for the test to choose."""

    def make(body: str, head: str = "") -> list:
        (tmp_path / "p.png").touch()
        (tmp_path / "other.html").write_text(HEAD % "" + BODY % "<p id='b'>b</p>")
        (tmp_path / "page.html").write_text(HEAD % head + BODY % body)
        return lint_site.lint_pages(lint_site.Site(tmp_path, baseurl="https://home.org/b/"))

    return make


def test_the_pages_are_parsed_by_one_process(request, site):
    """Not so with pytest 9.2 and pytest-xdist 3.8: groups got lost, and each parsed them all."""
    if hasattr(request.config, "workerinput"):
        assert request.node.nodeid.endswith("@site")


def test_the_built_site(site):
    faults = lint_site.lint(site)
    exceptions = lint_site.Exceptions.read()
    assert exceptions.without(faults) == []
    assert exceptions.unused(lint_site.OWN_RULES) == []


def test_a_good_page_has_no_fault(tiny):
    assert tiny(GOOD) == []


@pytest.mark.parametrize("name", PLANTED)
def test_planted_fault_is_found(tiny, name):
    rule, what, body = PLANTED[name]
    faults = tiny(body)
    assert [f for f in faults if f.rule == rule and what in f.what and f.page == "page.html"]
    assert {f.rule for f in faults} <= {rule, "link"}  # a picture from elsewhere, and no more


def test_a_page_without_title_or_language_is_found(tmp_path):
    (tmp_path / "page.html").write_text("<html><body><h1>A</h1></body></html>")
    said = [f.what for f in lint_site.lint_pages(lint_site.Site(tmp_path))]
    assert said == ["no language", "no title"]


def test_a_style_sheet_that_fetches_is_found(tiny, tmp_path):
    (tmp_path / "own.css").write_text("a { background: url('https://x.org/p.png') }")
    assert [str(f) for f in tiny(GOOD)] == ["own.css: other-host: fetches https://x.org/p.png"]


def test_an_empty_folder_is_a_fault(tmp_path):
    assert lint_site.lint_pages(lint_site.Site(tmp_path))


CONFIG = """
html: {baseurl: "https://home.org/b/"}
repository: {url: "https://github.com/o/r", branch: main}
launch_buttons: {binderhub_url: "https://mybinder.org"}
"""
TOC = """
format: jb-book
root: book/intro
parts:
  - caption: Part
    chapters: [{file: book/one}, {file: book/two.md}]
"""
HOME = "https://home.org/b/"
PREVIEW = "".join(
    f"<meta property='{name}' content='x'>" for name in ["og:title", "og:image:alt", "twitter:card"]
)
EDIT = "https://github.com/o/r/edit/main/"
ISSUE = "https://github.com/o/r/issues/new?title=Issue%20on%20page%20%2F"
BINDER = "https://mybinder.org/v2/gh/o/r/binder?urlpath=lab/tree/"


def head(name: str) -> str:
    """What publication asks of the head of a page."""
    address = f"<link rel='canonical' href='{HOME}{name}'><meta property='og:image' content='{HOME}"
    about = (f"<meta {key}='description' content='{name}'>" for key in ("name", "property"))
    words = "".join(about).replace("property='", "property='og:")
    return HEAD % (
        f"{address}card.png'>{PREVIEW}{words}<meta property='og:url' content='{HOME}{name}'>"
    )


def map_site(checkout) -> None:
    """A sitemap of the pages that are there."""
    folder = checkout / "html"
    names = [p.relative_to(folder).as_posix() for p in (folder / "book").rglob("*.html")]
    listed = "".join(f"<url><loc>{HOME}{name}</loc></url>" for name in names)
    (folder / "sitemap.xml").write_text(f"<urlset>{listed}</urlset>")


@pytest.fixture
def checkout(tmp_path):
    """A checkout with three pages, built, whose buttons are right."""
    (tmp_path / "_config.yml").write_text(CONFIG)
    (tmp_path / "_toc.yml").write_text(TOC)
    (tmp_path / "CITATION.cff").write_text("version: 0.2.0.dev0")
    for name in ["book", "html/book"]:
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "book" / "redirects.yml").write_text("{}")
    (tmp_path / "html" / "404.html").write_text(HEAD % "" + BODY % "")
    (tmp_path / "html" / "card.png").touch()
    for name in ["intro.ipynb", "one.ipynb", "two.md"]:
        (tmp_path / "book" / name).touch()
        stem = name.split(".")[0]
        links = [EDIT + "book/" + name, ISSUE + f"book/{stem}.html&body=x"]
        links += [BINDER + "book/" + name] if name.endswith("ipynb") else []
        anchors = "".join(f"<a href='{link}'>x</a>" for link in links)
        page = head(f"book/{stem}.html")
        page += BODY % f"<div class='article-header-buttons'>{anchors}</div>"
        (tmp_path / "html" / "book" / f"{stem}.html").write_text(page)
    return tmp_path


def lines(checkout) -> list[str]:
    map_site(checkout)
    site = lint_site.read(checkout / "html", checkout)
    return [str(fault) for fault in lint_site.lint(site, checkout)]


def test_right_buttons_and_contents_pass(checkout):
    assert lines(checkout) == []


@pytest.mark.parametrize("kind", [EDIT, ISSUE, BINDER])
def test_a_button_to_a_missing_file_is_found(checkout, kind):
    page = checkout / "html" / "book" / "one.html"
    page.write_text(page.read_text().replace(kind + "book/", kind + "buch/"))
    assert any("button" in line and "no such file" in line for line in lines(checkout))


def test_a_page_of_a_release_opens_its_tag(checkout):
    (checkout / "CITATION.cff").write_text("version: 0.2.0")
    assert "book/one.html: button: binder opens binder instead of v0.2.0" in lines(checkout)
    for page in (checkout / "html" / "book").glob("*.html"):
        page.write_text(page.read_text().replace("/binder?urlpath", "/v0.2.0?urlpath"))
    assert lines(checkout) == []


@pytest.mark.parametrize("kind", [EDIT, ISSUE, BINDER])
def test_a_button_that_is_gone_is_found(checkout, kind):
    page = checkout / "html" / "book" / "one.html"
    page.write_text(page.read_text().replace(kind, "https://elsewhere.org/"))
    assert any("button: no " in line for line in lines(checkout))


def test_without_a_repository_no_button_is_missed(checkout):
    (checkout / "_config.yml").write_text(CONFIG.replace("https://github.com/o/r", ""))
    for page in (checkout / "html" / "book").glob("*.html"):
        page.write_text(re.sub(r"<a href='https://.*?</a>", "", page.read_text()))
    assert lines(checkout) == []


def exercises(checkout, links):
    """A page of exercises, built, with these links."""
    (checkout / "_toc.yml").write_text(TOC.replace("book/two.md", "book/exercises/two"))
    (checkout / "html" / "book" / "two.html").unlink()
    for folder in ["book/exercises/release", "html/book/exercises", "html/_downloads/1"]:
        (checkout / folder).mkdir(parents=True)
    for name in ["book/exercises/two", "book/exercises/release/two", "html/_downloads/1/two"]:
        (checkout / f"{name}.ipynb").touch()
    links = [ISSUE + "book/exercises/two.html&body=x", "../../_downloads/1/two.ipynb", *links]
    body = "".join(f"<a href='{link}'>x</a>" for link in links)
    name = "book/exercises/two.html"
    (checkout / "html" / name).write_text(head(name) + BODY % body)
    return lines(checkout)


def test_exercises_open_the_copy_of_students(checkout):
    assert exercises(checkout, [BINDER + "book/exercises/release/two.ipynb"]) == []


@pytest.mark.parametrize("kind", [BINDER, EDIT])
def test_a_link_to_solved_exercises_is_found(checkout, kind):
    student = BINDER + "book/exercises/release/two.ipynb"
    found = exercises(checkout, [student, kind + "book/exercises/two.ipynb"])
    assert len(found) == 1
    assert "gives the solutions away: book/exercises/two.ipynb" in found[0]


def test_exercises_without_a_copy_to_open_are_found(checkout):
    assert exercises(checkout, []) == ["book/exercises/two.html: button: no binder button"]


def test_a_page_that_was_not_built_is_found(checkout):
    (checkout / "html" / "book" / "two.html").unlink()
    assert lines(checkout) == ["book/two.html: contents: is in _toc.yml, but was not built"]


def test_an_old_address_needs_no_entry_and_no_buttons(checkout):
    sent = "<meta http-equiv='refresh' content='0; url=one.html'>"
    (checkout / "book" / "redirects.yml").write_text("book/old.html: book/one.html")
    (checkout / "html" / "book" / "old.html").write_text(
        HEAD % f"{sent}<link rel='canonical' href='{HOME}book/one.html'>" + BODY % ""
    )
    assert lines(checkout) == [
        "sitemap.xml: sitemap: " + HOME + "book/old.html has no page, but is in the sitemap"
    ]


def test_a_page_outside_of_the_contents_is_found(checkout):
    shutil.copy(checkout / "html/book/two.html", checkout / "html/book/three.html")
    assert "book/three.html: contents: was built, but is not in _toc.yml" in lines(checkout)


def test_an_exception_covers_its_fault_only_and_is_missed_when_unused(tiny, tmp_path):
    file = tmp_path / "exceptions.toml"
    row = '[[exception]]\npage = "p*.html"\nrule = "stray"\nmatch = "%s"\nreason = "%s"\n'
    reason = "prices in dollars, from the paper"
    file.write_text(row % ("dollar", reason) + row % ("never said", reason))
    exceptions = lint_site.Exceptions.read(file)
    left = exceptions.without(tiny("<p>$5 and ??</p>"))
    assert [f.rule for f in left] == ["stray"]
    assert "missing citation" in left[0].what
    assert exceptions.unused(lint_site.OWN_RULES) == ["p*.html: stray: never said"]
    file.write_text(row % ("dollar", ""))
    with pytest.raises(ValueError, match="reason"):
        lint_site.Exceptions.read(file)


def test_the_command_says_and_counts(checkout, monkeypatch, capsys):
    monkeypatch.setattr(lint_site, "ROOT", checkout)
    map_site(checkout)
    assert lint_site.main(str(checkout / "html"), checkout) == 0
    assert capsys.readouterr().out == "4 pages, 0 faults\n"
    (checkout / "html" / "book" / "two.html").unlink()
    map_site(checkout)
    assert lint_site.main(str(checkout / "html"), checkout) == 1
    assert capsys.readouterr().out.endswith("not built\n3 pages, 1 faults\n")


def test_the_exceptions_of_the_book_have_reasons():
    assert all(len(row["reason"]) >= 20 for row in lint_site.Exceptions.read().rows)
    assert (ROOT / "tests" / "site_exceptions.toml").is_file()
