// What the figures that react share: sliders, a sentence, a table, and axes drawn in SVG.
// Without the picture to replace (in JupyterLab, say) nothing happens.
"use strict";

window.explore ??= (() => { // a page with several figures names this file once for each
  // The colors of pdpbook.pages.figures, in the theme of the page.
  const BLUE = "var(--fig-blue)", VERMILION = "var(--fig-warm)", GREEN = "var(--fig-green)",
    GRAY = "var(--fig-soft)";
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
    if (x !== 0 && (Math.abs(x) < 1e-3 || Math.abs(x) >= 1e6)) {
      const [digits, power] = x.toExponential(2).split("e");
      return `${Number(digits)}e${Number(power)}`;
    }
    return String(Number(x.toPrecision(3)));
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
      level: (v, key) => plot.append(
        svg("path", { d: `M0,${to(v)}H${wide}`, ...stroke(key) })),
      upright: (u, key) => plot.append(
        svg("path", { d: `M${at(u)},0V${high}`, ...stroke(key) })),
      bar: (u, half, v, key) => plot.append(
        svg("rect", { x: at(u - half), width: at(u + half) - at(u - half), y: to(v),
          height: Math.max(high - to(v), 0), fill: key.fill, stroke: key.color })),
      mark(u, v, key, open = false) {
        if (!inside(x, u) || !inside(y, v)) return;
        front.append(svg("path", { d: SHAPES[key.shape](at(u), to(v), open ? 8 : 5),
          fill: open ? "none" : key.color, stroke: key.color, "stroke-width": 2 }));
      },
      dash(u, v, key) {
        if (!inside(y, v)) return;
        front.append(svg("path", { d: `M${at(u) - 9},${to(v)}h18`, stroke: key.color }));
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

  let count = 0;

  const shared = {}; // sliders of one name, which move together all over the page

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
    return {
      row: html("div", { class: "explore-control" }, html("label", { for: id }, label), input, shown),
      input,
      read(state) {
        const now = values(state);
        if (now.join() !== list.join()) { // another list: the nearest value of the new one
          const wanted = list.length ? list[input.value] : start;
          const gaps = now.map((v) => Math.abs(v - wanted));
          list = now;
          input.max = list.length - 1;
          input.value = gaps.indexOf(Math.min(...gaps));
        }
        const value = list[input.value];
        shown.textContent = text(value);
        input.setAttribute("aria-valuetext", text(value));
        return value;
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
    };
  }

  // Buttons that ask for a guess, and one to see the answer without: `read` gives the place of the
  // one pressed, -1 before. In a figure that asks, all else that moves, and the table, comes then.
  function guess({ label, options }) {
    const row = html("fieldset", { class: "explore-control explore-press explore-guess" },
      html("legend", {}, label));
    let given = -1;
    const buttons = [...options, "Show without guessing"].map((name, k) => {
      const press = html("button", { type: "button", "aria-pressed": "false" }, name);
      press.addEventListener("click", () => {
        given = k;
        buttons.forEach((one, j) => one.setAttribute("aria-pressed", String(j === k)));
        buttons.at(-1).hidden = k < options.length;
        row.dispatchEvent(new Event("input"));
      });
      return press;
    });
    buttons.at(-1).classList.add("explore-skip");
    row.append(...buttons);
    return {
      row,
      input: row,
      read: () => given,
      // What is said of the guess: always of the question as it was asked, wherever the sliders are.
      verdict: (right, answer) =>
        `${given === right ? "Right" : given < options.length ? "Not quite" : "The answer"}: ${answer}. `,
    };
  }

  function fill(table, { caption, head, rows }) {
    const row = (cells, name) =>
      html("tr", {}, ...cells.map((text) => html(name, name === "th" ? { scope: "col" } : {}, text)));
    table.replaceChildren(
      html("caption", {}, caption),
      html("thead", {}, row(head, "th")),
      html("tbody", {}, ...rows.map((cells) => row(cells, "td"))));
  }

  // view(data) is {title, controls: {name: slider or choice}, show(state, width)}, and show gives
  // {charts, text, table} of the current state. A control `ask` is a guess, which comes first.
  function mount(name, view) {
    for (const root of document.querySelectorAll(`[data-explore="${name}"]`)) {
      const picture = document.getElementById(root.dataset.figure)?.querySelector("img, svg.inline-figure");
      if (!picture) continue;
      const { title, controls, show } = view(JSON.parse(root.querySelector("script").textContent));
      const stage = html("div"), words = html("output", { "aria-live": "polite" });
      const table = html("table");
      const numbers = html("details", {}, html("summary", {}, "The numbers as a table"), table);
      const panel = html("div", { class: "explore", role: "group", "aria-label": title },
        ...Object.values(controls).map((control) => control.row), stage, words, numbers);
      const rows = Object.values(controls).map(({ row }) => row).filter((row) => row !== controls.ask?.row);
      const later = controls.ask ? [...rows, numbers] : [];
      const update = () => {
        const state = {};
        for (const [key, control] of Object.entries(controls)) state[key] = control.read(state);
        for (const one of later) one.hidden = state.ask < 0;
        const { charts, text, table: cells } = show(state, Math.max(stage.clientWidth, 260));
        charts.forEach(({ stage: now }, k) => { // a chart that stays keeps the pointer that drags it
          if (!stage.children[k]) stage.append(now);
          else if (stage.children[k] !== now) stage.children[k].replaceWith(now);
        });
        words.textContent = text;
        fill(table, cells);
      };
      const still = picture.closest("a") ?? picture; // the link to the large picture goes with it
      still.before(panel);
      still.classList.add("explore-still");
      root.hidden = true;
      for (const control of Object.values(controls)) control.input.addEventListener("input", update);
      let width = 0;
      new ResizeObserver(() => {
        if (stage.clientWidth === width) return;
        width = stage.clientWidth;
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
        fill: good ? INK.blue : "none", stroke: good ? INK.blue : INK.soft }));
      if (done && !good) parts.push(svg("path", { stroke: INK.soft, "stroke-width": 2,
        d: `M${left + k * each + 3},7l${box - 6},${box - 6}m0,${6 - box}l${6 - box},${box - 6}` }));
    }
    parts.push(svg("text", { x: left, y: 46 }, "full: right, crossed: wrong, empty: to come"),
      svg("rect", { x: left, y, width: width - 4, height: 20, fill: "none", stroke: INK.soft }),
      svg("rect", { x: left, y, width: past.length ? (right / past.length) * (width - 4) : 0, height: 20, fill: INK.blue }),
      svg("path", { d: `M${to(0.5)},${y - 3}v26`, stroke: INK.soft, "stroke-width": 2, "stroke-dasharray": "3 2" }),
      svg("path", { d: `M${Math.min(to(rate), width - 3)},${y - 6}v32`, stroke: "currentColor", "stroke-width": 3 }),
      named("your score", left, y + 42, INK.blue, "start"),
      ...words.map(({ text, share, anchor, color }) => named(text, to(share), y + 42, color, anchor)));
    return { stage: svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": `${right} of ${past.length} right${label}` }, ...parts) };
  }

  return {
    BLUE, VERMILION, GREEN, GRAY, INK, bell, board, chart, choice, drag, guess, html, mount, named, plane, ratios,
    short, slider, steps, svg, word,
  };
})();
