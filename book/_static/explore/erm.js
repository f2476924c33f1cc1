// Arrows cut by record or by person: what each member is promised, and the bound on the loss.
"use strict";

explore.erm = (() => {
  const sum = (list) => list.reduce((total, v) => total + v, 0);

  // Everything the figure shows; see thm-weighted-erm. `record` is the rule that cuts every record.
  function solve({ sizes, copies, d, delta, reach }, { level, epsilon, record }) {
    const tail = Math.log(1 / delta), root = epsilon / (Math.sqrt(epsilon + tail) + Math.sqrt(tail));
    const n = copies * sum(sizes);
    const K = 2 + Math.sqrt(2 * d * Math.log1p(2 * Math.sqrt(n)) + 2 * Math.LN2);
    const price = K * K * root * root / (4 * d);
    let best = 0, above = 0; // the largest of these fractions, see lem-wa-optimum
    [...sizes].sort((one, other) => other - one).forEach((s, k) => {
      above += copies / s;
      best = Math.max(best, price * copies * (k + 1) / (1 + price * above));
    });
    const counts = sizes.map((s) => Math.min(s, level)), N = copies * sum(counts);
    const noise = 2 * reach * Math.sqrt(d) * Math.max(...counts) / N / root;
    const luck = reach * K * Math.sqrt(copies * sum(counts.map((r, k) => r * r / sizes[k]))) / N;
    const told = (share) => (share * root) ** 2 + 2 * share * root * Math.sqrt(tail);
    const promised = sizes.map((s, k) => told(record ? s : counts[k] / Math.max(...counts)));
    return { promised, counts, noise, luck, bound: noise + luck, best };
  }

  function view(data) {
    const { INK, chart, choice, guess, literal, ratios, short, slider } = explore;
    const ask = guess({ label: "Zoe's ε:", options: data.guesses });
    const rule = choice({ label: "The club cuts the arrow of", options: ["each record", "each person"] });
    const level = slider({ label: "Level h", start: data.level, text: (v) => `h = ${v}`,
      values: () => LEVELS });
    const epsilon = slider({ label: "Privacy budget ε", start: data.epsilon, text: (v) => `ε = ${v}`,
      values: () => [0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5] });
    const LEVELS = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40], LOW = 0.01, HIGH = 3000, TOP = 0.6, most = Math.max(...data.sizes);
    return {
      title: "What a step promises each member, and what it costs",
      controls: { ask, rule, level, epsilon },
      extreme: { rule: "each person", level: "40" },
      challenge: "Cut by person, and find the lowest bound.",
      python: ({ level: h, epsilon: e }) => `import numpy as np
from pdpbook.user_level import calibrate_rho, convergence_constant

records = np.repeat(${literal(data.sizes)}, ${data.copies})
weights = np.minimum(records, ${h}) / np.minimum(records, ${h}).sum()
noise = 2 * ${data.reach} * weights.max() * np.sqrt(
    ${data.d} / calibrate_rho(${e}, ${data.delta}))
sampling = ${data.reach} * convergence_constant(int(records.sum()), ${data.d}) \\
    * np.sqrt(weights**2 @ (1 / records))
print(noise + sampling)  # the bound on the loss`,
      show({ ask: given, rule: which, level: h, epsilon: e }, width) {
        const open = given >= 0, record = which === 0;
        const now = solve(data, { level: h, epsilon: e, record });
        const bars = chart({
          width, height: 220, left: 58, x: { low: 0.4, high: 5.6, ticks: [], name: "" },
          y: { low: LOW, high: HIGH, ticks: [0.01, 0.1, 1, 10, 100, 1000], name: "promised ε", log: true },
          label: open ? "Bars: the epsilon each member is promised, and a line at the budget. The table has the numbers."
            : "One bar, Ana's, and a line at the budget. The others are drawn after your guess.",
        });
        data.names.forEach((name, k) => {
          const v = now.promised[k], color = v > e * 1.0001 ? INK.warm : INK.blue;
          bars.name(name, k + 1, LOW * (HIGH / LOW) ** -0.11, { color: "currentColor" }, "middle");
          if (!open && k) return bars.name("?", k + 1, e * 1.5, { color: INK.soft }, "middle");
          bars.bar(k + 1, 0.3, v, { fill: color, color });
          bars.name(short(v), k + 1, Math.max(v, e) * 1.5, { color }, "middle");
        });
        bars.level(e, { color: "currentColor", dash: "5 4", width: 1.5 });
        if (!open)
          return { charts: [bars], text: "Every arrow of a record is cut, and the noise hides one of them. " +
            "Ana, with one record, has ε = 1. Which ε has Zoe?", table: { caption: "", head: [], rows: [] } };
        const lines = chart({
          width, height: 220, left: 58,
          label: "Curves: the bound on the loss against the level, and its two parts. The sentence has the numbers.",
          x: { low: 1, high: most, log: true, ticks: [1, 2, 3, 6, 12, 20, 40], name: "level h (records)" },
          y: { low: 0, high: TOP, ticks: [0, 0.2, 0.4, 0.6], name: "bound on the loss" },
        });
        const at = (part) => ratios(1, most, 100)
          .map((g) => [g, solve(data, { level: g, epsilon: e, record: false })[part]]);
        const total = { color: INK.blue, width: 3, shape: "circle" }, soft = { color: INK.soft, dash: "2 3" };
        const warm = { color: INK.warm, dash: "7 4" };
        lines.line(at("luck"), soft);
        lines.line(at("noise"), warm);
        lines.line(at("bound"), total);
        const start = solve(data, { level: 1, epsilon: e, record: false });
        lines.name("bound", 1.06, Math.min(start.bound + 0.03, 0.55), total);
        if (start.noise < 0.12) lines.name("from sampling", 1.06, start.luck - 0.105, soft);
        else lines.name("from sampling", most, solve(data, { level: most, epsilon: e }).luck - 0.06, soft, "end");
        lines.name("from the noise", 1.06, start.noise > 0.1 ? start.noise - 0.065 : start.noise + 0.035, warm);
        const least = solve(data, { level: now.best, epsilon: e });
        lines.mark(now.best, least.bound, total, true);
        if (!record) lines.mark(h, now.bound, total);
        const verdict = ask.verdict(data.right, "with 40 times Ana's arrow, what is promised to Zoe is only " +
          `ε = ${short(solve(data, { level: 1, epsilon: data.epsilon, record: true }).promised.at(-1))}`);
        const worst = Math.max(...now.promised), lowest = Math.min(...at("bound").map(([, v]) => v));
        const lower = LEVELS.filter((g) => solve(data, { level: g, epsilon: e, record: false }).bound < now.bound);
        return {
          charts: [bars, lines],
          verdict,
          met: !record && !lower.length,
          text: (record
            ? `Cut by record, the budget ε = ${e} holds for Ana; Zoe is promised ε = ${short(worst)}. ` : "") +
            `Cut by person at level ${short(h)}, all have ε = ${e} or less, and the bound is ${short(now.bound)} ` +
            `(noise ${short(now.noise)}, sampling ${short(now.luck)}). ` +
            `The level of the theorem, ${short(now.best)}, has ${short(least.bound)}; ` +
            `the lowest point of the curve is ${short(lowest)}.`,
          table: {
            caption: "Each group: records of one member, how many they count for, and the promised ε",
            head: ["group", "records", "count for", "promised ε"],
            rows: data.sizes.map((s, k) => [data.names[k], String(s),
              short(record ? s : now.counts[k]), short(now.promised[k])]),
          },
        };
      },
    };
  }

  return { solve, view };
})();
explore.mount("erm", explore.erm.view);
