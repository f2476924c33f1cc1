"""Where the book lives stands in one place, and a copy published elsewhere leads to itself."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import addresses
import pdp_home
import pdp_publish
import pytest
import yaml

from course import sheets
from course.bank import questions
from course.checkout import LINK

ROOT = Path(__file__).resolve().parent.parent
OLD = pdp_home.Place(
    "https://old.example/book/", "https://github.com/old/book", "main", "https://hub"
)
NEW = {
    "PDPBOOK_HOME": "https://new.example/a/copy",  # as the workflow says it, without a slash
    "PDPBOOK_REPOSITORY": "https://github.com/new/copy",
}
NOWHERE = pdp_home.Place("http://localhost:8000/", "", "main", "https://hub")


@pytest.fixture
def published(monkeypatch):
    """What the workflow that publishes sets."""
    for name, value in NEW.items():
        monkeypatch.setenv(name, value)


def config_of(home):
    """The configuration of a book that was published at this place before."""
    text = (ROOT / "_config.yml").read_text("utf-8")
    text = re.sub(r"^  url: .*", f'  url: "{home.repository}"', text, flags=re.M)
    return re.sub(r"^  baseurl: .*", f"  baseurl: {home.home}", text, flags=re.M)


# --- one place -----------------------------------------------------------------------------------


def test_the_file_says_where_and_the_environment_says_it_louder(tmp_path, monkeypatch):
    (tmp_path / "_config.yml").write_text(config_of(OLD), "utf-8")
    monkeypatch.setenv("PDPBOOK_HOME", "")  # set, but empty, where nothing is published
    old = pdp_home.place(tmp_path)
    assert (old.home, old.repository, old.published) == (OLD.home, OLD.repository, True)
    for name, value in NEW.items():
        monkeypatch.setenv(name, value)
    new = pdp_home.place(tmp_path)
    assert (new.home, new.repository) == ("https://new.example/a/copy/", NEW["PDPBOOK_REPOSITORY"])
    assert new.page("a/b", "#c") == "https://new.example/a/copy/book/a/b.html#c"
    assert OLD.binder("v1", "a.ipynb") == "https://hub/v2/gh/old/book/v1?urlpath=lab/tree/a.ipynb"


def test_the_address_of_make_serve_is_not_published():
    assert not NOWHERE.published
    port = re.search(r"^PORT \?= (\d+)", (ROOT / "Makefile").read_text("utf-8"), re.M)[1]
    assert NOWHERE.home == f"{pdp_home.HERE}{port}/"


ADDRESS = re.compile(r"//[\w.-]+\.github\.io\b|\bmybinder\.org/v2/g|git clone http")


def literals(text, home):
    """Addresses of a site, a repository or Binder that a text names."""
    named = [one for one in (home.home * home.published, home.repository) if one and one in text]
    return named + ADDRESS.findall(text)


FOLDERS = (".github", "binder", "book", "course", "lab", "pdpbook", "tools")
TEXTS = {".py", ".md", ".ipynb", ".yml", ".cff", ".js", ".html", ".toml", ".css"}


def test_no_other_file_names_an_address():
    """Those that `tools/addresses.py` writes do, once there is one."""
    inside = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    files = [path for path in [*inside, *ROOT.iterdir()] if path.suffix in TEXTS and path.is_file()]
    assert len(files) > 400
    home = pdp_home.place()
    named = {
        path.relative_to(ROOT).as_posix()
        for path in files
        if literals(path.read_text("utf-8"), home)
    }
    assert named <= {"_config.yml", *addresses.FILES}


@pytest.mark.parametrize(
    "text",
    [
        "see https://someone.github.io/book/",
        "[x](https://mybinder.org/v2/gh/a/b/main)",
        "git clone https://github.com/a/b",
        "https://github.com/old/book/issues",
        "https://old.example/book/x.html",
    ],
)
def test_an_address_in_a_text_is_noticed(text):
    assert literals(text, OLD)


# --- what stands outside of the site -------------------------------------------------------------


def test_the_files_outside_of_the_site_say_where_it_is(capsys):
    assert addresses.write(check=True) == 0, "run make pages"


def test_links_of_the_readme_lead_to_files_or_to_the_site():
    names = set(addresses.links(NOWHERE))
    text = (ROOT / "README.md").read_text("utf-8")
    assert set(re.findall(r"^\[([a-z]+)\]: ", text, re.M)) == names
    assert names <= set(re.findall(r"\]\[([a-z]+)\]", text))
    for target in addresses.links(NOWHERE).values():
        assert (ROOT / target).is_file()
    leads = addresses.links(OLD)
    assert leads["read"] == "https://old.example/book/book/intro.html"
    assert leads["run"] == "https://hub/v2/gh/old/book/binder?urlpath=lab/tree/book/start.ipynb"
    there = addresses.readme(text, OLD)
    assert all(f"[{name}]: {target}\n" in there for name, target in leads.items())
    assert addresses.readme(there, NOWHERE) == addresses.readme(text, NOWHERE)


def test_a_citation_names_what_is_there():
    text = (ROOT / "CITATION.cff").read_text("utf-8")
    said = yaml.safe_load(addresses.citation(text, OLD))
    assert (said["url"], said["repository-code"]) == (OLD.home, OLD.repository)
    nothing = addresses.citation(addresses.citation(text, OLD), NOWHERE)
    assert not {"url", "repository-code"} & yaml.safe_load(nothing).keys()


def test_the_private_address_is_that_of_the_repository():
    text = (ROOT / ".github/ISSUE_TEMPLATE/config.yml").read_text("utf-8")
    (contact,) = yaml.safe_load(addresses.issues(text, OLD))["contact_links"]
    assert contact["url"] == "https://github.com/old/book/security/advisories/new"
    assert set(contact) == {"name", "url", "about"}
    assert "contact_links" not in yaml.safe_load(addresses.issues(text, NOWHERE))


# --- notebooks of students -----------------------------------------------------------------------


def texts(name, **how):
    return "\n".join(cell.source for cell in sheets.plain(name, **how).cells)


@pytest.mark.parametrize("name", sheets.ASSIGNMENTS)
def test_what_is_handed_out_leads_to_the_site_or_nowhere(name, published, monkeypatch):
    site = re.findall(r"\]\((https://new\.example/a/copy/book/[\w/]+\.html[^)]*)\)", texts(name))
    assert len(site) >= 5
    for variable in NEW:
        monkeypatch.delenv(variable)
    beside = re.findall(r"\]\((\.\./[^)]*)\)", texts(name, lead=sheets.beside))
    assert len(beside) == len(site)
    for target in beside:
        assert (sheets.PAGES / "release" / target.partition("#")[0]).is_file()
    if not pdp_home.place().published:
        assert not re.search(r"\]\((?!#)|book:", texts(name))
        assert re.search(r"^\*[A-Z][^*]+\*$", texts(name), re.M)  # what it trains, a title


def test_questions_for_other_platforms_lead_to_the_site_or_nowhere(published, monkeypatch):
    linked = "\n".join(one.text + one.hint + one.solution for one in questions())
    assert "](https://new.example/a/copy/book/" in linked
    assert "book:" not in linked
    assert not LINK.search(linked.replace("](#", ""))
    for variable in NEW:
        monkeypatch.delenv(variable)
    if not pdp_home.place().published:
        assert "book:" not in "".join(one.text + one.hint + one.solution for one in questions())


# --- a copy, published ---------------------------------------------------------------------------

TOC = """
format: jb-book
root: book/intro
parts:
  - caption: Exercises
    chapters: [{file: book/exercises/foundations}]
  - caption: Back matter
    chapters: [{file: book/glossary}, {file: book/back/grading}]
"""


OF_OLD = re.compile(r"(?://|github\.com/|/gh/)old\b")


@pytest.fixture
def fork(tmp_path):
    """Four pages of a book that was published, to build as it is, and as the workflow of a fork."""
    folder = tmp_path / "a fork"
    shutil.copytree(ROOT / "book", folder / "book", ignore=shutil.ignore_patterns("results"))
    config = config_of(OLD).replace("execute_notebooks: cache", 'execute_notebooks: "off"')
    config = config.replace("    pdp_search: book/_ext/\n", "")  # it wants all places of its words
    (folder / "_config.yml").write_text(config, "utf-8")
    (folder / "_toc.yml").write_text(TOC, "utf-8")
    (folder / "book/redirects.yml").write_text("index.html: book/intro.html", "utf-8")
    shutil.copy(ROOT / "CITATION.cff", folder)

    def build(settings):
        """The text files of the built site that name the old place."""
        program = [Path(sys.executable).with_name("jupyter-book"), "build", folder]
        environment = {k: v for k, v in os.environ.items() if k not in NEW} | settings
        built = subprocess.run(program, env=environment, capture_output=True, text=True)
        assert built.returncode == 0, built.stderr
        texts = (path for path in html_of(folder).rglob("*") if path.suffix in SHOWN)
        return {path.name for path in texts if OF_OLD.search(path.read_text("utf-8"))}

    return folder, build


SHOWN = {".html", ".xml", ".txt", ".js", ".json", ".ipynb", ".md", ".css", ".svg"}


def html_of(folder):
    return folder / "_build" / "html"


@pytest.mark.slow
def test_a_copy_published_elsewhere_leads_home_to_itself(fork):
    folder, build = fork
    led = {"index.html", "404.html", "sitemap.xml", "foundations.html", "foundations.ipynb"}
    assert build({}) >= led | {"intro.html", "glossary.html", "grading.html"}
    assert build(NEW) == set()  # over the other one
    html = html_of(folder)
    page = (html / "book/exercises/foundations.html").read_text("utf-8")
    student = "lab/tree/book/exercises/release/foundations.ipynb"
    assert f"/v2/gh/new/copy/{pdp_home.opened(folder)}?urlpath={student}" in page
    assert 'href="https://new.example/a/copy/book/exercises/foundations.html"' in page  # canonical
    assert "https://github.com/new/copy/edit/main/book/glossary.md" in (
        (html / "book/glossary.html").read_text("utf-8")
    )
    assert "git clone https://github.com/new/copy course-book" in (
        (html / "book/back/grading.html").read_text("utf-8")
    )
    (sheet,) = html.rglob("_downloads/*/foundations.ipynb")
    assert "](https://new.example/a/copy/book/foundations/coins.html)" in sheet.read_text("utf-8")
    json.loads(sheet.read_text("utf-8"))


@pytest.mark.slow
def test_a_book_without_a_repository_has_no_button_that_leads_to_one(fork):
    folder, build = fork
    (folder / "_config.yml").write_text(
        (folder / "_config.yml").read_text("utf-8").replace(OLD.repository, ""), "utf-8"
    )
    build({})
    for name in ("exercises/foundations", "glossary", "back/grading"):
        page = (html_of(folder) / "book" / f"{name}.html").read_text("utf-8")
        assert not re.search(r"github\.com|/v2/gh/|fa-rocket|fa-github", page)
    assert f"git clone {pdp_publish.TO_CLONE} course-book" in page
