// Many records: a cap for each person, in proportion to the budget, and the error that follows.
"use strict";

explore.records = (() => {
  const sum = (list) => list.reduce((total, v) => total + v, 0);
  const all = (data, own, mine) => ({ sizes: [...data.sizes, mine], budgets: [...data.epsilon, own] });

  // How many records of each member count, and the typical errors: see thm-personal-users.
  function solve(data, own, mine, cap) {
    const { sizes, budgets } = all(data, own, mine);
    const counts = sizes.map((s, k) => Math.min(s, cap * budgets[k])), n = data.copies * sum(counts);
    const records = Math.sqrt(data.sigma2 * data.copies * sum(counts.map((r, k) => r * r / sizes[k]))) / n;
    const noise = Math.SQRT2 * data.width * Math.max(...counts.map((r, k) => r / budgets[k])) / n;
    return { counts, records, noise, both: Math.hypot(records, noise) };
  }

  // The cap of least error: the largest of these fractions.
  function best(data, own, mine) {
    const { sizes, budgets } = all(data, own, mine);
    const factor = data.copies * data.sigma2 / (2 * data.width ** 2);
    let found = 0, linear = 0, square = 0;
    for (const k of sizes.map((_, j) => j).sort((i, j) => sizes[j] / budgets[j] - sizes[i] / budgets[i])) {
      linear += budgets[k];
      square += budgets[k] ** 2 / sizes[k];
      found = Math.max(found, factor * linear / (1 + factor * square));
    }
    return found;
  }

  // A row for each member: as long as what they handed in, filled as far as it counts.
  function rows(names, sizes, counts, width, label) {
    const { INK, short, svg } = explore;
    const each = 30, left = 46, unit = (width - left - 84) / Math.max(40, ...sizes), height = each * names.length + 14;
    const parts = names.flatMap((name, k) => {
      const y = each * k + 6, color = k === 5 ? INK.warm : INK.blue;
      const bar = (long, fill) => svg("rect", { x: left, y, width: unit * long, height: 20, fill, stroke: color });
      const word = (text, x, anchor, style) => svg("text", { x, y: y + 15, "text-anchor": anchor, style, class: "explore-name" }, text);
      return [bar(sizes[k], "none"), ...(counts ? [bar(counts[k], color)] : []), word(name, left - 8, "end", ""),
        word(counts ? `${short(counts[k])} of ${sizes[k]}` : String(sizes[k]), left + unit * sizes[k] + 6, "start", `fill:${color}`)];
    });
    return { stage: svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, ...parts) };
  }

  function view(data) {
    const { INK, chart, guess, literal, ratios, short, slider, steps } = explore;
    const caps = [...new Set([...ratios(0.5, 80, 120).map((v) => Number(v.toPrecision(3))), 1, 20, 40, data.cap])]
      .sort((one, other) => one - other);
    const cap = slider({ label: "Zoe's cap", values: () => caps, start: 20, text: (v) => short(v) });
    const mine = slider({ label: "Your records", values: () => [1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40], start: data.mine,
      text: (v) => (v === 1 ? "1 week" : `${v} weeks`) });
    const own = slider({ label: "Your budget", values: () => steps(0.05, 2), start: data.own, text: (v) => `ε = ${v}`, share: "own" });
    const ask = guess({ label: "Of Zoe's 40, count:", options: ["1", "about 8", "20", "all 40"] });
    const names = [...data.names, "you"];
    return {
      title: "How many records of each member count, and the error of the average",
      controls: { ask, cap, mine, own },
      extreme: { cap: "80" },
      challenge: "Find the cap with the smallest error.",
      python: ({ mine: weeks, own: asked }) => `import numpy as np
from pdpbook.user_level import tradeoff_weights

epsilon = np.repeat(${literal([...data.epsilon, asked])}, ${data.copies})
records = np.repeat(${literal([...data.sizes, weeks])}, ${data.copies})
tradeoff = ${data.sigma2} / (2 * ${data.width}**2)  # variance of a record and of the noise
print(tradeoff_weights(records, tradeoff, epsilon).h)  # Zoe's best cap`,
      show({ ask: given, cap: h, mine: weeks, own: asked }, width) {
        const open = given >= 0, budget = open ? asked : data.own;
        const now = solve(data, budget, weeks, h), { sizes, budgets } = all(data, budget, weeks);
        const top = best(data, budget, weeks), least = solve(data, budget, weeks, top);
        const bars = rows(names, sizes, open && now.counts, width,
          "Bars: the records of each member, filled as far as they count. The table has the numbers.");
        const lines = chart({
          width, height: 220, left: 60,
          x: { low: 0.5, high: 80, log: true, ticks: [0.5, 1, 2, 5, 10, 20, 40, 80], name: "Zoe's cap (records)" },
          y: { low: 0, high: 0.1, ticks: [0, 0.02, 0.04, 0.06, 0.08, 0.1], name: "error (days)" },
          label: "A valley: the typical error against the cap, with its two parts. The sentence has the numbers.",
        });
        if (open) {
          lines.upright(h, { color: INK.soft, width: 1 });
          const points = ratios(0.5, 80, 160).map((v) => [v, solve(data, budget, weeks, v)]);
          const draw = (part, key) => lines.line(points.map(([v, one]) => [v, one[part]]), key);
          draw("records", { color: INK.soft, dash: "2 3" });
          draw("noise", { color: INK.soft, dash: "7 4" });
          draw("both", { color: INK.blue, width: 3 });
          lines.name("typical error", 0.55, points[0][1].both + 0.006, { color: INK.blue });
          lines.name("from the records", 80, points.at(-1)[1].records - 0.0115, { color: INK.soft }, "end");
          lines.name("from the noise", 0.55, points[0][1].noise - 0.0115, { color: INK.soft });
          lines.mark(top, least.both, { shape: "circle", color: INK.blue }, true);
          lines.mark(h, now.both, { shape: "circle", color: INK.blue });
        }
        return {
          charts: open ? [bars, lines] : [bars],
          text: !open ? "Each bar is what one member handed in. How far should Zoe's be filled?" :
            `Now your budget is ${budget} and you have ${weeks} ${weeks === 1 ? "record" : "records"}. ` +
            `With Zoe's cap at ${short(h)}, and yours at ${short(h * budget)}, the typical error is ${now.both.toPrecision(2)} days ` +
            `(records ${now.records.toPrecision(2)}, noise ${now.noise.toPrecision(2)}). The best cap for Zoe is ${short(top)}, ` +
            `yours then is ${short(top * budget)}, and the error ${least.both.toPrecision(2)}.`,
          verdict: ask.verdict(1, `with your budget at ${data.own} and your ${data.mine} records Zoe's best cap is ${short(data.cap)}`),
          met: now.both < 1.001 * least.both,
          table: {
            caption: "Each member: records, budget, and records that count",
            head: ["member", "records", "budget", "count for"],
            rows: sizes.map((s, k) => [names[k], String(s), String(budgets[k]), short(now.counts[k])]),
          },
        };
      },
    };
  }

  return { solve, best, view };
})();
explore.mount("records", explore.records.view);
