"""Statements of a chapter and of the depth pages under it are numbered as one row."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from bs4 import BeautifulSoup

ROOT = Path(__file__).resolve().parent.parent
TOC = """
format: jb-book
root: book/intro
parts:
  - {caption: One, numbered: 1, chapters: [{file: book/a, sections: [{file: book/deep}]}]}
  - caption: Two
    numbered: 1
    chapters: [{file: book/b, sections: [{file: book/d1}, {file: book/d2}]}]
"""
PAGE = """# Page {0}

## Part

:::{{prf:theorem}} One
:label: thm-{0}

True.
:::

## Other part

:::{{prf:definition}} Two
:label: def-{0}

As {{prf:ref}}`thm-{0}` and {{prf:ref}}`thm-a` say.
:::
"""


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    """The number of every box, by its label, and the words of the links on a depth page."""
    folder = tmp_path_factory.mktemp("deep")
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    kinds = config["sphinx"]["config"]["prf_realtyp_to_countertyp"]
    small = {
        "title": "A deep book",
        "only_build_toc_files": True,
        "html": {"use_multitoc_numbering": config["html"]["use_multitoc_numbering"]},
        "sphinx": {
            "extra_extensions": ["sphinx_proof"],
            "config": {"language": "en", "prf_realtyp_to_countertyp": kinds},
        },
    }
    (folder / "book").mkdir()
    (folder / "_config.yml").write_text(yaml.safe_dump(small), "utf-8")
    (folder / "_toc.yml").write_text(TOC, "utf-8")
    (folder / "book/intro.md").write_text("# First\n\n## Part\n", "utf-8")
    for name in ("a", "deep", "b", "d1", "d2"):
        (folder / f"book/{name}.md").write_text(PAGE.format(name), "utf-8")
    program = [Path(sys.executable).with_name("jupyter-book"), "build", ".", "-W", "-n"]
    done = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = {}
    for name in ("a", "deep", "b", "d1", "d2"):
        soup = BeautifulSoup((folder / f"_build/html/book/{name}.html").read_text(), "html.parser")
        for box in soup.select("div.proof[id]"):
            found[box["id"]] = box.select_one(".caption-number").get_text(strip=True)
        found[f"links-{name}"] = [
            link.get_text() for link in soup.select("div.proof a.reference.internal")
        ]
    return found


def test_a_depth_page_counts_on_where_its_chapter_ends(numbers):
    boxes = {label: number for label, number in numbers.items() if not label.startswith("links")}
    counted = [re.sub(r"\D+", " ", number).split() for number in boxes.values()]
    assert counted == [["1", str(k)] for k in range(1, 5)] + [["2", str(k)] for k in range(1, 7)]


def test_links_name_the_numbers_of_the_boxes(numbers):
    for name in ("a", "deep", "b", "d1", "d2"):
        assert numbers[f"links-{name}"] == [numbers[f"thm-{name}"], numbers["thm-a"]]
