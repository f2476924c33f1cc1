// What the figures that react share: sliders, a sentence, a table, and axes drawn in SVG.
// Without the picture to replace (in JupyterLab, say) nothing happens.
"use strict";

window.explore ??= (() => { // a page with several figures names this file once for each
  // The colors of pdpbook.pages.figures, in the theme of the page.
  const BLUE = "var(--fig-blue)", VERMILION = "var(--fig-warm)", GREEN = "var(--fig-green)",
    GRAY = "var(--fig-soft)";
  // With the person of whom a figure speaks, solid; without them or with another answer, dashed; what
  // is published. One color each, in all figures; the same three names are in pdpbook.pages.figures.
  const WITH = VERMILION, WITHOUT = GRAY, PUBLISHED = BLUE;
  const INK = { blue: BLUE, warm: VERMILION, soft: GRAY, on: "var(--fig-on)" }; // on: words on a color

  function make(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }
  const html = (name, attributes = {}, ...children) =>
    make(document.createElement(name), attributes, children);
  const svg = (name, attributes = {}, ...children) =>
    make(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);

  // Three significant digits, as the cells of the book print them.
  function short(x) {
    if (!Number.isFinite(x)) return x < 0 ? "−∞" : "∞";
    if (x !== 0 && (Math.abs(x) < 1e-3 || Math.abs(x) >= 1e6)) {
      const [digits, power] = x.toExponential(2).split("e");
      return `${Number(digits)}e${Number(power)}`;
    }
    return String(Number(x.toPrecision(3)));
  }

  // Numbers as a list of Python, with the digits that a page is handed.
  const literal = (values) => `[${values.map((v) => Number(v.toPrecision(7))).join(", ")}]`;

  // Best rate between two normal distributions at this distance in units of the noise, squared: the normal
  // distribution function at half the distance (Simpson).
  function rate(square) {
    const z = Math.min(Math.sqrt(square) / 2, 9), n = 400, h = z / n, f = (k) => Math.exp(-((k * h) ** 2) / 2);
    let sum = f(0) + f(n);
    for (let k = 1; k < n; k += 1) sum += (k % 2 ? 4 : 2) * f(k);
    return 0.5 + sum * h / 3 / Math.sqrt(2 * Math.PI);
  }

  // Values at equal ratios from low to high, to draw a curve.
  function ratios(low, high, count) {
    return Array.from({ length: count + 1 }, (_, k) => low * (high / low) ** (k / count));
  }

  // The density of Laplace noise of size b around the middle: points to draw it through.
  function bell(middle, b, low, high) {
    const at = Array.from({ length: 241 }, (_, k) => low + (high - low) * k / 240);
    return [...at, middle].sort((one, other) => one - other)
      .map((x) => [x, Math.exp(-Math.abs(x - middle) / b) / (2 * b)]);
  }

  // Round values at nearly equal ratios, ten from one power of ten to the next, for a slider.
  function steps(low, high) {
    const all = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1)
      for (const lead of [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8]) all.push(Number(`${lead}e${power}`));
    return all.filter((v) => v >= low && v <= high);
  }

  const SHAPES = {
    circle: (x, y, r) => `M${x - r},${y}a${r},${r} 0 1 0 ${2 * r},0a${r},${r} 0 1 0 ${-2 * r},0`,
    square: (x, y, r) => `M${x - r},${y - r}h${2 * r}v${2 * r}h${-2 * r}z`,
    triangle: (x, y, r) => `M${x},${y - r}l${r},${2 * r}h${-2 * r}z`,
  };

  // Axes with room for the keys above. An axis is {low, high, ticks, name, log}.
  function chart({ width, height, x, y, label, keys = [], left = 48 }) {
    const right = 12, top = 10 + 20 * keys.length, bottom = x.ticks.length ? 42 : 26;
    const wide = width - left - right, high = height - top - bottom;
    const share = (axis, v) => {
      const of = axis.log ? Math.log : Number;
      return (of(v) - of(axis.low)) / (of(axis.high) - of(axis.low));
    };
    const at = (v) => wide * share(x, v), to = (v) => high * (1 - share(y, v));
    const inside = (axis, v) => v >= axis.low && v <= axis.high;
    const plot = svg("svg", { x: left, y: top, width: wide, height: high }); // clips
    const front = svg("g", { transform: `translate(${left} ${top})` });
    const frame = svg("g", { transform: `translate(${left} ${top})` });
    const word = (text, u, v, anchor = "middle", more = {}) =>
      svg("text", { x: u, y: v, "text-anchor": anchor, ...more }, text);
    const axis = (d) => svg("path", { d, class: "explore-axis" });
    // A mark that leaves an axis: an arrow at the edge with its number, each below the one before.
    const arrows = { up: 0, down: 0, left: 0, right: 0 };
    const arrow = (u, v, { color }) => {
      const way = v > y.high ? "up" : v < y.low ? "down" : u < x.low ? "left" : "right";
      const flat = way === "left" || way === "right", value = flat ? u : v, far = 18 * arrows[way];
      arrows[way] += 1;
      const across = Math.min(Math.max(at(Math.min(Math.max(u, x.low), x.high)), 7), wide - 7);
      const down = way === "up" ? 6 + far : way === "down" ? high - 6 - far
        : Math.min(Math.max(to(v) - far, 12), high - 6);
      const tip = { up: "l5,9h-10z", down: "l5,-9h-10z", left: "l9,-5v10z", right: "l-9,-5v10z" }[way];
      const start = { up: [0, -6], down: [0, 6], left: [-6, 0], right: [6, 0] }[way];
      const end = across > wide - 60;
      front.append(svg("path", { d: `M${across + start[0]},${down + start[1]}${tip}`, fill: color }),
        svg("text", { x: across + (end ? -12 : 12), y: down + 4, "text-anchor": end ? "end" : "start",
          style: `fill:${color}`, class: "explore-name" }, short(value)));
    };
    frame.append(axis(`M0,0V${high}H${wide}`),
      word(x.name, wide / 2, high + bottom - 8),
      word(y.name, -high / 2, 12 - left, "middle", { transform: "rotate(-90)" }));
    for (const v of x.ticks)
      frame.append(axis(`M${at(v)},${high}v5`), word(short(v), at(v), high + 18));
    for (const v of y.ticks)
      frame.append(axis(`M-5,${to(v)}h5`), word(short(v), -8, to(v) + 4, "end"));
    keys.forEach((key, k) => {
      const put = { transform: `translate(0 ${-10 - 20 * (keys.length - 1 - k)})` };
      const sign = key.fill
        ? svg("rect", { x: 8, y: -6, width: 14, height: 12, fill: key.fill, stroke: key.color })
        : svg("path", { d: "M0,0h30", ...stroke(key) });
      const mark = key.shape ? svg("path", { d: SHAPES[key.shape](15, 0, 4.5), fill: key.color }) : "";
      frame.append(svg("g", put, sign, mark, word(key.text, 38, 4, "start")));
    });
    const stage = svg("svg",
      { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
      frame, plot, front);
    return {
      stage,
      line(points, key) {
        const d = points.map(([u, v], k) => `${k ? "L" : "M"}${at(u)},${to(v)}`).join("");
        plot.append(svg("path", { d, fill: "none", ...stroke(key) }));
      },
      area(points, key) {
        const d = points.map(([u, v], k) => `${k ? "L" : "M"}${at(u)},${to(v)}`).join("");
        plot.append(svg("path", { d: `${d}z`, fill: key.color, "fill-opacity": key.opacity ?? 0.25 }));
      },
      dots: (points, { opacity, ...key }) => plot.append(svg("path", {
        d: points.map(([u, v]) => `M${at(u)},${to(v)}h0`).join(""), "stroke-linecap": "round", ...stroke(key),
        "stroke-opacity": opacity })),
      level: (v, key) => plot.append(
        svg("path", { d: `M0,${to(v)}H${wide}`, ...stroke(key) })),
      upright: (u, key) => plot.append(
        svg("path", { d: `M${at(u)},0V${high}`, ...stroke(key) })),
      bar: (u, half, v, key) => plot.append(
        svg("rect", { x: at(u - half), width: at(u + half) - at(u - half), y: to(v),
          height: Math.max(high - to(v), 0), fill: key.fill, stroke: key.color })),
      mark(u, v, key, open = false) {
        if (!inside(x, u) || !inside(y, v)) return arrow(u, v, key);
        front.append(svg("path", { d: SHAPES[key.shape](at(u), to(v), open ? 8 : 5),
          fill: open ? "none" : key.color, stroke: key.color, "stroke-width": 2 }));
      },
      note: (text, u, v) => front.append(word(text, at(u), to(v) - 6)),
      // The name of a curve, on the curve, in its color.
      name: (text, u, v, { color }, anchor = "start") => front.append(
        word(text, at(u), to(v), anchor, { style: `fill:${color}`, class: "explore-name" })),
    };
  }

  function stroke({ color, dash = "none", width = 2 }) {
    return { stroke: color, "stroke-dasharray": dash, "stroke-width": width };
  }

  // Widths of two drawings: side by side where there is room, else below each other.
  const beside = (width, second) => (width > 640 ? [width - second - 16, second] : [width, width]);

  let count = 0;

  const shared = {}; // sliders of one name, which move together all over the page

  // A control has a row, an input whose event says that it moved, and `read`, its value. What belongs
  // to the setting has `code`, its value as text for an address, and `write`, which takes that text,
  // and says no to one that it does not know.

  // A slider over a list of values, which may depend on the controls above it.
  function slider({ label, values, start, text, share }) {
    const id = `explore-${(count += 1)}`;
    const input = html("input", { type: "range", id, min: 0, step: 1 });
    if (share) {
      const all = (shared[share] ??= []);
      all.push(input);
      input.addEventListener("input", () => {
        for (const other of all.filter((one) => one.value !== input.value)) {
          other.value = input.value;
          other.dispatchEvent(new Event("input"));
        }
      });
    }
    const shown = html("span", { class: "explore-value", "aria-hidden": "true" });
    let list = [];
    const take = (state) => {
      const now = values(state);
      if (now.join() === list.join()) return;
      const wanted = list.length ? list[input.value] : start; // another list: the nearest of the new one
      const gaps = now.map((v) => Math.abs(v - wanted));
      list = now;
      input.max = list.length - 1;
      input.value = gaps.indexOf(Math.min(...gaps));
    };
    return {
      row: html("div", { class: "explore-control" }, html("label", { for: id }, label), input, shown),
      input,
      read(state) {
        take(state);
        const value = list[input.value];
        shown.textContent = text(value);
        input.setAttribute("aria-valuetext", text(value));
        return value;
      },
      code: () => String(list[input.value]),
      write(wanted, state) {
        take(state);
        const place = list.map(String).indexOf(wanted);
        if (place < 0) return false;
        input.value = place;
        input.dispatchEvent(new Event("input"));
        return true;
      },
    };
  }

  function choice({ label, options }) {
    const id = `explore-${(count += 1)}`;
    const input = html("select", { id }, ...options.map((text) => html("option", {}, text)));
    return {
      row: html("div", { class: "explore-control" }, html("label", { for: id }, label), input),
      input,
      read: () => input.selectedIndex,
      code: () => options[input.selectedIndex],
      write(wanted) {
        if (!options.includes(wanted)) return false;
        input.selectedIndex = options.indexOf(wanted);
        input.dispatchEvent(new Event("input"));
        return true;
      },
    };
  }

  // Numbers that a drawing sets, not a control: lists that are written in place. As text they are
  // joined by commas; `fits` says which numbers may stand there.
  function held(lists, fits) {
    const row = html("div", { hidden: "" });
    return {
      row,
      input: row,
      read: () => 0,
      code: () => lists.flat().map((v) => Number(v.toPrecision(6))).join(),
      write(wanted) {
        const all = wanted.split(",").map(Number);
        if (all.length !== lists.flat().length || !all.every((v) => Number.isFinite(v) && fits(v))) return false;
        for (const list of lists) list.splice(0, list.length, ...all.splice(0, list.length));
        return true;
      },
    };
  }

  // A button that is in or out: `read` says which.
  function toggle({ label }) {
    const input = html("button", { type: "button", "aria-pressed": "false" }, label);
    const set = (on) => input.setAttribute("aria-pressed", String(on));
    const on = () => input.getAttribute("aria-pressed") === "true";
    const change = (to) => {
      set(to);
      input.dispatchEvent(new Event("input"));
    };
    input.addEventListener("click", () => change(!on()));
    return {
      row: html("div", { class: "explore-control explore-press" }, input),
      input,
      read: on,
      code: () => (on() ? "yes" : "no"),
      write(wanted) {
        if (!["yes", "no"].includes(wanted)) return false;
        change(wanted === "yes");
        return true;
      },
    };
  }

  // Buttons that ask for a guess, and one to see the answer without: `read` gives the place of the
  // one pressed, -1 before. In a figure that asks, all else that moves, and the table, comes then.
  function guess({ label, options }) {
    const row = html("fieldset", { class: "explore-control explore-press explore-guess" },
      html("legend", {}, label));
    const asked = {
      row,
      input: row,
      before: () => {}, // what a figure does before it hears of a guess
      read: () => given,
      open(k) {
        given = k;
        asked.light(true);
      },
      light(on) { // the guess is lit as long as its verdict stands
        buttons.forEach((one, j) => one.setAttribute("aria-pressed", String(on && j === given)));
        buttons.at(-1).hidden = !on || given < options.length;
      },
      skip: () => asked.open(options.length),
      verdict: (right, answer) =>
        `${given === right ? "Right" : given < options.length ? "Not quite" : "The answer"}: ${answer}.`,
    };
    let given = -1;
    const buttons = [...options, "Show without guessing"].map((name, k) => {
      const press = html("button", { type: "button", "aria-pressed": "false" }, name);
      press.addEventListener("click", () => {
        asked.before();
        asked.open(k);
        row.dispatchEvent(new Event("input"));
      });
      return press;
    });
    buttons.at(-1).classList.add("explore-skip");
    row.append(...buttons);
    return asked;
  }

  function fill(table, { caption, head, rows }) {
    const row = (cells, name) =>
      html("tr", {}, ...cells.map((text) => html(name, name === "th" ? { scope: "col" } : {}, text)));
    table.replaceChildren(
      html("caption", {}, caption),
      html("thead", {}, row(head, "th")),
      html("tbody", {}, ...rows.map((cells) => row(cells, "td"))));
  }

  const press = (name, act) => {
    const one = html("button", { type: "button" }, name);
    one.addEventListener("click", act);
    return one;
  };

  // view(data) is {title, controls: {name: control}, show(state, width)}, and show gives {charts,
  // text, table, verdict, met}. A control `ask` is a guess, which comes first: until then its question
  // stands on top and all else is locked. A guess sets the figure as it was asked, and the verdict,
  // which speaks of that, goes with the first change. A view may have `extreme`, a setting to show,
  // `challenge`, which is done when show says `met`, and `python(state)`, a call that prints the number
  // of the sentence. The address of a page can hold a setting: name.control=value.
  function mount(name, view) {
    for (const root of document.querySelectorAll(`[data-explore="${name}"]`)) {
      const picture = document.getElementById(root.dataset.figure)?.querySelector("img, svg.inline-figure");
      if (!picture) continue;
      const { title, controls, show, extreme, challenge, python } =
        view(JSON.parse(root.querySelector("script").textContent));
      const { ask } = controls, all = Object.entries(controls);
      const stage = html("div", { class: "explore-stage" }), words = html("output", { "aria-live": "polite" });
      const table = html("table");
      const numbers = html("details", {}, html("summary", {}, "The numbers as a table"), table);
      const code = html("pre", { class: "explore-code", hidden: "", tabindex: 0, role: "region", "aria-label": "Python" });
      const told = html("p", { class: "explore-told", role: "status" });
      let first = null, fresh = false, quiet = false, room = 0, now = {};

      const read = () => {
        now = {};
        for (const [key, control] of all) now[key] = control.read(now);
      };
      // A setting by the names of controls, as text; whether anything of it was taken.
      const write = (wanted) => {
        let taken = false;
        quiet = true;
        const state = {};
        for (const [key, control] of all) {
          if (key in wanted && control.write?.(wanted[key], state)) taken = true;
          state[key] = control.read(state);
        }
        quiet = false;
        return taken;
      };
      const setting = () => Object.fromEntries(
        all.filter(([, control]) => control.code).map(([key, control]) => [key, control.code()]));
      const back = () => write(first);
      const reset = () => {
        back();
        ask?.input.dispatchEvent(new Event("input"));
        moved();
      };
      const copy = (text, said) => {
        navigator.clipboard?.writeText(text).catch(() => {});
        told.textContent = said;
      };
      const link = () => {
        const url = new URL(location.href);
        for (const [key, value] of Object.entries(setting())) url.searchParams.set(`${name}.${key}`, value);
        if (!/^#\d+$/.test(url.hash)) url.hash = root.dataset.figure; // of a slide: its number
        history.replaceState(null, "", url);
        copy(url.href, "The address of this page now holds the setting, and is copied.");
      };
      const tools = html("div", { class: "explore-press explore-tools" },
        ...(extreme ? [press("Show the extreme", () => { write(extreme); moved(); })] : []),
        press("Reset", reset), press("Copy link", link),
        ...(python ? [press("Copy as Python", () => {
          code.hidden = false;
          copy(code.textContent, "Copied; it changes with the figure:");
        })] : []));
      const goal = html("p", { class: "explore-goal" });
      const panel = html("div", { class: "explore", role: "group", "aria-label": title },
        ...all.map(([, control]) => control.row), words, stage, ...(challenge ? [goal] : []), tools, told, code, numbers);
      const later = ask ? [...all.map(([, { row }]) => row).filter((row) => row !== ask.row && !row.hidden),
        goal, tools, told, numbers] : [];

      const update = () => {
        read();
        const locked = ask && now.ask < 0;
        panel.classList.toggle("explore-locked", Boolean(locked));
        for (const one of later) one.hidden = locked;
        if (locked) panel.prepend(words);
        else if (words.nextSibling !== stage) stage.before(words);
        const { charts, text, table: cells, verdict, met } = show(now, Math.max(stage.clientWidth, 260));
        charts.forEach(({ stage: drawn }, k) => { // a chart that stays keeps the pointer that drags it
          if (!stage.children[k]) stage.append(drawn);
          else if (stage.children[k] !== drawn) stage.children[k].replaceWith(drawn);
        });
        while (stage.children.length > charts.length) stage.lastChild.remove();
        words.replaceChildren(...(fresh && verdict ? [html("strong", {}, verdict), " "] : []), text);
        if (words.offsetHeight > room && !locked) { // a sentence that gets shorter does not move the drawing
          room = words.offsetHeight;
          words.style.minHeight = `${room}px`;
        }
        if (challenge) goal.textContent = met ? `✓ Done: ${challenge}` : `Can you? ${challenge}`;
        if (python && !locked) code.textContent = python(now);
        fill(table, cells);
      };
      function moved() {
        if (quiet) return;
        fresh = false;
        update();
        if (now.ask >= 0) ask.light(false);
      }
      const still = picture.closest("a") ?? picture; // the link to the large picture goes with it
      still.before(panel);
      still.classList.add("explore-still");
      root.hidden = true;
      for (const [key, control] of all) if (key !== "ask") control.input.addEventListener("input", moved);
      if (ask) {
        ask.before = back;
        ask.input.addEventListener("input", () => {
          fresh = true;
          update();
          ask.light(true);
        });
      }
      read();
      first = setting();
      const address = new URLSearchParams(location.search);
      const wanted = Object.fromEntries(all.map(([key]) => [key, address.get(`${name}.${key}`)])
        .filter(([, value]) => value !== null));
      if (write(wanted)) ask?.skip();
      let width = 0;
      new ResizeObserver(() => {
        if (stage.clientWidth === width) return;
        width = stage.clientWidth;
        room = 0;
        words.style.minHeight = "";
        update();
      }).observe(stage);
      update();
    }
  }

  // Grips in a drawing follow the mouse or a finger: `to(x, y)` from its left upper corner on the way.
  function drag(stage, to, done = () => {}) {
    const move = (event) => {
      const box = stage.getBoundingClientRect(), scale = stage.width.baseVal.value / box.width; // on a slide
      to(scale * (event.clientX - box.left), scale * (event.clientY - box.top));
      event.preventDefault();
    };
    stage.addEventListener("pointerdown", (event) => {
      if (!event.target.closest(".explore-grip")) return;
      stage.setPointerCapture(event.pointerId);
      stage.addEventListener("pointermove", move);
    });
    stage.addEventListener("touchstart", (event) => { // else the browser scrolls and cancels the drag
      if (event.target.closest(".explore-grip")) event.preventDefault();
    }, { passive: false });
    for (const name of ["pointerup", "pointercancel"])
      stage.addEventListener(name, (event) => {
        if (stage.hasPointerCapture(event.pointerId)) done();
        stage.removeEventListener("pointermove", move);
      });
  }

  // Two towers on one scale, which balance at the best level: what it costs, and slices of what it gives.
  function towers({ cost, slices, names, high, words, label }, width) {
    const whole = slices.reduce((total, v) => total + v, 0);
    const drawn = chart({ width, height: 220, left: 34, label,
      x: { low: 0.4, high: 2.6, ticks: [], name: "" },
      y: { low: 0, high, ticks: [0, 0.25, 0.5, 0.75, 1].map((part) => part * high), name: "" } });
    const block = (base, end) => [[1.62, base], [1.62, end], [2.38, end], [2.38, base]];
    drawn.bar(1, 0.38, Math.min(cost, high), { fill: VERMILION, color: VERMILION });
    if (cost > high) drawn.mark(1, cost, { color: "currentColor" });
    let base = 0;
    slices.forEach((slice, k) => {
      if (!slice) return;
      drawn.area(block(base, base + slice), { color: BLUE, opacity: 0.35 });
      drawn.line([...block(base, base + slice), [1.62, base]], { color: BLUE, width: 1.5 });
      if (slice > high / 14 && base + slice / 2 < 0.95 * high)
        drawn.name(names[k], 2, base + slice / 2 - high / 50, { color: "currentColor" }, "middle");
      base += slice;
    });
    if (whole > high) drawn.mark(2, whole, { color: BLUE });
    drawn.level(cost, { color: VERMILION, dash: "5 4", width: 1.5 });
    drawn.name(words[0], 1, -0.1 * high, { color: VERMILION }, "middle");
    drawn.name(words[1], 2, -0.1 * high, { color: BLUE }, "middle");
    return drawn;
  }

  // A line with a knob that is dragged up and down, and what a finger may touch around it.
  function leveler(color, reach) {
    const area = svg("rect", { y: -reach, height: 2 * reach, fill: "transparent" });
    const line = svg("path", { stroke: color, "stroke-width": 2.5 });
    const knob = svg("g", {}, svg("circle", { r: 11, fill: color }),
      svg("path", { d: "M-4,-2.5l4,-4l4,4M-4,2.5l4,4l4,-4", fill: "none", stroke: "var(--fig-on, #fff)",
        "stroke-width": 1.6 }));
    return { grip: svg("g", { class: "explore-grip" }, area, line, knob), area, line, knob };
  }

  const word = (text, x, y, anchor = "middle", more = {}) => svg("text", { x, y, "text-anchor": anchor, ...more }, text);
  const named = (text, x, y, color, anchor) =>
    word(text, x, y, anchor, { style: `fill:${color}`, class: "explore-name" });

  // Training attended and minutes gained, up to `end` and from `low` to `high`, with a grip that is
  // made once: a finger that drags must not lose what it touched.
  function plane({ height, top, left, right, end, low, high, fill, ink }, set, done) {
    const tall = height - top - 44, stage = svg("svg", { height, role: "img" });
    let wide = 1;
    const at = (u) => left + wide * u / end, to = (v) => top + tall * (high - v) / (high - low);
    const clip = svg("svg", { x: left, y: top, height: tall }), drawing = svg("g");
    const grip = svg("g", { class: "explore-grip" },
      svg("circle", { r: 20, fill: "transparent" }), svg("circle", { r: 9, fill }),
      svg("path", { d: "M-4,0h8M0,-4v8", stroke: ink, "stroke-width": 1.6 }));
    stage.append(clip, drawing, grip);
    drag(stage, (x, y) => set((x - left) * end / wide, high - (y - top) * (high - low) / tall), done);
    return {
      stage, clip, at, to,
      inner: (u, v) => `${(at(u) - left).toFixed(1)},${(to(v) - top).toFixed(1)}`, // of `clip`
      fit(width, label) {
        wide = width - left - right;
        stage.setAttribute("width", width);
        stage.setAttribute("viewBox", `0 0 ${width} ${height}`);
        stage.setAttribute("aria-label", label);
        clip.setAttribute("width", wide);
        return wide;
      },
      axes(across, up, frame = `M${left},${top}V${top + tall}`) {
        return [
          svg("path", { d: `${frame}M${left},${to(0)}H${left + wide}`, class: "explore-axis", fill: "none" }),
          word("faster by (minutes)", -(top + tall / 2), 12, "middle", { transform: "rotate(-90)" }),
          word("part of the training attended", left + wide / 2, height - 4),
          ...up.flatMap((v) => [svg("path", { d: `M${left - 5},${to(v)}h5`, class: "explore-axis" }),
            word(short(v), left - 8, to(v) + 4, "end")]),
          ...across.map((u) => word(short(u), at(u), top + tall + 18))];
      },
      place(marks, x, y, open) {
        drawing.replaceChildren(...marks);
        grip.setAttribute("visibility", open ? "visible" : "hidden");
        grip.setAttribute("transform", `translate(${at(x)} ${to(y)})`);
      },
    };
  }

  // Boxes, one a round: full where the guess was right; below, the score, a coin and the best rate.
  function board(past, { rounds, rate, words, label }, width) {
    const height = 118, left = 2, each = (width - 4) / rounds, box = Math.min(each - 3, 24), y = 62;
    const right = past.filter(Boolean).length, to = (share) => left + share * (width - 4), parts = [];
    for (let k = 0; k < rounds; k += 1) {
      const done = k < past.length, good = done && past[k];
      parts.push(svg("rect", { x: left + k * each, y: 4, width: box, height: box, rx: 2,
        fill: good ? GREEN : "none", stroke: good ? GREEN : INK.soft }));
      if (done && !good) parts.push(svg("path", { stroke: INK.soft, "stroke-width": 2,
        d: `M${left + k * each + 3},7l${box - 6},${box - 6}m0,${6 - box}l${6 - box},${box - 6}` }));
    }
    parts.push(svg("text", { x: left, y: 46 }, "full: right, crossed: wrong, empty: to come"),
      svg("rect", { x: left, y, width: width - 4, height: 20, fill: "none", stroke: INK.soft }),
      svg("rect", { x: left, y, width: past.length ? (right / past.length) * (width - 4) : 0, height: 20, fill: GREEN }),
      svg("path", { d: `M${to(0.5)},${y - 3}v26`, stroke: INK.soft, "stroke-width": 2, "stroke-dasharray": "3 2" }),
      svg("path", { d: `M${Math.min(to(rate), width - 3)},${y - 6}v32`, stroke: "currentColor", "stroke-width": 3 }),
      named("your score", left, y + 42, GREEN, "start"),
      ...words.map(({ text, share, anchor, color }) => named(text, to(share), y + 42, color, anchor)));
    return { stage: svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": `${right} of ${past.length} right${label}` }, ...parts) };
  }

  return {
    BLUE, VERMILION, GREEN, GRAY, INK, bell, beside, board, chart, choice, drag, guess, held, html, leveler, literal,
    mount, named, plane, PUBLISHED, WITH, WITHOUT,
    press, rate, ratios, short, slider, steps, svg, toggle, towers, word,
  };
})();
