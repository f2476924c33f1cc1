// A line through a handful of points: the fit with and without one person, whose point is dragged.
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

  const { BLUE, VERMILION: WARM } = explore;
  const LOW = -0.5, HIGH = 1, RIGHT = 1.1; // of y, and the end of the lines

  const { named, word } = explore;

  // The points; one of them has a grip.
  function picture(data, set, done) {
    const { svg, short } = explore;
    const left = 48, holder = {};
    const { stage, clip, at, to, inner, fit, axes, place } = explore.plane({ height: 330, top: 12, left, right: 14,
      end: RIGHT, low: LOW, high: HIGH, fill: WARM, ink: "var(--fig-on, #fff)" }, set, done);
    holder.stage = stage;
    holder.draw = ({ x, y, who, open }, now, width) => {
      fit(width, `Five points: ${data.names.map((n, k) =>
        `${n} at ${short(x[k])} and ${short(y[k])}`).join(", ")}. ` +
        (open ? "The sentence has the slopes of both lines." : "A line through the origin fits them."));
      const reach = Math.log(5) * data.noise;
      const line = (slope, color, dash) => svg("path", { d: `M${inner(0, 0)}L${inner(RIGHT, RIGHT * slope)}`,
        stroke: color, "stroke-width": 2.5, "stroke-dasharray": dash });
      const person = now.people[who], without = now.slope - person.move;
      clip.replaceChildren(
        svg("path", { fill: BLUE, "fill-opacity": 0.2, d: `M${inner(0, 0)}L${inner(RIGHT,
          RIGHT * (now.slope + reach))}L${inner(RIGHT, RIGHT * (now.slope - reach))}z` }),
        line(now.slope, BLUE, "none"), ...(open ? [line(without, WARM, "7 5")] : []));
      const marks = axes([0.5, 1], [-0.5, 0, 0.5, 1]);
      data.names.forEach((name, k) => {
        const mine = open && k === who;
        if (!mine) marks.push(svg("circle", { cx: at(x[k]), cy: to(y[k]), r: 5, fill: "currentColor" }));
        const under = y[k] < now.slope * x[k]; // away from the line
        marks.push(word(name, at(x[k]) + (x[k] > 0.9 ? -12 : 10), to(y[k]) + (under ? 18 : mine ? -12 : -8),
          x[k] > 0.9 ? "end" : "start", { "font-weight": 600 }));
      });
      marks.push(named("fit to all five", left + 12, to(-0.25), BLUE, "start"));
      if (open) marks.push(named(`fit without ${data.names[who]} (dashed)`, left + 12, to(-0.4), WARM, "start"));
      place(marks, x[who], y[who], open);
      return holder;
    };
    return holder;
  }

  function view(data) {
    const { choice, guess, held, literal, short, slider } = explore;
    const grid = (low, count) => Array.from({ length: count }, (_, k) => Number((low + k * 0.05).toFixed(2)));
    const X = grid(0, 21), Y = grid(-0.5, 31);
    const x = [...data.x], y = [...data.y];
    const first = solve(x, y, data.lam);
    const ask = guess({ label: "Most of all:", options: data.asked.map((k) => data.names[k]) });
    const who = choice({ label: "Member", options: data.names });
    who.input.selectedIndex = data.who;
    const across = slider({ label: "Attended, x", values: () => X, start: x[data.who], text: (v) => String(v) });
    const up = slider({ label: "Faster, y", values: () => Y, start: y[data.who], text: (v) => String(v) });
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
      Math.abs(first.people[k].move) - Math.abs(first.people[j].move));
    ask.input.addEventListener("input", () => { // the member that was guessed comes first
      who.input.selectedIndex = data.asked[ask.read()] ?? most;
      who.input.dispatchEvent(new Event("input"));
    });
    const drawing = picture(data, (u, v) => {
      put(u, v);
      up.input.dispatchEvent(new Event("input"));
    }, () => up.input.dispatchEvent(new Event("change")));
    return {
      title: "A line with and without one member",
      controls: { ask, points: held([x, y], (v) => v >= -0.5 && v <= 1), who, across, up },
      extreme: { who: "Zoe", across: "1", up: "-0.5" },
      challenge: "Move Zoe to a place where leaving moves nothing, without x = 0.",
      python: ({ who: k }) => `import numpy as np
from pdpbook.ridge import leave_one_out

x = np.array(${literal(x)})
y = np.array(${literal(y)})
fit = leave_one_out(x[:, None], y, ${data.lam})
print(fit.move[${k}, 0])  # of the slope, without ${data.names[k]}`,
      show({ ask: given, who: k, across: u, up: v }, width) {
        const open = given >= 0;
        if (open) [x[k], y[k]] = [u, v];
        const now = solve(x, y, data.lam), { surprise, pull, leverage, residual, move } = now.people[k];
        const name = data.names[k];
        return {
          charts: [drawing.draw({ x, y, who: k, open }, now, width)],
          text: !open ? "Whose absence moves the line most? The fit without a member is drawn after your guess." :
            `The slope is ${short(now.slope)}, without ${name} ${short(now.slope - move)}. ` +
            `Surprise ${short(surprise)} times pull ${short(pull)} is the move, ${short(move)}. ` +
            `${name}'s leverage is ${short(leverage)}, so the residual shows ${short(100 * (1 - leverage))} percent ` +
            `of the surprise, ${short(residual)}. With ${name} no released slope is more than ` +
            `${short(Math.exp(Math.abs(move) / data.noise))} times as likely, or as unlikely, as without.`,
          verdict: ask.verdict(data.asked.indexOf(most), `${data.names[most]} moved the slope most, by ` +
            `${short(first.people[most].move)}`),
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
