"""When the pages are made anew: what they were made with changed, or a build did not end well."""

import build
import pytest

FILES = {
    "book/_ext/look.py": "first",
    "book/_static/custom.css": "first",
    "book/_extra/robots.txt": "first",
    "book/page.md": "first",
    "book/statements.csv": "first",
    "book/errata.yml": "first",
    "pdpbook/noise.py": "first",
    "requirements.txt": "first",
    "_config.yml": "first",
    "_toc.yml": "first",
}


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Make the pages of a small checkout with a stand-in; say whether they began from nothing."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    monkeypatch.setattr(build, "ROOT", tmp_path)
    monkeypatch.setattr(build, "BUILD", tmp_path / "_build")
    monkeypatch.setattr(build, "MARK", tmp_path / "_build" / "made_with")
    page = tmp_path / "_build" / "html" / "index.html"

    def make(ends=0):
        found = []

        def stand_in(builder):
            found.append(page.exists())
            page.parent.mkdir(parents=True, exist_ok=True)
            page.touch()
            if ends is None:
                raise KeyboardInterrupt
            return ends

        monkeypatch.setattr(build, "build", stand_in)
        if ends is None:
            with pytest.raises(KeyboardInterrupt):
                build.main()
        else:
            assert build.main() == ends
        return not found[0]

    assert make()
    assert not make()
    return tmp_path, make


@pytest.mark.parametrize(
    ("changed", "anew"),
    [
        ("book/page.md", False),  # Sphinx sees to pages
        ("pdpbook/noise.py", False),  # and to the modules whose docstrings it shows
        ("book/_static/custom.css", True),
        ("book/_ext/look.py", True),
        ("book/_extra/robots.txt", True),
        ("book/statements.csv", True),
        ("book/errata.yml", True),
        ("requirements.txt", True),
        ("_config.yml", True),
        ("_toc.yml", True),
    ],
)
def test_pages_are_made_anew_when_what_makes_them_changed(made, changed, anew):
    folder, make = made
    (folder / changed).write_text("second", "utf-8")
    assert make() is anew
    assert make() is False


@pytest.mark.parametrize("ends", [1, None])
def test_pages_are_made_anew_after_a_build_that_did_not_end_well(made, ends):
    _, make = made
    assert make(ends) is False
    assert make() is True  # else its warnings would not come again
    assert make() is False


def test_what_was_executed_is_never_removed(made):
    folder, make = made
    kept = folder / "_build" / "executed" / "page.ipynb"
    kept.parent.mkdir()
    kept.touch()
    (folder / "_config.yml").write_text("second", "utf-8")
    assert make()
    assert kept.exists()


@pytest.mark.parametrize("name", ["PDPBOOK_HOME", "PDPBOOK_REPOSITORY"])
def test_pages_are_made_anew_for_another_address(made, monkeypatch, name):
    _, make = made
    monkeypatch.setenv(name, "https://example.org/fork")
    assert make() is True
    assert make() is False
