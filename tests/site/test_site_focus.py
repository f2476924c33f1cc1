"""Whoever goes through a page with the Tab key sees where they are.

What has the focus is drawn otherwise than without it. One element of each kind, a tag with its
classes, is looked at on a page.
"""

import pytest
from drive import DESKTOP, FONTS, PHONE
from support import serving

PAGES = [
    "search.html",
    "book/intro.html",
    "book/user_level/mean.html",
    "book/exercises/pac.html",
    "book/back/api/gwa.html",
]
PRESSES = 160  # past the table of contents and into the text
FOCUSED = """() => {
  const has = document.activeElement, box = has.getBoundingClientRect(), margin = 6;
  const x = Math.max(0, box.left - margin), y = Math.max(0, box.top - margin);
  const width = Math.min(innerWidth, box.right + margin) - x;
  const height = Math.min(innerHeight, box.bottom + margin) - y;
  const kind = `${has.tagName.toLowerCase()}.${has.className}`;
  return has === document.body ? null : { kind, clip: { x, y, width, height } };
}"""
DRAWN = """() => new Promise(done => requestAnimationFrame(() => {
  document.getAnimations().forEach(animation => animation.finish());
  requestAnimationFrame(() => requestAnimationFrame(done));
}))"""
BLUR = "() => { window.focused = document.activeElement; window.focused.blur(); }"
FOCUS = "() => window.focused.focus({ preventScroll: true })"


def unseen(browser, address: str, size: dict[str, int], scheme: str) -> set[str]:
    """The kinds of elements that have the focus, and nobody sees it."""
    kinds, lost = set(), set()
    with browser.new_context(
        viewport=size, color_scheme=scheme, reduced_motion="reduce"
    ) as context:
        tab = context.new_page()
        tab.goto(address, wait_until="load")
        tab.evaluate(FONTS)
        for _ in range(PRESSES):
            tab.keyboard.press("Tab")
            found = tab.evaluate(FOCUSED)
            if found is None or found["kind"] in kinds:
                continue
            kinds.add(found["kind"])
            tab.evaluate(DRAWN)  # it scrolls into the window, its colors change gradually
            found = tab.evaluate(FOCUSED)
            if min(found["clip"]["width"], found["clip"]["height"]) <= 0:
                lost.add(f"{found['kind']} is not in the window")
                continue
            shown = tab.screenshot(clip=found["clip"])
            tab.evaluate(BLUR)
            tab.evaluate(DRAWN)
            if shown == tab.screenshot(clip=found["clip"]):
                lost.add(found["kind"])
            tab.evaluate(FOCUS)
    assert kinds
    return lost


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(
    ("size", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")], ids=["desktop", "phone"]
)
def test_the_focus_is_seen(browser, address, page, size, scheme):
    assert not unseen(browser, address + page, size, scheme)


CUT = "<span style='display: inline-block; overflow: hidden'><a href='#' class='cut'>b</a></span>"


@pytest.mark.parametrize(
    ("body", "lost"),
    [
        ("<a href='#'>a</a>", set()),
        ("<style>a { outline: none }</style><a href='#' class='bare'>a</a>", {"a.bare"}),
        ("<style>a { outline-offset: 4px }</style>" + CUT, {"a.cut"}),
        ("<a href='#' class='far' style='position: fixed; top: -99px'>a</a>",
         {"a.far is not in the window"}),
    ],
    ids=["seen", "no ring", "ring cut off", "outside"],
)  # fmt: skip
def test_a_focus_that_nobody_sees_is_noticed(browser, tmp_path, body, lost):
    (tmp_path / "page.html").write_text(f"<!DOCTYPE html><title>t</title>{body}", "utf-8")
    with serving(tmp_path) as address:
        assert unseen(browser, address + "page.html", DESKTOP, "light") == lost
