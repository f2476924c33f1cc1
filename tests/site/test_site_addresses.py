"""Addresses, labels and anchors of the second edition and of 1.0 still lead to what they named.

`tests/kept/addresses.txt` was read off the sources of commit ddd4b53b, the last one of the second
edition, and off those of 1.0.0: pages, lasting addresses of statements, slides, and on pages the
labels and the headings of two levels; of 1.0.0 without headings of generated pages. Lines may be
added. Nothing here is ever taken out but for a line of `GONE`, which says what went.
"""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
KEPT = (ROOT / "tests/kept/addresses.txt").read_text("utf-8").split()

# Headings that went with what they were about. Their page opens, at its top.
GONE = {
    # data in blocks: what went, and parts that add up took their place
    "book/synthesis/at_scale.html": {
        "a-billion-records-of-ten-million-users",
        "four-people-in-two-blocks",
        "on-a-cluster",
        "one-pass",
        "ten-million-people-in-a-third-of-a-gigabyte",
    },
    # modules that went or moved: their own pages send on
    "book/back/api.html": {
        *("blocks", "exercises", "figures", "frames", "huber", "reports", "statements"),
    },
    "book/back/benchmarks.html": {"survivors-in-blocks", "survivors-in-streams"},
    # a title that is another one now, and headings that count what is below them
    "book/back/ledger/foundations.html": {"sixty-four-bugs-and-every-mechanism-audited"},
    "book/back/functions.html": {"sixty-four-bugs-and-every-mechanism-audited"},
    "book/back/published.html": {
        *("reproduced-7", "in-part-10", "side-by-side-3", "not-reproducible-1"),
    },
}


def dead(kept, anchors, redirects, gone):
    """Addresses that lead nowhere: no such page, or no such place on it.

    `anchors` has the places of each page that was built. What stood on a page that moved is looked
    for on the new one, where it matters: there the reader is at the top of it.
    """
    for address in kept:
        page, _, place = address.partition("#")
        if page in redirects:
            if redirects[page] not in anchors:
                yield address
        elif page not in anchors:
            yield address
        elif place and place not in anchors[page] and place not in gone.get(page, ()):
            yield address


@pytest.fixture(scope="module")
def anchors(folder):
    pages = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.html")}
    return {
        name: set(re.findall(r'\bid="([^"]+)"', path.read_text("utf-8")))
        for name, path in pages.items()
    }


@pytest.fixture(scope="module")
def redirects():
    return yaml.safe_load((ROOT / "book/redirects.yml").read_text("utf-8"))


def test_every_address_of_earlier_editions_leads_somewhere(anchors, redirects):
    assert len(KEPT) > 1900
    assert list(dead(KEPT, anchors, redirects, GONE)) == []


def test_a_page_that_moved_has_a_page_that_sends_on(anchors, redirects):
    assert [old for old in redirects if old not in anchors] == []


def test_what_is_gone_is_gone_and_was_there(anchors):
    for page, places in GONE.items():
        assert {f"{page}#{place}" for place in places} <= set(KEPT)
        assert not places & anchors[page]


PLANTED = {"a.html": {"one"}, "b.html": set()}


@pytest.mark.parametrize(
    ("kept", "redirects", "gone", "found"),
    [
        (["a.html", "a.html#one", "b.html"], {}, {}, []),
        (["c.html"], {}, {}, ["c.html"]),
        (["c.html"], {"c.html": "b.html"}, {}, []),
        (["c.html"], {"c.html": "d.html"}, {}, ["c.html"]),
        (["a.html#two"], {}, {}, ["a.html#two"]),
        (["a.html#two"], {}, {"a.html": {"two"}}, []),
        (["b.html#two"], {}, {"a.html": {"two"}}, ["b.html#two"]),
    ],
)
def test_dead_addresses_are_noticed(kept, redirects, gone, found):
    assert list(dead(kept, PLANTED, redirects, gone)) == found
