// Shows a statement, a word of the glossary or a reference beside the link that leads to it.
//
// By mouse and by keyboard it opens when the pointer or the focus rests on the link, and stays while
// either is on the link or in the preview; Escape closes it. A finger opens it with a first tap and
// follows the link with a second one; a tap elsewhere closes it. The text is fetched from the site
// when it is first asked for.
(() => {
  const OPEN = 250, CLOSE = 300, GAP = 8; // milliseconds, pixels
  const pages = new Map();
  const box = document.createElement("div");
  let shown = null, timer = 0;

  const linkAt = (event) => event.target.closest?.("a[data-preview]");
  const inside = (node) => node && (box.contains(node) || shown?.contains(node));

  const page = (address) => {
    if (!pages.has(address)) {
      const fetched = fetch(address).then(async (answer) => {
        if (!answer.ok) throw new Error(`${answer.status}`);
        return new DOMParser().parseFromString(await answer.text(), "text/html");
      });
      fetched.catch(() => pages.delete(address));
      pages.set(address, fetched);
    }
    return pages.get(address);
  };

  // What a link shows: a boxed statement, a word with its meaning, an entry of the bibliography.
  const excerpt = async (address) => {
    const [path, place] = address.split("#");
    const from = await page(path);
    const found = place ? from.getElementById(decodeURIComponent(place))
      : from.querySelector("div.proof");
    const parts = [];
    if (found?.tagName === "DT") {
      let part = found;
      while (part && part.tagName !== "DD") part = part.nextElementSibling;
      const word = document.createElement("p");
      word.className = "preview-word";
      word.append(...found.cloneNode(true).childNodes);
      parts.push(word, ...(part ? part.cloneNode(true).childNodes : []));
    } else if (found) {
      parts.push(found.cloneNode(true));
    }
    const body = document.createElement("div");
    body.append(...parts);
    body.querySelectorAll(".headerlink, .label, .backrefs").forEach((one) => one.remove());
    for (const one of body.querySelectorAll("[id]")) one.removeAttribute("id");
    for (const one of body.querySelectorAll("[href]"))
      one.href = new URL(one.getAttribute("href"), path);
    for (const one of body.querySelectorAll("[data-preview]")) delete one.dataset.preview;
    return body;
  };

  // What scrolls can be reached by the keyboard, as soon as it is unfolded or the window is narrow.
  const SCROLLS = ".bd-article :is(div.math, div.math mjx-container, pre)";
  const sizes = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const { overflowX, overflowY } = getComputedStyle(target);
      const more = target.scrollWidth > target.clientWidth + 1
        || target.scrollHeight > target.clientHeight + 1;
      if (more && /auto|scroll/.test(overflowX + overflowY)) target.tabIndex = 0;
    }
  });
  const reach = (root) => {
    for (const one of root.querySelectorAll(SCROLLS)) sizes.observe(one);
  };

  const place = (link, point) => {
    const lines = [...link.getClientRects()];
    const line = lines.find((one) => point && point.y >= one.top && point.y <= one.bottom)
      ?? lines[0];
    if (!line) return;
    const below = innerHeight - line.bottom, above = line.top;
    box.style.maxHeight = `${Math.max(120, Math.max(below, above) - 2 * GAP)}px`;
    const { width, height } = box.getBoundingClientRect();
    const left = Math.max(GAP, Math.min(line.left, document.documentElement.clientWidth - width - GAP));
    const top = height + GAP <= below || below >= above ? line.bottom + 2 : line.top - height - 2;
    box.style.left = `${left + scrollX}px`;
    box.style.top = `${top + scrollY}px`;
  };

  const hide = () => {
    clearTimeout(timer);
    if (!shown) return;
    if (box.contains(document.activeElement)) shown.focus({ preventScroll: true });
    shown.removeAttribute("aria-details");
    shown = null;
    box.hidePopover();
    box.replaceChildren();
  };

  const show = async (link, point) => {
    clearTimeout(timer);
    if (shown === link) return;
    hide();
    shown = link;
    link.removeAttribute("title"); // the browser would show its own
    try {
      const body = await excerpt(new URL(link.dataset.preview, location.href).href);
      if (shown !== link || !body.childNodes.length) return;
      const onward = document.createElement("a");
      onward.href = link.href;
      onward.textContent = "Go there";
      onward.className = "preview-onward";
      box.replaceChildren(body, onward);
      box.setAttribute("aria-label", `Preview: ${link.textContent.trim()}`);
      link.setAttribute("aria-details", box.id);
      box.showPopover({ source: link });
      place(link, point);
      reach(box);
      if (window.MathJax?.typesetPromise) { // where formulas are not drawn by the build
        await window.MathJax.typesetPromise([box]);
        if (shown === link) place(link, point);
      }
    } catch {
      if (shown === link) hide(); // offline: the link itself is still there
    }
  };

  const later = (what, wait) => {
    clearTimeout(timer);
    timer = setTimeout(what, wait);
  };

  const start = () => {
    reach(document);
    if (!box.showPopover || !document.querySelector("a[data-preview]")) return;
    Object.assign(box, { id: "preview", className: "preview bd-article", popover: "manual" });
    box.setAttribute("role", "note");
    document.body.append(box);
    sizes.observe(box);
    document.addEventListener("pointerover", (event) => {
      if (event.pointerType === "touch") return;
      const link = linkAt(event);
      if (inside(event.target)) clearTimeout(timer);
      else if (link) later(() => show(link, { y: event.clientY }), OPEN);
    });
    document.addEventListener("pointerout", (event) => {
      if (event.pointerType === "touch" || inside(event.relatedTarget)) return;
      if (shown && inside(document.activeElement)) clearTimeout(timer); // the focus holds it
      else if (linkAt(event) || inside(event.target)) later(hide, CLOSE);
    });
    document.addEventListener("focusin", (event) => {
      const link = linkAt(event);
      if (link && link.matches(":focus-visible")) later(() => show(link), OPEN);
      else if (!inside(event.target)) later(hide, 0); // one that waits does not open, either
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape") hide();
    });
    let finger = false;
    document.addEventListener("pointerdown", (event) => {
      finger = event.pointerType === "touch";
      if (shown && !inside(event.target)) hide();
    }, true);
    document.addEventListener("click", (event) => {
      const link = linkAt(event);
      if (link && finger && shown !== link) {
        event.preventDefault();
        show(link, { y: event.clientY });
      }
    });
  };
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
  else start();
})();
