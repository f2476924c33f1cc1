// Lines drawn from the posterior, with and without one person; how the miss of a line speaks about them.
"use strict";

explore.posterior = (() => {
  const STEPS = 1200;

  // The direction `add` at epsilon: the density without the person times 1 - exp(epsilon - loss), over
  // both sides on which the loss is above epsilon, by Simpson's rule; t counts from there outward.
  function add(epsilon, leverage, residual) {
    const root = Math.sqrt(leverage);
    const edge = Math.sqrt(Math.log1p(leverage) + residual ** 2 / (1 + leverage) + 2 * epsilon);
    const near = (edge - residual) / root, far = (edge + residual) / root;
    const from = Math.max(0, -near - 9), step = (Math.max(0, -near) + 9 - from) / STEPS;
    let sum = 0;
    for (let k = 0; k <= STEPS; k += 1) {
      const t = from + k * step, ends = k === 0 || k === STEPS;
      sum += (ends ? 1 : k % 2 ? 4 : 2) * -Math.expm1(-root * t * (edge + root * t / 2)) *
        (Math.exp(-((near + t) ** 2) / 2) + Math.exp(-((far + t) ** 2) / 2));
    }
    return sum * step / 3 / Math.sqrt(2 * Math.PI);
  }

  // The smallest epsilon at which `add`, the larger direction, is at most delta.
  function loss(delta, leverage, residual) {
    if (leverage === 0 || add(0, leverage, residual) <= delta) return 0;
    const tail = 2 * Math.log(2 / delta); // of the closed bound, which is never too small
    let low = 0, high = (residual ** 2 * leverage / (1 + leverage) + tail * leverage) / 2 +
      residual * Math.sqrt(tail * leverage);
    while (high - low > 1e-9 * high) {
      const middle = (low + high) / 2;
      if (add(middle, leverage, residual) > delta) low = middle;
      else high = middle;
    }
    return high;
  }

  // How much likelier, as a logarithm, a line is without the person if it misses them by v: both are in
  // standard deviations of a label. A bowl with a floor and no ceiling; see thm-ops-exact.
  const evidence = (leverage, residual, v) =>
    (v * v - Math.log1p(leverage) - residual ** 2 / (1 + leverage)) / 2;

  // Center and precision of the slope, and for everybody what the others say of them.
  function solve(x, y, lam, gamma) {
    const sum = (f) => x.reduce((total, _, k) => total + f(k), 0);
    const whole = sum((k) => x[k] ** 2) + lam, top = sum((k) => x[k] * y[k]);
    return { slope: top / whole, precision: gamma * whole, people: x.map((u, k) => {
      const rest = whole - u * u, slope = (top - u * y[k]) / rest;
      return { slope, precision: gamma * rest, leverage: u * u / rest,
        residual: Math.sqrt(gamma) * Math.abs(y[k] - u * slope) };
    }) };
  }

  const { PUBLISHED, WITH, WITHOUT } = explore;
  const LOW = -0.3, HIGH = 1.1, RIGHT = 1.4; // of y, and the end of the axis of x

  const { named, word } = explore;

  // Points and two bundles of lines; at the place of one member the two distributions of the height.
  function picture(data, set, done) {
    const { svg, short } = explore;
    const left = 48, top = 12, holder = {};
    const { stage, clip, at, to, inner, fit, axes, place } = explore.plane({ height: 290, top, left, right: 8,
      end: RIGHT, low: LOW, high: HIGH, fill: "currentColor", ink: "var(--pst-color-background, #fff)" }, set, done);
    holder.stage = stage;
    holder.draw = ({ x, y, who, open }, now, width) => {
      const one = now.people[who], name = data.names[who];
      const wide = fit(width, `Five points: ${data.names.map((n, k) =>
        `${n} at ${short(x[k])} and ${short(y[k])}`).join(", ")}. ` +
        `Random lines around slope ${short(now.slope)} with ${name}, and around slope ` +
        `${short(one.slope)} without.`);
      const line = (slope, color, more) => svg("path",
        { d: `M${inner(0, 0)}L${inner(1, slope)}`, stroke: color, fill: "none", ...more });
      const bundle = ({ slope, precision }, color, dash) => [
        ...data.draws.map((z) => line(slope + z / Math.sqrt(precision), color,
          { "stroke-width": 1, opacity: 0.42, "stroke-dasharray": dash })),
        line(slope, color, { "stroke-width": 3, "stroke-dasharray": dash })];
      const room = Math.min(0.3 * wide, 110), peak = Math.sqrt(now.precision);
      const bell = ({ slope, precision }, color, dash) => {
        const sd = x[who] / Math.sqrt(precision), tall = room * Math.sqrt(precision) / peak;
        const d = Array.from({ length: 81 }, (_, k) => (k - 40) / 10).map((z, k) =>
          `${k ? "L" : "M"}${(at(x[who]) - left + tall * Math.exp(-z * z / 2)).toFixed(1)},` +
          (to(slope * x[who] + z * sd) - top).toFixed(1)).join("");
        return svg("path", { d, stroke: color, "stroke-width": 2, "stroke-dasharray": dash, fill: color,
          "fill-opacity": 0.14 });
      };
      const bells = x[who] > 0 ? [
        svg("path", { d: `M${inner(x[who], LOW)}L${inner(x[who], HIGH)}`, class: "explore-axis", opacity: 0.5 }),
        bell(one, WITHOUT, "6 4"), bell(now, WITH, "none")] : [];
      clip.replaceChildren(...bundle(one, WITHOUT, "6 4"), ...bundle(now, WITH, "none"), ...bells);
      const marks = axes([0.5, 1], [0, 0.5, 1]);
      data.names.forEach((n, k) => {
        if (!open || k !== who) marks.push(svg("circle", { cx: at(x[k]), cy: to(y[k]), r: 6, fill: "currentColor" }));
        const under = y[k] < now.slope * x[k];
        marks.push(word(n, at(x[k]) + (x[k] > 0.9 ? -14 : 11), to(y[k]) + (under ? 19 : -10),
          x[k] > 0.9 ? "end" : "start", { "font-weight": 600 }));
      });
      marks.push(named(`with ${name}`, left + 12, to(-0.12), WITH, "start"),
        named(`without ${name} (dashed)`, left + 12, to(-0.24), WITHOUT, "start"));
      place(marks, x[who], y[who], open);
      return holder;
    };
    return holder;
  }

  // A bar of loss for each member: what the row alone costs, and what the label adds.
  function bars(data, losses, alone, who, open, width) {
    const { svg, short } = explore;
    const END = 20, left = 48, right = 48, step = 21, top = 24, height = top + 5 * step + 40;
    const wide = width - left - right, at = (v) => left + wide * Math.min(v, END) / END;
    const stage = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": `Losses: ${data.names.map((n, k) => `${n} ${short(losses[k])}`).join(", ")}.` });
    data.names.forEach((n, k) => {
      const y = top + k * step;
      stage.append(word(n, left - 8, y + 13, "end", k === who ? { "font-weight": 700 } : {}),
        svg("rect", { x: left, y, width: at(losses[k]) - left, height: 17, fill: "currentColor",
          "fill-opacity": open ? 0.35 : 0.7 }),
        word(short(losses[k]) + (losses[k] > END ? " →" : ""), at(losses[k]) + 6, y + 13, "start"));
      if (open)
        stage.append(svg("rect", { x: left, y, width: at(alone[k]) - left, height: 17, fill: "currentColor" }));
    });
    stage.append(svg("path", { d: `M${left},${top - 4}V${top + 5 * step}H${left + wide}`, class: "explore-axis" }));
    for (const v of [0, 5, 10, 15, 20]) stage.append(word(String(v), at(v), top + 5 * step + 16));
    stage.append(word(`loss, at delta = ${data.delta}`, left + wide / 2, height - 6));
    if (open) stage.append(word("dark: row alone; light: added by the label", left, 13, "start"));
    return { stage };
  }

  const END = 8, HIGH_LOSS = 20, LOW_LOSS = -6; // of the axes of the bowl

  // The bowl over the miss, and below it where lines fall with the person and without.
  function bowl(name, { leverage, residual, signed }, loss, v, width) {
    const { chart, short } = explore, at = (w) => evidence(leverage, residual, w), floor = at(0);
    const axes = chart({ width, height: 230, left: 48,
      label: `A bowl over the miss v. Its floor is ${short(floor)}, and it has no ceiling. Below it two bells: where lines fall with ${name}, and without.`,
      x: { low: -END, high: END, ticks: [-8, -4, 0, 4, 8], name: `miss of the line at ${name}'s point, v` },
      y: { low: LOW_LOSS, high: HIGH_LOSS, ticks: [0, 5, 10, 15, 20], name: `against ${name}` } });
    const grid = Array.from({ length: 321 }, (_, k) => END * (k - 160) / 160);
    const bell = (middle, variance, key) => {
      const sd = Math.sqrt(variance), top = 4.6 / Math.max(1, sd);
      const points = grid.map((w) => [w, LOW_LOSS + top * Math.exp(-(((w - middle) / sd) ** 2) / 2)]);
      axes.area([[-END, LOW_LOSS], ...points, [END, LOW_LOSS]], { color: key.color, opacity: 0.18 });
      axes.line(points, key);
    };
    bell(signed, leverage, { color: WITHOUT, dash: "6 4" });
    bell(signed / (1 + leverage), leverage / (1 + leverage), { color: WITH });
    axes.level(0, { color: "currentColor", width: 1 });
    axes.level(loss, { color: "currentColor", dash: "2 3", width: 1.5 });
    const rim = Math.sqrt(-2 * floor), side = grid.filter((w) => w > rim);
    axes.line([[rim, 0], ...side.map((w) => [w, at(w)])], { color: WITHOUT, width: 3 });
    axes.line([[-rim, 0], ...side.map((w) => [-w, at(w)])], { color: WITHOUT, width: 3 });
    axes.line([[-rim, 0], ...grid.filter((w) => Math.abs(w) < rim).map((w) => [w, at(w)]), [rim, 0]],
      { color: WITH, width: 3 });
    axes.name(`loss ${short(loss)}`, 0, Math.min(loss + 0.6, HIGH_LOSS - 3.5), { color: "currentColor" }, "middle");
    axes.name("no ceiling", 0, HIGH_LOSS - 1.6, { color: WITHOUT }, "middle");
    const away = signed > 0 ? [-END + 0.2, "start"] : [END - 0.2, "end"]; // from the bells
    axes.name(`floor: ${short(Math.exp(-floor))} times for ${name}`, away[0], -2, { color: WITH }, away[1]);
    axes.mark(v, at(v), { shape: "circle", color: PUBLISHED });
    return axes;
  }

  function view(data) {
    const { beside, choice, guess, held, literal, short, slider } = explore;
    const grid = (low, count) => Array.from({ length: count }, (_, k) => Number((low + k * 0.05).toFixed(2)));
    const X = grid(0, 21), Y = grid(-0.2, 25);
    const x = [...data.x], y = [...data.y];
    const ask = guess({ label: `${data.names[data.who]}'s loss on the line of the others:`, options: data.guesses });
    const who = choice({ label: "Member", options: data.names });
    who.input.selectedIndex = data.who;
    const across = slider({ label: "Attended, x", values: () => X, start: x[data.who], text: (v) => String(v) });
    const up = slider({ label: "Faster, y", values: () => Y, start: y[data.who], text: (v) => String(v) });
    const sharp = slider({ label: "Sharpness γ", values: () => [1, 2, 4, 9, 16, 25, 36, 64, 100],
      start: data.gamma, text: (v) => String(v) });
    const ball = slider({ label: "Published line misses by v", start: 4, text: String,
      values: () => Array.from({ length: 65 }, (_, k) => (k - 32) / 4) });
    const near = (list, v) => list.reduce((best, one, k) =>
      Math.abs(one - v) < Math.abs(list[best] - v) ? k : best, 0);
    const put = (u, v) => {
      across.input.value = near(X, u);
      up.input.value = near(Y, v);
    };
    who.input.addEventListener("input", () => { // before the figure reads the sliders
      const k = who.input.selectedIndex;
      put(x[k], y[k]);
    });
    ask.input.addEventListener("input", () => { // as it was asked
      x.splice(0, x.length, ...data.x);
      y.splice(0, y.length, ...data.y);
      y[data.who] = data.asked;
      who.input.selectedIndex = data.who;
      put(x[data.who], data.asked);
    });
    const drawing = picture(data, (u, v) => {
      put(u, v);
      up.input.dispatchEvent(new Event("input"));
    }, () => up.input.dispatchEvent(new Event("change")));
    const losses = (now) => now.people.map((one) => loss(data.delta, one.leverage, one.residual));
    const asked = losses(solve(x, y.map((v, k) => (k === data.who ? data.asked : v)), data.lam, data.gamma))[data.who];
    return {
      title: "Random lines with and without one member",
      controls: { ask, points: held([x, y], (v) => v >= -0.2 && v <= 1), who, across, up, sharp, ball },
      extreme: { who: "Zoe", across: "1", up: "-0.2", sharp: "100" },
      challenge: "Find a record with which Zoe's loss is below 1, at this sharpness.",
      python: ({ who: k, sharp: gamma }) => `import numpy as np
from pdpbook.per_instance import per_instance_epsilon

x = np.array(${literal(x)})
y = np.array(${literal(y)})
report = per_instance_epsilon(x[:, None], y, ${data.lam}, ${gamma}, ${data.delta})
print(report.epsilon[${k}])  # the loss of ${data.names[k]}`,
      show({ ask: given, who: k, across: u, up: v, sharp: gamma, ball: w }, width) {
        const open = given >= 0;
        if (open) [x[k], y[k]] = [u, v];
        const now = solve(x, y, data.lam, gamma), one = now.people[k], name = data.names[k];
        const all = losses(now), alone = now.people.map((p) => loss(data.delta, p.leverage, 0));
        const bowled = open && one.leverage > 0, wide = bowled && width > 640; // the bars beside the bowl
        const [first, second] = beside(width, Math.round(0.6 * width));
        const said = evidence(one.leverage, one.residual, w);
        const most = Math.exp((Math.log1p(one.leverage) + one.residual ** 2 / (1 + one.leverage)) / 2);
        return {
          charts: [drawing.draw({ x, y, who: k, open }, now, width),
            bars(data, all, alone, k, open, wide ? first : width), ...(bowled ? [bowl(name, { ...one,
              signed: Math.sqrt(gamma) * (v - u * one.slope) }, all[k], w, second)] : [])],
          text: !open ? `${name}'s loss is ${short(all[k])}. What if ${name} were on the line of the others?` :
            `The others predict ${short(u * one.slope)} for ${name}, and the label is ${v}: leverage ` +
            `${short(one.leverage)}, scaled residual ${short(one.residual)}. ` +
            (one.leverage ? `${name}'s loss is ${short(all[k])}, and the row alone costs ${short(alone[k])}. ` +
              `A line through ${name}'s point is ${short(most)} times as likely with ${name} as without; no line ` +
              `speaks louder for ${name}. One that misses by v = ${short(w)} is ${short(Math.exp(Math.abs(said)))} times as likely ` +
              `${said > 0 ? "without" : "with"} ${name}, and there is no limit to that.` :
              `${name}'s loss is 0: at x = 0 all lines agree.`),
          verdict: ask.verdict(data.right, `with y = ${data.asked} ${data.names[data.who]}'s loss is ${short(asked)}`),
          met: gamma === data.gamma && all[data.who] < 1,
          table: {
            caption: "Each member: the two numbers, the loss, and what the row alone costs",
            head: ["member", "leverage", "residual", "loss", "row alone"],
            rows: data.names.map((n, j) => [n, ...[now.people[j].leverage, now.people[j].residual, all[j], alone[j]]
              .map((t) => t.toFixed(2))]),
          },
        };
      },
    };
  }

  return { add, evidence, loss, solve, view };
})();
explore.mount("posterior", explore.posterior.view);
