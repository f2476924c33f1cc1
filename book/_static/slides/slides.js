// Slides: one at a time, by keys, taps and buttons; the address holds the number of the slide.
"use strict";

(() => {
  const LARGEST = 46, SMALLEST = 24; // pixels of letters, on a slide of 1280 by 720
  const stage = document.querySelector(".stage"), slides = [...stage.querySelectorAll(".slide")];
  const root = document.documentElement;
  let now = 0;

  const wanted = () => Number(location.hash.slice(1)) - 1 || 0;
  function show(k, focus = true) {
    now = Math.min(Math.max(k, 0), slides.length - 1);
    slides.forEach((slide, j) => {
      slide.classList.toggle("now", j === now);
      slide.inert = j !== now;
    });
    if (location.hash !== `#${now + 1}`) history.replaceState(null, "", `#${now + 1}`);
    if (focus) slides[now].focus({ preventScroll: true });
  }
  function fill() {
    if (document.fullscreenElement) document.exitFullscreen();
    else root.requestFullscreen?.();
  }
  function resize() {
    root.style.setProperty("--scale", Math.min(innerWidth / 1280, innerHeight / 720));
  }
  const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  // Of a figure whose pictures fill more than a slide the first row is shown: the page has all.
  function keepFirstRow(picture, zoom) {
    const top = (one) => one.getBoundingClientRect().top, row = top(picture.firstElementChild);
    for (const one of [...picture.children].reverse()) if (top(one) > row + 1) one.style.display = "none";
    picture.style.marginBottom = `${picture.offsetHeight * (zoom - 1)}px`; // its scale moves nothing
  }
  // In a figure that reacts the words get the width that they need, and the picture is as large as it
  // has room; it draws itself anew for each size.
  async function enlarge(panel, most) {
    const bottom = (one) => one.getBoundingClientRect().bottom, end = bottom(panel.closest(".body")) + 1;
    const picture = panel.querySelector(":scope > .explore-stage"), words = panel.querySelector("output");
    for (let width = 400; width <= 600; width += 40) {
      panel.style.setProperty("--words", `${width}px`);
      if (bottom(words) <= end) break;
    }
    for (let percent = most; percent >= 115; percent -= 5) {
      panel.style.setProperty("--zoom", percent / 100);
      await drawn();
      if (panel.matches(".below")) keepFirstRow(picture, percent / 100);
      const parts = [...panel.children].filter((part) => part.getBoundingClientRect().height);
      if (Math.max(...parts.map(bottom)) <= end) return;
    }
    if (panel.matches(".below")) return;
    panel.classList.add("below"); // two pictures side by side, and the words below them
    await enlarge(panel, most);
  }
  // The largest letters with which everything has room.
  async function fit() {
    for (const panel of stage.querySelectorAll(".explore")) {
      await enlarge(panel, 200);
      const again = () => enlarge(panel, 100 * panel.style.getPropertyValue("--zoom"));
      for (const name of ["input", "click"]) panel.addEventListener(name, again); // a guess is a click
    }
    for (const body of stage.querySelectorAll(".body:not(:has(.moving))")) {
      for (let size = LARGEST; size >= SMALLEST; size -= 1) {
        body.style.fontSize = `${size}px`;
        if (body.scrollHeight <= body.clientHeight && body.scrollWidth <= body.clientWidth) break;
      }
    }
    root.classList.add("fitted");
  }

  function button(name, text, act) {
    const made = document.createElement("button");
    made.type = "button";
    made.setAttribute("aria-label", name);
    made.title = name;
    made.textContent = text;
    made.addEventListener("click", act);
    return made;
  }
  const bar = document.createElement("nav");
  bar.setAttribute("aria-label", "Slides");
  bar.append(button("Back", "←", () => show(now - 1)), button("On", "→", () => show(now + 1)),
    button("Full screen", "full screen", fill));
  stage.append(bar);

  const KEYS = {
    ArrowRight: 1, ArrowDown: 1, Enter: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1, Backspace: -1,
    Home: -Infinity, End: Infinity,
  };
  const PAGES = { PageDown: 1, PageUp: -1 }; // what a clicker sends: never for a slider
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.defaultPrevented) return;
    const busy = event.target.closest("input, select, button, summary, a, [tabindex='0']");
    let by = PAGES[event.key] ?? (busy ? undefined : KEYS[event.key]);
    if (event.key === " " && event.shiftKey) by = by && -1;
    if (event.key === "Escape") slides[now].focus({ preventScroll: true }); // leaves a slider
    else if (event.key.toLowerCase() === "f") fill();
    else if (by) {
      event.preventDefault();
      show(now + by);
    }
  });
  stage.addEventListener("click", (event) => {
    if (event.target.closest("nav, .explore, a") || String(getSelection())) return;
    const box = stage.getBoundingClientRect();
    show(now + (event.clientX < box.left + box.width / 4 ? -1 : 1));
  });
  addEventListener("hashchange", () => show(wanted()));
  addEventListener("resize", resize);

  root.classList.add("live");
  resize();
  show(wanted(), false);
  // Formulas are in the page, but where Node did not run when the book was built.
  const formulas = window.MathJax?.startup?.promise ?? Promise.resolve();
  // Fonts are asked for when formulas are laid out.
  formulas.then(drawn).then(() => document.fonts.ready).then(fit);
})();
