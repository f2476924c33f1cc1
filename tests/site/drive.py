"""Drive one page in Chromium, and say what is wrong with it."""

import os
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import lint_site
from axe_playwright_python.base import AXE_SCRIPT
from diagrams import PLACED

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
COLORS = ["color-contrast", "link-in-text-block"]
SHOTS = os.environ.get("PDPBOOK_SHOTS")
Fault = lint_site.Fault

FONTS = "async () => { await document.fonts.ready; }"
# What a reader has begun to read stays where it is: the sum of the shifts, each the part of the
# window that moved times how far it went.
WATCHED = """() => {
  window.moved = 0;
  new PerformanceObserver(list => {
    for (const one of list.getEntries()) if (!one.hadRecentInput) window.moved += one.value;
  }).observe({ type: "layout-shift", buffered: true });
}"""
MOVED = """() => new Promise(done => setTimeout(() => requestAnimationFrame(() =>
  setTimeout(() => done(window.moved))), 100))"""
MOST_MOVED = 0.1  # where web.dev ends "good"
SCROLLED = """async () => {
  for (const image of document.images) image.loading = "eager";
  await Promise.all([...document.images].map(image => image.decode().catch(() => 0)));
}"""
# The time of axe grows with the elements. A formula has hundreds, drawn by style sheets: one letter
# in its place has the same color. They come back for what measures them.
FORMULAS_THINNED = """() => {
  for (const math of document.querySelectorAll("mjx-math")) {
    math.drawn = [...math.childNodes];
    math.replaceChildren("x");
  }
  for (const math of document.querySelectorAll("mjx-assistive-mml")) math.remove();
}"""
FORMULAS_BACK = """() => {
  for (const math of document.querySelectorAll("mjx-math")) math.replaceChildren(...math.drawn);
}"""
# Of code and pictures, and for colors of all, one element of each kind is enough. A kind is the
# tags from the page down to it, with what a rule of the audit can ask of them. Code stays as long
# as it was: whether it scrolls is asked, too. A figure to move stays whole: its script draws it
# anew at another width, and thinning can change that. What has an id stays: a script of the page
# that waits for the end of a resize asks for the header by it. Kinds that are known already go,
# too; those that are not are returned.
THINNED = """([where, asked, known = []]) => {
  for (const row of document.querySelectorAll("tr")) row.dataset.parity = row.rowIndex % 2;
  const before = new Set(known), seen = new Set();
  const short = text => {  // cyrb53, a hash
    let h = 0xdeadbeef, g = 0x41c6ce57;
    for (let k = 0; k < text.length; k++) {
      h = Math.imul(h ^ text.charCodeAt(k), 2654435761);
      g = Math.imul(g ^ text.charCodeAt(k), 1597334677);
    }
    h = Math.imul(h ^ (h >>> 16), 2246822507) ^ Math.imul(g ^ (g >>> 13), 3266489909);
    g = Math.imul(g ^ (g >>> 16), 2246822507) ^ Math.imul(h ^ (h >>> 13), 3266489909);
    return 4294967296 * (2097151 & g) + (h >>> 0);
  };
  const thin = (element, above) => {
    if (element.matches(".explore")) return seen.add(short(location.href));
    const own = [...element.attributes].filter(one => one.name.match(asked));
    const kind = short(`${above}>${element.tagName}${own.map(one => one.name + one.value)}`);
    for (const child of [...element.children]) thin(child, kind);
    if ((before.has(kind) || seen.has(kind)) && !element.children.length && !element.id)
      element.replaceWith(...(element.closest("pre") ? [element.textContent] : []));
    seen.add(kind);
  };
  for (const root of document.querySelectorAll(where))
    for (const child of [...root.children]) thin(child, root.tagName);
  return [...seen].filter(kind => !before.has(kind));
}"""
ALIKE = ["pre, svg.inline-figure", "^(class|style|id|href|role|tabindex|title|aria-.*)$"]
OF_ONE_COLOR = ["body", "^(class|style|data-parity)$"]
# Pages with the same style sheets draw a kind in the same colors.
SHEETS = """() => [...document.querySelectorAll("link[rel=stylesheet], style")]
  .map(sheet => sheet.href || sheet.textContent).join("\\n")"""
SETTLED = """() => {
  document.getAnimations().forEach(animation => animation.finish());
  return true;
}"""
RAW_TEX = r"""() => {
  const found = [];
  for (const math of document.querySelectorAll(".math"))
    if (!math.querySelector("mjx-container")) found.push("not drawn: " + math.textContent.trim());
  const skip = "pre, code, script, style, noscript, mjx-container, .math";
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const text = walk.currentNode.textContent;
    if (/\\\(|\\\[|\\begin\{|\$\$|\\[a-zA-Z]{3,}/.test(text)
        && !walk.currentNode.parentElement.closest(skip)) found.push("raw TeX: " + text.trim());
  }
  return found.map(text => text.slice(0, 90));
}"""
# The signs that are drawn are those of the hidden MathML, and as many primes as TeX has. A sign is
# the text before an element: none where the style sheet lost it. One of two letters that wraps
# shows one.
NOT_AS_WRITTEN = r"""() => {
  const TALL = "mjx-stretchy-v, mjx-stretchy-h", PRIME = "\u2032", found = [];
  const drawn = sign => {
    const tall = sign.closest(TALL);
    if (tall) {
      const code = parseInt(tall.className.match(/mjx-c([0-9A-F]+)/)[1], 16);
      return sign === tall.querySelector("mjx-c") ? String.fromCodePoint(code) : "";
    }
    const content = getComputedStyle(sign, "::before").content;
    const text = content[0] === '"' ? JSON.parse(content) : "";
    if (text.length < 2) return text;
    const high = line => {
      sign.style.lineHeight = line;
      return parseFloat(getComputedStyle(sign, "::before").height);
    };
    const lines = (high("100px") - high("")) / 100;
    return lines > 1.5 ? text[0] : text;
  };
  // Roots have no letter in MathML; double bars and lines below have two codes.
  const letters = text => [...text.normalize("NFKC").replace(/[\s\u2061-\u2064√]/g, "")
    .replace(/∥/g, "‖").replace(/―/g, "–")].sort().join("");
  const closed = [...document.querySelectorAll("details:not([open])")];
  closed.forEach(one => one.open = true);
  for (const math of document.querySelectorAll("[data-tex]")) {
    const signs = letters([...math.querySelectorAll("mjx-c")].map(drawn).join(""));
    const written = letters(math.querySelector("math").textContent);
    const primes = (math.dataset.tex.match(/'|\\prime/g) ?? []).length;
    if (signs !== written || signs.split(PRIME).length - 1 !== primes)
      found.push(`${signs} is drawn of ${math.dataset.tex}`);
  }
  closed.forEach(one => one.open = false);
  return found;
}"""
# The theme cuts off a wide formula in the text; a wide one on its own line scrolls. What is folded
# is measured, too.
CUT = """display => {
  const closed = [...document.querySelectorAll("article details:not([open])")];
  closed.forEach(one => one.open = true);
  const found = [];
  for (const math of document.querySelectorAll("article mjx-container mjx-math")) {
    const container = math.closest("mjx-container");
    if (container.hasAttribute("display") !== display) continue;
    const box = (display ? container : math.closest("span.math") || container);
    const right = Math.max(...[...math.children].map(one => one.getBoundingClientRect().right));
    const over = Math.round(right - box.getBoundingClientRect().right);
    if (over > 2) found.push(`${over} px too wide: ` + container.textContent.trim().slice(0, 60));
  }
  closed.forEach(one => one.open = false);
  return found;
}"""
LEAST = 10  # px, the smallest letters of a picture on a phone, exponents among them
SMALL = """least => [...document.querySelectorAll("article figure svg :is(text, tspan)")]
  .filter(words => !words.children.length && words.textContent.trim())
  .map(words => {
    const { a, b, c, d } = words.getScreenCTM(), drawn = Math.sqrt(Math.abs(a * d - b * c));
    return [words.textContent.trim(), parseFloat(getComputedStyle(words).fontSize) * drawn];
  })
  .filter(([, size]) => size < least)
  .map(([words, size]) => `${words}: ${size.toFixed(1)} px`)"""
OVERFLOW = """() => {
  const page = document.documentElement, width = page.clientWidth;
  if (Math.max(page.scrollWidth, document.body.scrollWidth) <= width) return [];
  const wide = [...document.querySelectorAll("body *")].filter(element => {
    const box = element.getBoundingClientRect();
    if (box.right <= width + 1 || !box.width) return false;
    for (let up = element.parentElement; up && up !== document.body; up = up.parentElement)
      if (getComputedStyle(up).overflowX !== "visible") return false;
    return true;
  });
  const name = e => e.tagName.toLowerCase() + (e.className ? "." + e.className : "");
  return [`${page.scrollWidth} px wide on a phone of ${width}: ` + wide.slice(0, 3).map(name)];
}"""


def audit(tab, colors: bool) -> list[tuple[str, str]]:
    """Violations of WCAG 2.1 A and AA that axe-core sees: of colors, or all the others."""
    # Without preloading: it looks for imported style sheets in the folder of the page.
    options = {"resultTypes": ["violations"], "preload": False, "elementRef": False}
    if colors:
        options["runOnly"] = {"type": "rule", "values": COLORS}
    else:
        options["runOnly"] = {"type": "tag", "values": WCAG}
        options["rules"] = {rule: {"enabled": False} for rule in COLORS}
    if not tab.evaluate("'axe' in window"):
        tab.evaluate(AXE_SCRIPT)
    run = "options => axe.run(options).then(found => found.violations)"
    return [
        (f"axe:{broken['id']}", f"{' '.join(map(str, node['target']))}: {node['html'][:120]}")
        for broken in tab.evaluate(run, options)
        for node in broken["nodes"]
    ]


class Audited:
    """The kinds of elements whose colors were right on an earlier page, by style sheets."""

    def __init__(self) -> None:
        self.kinds: dict[str, set[int]] = {}


def audit_colors(tab, audited: Audited) -> list[tuple[str, str]]:
    """Violations of contrast in light and in dark, of what no earlier page has shown."""
    known = audited.kinds.setdefault(tab.evaluate(SHEETS), set())
    new = tab.evaluate(THINNED, [*OF_ONE_COLOR, [*known]])
    if not new:
        return []
    found = audit(tab, colors=True)
    tab.emulate_media(color_scheme="dark")
    settle(tab)
    found += [(rule, f"(dark) {what}") for rule, what in audit(tab, colors=True)]
    if not found:
        known |= {*new}
    return found


def drive(
    browser,
    address: str,
    page: str,
    files: set[str] | None = None,
    audited: Audited | None = None,
    one_of_many: bool = False,
) -> list[Fault]:
    """Visit a page for the first time on a phone, then on a desktop, in light and in dark.

    Into `files` go the names of what the first visit asks for, to the bottom of the page. What is
    in `audited` need not have its colors audited again. A page that is one of many from the same
    template is measured on a phone as all pages are, and axe-core sees it on a desktop alone.
    """
    seen: list[tuple[str, str]] = []
    asked: set[str] = set()
    context = browser.new_context(viewport=PHONE, color_scheme="light", reduced_motion="reduce")
    context.set_default_timeout(30_000)
    tab = context.new_page()

    def on_console(message):
        if message.type == "error":
            seen.append(("console", message.text))

    def on_request(request):
        asked.add(unquote(urlsplit(request.url).path).lstrip("/"))
        if not request.url.startswith((address, "data:", "blob:")):
            seen.append(("other-host", f"asks for {request.url}"))

    tab.on("console", on_console)
    tab.on("pageerror", lambda error: seen.append(("page-error", str(error))))
    tab.on("request", on_request)
    tab.on("response", lambda r: r.status >= 400 and seen.append(("missing-file", r.url)))
    tab.add_init_script(f"({WATCHED})()")
    tab.goto(address + page, wait_until="load")
    tab.evaluate(FONTS)
    if (moved := tab.evaluate(MOVED)) > MOST_MOVED:
        seen.append(("moved", f"{moved:.2f} of the window"))
    tab.evaluate(SCROLLED)
    if files is not None:
        files |= asked
    seen += [("formula", text) for text in tab.evaluate(RAW_TEX)]
    seen += [("drawn", text) for text in tab.evaluate(NOT_AS_WRITTEN)]
    seen += [("overflow", what) for what in tab.evaluate(OVERFLOW)]
    placed = tab.locator("article svg.inline-figure").evaluate_all(f"all => all.flatMap({PLACED})")
    seen += [("picture", what) for what in placed]
    seen += [("letters", what) for what in tab.evaluate(SMALL, LEAST)]
    seen += [("cut", f"(phone) {what}") for what in tab.evaluate(CUT, False)]
    tab.evaluate(FORMULAS_THINNED)
    tab.evaluate(THINNED, ALIKE)
    if not one_of_many:
        seen += [(rule, f"(phone) {what}") for rule, what in audit(tab, colors=False)]
    tab.evaluate(FORMULAS_BACK)
    tab.set_viewport_size(DESKTOP)
    tab.evaluate(SETTLED)  # the theme moves its sidebar in, and the text beside it
    seen += [("cut", what) for what in tab.evaluate(CUT, True)]
    tab.evaluate(FORMULAS_THINNED)
    seen += audit(tab, colors=False)
    seen += audit_colors(tab, audited or Audited())
    if SHOTS:
        shoot(tab, page)
    context.close()
    return sorted({Fault(page, rule, what) for rule, what in seen})


def settle(tab) -> None:
    """Wait until the theme follows the system, and until no color is on its way."""
    if tab.locator("html[data-theme]").count():
        dark = tab.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
        tab.wait_for_selector(f"html[data-theme={'dark' if dark else 'light'}]")
    tab.evaluate(SETTLED)


def shoot(tab, page: str) -> None:
    """Screenshots of the whole page: desktop in dark and in light, phone."""
    stem = re.sub(r"[^a-z0-9_]+", "-", page.removesuffix(".html"))
    tab.reload()
    tab.evaluate(FONTS)
    for name, scheme, size in [
        ("dark", "dark", DESKTOP),
        ("light", "light", DESKTOP),
        ("phone", "light", PHONE),
    ]:
        tab.set_viewport_size(size)
        tab.emulate_media(color_scheme=scheme)
        settle(tab)
        tab.wait_for_timeout(300)  # a sidebar slides in
        tab.screenshot(path=Path(SHOTS, f"{stem}-{name}.png"), full_page=True)


def pull(tab, grip, left, up, touch):
    """Drag a grip with a finger or the mouse, so many pixels; where it was taken."""
    grip.scroll_into_view_if_needed()
    box = grip.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    if touch:
        send = tab.context.new_cdp_session(tab).send
        event = "Input.dispatchTouchEvent"
        send(event, {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
        for part in (k / 15 for k in range(16)):
            there = {"x": x - part * left, "y": y - part * up}
            send(event, {"type": "touchMove", "touchPoints": [there]})
        send(event, {"type": "touchEnd", "touchPoints": []})
    else:
        tab.mouse.move(x, y)
        tab.mouse.down()
        tab.mouse.move(x - left, y - up, steps=12)
        tab.mouse.up()
    return x, y
