"""The slides in Chromium: nothing leaves a slide, keys move, letters are large, a page a slide."""

import re

import pytest
import slides
import yaml
from drive import FORMULAS_THINNED, audit, pull
from support import ROOT

PLANS = yaml.safe_load((ROOT / "book" / "slides.yml").read_text(encoding="utf-8"))
every = pytest.mark.parametrize("name", PLANS)
# What leaves the body of the slide that is shown, or has letters that are too small. In pictures
# letters are drawn larger or smaller than they are said to be: by the matrix to the screen.
FAULTS = """() => {
  const slide = document.querySelector(".slide.now"), body = slide.querySelector(".body");
  const scale = slide.getBoundingClientRect().width / 1280, found = [];
  for (const part of [slide.querySelector("header"), body]) {
    const box = part.getBoundingClientRect();
    const low = part === body ? box.bottom : body.getBoundingClientRect().top;
    for (const one of part.querySelectorAll("*")) {
      const { left, top, right, bottom, width, height } = one.getBoundingClientRect();
      // A picture cuts off what leaves it, but for its words nobody would notice.
      const clipped = one.closest("mjx-assistive-mml, svg svg, svg :not(text)");
      if (!one.checkVisibility() || !width || !height || clipped) continue;
      if (left < box.left - 2 || right > box.right + 2 || top < box.top - 2 || bottom > low + 2)
        found.push(`leaves its slide: ${one.outerHTML.slice(0, 80)}`);
    }
  }
  const moving = body.querySelector(".moving");
  if (!moving && (body.scrollHeight > body.clientHeight || body.scrollWidth > body.clientWidth))
    found.push("the body scrolls");
  const walk = document.createTreeWalker(slide, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const one = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !one.checkVisibility()
        || one.closest("mjx-container, style, script, title, desc, defs")) continue;
    const picture = one.closest("svg");
    const size = parseFloat(getComputedStyle(one).fontSize)
      * (picture ? Math.abs(one.getScreenCTM().a || one.getScreenCTM().b) / scale : 1);
    if (size < (picture ? 16 : 24) - 0.1)
      found.push(`${size.toFixed(1)} px: ${walk.currentNode.data.trim().slice(0, 40)}`);
  }
  return found;
}"""
TURN = """k => { location.hash = k; return new Promise(done =>
  requestAnimationFrame(() => requestAnimationFrame(done))); }"""

STILL = """() => new Promise(done => {
  let before = "", same = 0;
  const look = () => {
    const parts = [...document.querySelectorAll(".slide.now *")];
    const now = JSON.stringify(parts.map(part => part.getBoundingClientRect()));
    same = now === before ? same + 1 : 0;
    before = now;
    same === 5 ? done() : setTimeout(look, 50);
  };
  look();
})"""


# Where a note is not below its slide and within its page.
NOTED = """() => [...document.querySelectorAll(".sheet")].flatMap((sheet, k) => {
  const box = (name) => sheet.querySelector(name).getBoundingClientRect();
  const page = sheet.getBoundingClientRect(), slide = box(".slide"), said = box(".say");
  const clock = box(".clock"), fits = said.top >= slide.bottom && said.bottom <= page.bottom
    && clock.left >= slide.right && clock.right <= page.right && clock.bottom <= said.top;
  return fits && said.height > 20 ? [] : [k + 1];
})"""


@pytest.fixture
def tab(browser, address):
    with browser.new_context(viewport={"width": 1280, "height": 720}) as context:
        yield context.new_page()


def opened(tab, address, name):
    tab.goto(f"{address}slides/{name}.html")
    tab.wait_for_selector("html.fitted", state="attached")
    return tab.locator(".slide").count()


def told(tab):
    """Give the last answer to a figure that asks first."""
    answers = tab.locator(".slide.now .explore-guess:visible").first.locator("button:visible")
    asks = answers.count() > 0
    if asks:
        answers.last.click()
        tab.evaluate(STILL)  # the picture finds its size
    return asks


def now(tab):
    return int(re.match(r"\d+", tab.locator(".slide.now").get_attribute("aria-label"))[0])


@every
@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1920, 1080)])
def test_everything_has_room_and_can_be_read_from_the_last_row(tab, address, name, width, height):
    """And nothing is asked of another host."""
    asked, found = [], []
    tab.on("request", lambda request: asked.append(request.url))
    tab.set_viewport_size({"width": width, "height": height})
    count = opened(tab, address, name)
    assert count in range(15, 23)
    assert tab.evaluate("document.documentElement.scrollHeight") <= height
    for k in range(1, count + 1):
        tab.evaluate(TURN, k)
        found += [f"slide {k}: {what}" for what in tab.evaluate(FAULTS)]
        if told(tab):
            found += [f"slide {k}, told: {what}" for what in tab.evaluate(FAULTS)]
    assert not found, "\n".join(found)
    assert [url for url in asked if not url.startswith(address)] == []


@every
def test_slides_are_accessible(tab, address, name):
    """All of them at once, one below the other."""
    opened(tab, address, name)
    tab.evaluate("document.documentElement.classList.remove('live')")
    tab.evaluate(FORMULAS_THINNED)
    found = audit(tab, colors=False) + audit(tab, colors=True)
    assert not found, "\n".join(map(str, found))


@every
def test_the_figure_answers_to_keys_and_keeps_the_slide(tab, address, name):
    opened(tab, address, name)
    place = tab.locator(".slide:has(.moving)").get_attribute("aria-label").split()[0]
    tab.evaluate(TURN, int(place))
    told(tab)
    panel = tab.locator(".slide.now .explore")
    slider = panel.locator("input[type=range]:visible").first
    before = panel.inner_html()
    slider.focus()
    slider.press("ArrowLeft" if slider.evaluate("one => one.value === one.max") else "ArrowRight")
    assert panel.inner_html() != before
    assert now(tab) == int(place)
    slider.press("PageDown")  # a clicker
    assert now(tab) == int(place) + 1


def test_keys_taps_and_buttons_move(tab, address):
    count = opened(tab, address, "foundations/coins")
    for key, where in [
        ("ArrowRight", 2),
        ("Space", 3),
        ("PageDown", 4),
        ("Enter", 5),
        ("ArrowLeft", 4),
        ("Shift+Space", 3),
        ("PageUp", 2),
        ("Home", 1),
        ("ArrowLeft", 1),
        ("End", count),
        ("ArrowRight", count),
    ]:
        tab.keyboard.press(key)
        assert (key, now(tab)) == (key, where)
        assert tab.url.endswith(f"#{where}")
    tab.keyboard.press("Home")
    tab.mouse.click(900, 400)
    assert now(tab) == 2
    tab.mouse.click(100, 400)
    assert now(tab) == 1
    tab.get_by_role("button", name="On").click()
    assert now(tab) == 2
    tab.keyboard.press("f")
    tab.wait_for_function("document.fullscreenElement !== null")
    tab.reload()
    assert now(tab) == 2


def test_a_grip_follows_the_mouse_on_a_large_slide(tab, address):
    """The drawing is scaled twice; the step stands where it was dropped."""
    tab.set_viewport_size({"width": 1920, "height": 1080})
    opened(tab, address, "personalized/pdp_op")
    place = tab.locator(".slide:has(.moving)").get_attribute("aria-label").split()[0]
    tab.evaluate(TURN, int(place))
    assert told(tab)
    grip = tab.locator(".slide.now .explore-grip rect").nth(2)
    middle = pull(tab, grip, 0, 120, touch=False)
    moved = grip.bounding_box()
    assert abs(moved["y"] + moved["height"] / 2 - (middle[1] - 120)) < 25  # budgets come in steps
    assert now(tab) == int(place)


def test_the_pdf_has_a_page_a_slide(browser, folder, tmp_path):
    name = "foundations/coins"
    text = (folder / "slides" / f"{name}.html").read_text(encoding="utf-8")
    slides.print_pdf(browser, [name], folder, tmp_path)
    for file in (f"{name}.pdf", f"{name}-notes.pdf"):
        data = (tmp_path / file).read_bytes()
        assert len(re.findall(rb"/Type /Page\b", data)) == text.count('<section class="slide')
        sizes = re.findall(rb"/MediaBox \[0 0 (\d+)[.\d]* (\d+)[.\d]*\]", data)
        assert set(sizes) == {(b"960", b"540")}


@every
def test_what_is_said_has_room_below_its_slide(tab, address, name):
    """With notes nothing lies on anything else, or leaves its page; without, none shows."""
    count = opened(tab, address, name)
    assert tab.locator(".notes:visible").count() == 0
    tab.emulate_media(media="print")
    tab.evaluate(slides.SHEETS)
    assert tab.locator(".sheet").count() == count
    assert tab.evaluate(NOTED) == []
