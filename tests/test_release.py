"""A release: one version in every file that names it, and an archive that repeats."""

import hashlib
import re
import shutil
import tarfile
import tomllib
from pathlib import Path

import pytest
import release
import yaml

import pdpbook

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def copy(tmp_path):
    for name in release.LINES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_the_files_agree_on_the_version():
    assert release.current()


def test_release_and_development_take_turns(copy):
    first = release.current(copy)
    if "dev" not in first:
        release.set_version("90.0.0.dev0", "2030-01-01", copy)
    release.set_version("91.0.0", "2030-01-02", copy)
    assert release.current(copy) == "91.0.0"
    citation = yaml.safe_load((copy / "CITATION.cff").read_text("utf-8"))
    assert (citation["version"], str(citation["date-released"])) == ("91.0.0", "2030-01-02")
    with pytest.raises(ValueError, match="take turns"):
        release.set_version("92.0.0", "2030-01-03", copy)
    release.set_version("92.0.0.dev0", "2030-01-03", copy)
    assert release.current(copy) == "92.0.0.dev0"
    changes = (copy / "CHANGELOG.md").read_text("utf-8")
    assert "## 92.0.0, unreleased\n\n## 91.0.0, 2030-01-02\n" in changes
    assert "date-released" not in (copy / "CITATION.cff").read_text("utf-8")
    with pytest.raises(ValueError, match="VERSION must read"):
        release.set_version("v92", "2030-01-03", copy)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("pdpbook/__init__.py", r'__version__ = ".*"', '__version__ = "7.0.0"'),
        ("CITATION.cff", r"^version: .*", "version: 7.0.0"),
        ("CITATION.cff", r"^(version: .*)", r"\1\ndate-released: 2001-01-01"),
        ("CITATION.cff", r"^version: .*", "version: seven"),
        ("CHANGELOG.md", r"^## \S+,", "## 7.0.0,"),
    ],
)
def test_files_that_disagree_are_noticed(copy, name, old, new):
    text, count = re.subn(old, new, (copy / name).read_text("utf-8"), count=1, flags=re.M)
    assert count
    (copy / name).write_text(text, "utf-8")
    with pytest.raises(ValueError, match=r"different|date|released|matches"):
        release.current(copy)


def test_the_notes_of_a_release_are_those_of_its_version(copy):
    (copy / "CHANGELOG.md").write_text(
        "# Changes\n\n## 2.0.0, unreleased\n\nNew.\n\n## 1.0.0, x\n\nOld.\n"
    )
    assert release.notes(copy).startswith("New.\n\nThe archive")


def test_the_notes_are_read_in_two_minutes():
    """At 225 words a minute."""
    assert 100 < len(release.notes().split()) < 450


def test_the_page_of_promises_is_that_of_this_major_version():
    heading = (ROOT / "book/back/versions.md").read_text("utf-8").splitlines()[0]
    assert heading == f"# What {pdpbook.__version__.split('.')[0]}.0 promises"


def test_check_refuses_another_tag(capsys):
    assert release.main(["check", "v" + release.current()]) == 0
    assert release.main(["check", "v0.0.1"]) == 1
    assert "the tag is v0.0.1" in capsys.readouterr().err


def test_the_archive_repeats_and_its_checksum_holds(tmp_path):
    html = tmp_path / "html"
    (html / "book").mkdir(parents=True)
    with pytest.raises(ValueError, match="no built book"):
        release.archive(html, tmp_path / "a", "1.0.0")
    (html / "book" / "intro.html").write_text("<p>A page</p>")
    (html / ".nojekyll").touch()
    one, two = (release.archive(html, tmp_path / k, "1.0.0") for k in "ab")
    assert one.name == "privacy-personally-1.0.0.tar.gz"
    assert one.read_bytes() == two.read_bytes()
    digest, name = Path(f"{one}.sha256").read_text().split()
    assert (digest, name) == (hashlib.sha256(one.read_bytes()).hexdigest(), one.name)
    with tarfile.open(one) as tar:
        assert tar.getnames() == [
            f"privacy-personally-1.0.0/{n}" for n in (".nojekyll", "book/intro.html")
        ]


# --- how the book is cited ------------------------------------------------------------------------

CITATION = (ROOT / "CITATION.cff").read_text("utf-8")
# texts of version 1.2.0 of the format, which it demands or knows for software
TEXTS = set("cff-version message title abstract type version license".split())
ADDRESSES = {"url", "repository-code"}  # written by tools/addresses.py, once there are any


def wrong(text):
    """What is wrong with a citation."""
    said = yaml.safe_load(text)
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    yield from sorted({*TEXTS, "authors", "keywords"} - said.keys())  # missing
    known = {*TEXTS, *ADDRESSES, "authors", "keywords", "date-released", "doi"}
    yield from sorted(said.keys() - known)  # unknown
    yield from (
        name for name in TEXTS & said.keys() if not (said[name] and str is type(said[name]))
    )
    there = {
        "cff-version": said.get("cff-version") == "1.2.0",
        "type": said.get("type") == "software",
        "authors": said.get("authors") == [{"name": config["author"]}],
        "keywords": len(said.get("keywords") or []) == len(set(said.get("keywords") or [])) > 0,
        "version": project["dynamic"] == ["version"] and said.get("version") == pdpbook.__version__,
        "license": str(said.get("license")) in project["license"].split(),
        "title": str(said.get("title")).startswith(config["title"] + ": "),
        "doi": re.fullmatch(r"10\.\d{4,}/\S+", said.get("doi", "10.1234/none-yet")) is not None,
    }
    yield from (name for name, right in there.items() if not right)


def test_the_citation_is_complete_and_that_of_the_package():
    assert list(wrong(CITATION)) == []


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("cff-version", "1.2.0", "1.1.0"),
        ("message", "message: .*", "message:"),
        ("abstract", "abstract", "summary"),
        ("summary", "abstract", "summary"),
        ("type", "software", "book"),
        ("authors", "authors:", "authors: []\nkeyword:"),
        ("keywords", "- PAC privacy", "- ridge regression"),
        ("version", r"^version: .*", "version: 7.0.0"),
        ("version", r"^version: .*", "version: 7.0"),  # a number
        ("license", "BSD-3-Clause$", "MIT"),
        ("doi", "^license:", "doi: https://doi.org/10.5281/zenodo.1\nlicense:"),
        ("title", "Privacy, Personally:", "Personal Privacy:"),
    ],
)
def test_faults_of_a_citation_are_noticed(name, old, new):
    planted, count = re.subn(old, new, CITATION, flags=re.M)
    assert count
    assert name in wrong(planted)
