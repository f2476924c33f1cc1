// One budget for all: the smallest of six, and the noise that follows.
"use strict";

explore.careful = (() => {
  // Everything the figure shows; the last of the budgets is yours. The scale of the noise, in
  // days, is the mean distance by which it moves the average.
  function solve({ epsilon, width, copies }, own) {
    const budgets = [...epsilon, own], least = Math.min(...budgets);
    return { budgets, least, scale: width / (copies * budgets.length * least) };
  }

  function view(data) {
    const { INK, bell, chart, guess, literal, short, slider, steps } = explore;
    const own = slider({ label: "Your budget", values: () => steps(0.05, 2), start: data.own,
      text: (v) => `ε = ${v}`, share: "own" });
    const ask = guess({ label: "The noise for all 600:",
      options: ["stays as it is", "grows by a sixth", "doubles"] });
    const size = (e) => short(solve(data, e).scale);
    const names = [...data.names, "you"];
    return {
      title: "Six budgets, and the noise if the smallest holds for all",
      controls: { ask, own },
      extreme: { own: "0.05" },
      python: ({ own: mine }) => `import numpy as np
from pdpbook.personalized import PersonalizedMean

epsilon = np.repeat(${literal([...data.epsilon, mine])}, ${data.copies})
same = np.full(len(epsilon), epsilon.min())
y = np.full(len(epsilon), 3.0)
model = PersonalizedMean(y_bounds=(0, ${data.width}))
law = model.output_law(y[:, None], y, epsilon=same)
print(${data.width} / 2 / law.eta)  # the noise, in days`,
      show({ ask: given, own: mine }, width) {
        const open = given >= 0, now = solve(data, open ? mine : data.own), tall = Math.max(1, ...now.budgets);
        const bars = chart({
          width, height: 210, x: { low: 0.4, high: 6.6, ticks: [], name: "" },
          y: { low: 0, high: 1.1 * tall, ticks: [0, 0.5, 1, 1.5, 2].filter((v) => v <= tall), name: "budget" },
          label: "Bars: the budgets of the six groups, filled up to the smallest. The table has the numbers.",
        });
        now.budgets.forEach((e, k) => {
          const color = k === 5 ? INK.warm : INK.blue;
          bars.bar(k + 1, 0.34, e, { fill: "none", color });
          bars.bar(k + 1, 0.34, now.least, { fill: color, color });
          bars.name(String(e), k + 1, e + 0.04 * tall, { color }, "middle");
          bars.name(names[k], k + 1, -0.13 * tall, { color: "currentColor" }, "middle");
        });
        bars.level(now.least, { color: INK.soft, dash: "5 4", width: 1.5 });
        const curve = chart({
          width, height: 190, x: { low: 2, high: 4, ticks: [2, 2.5, 3, 3.5, 4], name: "published average (days a week)" },
          y: { low: 0, high: 6.8, ticks: [], name: "how likely" },
          label: open ? "A hill around the true average of 3 days: what may be published. The sentence has the numbers."
            : "Axes around the true average of 3 days. The hill of the smallest budget 0.1; the other is drawn after your guess.",
        });
        curve.upright(3, { color: INK.soft, width: 1, dash: "3 3" });
        if (open) {
          const draw = (e, at, key) => {
            const { least, scale } = solve(data, e);
            curve.line(bell(3, scale, 2, 4), key);
            curve.name(`smallest ${least}`, at, 0.8 * Math.exp((at - 3) / scale) / (2 * scale) + 1.2, key, "end");
          };
          if (now.least > 0.05) draw(0.05, 2.85, { color: INK.soft, dash: "5 4" });
          draw(mine, 2.95, { color: INK.blue, width: 3 });
        } else {
          curve.line(bell(3, solve(data, 0.1).scale, 2, 4), { color: INK.soft, dash: "5 4" });
          curve.name("smallest 0.1", 2.82, 2.6, { color: INK.soft }, "end");
        }
        return {
          charts: [bars, curve],
          text: !open ? "The filled part of each bar is what one common promise uses. Guess, then move your budget." :
            `Now your budget is ${mine}: the smallest is ${now.least}, and the noise is ${short(now.scale)} days.`,
          verdict: ask.verdict(2, `with 0.1 as the smallest budget the noise is ${size(0.1)} days, with 0.05 it is ` +
              `${size(0.05)}, twice as much for all`),
          table: {
            caption: "Each group: its budget, and the budget that one common promise uses",
            head: ["group", "budget", "used"],
            rows: now.budgets.map((e, k) => [names[k], String(e), String(now.least)]),
          },
        };
      },
    };
  }

  return { solve, view };
})();
explore.mount("careful", explore.careful.view);
