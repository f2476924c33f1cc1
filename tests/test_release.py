"""A release: one version in every file that names it, and an archive that repeats."""

import hashlib
import re
import shutil
import tarfile
from pathlib import Path

import pytest
import release
import yaml

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
