// The four parts of the error of a private slope, by members, penalty and the budgets of the careful.
"use strict";

explore.errors = (() => {
  const sum = (list) => list.reduce((total, v) => total + v, 0);

  // Mean squares: what the penalty makes, the noise, luck if all counted the same, and what
  // unequal weights add to that; see thm-sharp-accuracy. Groups have the same size.
  function solve(data, { members, lam, factor }) {
    const budgets = data.budgets.map((e, k) => data.careful.includes(k) ? e * factor : e);
    const copies = members / budgets.length, total = copies * sum(budgets);
    const constant = 2 / lam * (1 + Math.min(1 / Math.sqrt(lam), 1 / lam)); // as published, one feature
    const pull = data.second + lam;
    const luck = (squares) => data.sigma ** 2 * data.second * squares / pull ** 2;
    const equal = luck(1 / members);
    const penalty = (lam * data.theta / pull) ** 2, noise = 2 * (constant / total) ** 2;
    const less = luck(copies * sum(budgets.map((e) => e * e)) / total ** 2) - equal;
    return { penalty, noise, equal, less, all: penalty + noise + equal + less };
  }

  const BLUE = "var(--fig-blue, #0072b2)", WARM = "var(--fig-warm, #b84a00)";
  const GREEN = "var(--fig-green, #00795a)", PINK = "var(--fig-pink, #a6437f)";
  const SOFT = "var(--fig-soft, #6b737d)";
  const PARTS = [["penalty", GREEN, "penalty", "10 4"], ["noise", WARM, "noise", "none"],
    ["equal", BLUE, "luck", "none"], ["less", PINK, "listening less", "3 3"]];

  // One bar, the mean square error: its parts, with their names in the colors of the curves.
  function bar(now, width, open) {
    const { svg } = explore;
    const columns = width > 520 ? 4 : 2, rows = PARTS.length / columns;
    const step = columns === 4 ? width / 4 : 0.42 * width; // the longest name is in the last column
    const height = 34 + 20 * rows;
    const stage = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": open ? "A bar, the mean square error, in four parts. The sentence has the numbers."
        : "A bar, the mean square error. Its parts are drawn after your guess." });
    let x = 0;
    PARTS.forEach(([part, color, name], k) => {
      const share = now[part] / now.all, wide = width * share;
      if (open) stage.append(svg("rect", { x, y: 0, width: Math.max(wide, 0), height: 22, fill: color }));
      else if (!k) stage.append(svg("rect", { x: 0, y: 0, width, height: 22, fill: SOFT, "fill-opacity": 0.35 }));
      x += wide;
      stage.append(svg("text", { x: step * (k % columns), y: 40 + 20 * Math.floor(k / columns),
        style: `fill:${color}`, class: "explore-name" },
        `${name} ${open ? percent(share) : "?"}`));
    });
    stage.append(svg("rect", { x: 0.5, y: 0.5, width: width - 1, height: 21, fill: "none", stroke: SOFT }));
    return { stage };
  }

  const plain = (v) => String(Number(v.toPrecision(2)));
  const percent = (share) => `${plain(100 * share)} %`;
  const counted = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

  function curves(data, now, width, open) {
    const { chart, ratios } = explore;
    const drawn = chart({
      width, height: 270, left: 58,
      label: open ? "Four parts of the error against the number of members, both on logarithmic scales, and the "
        + "whole error above them. A vertical line marks the chosen number."
        : "The whole error falls with the number of members. Its parts are drawn after your guess.",
      x: { low: 400, high: 1e6, ticks: [1e3, 1e4, 1e5], name: "members", log: true },
      y: { low: 3e-4, high: 3, ticks: [0.001, 0.01, 0.1, 1], name: "error (minutes)", log: true },
    });
    const points = ratios(400, 1e6, 60).map((members) => [members, solve(data, { ...now, members })]);
    const curve = (part) => points.map(([members, one]) => [members, Math.sqrt(one[part])]);
    drawn.upright(now.members, { color: SOFT, width: 1.5 });
    drawn.line(curve("all"), { color: "currentColor", width: 4.5 });
    if (!open) return drawn;
    for (const [part, color, , dash] of PARTS) drawn.line(curve(part), { color, dash, width: 2.2 });
    return drawn;
  }

  function view(data) {
    const { guess, literal, short, slider, steps } = explore;
    const start = { members: data.members, lam: data.lam, factor: 1 };
    const sorted = (list) => list.sort((a, b) => a - b);
    const crowds = sorted([...steps(400, 8e5), data.members]), penalties = sorted([...steps(0.01, 2), data.lam]);
    const ask = guess({ label: "What costs more:", options: data.guesses });
    const members = slider({ label: "Members", values: () => crowds, start: data.members, text: counted });
    const lam = slider({ label: "Penalty", values: () => penalties, start: data.lam,
      text: (v) => v === data.lam ? "1/9" : String(v) });
    const factor = slider({ label: `Budgets of ${data.names}`, start: 1, text: (v) => `times ${v}`,
      values: () => [0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 4, 5] });
    const first = solve(data, start);
    return {
      title: "Where the error of a private slope comes from",
      controls: { ask, members, lam, factor },
      extreme: { members: "800000" },
      challenge: "Find a crowd in which listening less costs more than the noise.",
      python: ({ members: many, lam: penalty, factor: times }) => `import numpy as np
from pdpbook.personalized import PDPRidge, mean_square_error, pdp_weights

own = ${literal(data.budgets.map((e, k) => (data.careful.includes(k) ? e * times : e)))}
epsilon = np.repeat(own, ${many / data.budgets.length})
x = np.full((len(epsilon), 1), ${data.second}**0.5)
law = PDPRidge(${penalty}, proof="published").output_law(
    x, x[:, 0], epsilon=epsilon)
error = mean_square_error(x, ${penalty}, pdp_weights(epsilon), law.eta,
                          theta=[${data.theta}], sigma=${data.sigma})
print(error.total**0.5)  # minutes`,
      show({ ask: given, ...chosen }, width) {
        const open = given >= 0, at = open ? chosen : start, now = solve(data, at);
        const root = (v) => short(Math.sqrt(v));
        return {
          charts: [bar(now, width, open), curves(data, at, width, open)],
          text: !open ? `For ${counted(data.members)} members: which part of the mean square error is larger?` :
            `With ${counted(at.members)} members and penalty ${at.lam === data.lam ? "1/9" : at.lam} the typical error is ` +
            `${root(now.all)} minutes. Of its square the penalty makes ${percent(now.penalty / now.all)}, the noise ` +
            `${percent(now.noise / now.all)}, luck ${percent(now.equal / now.all)} if all counted the same, and ` +
            `listening less to the careful another ${percent(now.less / now.all)}.`,
          verdict: ask.verdict(data.right, `the noise adds ${plain(first.noise)} to the mean square error, ` +
            `listening less to the careful ${plain(first.less)}`),
          met: now.less > now.noise,
          table: {
            caption: "The parts of the error: their size in minutes, and their shares of the mean square",
            head: ["part", "minutes", "share"],
            rows: [...PARTS.map(([part, , name]) => [name, root(now[part]), percent(now[part] / now.all)]),
              ["together", root(now.all), "100 %"]],
          },
        };
      },
    };
  }

  return { solve, view };
})();
explore.mount("errors", explore.errors.view);
