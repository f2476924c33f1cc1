// The shape of noise on two totals: an ellipse that must hold everybody's step, at the least total variance.
"use strict";

explore.tilt = (() => {
  // A step in units of the noise, squared: variances along an axis turned by so many degrees, and across.
  function exposure([u, v], along, across, degrees) {
    const t = degrees * Math.PI / 180, c = Math.cos(t), s = Math.sin(t);
    return (u * c + v * s) ** 2 / along + (v * c - u * s) ** 2 / across;
  }

  const { rate } = explore;

  // The cheapest variances for everybody along and across these axes: convex in the second one.
  function cheapest(moves, degrees) {
    const squares = moves.map((m) => [exposure(m, 1, Infinity, degrees), exposure(m, Infinity, 1, degrees)]);
    const along = (across) => Math.max(...squares.map(([p, q]) => p / (1 - q / across)));
    let low = Math.max(...squares.map(([, q]) => q)) + 1e-9, high = 1000;
    for (let turn = 0; turn < 200; turn += 1) {
      const one = low + (high - low) / 3, two = high - (high - low) / 3;
      if (along(one) + one < along(two) + two) high = two; else low = one;
    }
    return [along(high), high];
  }

  function ellipse(along, across, degrees) {
    const t = degrees * Math.PI / 180, c = Math.cos(t), s = Math.sin(t);
    return Array.from({ length: 121 }, (_, k) => {
      const p = Math.sqrt(along) * Math.cos(k * Math.PI / 60), q = Math.sqrt(across) * Math.sin(k * Math.PI / 60);
      return [p * c - q * s, p * s + q * c];
    });
  }

  function view(data) {
    const { INK, chart, guess, html, literal, slider } = explore, { names, moves } = data;
    const range = (low, high, step) => Array.from({ length: (high - low) / step + 1 }, (_, k) => low + k * step);
    const variances = range(1, 120, 1), turns = range(0, 90, 5);
    const ask = guess({ label: "The best shape needs:", options: data.guesses });
    const turn = slider({ label: "Tilt of the first axis", values: () => turns, start: 0, text: (v) => `${v}°` });
    const along = slider({ label: "Variance along it", values: () => variances, start: data.round, text: String });
    const across = slider({ label: "Variance across", values: () => variances, start: data.round, text: String });
    const press = html("button", { type: "button" }, "Cheapest for this tilt");
    const best = html("fieldset", { class: "explore-control explore-press" }, press);
    press.addEventListener("click", () => {
      const found = cheapest(moves, turns[turn.input.value]);
      [along, across].forEach(({ input }, k) => { input.value = Math.ceil(found[k] - 1e-6) - variances[0]; });
      best.dispatchEvent(new Event("input"));
    });
    const least = turns.map((t) => [t, cheapest(moves, t).reduce((sum, one) => sum + one)]);
    const low = Math.min(...least.map(([, sum]) => sum));
    return {
      title: "The shape of the noise",
      controls: { ask, turn, along, across, best: { row: best, input: best, read: () => 0 } },
      extreme: { along: "120", across: "1" },
      challenge: "Hide everybody with a total of 72.",
      python: ({ turn: t, along: a, across: b }) => `import numpy as np
from pdpbook.pac import gaussian_success_rate

t = np.deg2rad(${t})
axes = np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]])
steps = np.array([${moves.map(literal).join(", ")}])
size = np.sqrt((steps @ axes)**2 @ [1 / ${a}, 1 / ${b}])
print(gaussian_success_rate(size).max())  # of the best guess`,
      show({ ask: given, turn: t, along: a, across: b }, width) {
        const wide = Math.min(width, 340), high = wide - 8, bound = 11.5, sum = a + b;
        const ticks = [-10, -5, 0, 5, 10];
        const plane = chart({ width: wide, height: high, left: 48,
          x: { low: -bound, high: bound, ticks, name: "mornings" }, y: { low: -bound, high: bound, ticks, name: "evenings" },
          label: `Five steps from the origin and the ellipse of the noise. The sentence and the table have the numbers.` });
        plane.line(ellipse(a, b, t), { color: INK.blue, width: 2.5 });
        if (a !== b) plane.line([0, 1].map((k) => ellipse(a, b, t)[60 * k]), { color: INK.blue, dash: "3 4", width: 1 });
        const rates = moves.map((m) => exposure(m, a, b, t)), out = names.filter((_, k) => rates[k] > 1 + 1e-9);
        names.forEach((name, k) => {
          const color = rates[k] > 1 + 1e-9 ? INK.warm : "currentColor", [u, v] = moves[k], [x, y, anchor] = data.places[k];
          plane.line([[0, 0], moves[k]], { color, width: 1.6 });
          plane.mark(u, v, { shape: "circle", color });
          plane.name(name, u + x, v + y, { color }, anchor);
        });
        const curve = chart({ width: wide, height: 170, left: 48,
          x: { low: 0, high: 90, ticks: [0, 15, 30, 45, 60, 75, 90], name: "tilt of the first axis (degrees)" },
          y: { low: 60, high: 112, ticks: [60, 80, 100], name: "total" },
          label: `The least total variance against the tilt: ${least[0][1].toFixed(0)} at 0, ${low.toFixed(0)} at 45 degrees.` });
        curve.line(least, { color: INK.soft });
        curve.name("cheapest for each tilt", 2, 64, { color: INK.soft });
        const yours = { shape: "circle", color: out.length ? INK.warm : INK.blue };
        curve.mark(t, sum, yours);
        if (sum >= 60 && sum <= 112)
          curve.name(out.length ? "yours: not enough" : "yours", t + (t > 45 ? -3 : 3), Math.min(sum + 1, 108), yours, t > 45 ? "end" : "start");
        const worst = rates.indexOf(Math.max(...rates));
        return {
          charts: given < 0 ? [plane] : [plane, curve],
          text: given < 0 ? `Round noise with variance ${data.round} in each direction, ${2 * data.round} together, hides everybody. ` +
            "How little can noise of another shape need?"
            : `Tilt ${t} degrees, total variance ${a} + ${b} = ${sum}. ` + (out.length
              ? `Outside the ellipse: ${out.join(" and ")}. `
              : `Nobody is outside: everybody is hidden. The least with this tilt is ${(least[turns.indexOf(t)][1]).toFixed(1)}. `) +
              `The best guess is right most often about ${names[worst]}, with probability ${rate(rates[worst]).toFixed(3)}; ` +
              `the ceiling is ${rate(1).toFixed(3)}.`,
          verdict: ask.verdict(data.right, given === data.right || given === data.guesses.length ? data.answer
            : given < data.right ? "less is enough" : "more is needed"),
          met: !out.length && sum <= 72,
          table: {
            caption: "Each member's step, squared in units of the noise, and the best rate of whoever knows all others",
            head: ["member", "step", "squared", "best rate"],
            rows: names.map((name, k) => [name, moves[k].join(", "), rates[k].toFixed(2), rate(rates[k]).toFixed(3)]),
          },
        };
      },
    };
  }

  return { exposure, rate, cheapest, view };
})();
explore.mount("tilt", explore.tilt.view);
