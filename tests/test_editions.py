"""What is counted of an edition: by hand on a small tree, and the record beside today's."""

import json

import editions
import pytest

SOURCE = '''"""A docstring
of two lines."""

# a comment
def f(x):
    """Another."""
    return x + 1  # a comment
'''


def test_tokens_and_lines_by_hand():
    assert editions.tokens(SOURCE) == (10, 2)  # def f ( x ) : and return x + 1
    assert editions.tokens("") == (0, 0)
    assert editions.tokens("x = '''a\nb'''\n") == (3, 1)


def test_a_small_tree_by_hand(tmp_path):
    for folder in ("pdpbook", "tests/site", "book/p", "tools", "lab", "course"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "pdpbook/a.py").write_text(SOURCE)
    (tmp_path / "tests/site/test_a.py").write_text("def test_a(): pass\ndef other(): pass\n")
    (tmp_path / "book/statements.csv").write_text('label,statement\nthm-x,"one\ntwo"\nthm-y,b\n')
    sources = ["# check: thm-x\nf()", "# falsify: thm-x\nf()", "f()  # check: no"]
    page = {"cells": [{"cell_type": "code", "source": [source]} for source in sources]}
    (tmp_path / "book/p/c.ipynb").write_text(json.dumps(page))
    found = editions.counts(tmp_path)
    assert list(found.values()) == [7, 2, 5.0, 1, 1, 1, 2, 1, 1, 2, 0, 0, 0]


def test_the_record_is_that_of_this_version():
    """Within a tenth: a later edition with other counts records them, and says what changed."""
    _, rows = editions.recorded()
    today = editions.counts(editions.ROOT)
    assert [name for name, *_ in rows] == list(today)
    for name, _, now in rows:
        assert today[name] == pytest.approx(float(now), rel=0.1), name
