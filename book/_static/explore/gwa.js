// Weights of a regression with one coefficient, moved by hand: what each member can do, and the error.
"use strict";

explore.gwa = (() => {
  const sum = (list) => list.reduce((total, v) => total + v, 0);

  // For a total weight of each kind of record (of one member), scaled so that the result is unbiased:
  // how far each member can move the result, and both parts of its variance; see thm-gwa.
  function solve({ kinds, members, copies, sigma2, width }, weights, epsilon) {
    const scale = copies * sum(kinds.map(({ x }, k) => x * weights[k]));
    const u = weights.map((w) => w / scale);
    const moves = Array.from({ length: members }, (_, l) =>
      width * sum(kinds.map(({ who }, k) => (who === l ? Math.abs(u[k]) : 0))));
    const records = sigma2 * copies * sum(kinds.map(({ s }, k) => u[k] * u[k] / s));
    const noise = 2 * (Math.max(...moves) / epsilon) ** 2;
    return { u, moves, records, noise, variance: records + noise };
  }

  // The best weights: a record counts (x - threshold)_+, and a member no more than h; see thm-gwa-dual.
  function best(data, epsilon) {
    const { kinds, members, copies, sigma2, width } = data;
    const tradeoff = sigma2 / (2 * (width / epsilon) ** 2);
    const own = (l) => kinds.filter(({ who }) => who === l);
    const counts = (l, nu) => sum(own(l).map(({ s, x }) => s * Math.max(x - nu, 0)));
    const halve = (low, high, above) => {
      for (let k = 0; k < 200; k += 1) {
        const middle = (low + high) / 2;
        if (above(middle)) low = middle;
        else high = middle;
      }
      return (low + high) / 2;
    };
    const top = Math.max(...kinds.map(({ x }) => x));
    const threshold = (l, h) => (counts(l, 0) <= h ? 0 : halve(0, top, (nu) => counts(l, nu) > h));
    const all = (h) => Array.from({ length: members }, (_, l) => threshold(l, h));
    const most = Math.max(...all(0).map((_, l) => counts(l, 0)));
    const h = halve(0, most, (one) => tradeoff * copies * sum(all(one)) > one);
    const nu = all(h), weights = kinds.map(({ who, s, x }) => s * Math.max(x - nu[who], 0));
    return { h, thresholds: nu, weights, ...solve(data, weights, epsilon) };
  }

  const BLUE = "var(--fig-blue, #0072b2)", WARM = "var(--fig-warm, #b84a00)";
  const SOFT = "var(--fig-soft, #6b737d)", TOP = 25, HEIGHT = 262; // meters; pixels

  // A bar for every kind of record, with a grip on top that is dragged or moved by the arrow keys.
  function bars(data, set) {
    const { svg, short } = explore, top = 26, foot = 46, left = 46, right = 10;
    const high = HEIGHT - top - foot, to = (v) => top + high * (1 - Math.min(v, TOP) / TOP);
    const stage = svg("svg", { height: HEIGHT, role: "group" }), drawing = svg("g", { "aria-hidden": "true" });
    let taken = 0, now = [];
    const grips = data.kinds.map((kind, k) => {
      const grip = svg("g", { class: "explore-grip", role: "slider", tabindex: 0, "aria-orientation": "vertical",
        "aria-valuemin": 0, "aria-valuemax": TOP, "aria-label": `Weight of ${kind.name}` },
      svg("rect", { x: -18, y: -18, width: 36, height: 36, fill: "transparent" }), svg("circle", { r: 9 }),
      svg("path", { d: "M-3.5,-2l3.5,-3.5l3.5,3.5M-3.5,2l3.5,3.5l3.5,-3.5", fill: "none",
        stroke: "var(--fig-on, #fff)", "stroke-width": 1.5 }));
      grip.addEventListener("keydown", (event) => {
        const step = { ArrowUp: 0.25, ArrowRight: 0.25, ArrowDown: -0.25, ArrowLeft: -0.25, PageUp: 2, PageDown: -2,
          Home: -TOP, End: TOP }[event.key];
        if (!step) return;
        event.preventDefault();
        set(k, now[k] + step);
      });
      return grip;
    });
    stage.addEventListener("pointerdown", (event) => {
      const grip = event.target.closest(".explore-grip");
      if (grip) taken = grips.indexOf(grip);
    });
    explore.drag(stage, (_, y) => set(taken, TOP * (1 - (y - top) / high)));
    stage.append(drawing, ...grips);
    return {
      stage,
      draw({ u, moves }, width) {
        now = u.map((v) => data.width * v);
        stage.setAttribute("width", width);
        stage.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
        const most = Math.max(...moves), heavy = moves.map((v) => v > most * (1 - 1e-9));
        stage.setAttribute("aria-label", "Bars: how far each member can move the result, in meters per hour. " +
          data.names.map((name, l) => `${name} ${short(moves[l])}`).join(", ") + ".");
        const step = (width - left - right) / now.length, wide = Math.min(step * 0.62, 70);
        const mid = (k) => left + step * (k + 0.5);
        const { word } = explore;
        const marks = [];
        for (const v of [0, 5, 10, 15, 20, 25])
          marks.push(svg("path", { d: `M${left - 5},${to(v)}h5`, class: "explore-axis" }),
            word(String(v), left - 8, to(v) + 4, "end"));
        marks.push(svg("path", { d: `M${left},${top}V${to(0)}H${width - right}`, class: "explore-axis" }),
          word("moves the result (m per hour)", -(top + high / 2), 12, "middle", { transform: "rotate(-90)" }));
        data.names.forEach((name, l) => {
          const own = data.kinds.map(({ who }, k) => (who === l ? k : -1)).filter((k) => k >= 0);
          const color = heavy[l] ? WARM : BLUE, from = mid(own[0]), end = mid(own.at(-1));
          if (own.length > 1) {
            marks.push(svg("rect", { x: from - wide / 2 - 4, y: to(moves[l]), width: end - from + wide + 8,
              height: to(0) - to(moves[l]), fill: "none", stroke: color, "stroke-dasharray": "3 3" }),
            word("together", (from + end) / 2, to(moves[l]) - (step > 60 ? 6 : 14), "middle", { style: `fill:${color}` }));
          }
          for (const k of own) {
            marks.push(svg("rect", { x: mid(k) - wide / 2, y: to(now[k]), width: wide, height: to(0) - to(now[k]),
              fill: color }), word(`${data.kinds[k].s}×${data.kinds[k].x}${step > 60 ? " " : ""}h`, mid(k), HEIGHT - foot + 35,
                "middle", step > 60 ? {} : { style: "font-size:11px" }));
            grips[k].setAttribute("transform", `translate(${mid(k)} ${to(now[k])})`);
            grips[k].setAttribute("aria-valuenow", now[k].toFixed(2));
            grips[k].setAttribute("aria-valuetext", `${short(now[k])} meters per hour`);
            grips[k].querySelector("circle").setAttribute("fill", color);
          }
          marks.push(word(name, (from + end) / 2, HEIGHT - foot + 18, "middle", { "font-weight": 600 }));
        });
        marks.push(svg("path", { d: `M${left},${to(most)}H${width - right}`, stroke: WARM, "stroke-dasharray": "6 4",
          "stroke-width": 1.5 }));
        if (width > 480 || most > TOP / 2) // not across the knobs
          marks.push(word("the noise must hide this", left + 6, to(most) - 7, "start", { style: `fill:${WARM}` }));
        drawing.replaceChildren(...marks);
        return this;
      },
    };
  }

  // One bar, in two parts: the squared error from the records and from the noise.
  function error(now, least, open, width) {
    const { svg } = explore, left = 10, right = 14, most = 900, y = 30, thick = 26;
    const wide = width - left - right, at = (v) => left + wide * Math.min(v, most) / most;
    const word = (text, x, v, anchor, color) =>
      svg("text", { x, y: v, "text-anchor": anchor, style: `fill:${color}` }, text);
    const marks = [
      svg("rect", { x: left, y, width: at(now.records) - left, height: thick, fill: BLUE }),
      svg("rect", { x: at(now.records), y, width: Math.max(at(now.variance) - at(now.records), 0), height: thick,
        fill: WARM }),
      word("squared error from records", left, y - 9, "start", BLUE),
      word("and from noise", width - right, y - 9, "end", WARM)];
    if (now.variance > most)
      marks.push(word(`${Math.round(now.variance).toLocaleString("en")} →`, width - 4, y + thick - 8, "end", "var(--fig-on)"));
    if (open) {
      marks.push(svg("path", { d: `M${at(least)},${y - 4}v${thick + 8}`, stroke: "currentColor", "stroke-width": 3 }));
      const far = at(least) > width / 2;
      marks.push(word("least possible", at(least) + (far ? -6 : 6), y + thick + 19, far ? "end" : "start",
        "currentColor"));
    }
    return { stage: svg("svg", { width, height: 84, viewBox: `0 0 ${width} 84`, role: "img",
      "aria-label": "A bar with the squared error, from records and from noise. The sentence has the numbers." },
    ...marks) };
  }

  function view(data) {
    const { guess, held, html, literal, press, short, slider, steps } = explore;
    const meters = { ...data, width: 1000 * data.width, sigma2: 1e6 * data.sigma2 };
    const ask = guess({ label: "Zoe's evenings should count:", options: data.guesses });
    const epsilon = slider({ label: "Privacy budget ε", values: () => steps(0.3, 10), start: data.epsilon,
      text: (v) => `ε = ${v}` });
    const least = data.kinds.map(({ s, x }) => s * x);
    const total = (l, w) => sum(data.kinds.map(({ who }, k) => (who === l ? w[k] : 0)));
    const weights = [...least];
    let answer = least;
    const take = (wanted) => weights.splice(0, weights.length, ...wanted);
    const redraw = () => epsilon.input.dispatchEvent(new Event("input"));
    const set = (k, meter) => { // this bar gets its height, the others share what is left
      const { u } = solve(meters, weights, 1), { x } = data.kinds[k];
      const v = Math.min(Math.max(meter, 0), TOP) / meters.width;
      const rest = Math.max(1 - meters.copies * x * v, 0);
      const others = meters.copies * sum(u.map((w, j) => (j === k ? 0 : data.kinds[j].x * w)));
      take(u.map((w, j) => (j === k ? v : others < 1e-6 ? rest / meters.copies / (u.length - 1) / data.kinds[j].x
        : w * rest / others)));
      redraw();
    };
    const picture = bars(meters, set);
    const row = html("div", { class: "explore-control explore-press explore-guess" });
    for (const [name, wanted] of [
      ["Least squares", () => least],
      ["Every member the same", () => least.map((w, k) => w / total(data.kinds[k].who, least))],
      ["Show the best weights", () => answer]]) {
      row.append(press(name, () => {
        take(wanted());
        redraw();
      }));
    }
    ask.input.addEventListener("input", () => { // her evenings as guessed
      if (ask.read() > data.right) return;
      const zoe = data.kinds.at(-1).who, all = total(zoe, weights), shares = [[1, 1], [1, 2], [0, 1]][ask.read()];
      take(weights.map((w, k) => (data.kinds[k].who === zoe ? all * shares[data.kinds[k].x - 1] / sum(shares) : w)));
    });
    return {
      title: "Weights of a regression, moved by hand",
      controls: { ask, weights: held([weights], (v) => v >= 0), epsilon, presets: { row, input: row, read: () => 0 } },
      extreme: { epsilon: "0.3" },
      challenge: "Come within one percent of the least possible by hand.",
      python: ({ epsilon: e }) => `import numpy as np
from pdpbook.gwa import gwa_weights

hours = ${literal(data.kinds.flatMap(({ s, x }) => Array(s).fill(x)))}
owner = ${literal(data.kinds.flatMap(({ who, s }) => Array(s).fill(who)))}
X = np.tile(hours, ${data.copies})[:, None]
users = np.tile(owner, ${data.copies}) + np.repeat(
    ${data.members} * np.arange(${data.copies}), len(owner))
best = gwa_weights(X, users, sigma2=${data.sigma2}, epsilon=${e}, width=${data.width}, tol=1e-9)
print(1000 * best.objective**0.5)  # the least error, meters per hour`,
      show({ ask: given, epsilon: e }, width) {
        const open = given >= 0, right = data.right, found = best(meters, e);
        answer = found.weights;
        const now = solve(meters, weights, e);
        const root = (v) => Math.sqrt(v).toPrecision(3);
        const more = Math.sqrt(now.variance / found.variance) - 1;
        const most = data.names.filter((_, l) => now.moves[l] > Math.max(...now.moves) * (1 - 1e-3));
        const facts = `${most.length > 1 ? "Largest bars" : "Largest bar"}: ${most.join(", ")}, ` +
          `${short(Math.max(...now.moves))} meters per hour. Typical error ${root(now.variance)} meters per hour ` +
          `(records ${root(now.records)}, noise ${root(now.noise)})`;
        return {
          charts: [picture.draw(now, width), error(now, found.variance, open, width)],
          text: !open ? `${weights.every((w, k) => w === least[k]) ? "These are the weights of least squares. " : ""}${facts}.`
            : `${facts}; the least possible is ${root(found.variance)}` +
              (more < 0.0005 ? ", and this is it, or almost." : `. Yours is ${(100 * more).toPrecision(2)} percent larger.`),
          verdict: ask.verdict(right, "at the budget 1 the best weights use only her evenings of two hours"),
          met: more < 0.01 && more > 1e-9,
          table: {
            caption: "How far records can move the result, in meters per hour: yours, and with the best weights",
            head: ["records of", "yours", "best"],
            rows: data.kinds.map(({ name }, k) =>
              [name, (meters.width * now.u[k]).toFixed(2), (meters.width * found.u[k]).toFixed(2)]),
          },
        };
      },
    };
  }

  return { best, solve, view };
})();
explore.mount("gwa", explore.gwa.view);
