// Sixteen dots on a concave curve, one for each group that the others can form, and their center below it.
"use strict";

explore.concave = (() => {
  // For each group: the squared step in units of the noise, and the best rate; their means, and the ceiling.
  function solve(steps, noise) {
    const squares = steps.map((one) => (one / noise) ** 2), rates = squares.map(explore.rate);
    const mean = (list) => list.reduce((sum, v) => sum + v, 0) / list.length;
    const square = mean(squares);
    return { squares, rates, square, rate: mean(rates), ceiling: explore.rate(square) };
  }

  const END = 16; // of the axis of squares

  function drawing({ squares, rates, square, rate, ceiling }, name, open, width) {
    const { BLUE, INK, chart, short } = explore;
    const axes = chart({ width, height: 300, left: 50,
      x: { low: -0.3, high: END, ticks: [0, 4, 8, 12, 16], name: `squared step of ${name}, in units of the noise` },
      y: { low: 0.48, high: 1.04, ticks: [0.5, 0.6, 0.7, 0.8, 0.9, 1], name: "right guesses" },
      label: `Sixteen dots on a curve that rises ever more slowly from one half to 1. ` + (open
        ? `Their center, at ${short(rate)}, hangs below the curve, which is at ${short(ceiling)} there.`
        : "Their center is drawn after your guess.") });
    const grid = Array.from({ length: 161 }, (_, k) => END * (k / 160) ** 2);
    axes.line(grid.map((u) => [u, explore.rate(u)]), { color: INK.soft, width: 2 });
    if (open) squares.forEach((u, k) => axes.line([[square, rate], [u, rates[k]]], { color: INK.soft, width: 0.6 }));
    squares.forEach((u, k) => axes.mark(u, rates[k], { shape: "circle", color: INK.warm }));
    axes.level(ceiling, { color: BLUE, dash: "6 4", width: 1.5 });
    axes.name(`ceiling ${ceiling.toFixed(3)}`, END, ceiling + (ceiling > 0.95 ? -0.035 : 0.012), { color: BLUE }, "end");
    if (open) {
      axes.line([[square, rate], [square, ceiling]], { color: BLUE, width: 2.5 });
      axes.mark(square, rate, { shape: "square", color: BLUE });
      axes.name(`center ${rate.toFixed(3)}`, square + 0.4, rate - 0.028, { color: BLUE });
    } else {
      axes.line([[square, 0.48], [square, ceiling]], { color: BLUE, width: 1, dash: "2 3" });
    }
    return axes;
  }

  function view(data) {
    const { choice, guess, literal, short, slider } = explore;
    const ask = guess({ label: "Right in all, on average:", options: data.guesses });
    const who = choice({ label: "Member", options: data.names });
    const noise = slider({ label: "Size of the noise", values: () => data.levels, start: data.noise, text: (v) => `${v} notes` });
    const first = solve(data.steps[0], data.noise), name = data.names[0];
    return {
      title: "Sixteen groups of the others: a ceiling, and how far the mean stays below it",
      controls: { ask, who, noise },
      extreme: { who: name, noise: String(data.levels[0]) },
      challenge: "Bring the center within 0.01 of the ceiling.",
      python: ({ who: k, noise: sigma }) => `import numpy as np
from pdpbook.pac import gaussian_success_rate

steps = np.array(${literal(data.steps[k])})  # one for each group
print(gaussian_success_rate(steps / ${sigma}).mean())`,
      show({ ask: given, who: k, noise: sigma }, width) {
        const open = given >= 0, now = solve(data.steps[k], sigma), one = data.names[k];
        const most = Math.max(...now.rates), sure = most > 0.9995 ? "more than 0.999" : most.toFixed(3);
        return {
          charts: [drawing(now, one, open, width)],
          text: !open ? `The average of the notes is published with noise of ${sigma}. Each dot is one of the sixteen groups that the others ` +
            `can form: how far ${name} moves the average then, and how often somebody is right who knows the others. ` +
            `The mean square allows a ceiling of ${first.ceiling.toFixed(2)}. How often is this guesser right in all?` :
            `With noise of ${sigma} the mean rate about ${one} is ${now.rate.toFixed(3)}, and the ceiling ${now.ceiling.toFixed(3)}: the curve is ` +
            `concave, so the center of dots on it lies below. In the group where ${one} moves the average most, the rate is ${sure}: ` +
            "the ceiling holds for the mean, not for each group.",
          verdict: ask.verdict(data.right, `with noise of ${data.noise} the mean rate about ${name} is ${first.rate.toFixed(3)}`),
          met: now.ceiling - now.rate < 0.01,
          table: {
            caption: `Each member, the average published with noise of ${sigma}: mean rate, ceiling, and the rate in the worst group`,
            head: ["member", "mean", "ceiling", "worst group"],
            rows: data.names.map((each, j) => {
              const p = solve(data.steps[j], sigma);
              return [each, ...[p.rate, p.ceiling, Math.max(...p.rates)].map((v) => v.toFixed(3))];
            }),
          },
        };
      },
    };
  }

  return { solve, view };
})();
explore.mount("concave", explore.concave.view);
