// A rubber band from a member's point to the line: held, the line follows; cut, it snaps to the others.
"use strict";

explore.ridge = (() => {
  // Slope, and for everybody leverage, residual, surprise, pull and move, with equal weights.
  function solve(x, y, lam) {
    const n = x.length, sum = (f) => x.reduce((total, _, k) => total + f(k), 0);
    const whole = sum((k) => x[k] ** 2) + n * lam, slope = sum((k) => x[k] * y[k]) / whole;
    return { slope, people: x.map((u, k) => {
      const pull = u / whole, leverage = u * pull, residual = y[k] - slope * u;
      const surprise = residual / (1 - leverage);
      return { pull, leverage, residual, surprise, move: surprise * pull };
    }) };
  }

  const { PUBLISHED, WITH, WITHOUT } = explore, INK = "currentColor";
  const LOW = -0.5, HIGH = 1, RIGHT = 1.1; // of y, and the end of the lines

  const { named, word } = explore;

  // The points; one of them has a grip, and the band that pulls the line.
  function picture(data, set, done) {
    const { svg, short } = explore;
    const left = 48, holder = {};
    const { stage, clip, at, to, inner, fit, axes, place } = explore.plane({ height: 330, top: 12, left, right: 14,
      end: RIGHT, low: LOW, high: HIGH, fill: WITH, ink: "var(--fig-on, #fff)" }, set, done);
    holder.stage = stage;
    // A zigzag between two heights, at a place.
    const band = (u, from, end, color) => {
      const x = at(u), y = to(from), long = to(end) - y, turns = 9;
      const d = `M${x},${y}${Array.from({ length: turns }, (_, k) =>
        `L${x + (k % 2 ? 5 : -5)},${y + long * (k + 0.5) / turns}`).join("")}L${x},${to(end)}`;
      return svg("path", { d, fill: "none", stroke: color, "stroke-width": 2 });
    };
    holder.draw = ({ x, y, who, open, cut }, now, width) => {
      const person = now.people[who], without = now.slope - person.move, name = data.names[who], u = x[who];
      fit(width, `Five points: ${data.names.map((n, k) =>
        `${n} at ${short(x[k])} and ${short(y[k])}`).join(", ")}. ` +
        (open ? `${name}'s band to the line is ${cut ? "cut" : "held"}. The sentence has the slopes of both lines.`
          : "A line through the origin fits them."));
      const reach = Math.log(5) * data.noise;
      const line = (slope, color, dash) => svg("path", { d: `M${inner(0, 0)}L${inner(RIGHT, RIGHT * slope)}`,
        stroke: color, "stroke-width": 2.5, "stroke-dasharray": dash });
      clip.replaceChildren(
        svg("path", { fill: PUBLISHED, "fill-opacity": 0.2, d: `M${inner(0, 0)}L${inner(RIGHT,
          RIGHT * (now.slope + reach))}L${inner(RIGHT, RIGHT * (now.slope - reach))}z` }),
        line(now.slope, WITH, "none"), ...(open && cut ? [line(without, WITHOUT, "7 5")] : []));
      const marks = axes([0.5, 1], [-0.5, 0, 0.5, 1]);
      if (open) {
        const held = now.slope * u, alone = without * u, v = y[who];
        const gap = (end, color, side) => svg("path", { d: `M${at(u) + side},${to(v)}V${to(end)}`, stroke: color,
          "stroke-width": 4, "stroke-linecap": "butt" });
        if (cut) marks.push(gap(held, WITH, u > 0.9 ? -9 : -7), gap(alone, WITHOUT, 0));
        else marks.push(band(u, v, held, INK));
      } else {
        marks.push(...x.map((one, k) => band(one, y[k], now.slope * one, INK)));
      }
      data.names.forEach((one, k) => {
        const mine = open && k === who;
        if (!mine) marks.push(svg("circle", { cx: at(x[k]), cy: to(y[k]), r: 5, fill: "currentColor" }));
        const under = y[k] < now.slope * x[k]; // away from the line
        marks.push(word(one, at(x[k]) + (x[k] > 0.9 ? -14 : 12), to(y[k]) + (under ? 18 : mine ? -12 : -8),
          x[k] > 0.9 ? "end" : "start", { "font-weight": 600 }));
      });
      marks.push(named("fit to all five", left + 12, to(-0.25), WITH, "start"));
      if (open) marks.push(named(cut ? `fit without ${name} (dashed)` : `${name}'s band to the line`, left + 12, to(-0.4), cut ? WITHOUT : INK, "start"));
      place(marks, u, y[who], open);
      return holder;
    };
    return holder;
  }

  // The move as an area: as high as the surprise, as wide as the pull; the residual is a part of it.
  function area(name, { surprise, residual, pull, move }, width) {
    const { chart, short } = explore, high = Math.abs(surprise);
    const axes = chart({ width, height: 200, left: 48,
      label: `A rectangle, ${short(high)} high and ${short(pull)} wide. Its area ${short(Math.abs(move))} is the move of the slope.`,
      x: { low: 0, high: 0.75, ticks: [0, 0.25, 0.5, 0.75], name: "pull" },
      y: { low: 0, high: 1.6, ticks: [0, 0.5, 1, 1.5], name: "surprise" } });
    const box = (top) => [[0, 0], [0, top], [pull, top], [pull, 0]];
    axes.area(box(high), { color: INK, opacity: 0.15 });
    axes.line([...box(high)], { color: INK, width: 1.5 });
    axes.line([[0, Math.abs(residual)], [pull, Math.abs(residual)]], { color: WITH, width: 3 });
    axes.name(`area: ${name} moves the slope by ${short(Math.abs(move))}`, 0.02, 1.42, { color: INK });
    axes.name(`orange: the residual, ${short(Math.abs(residual))}`, 0.02, 1.2, { color: WITH });
    return axes;
  }

  // What may be published with and without, on a logarithmic scale: the gap is the factor.
  function tents(name, slope, without, noise, width) {
    const { bell, chart, short } = explore, low = -0.8, high = 1.6, foot = 0.004;
    const axes = chart({ width, height: 200, left: 48,
      label: `Two tents of one shape around the slopes ${short(slope)} and ${short(without)}: the released slope, with and without ${name}.`,
      x: { low, high, ticks: [-0.5, 0, 0.5, 1, 1.5], name: "released slope" },
      y: { low: foot, high: 30, log: true, ticks: [0.01, 0.1, 1, 10], name: "density (log)" } });
    const tent = (middle, key) => axes.line(bell(middle, noise, low, high).filter(([, v]) => v > foot / 50), key);
    tent(slope, { color: WITH, width: 2.5 });
    tent(without, { color: WITHOUT, dash: "7 5", width: 2.5 });
    axes.name(`with ${name}`, low + 0.06, 15, { color: WITH });
    axes.name(`without: apart by ${short(Math.exp(Math.abs(slope - without) / noise))} times`, high, 15, { color: WITHOUT }, "end");
    return axes;
  }

  function view(data) {
    const { beside, choice, guess, held, literal, short, slider, toggle } = explore;
    const grid = (low, count) => Array.from({ length: count }, (_, k) => Number((low + k * 0.05).toFixed(2)));
    const X = grid(0, 21), Y = grid(-0.5, 31);
    const x = [...data.x], y = [...data.y];
    const begin = solve(x, y, data.lam);
    const ask = guess({ label: "Most of all:", options: data.asked.map((k) => data.names[k]) });
    const who = choice({ label: "Member", options: data.names });
    who.input.selectedIndex = data.who;
    const across = slider({ label: "Attended, x", values: () => X, start: x[data.who], text: (v) => String(v) });
    const up = slider({ label: "Faster, y", values: () => Y, start: y[data.who], text: (v) => String(v) });
    const cut = toggle({ label: "Cut the band" });
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
    const [most] = data.names.map((_, k) => k).sort((j, k) =>
      Math.abs(begin.people[k].move) - Math.abs(begin.people[j].move));
    ask.input.addEventListener("input", () => { // the member that was guessed comes first
      who.input.selectedIndex = data.asked[ask.read()] ?? most;
      who.input.dispatchEvent(new Event("input"));
      cut.write("yes");
    });
    const drawing = picture(data, (u, v) => {
      put(u, v);
      up.input.dispatchEvent(new Event("input"));
    }, () => up.input.dispatchEvent(new Event("change")));
    return {
      title: "A rubber band from a member's point to the line",
      controls: { ask, points: held([x, y], (v) => v >= -0.5 && v <= 1), who, across, up, cut },
      extreme: { who: "Zoe", across: "1", up: "-0.5", cut: "yes" },
      challenge: "Let Zoe attend, and give her a label with which nothing moves when her band is cut.",
      python: ({ who: k }) => `import numpy as np
from pdpbook.ridge import leave_one_out

x = np.array(${literal(x)})
y = np.array(${literal(y)})
fit = leave_one_out(x[:, None], y, ${data.lam})
print(fit.move[${k}, 0])  # of the slope, without ${data.names[k]}`,
      show({ ask: given, who: k, across: u, up: v, cut: loose }, width) {
        const open = given >= 0;
        if (open) [x[k], y[k]] = [u, v];
        const now = solve(x, y, data.lam), { surprise, pull, leverage, residual, move } = now.people[k];
        const name = data.names[k], [first, second] = beside(width, Math.round(width / 2) - 8);
        return {
          charts: [drawing.draw({ x, y, who: k, open, cut: loose }, now, width),
            ...(open ? [area(name, now.people[k], first), tents(name, now.slope, now.slope - move, data.noise, second)] : [])],
          text: !open ? "Each member pulls the line with a rubber band. Whose band moves it most when it is cut?" :
            `The slope is ${short(now.slope)}, without ${name} ${short(now.slope - move)}. ` +
            `Surprise ${short(surprise)} times pull ${short(pull)} is the move, ${short(move)}. ` +
            `${name}'s leverage is ${short(leverage)}, so the residual shows ${short(100 * (1 - leverage))} percent ` +
            `of the surprise, ${short(residual)}. With ${name} no released slope is more than ` +
            `${short(Math.exp(Math.abs(move) / data.noise))} times as likely, or as unlikely, as without.`,
          verdict: ask.verdict(data.asked.indexOf(most), `${data.names[most]} moved the slope most, by ` +
            `${short(begin.people[most].move)}`),
          met: data.names[k] === "Zoe" && u > 0 && Math.abs(move) < 0.005,
          table: {
            caption: "Each member: surprise to the others, pull, and their product, the move of the slope",
            head: ["member", "surprise", "pull", "move"],
            rows: data.names.map((one, j) => {
              const p = now.people[j];
              return [one, ...[p.surprise, p.pull, p.move].map((t) => t.toFixed(3).replace(/^-(0\.000)$/, "$1"))];
            }),
          },
        };
      },
    };
  }

  return { solve, view };
})();
explore.mount("ridge", explore.ridge.view);
