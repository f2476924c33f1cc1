// A noisy walk in a bowl, twice: with Zoe's records, and had she written the opposite in all of them.
"use strict";

explore.erm = (() => {
  const sum = (list) => list.reduce((total, v) => total + v, 0);

  // Root of what a budget allows in zero-concentrated privacy.
  const spend = (epsilon, delta) => {
    const tail = Math.log(1 / delta);
    return epsilon / (Math.sqrt(epsilon + tail) + Math.sqrt(tail));
  };

  // What is promised, and the bound; see thm-weighted-erm. `record` is the rule that cuts every record.
  function solve({ sizes, copies, d, delta, reach }, { level, epsilon, record }) {
    const tail = Math.log(1 / delta), root = spend(epsilon, delta);
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

  // Normal numbers from a throw of dice: a congruential generator, and Box and Muller.
  function normals(dice, count) {
    let state = dice;
    const uniform = () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return (state + 0.5) / 2 ** 32;
    };
    return Array.from({ length: count }, () =>
      Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform()));
  }

  const dot = (one, two) => sum(one.map((v, k) => v * two[k]));
  const chance = (z) => 1 / (1 + Math.exp(-z));

  // Weight of one Zoe, noise on each coordinate and length of a step; see alg-weighted-erm.
  function plan({ sizes, copies, d, delta, reach, steps }, { level, epsilon, record }) {
    const root = spend(epsilon, delta);
    const counts = record ? sizes : sizes.map((s) => Math.min(s, level)), N = copies * sum(counts);
    const hidden = (record ? 1 : Math.max(...counts)) / N, sigma = hidden / root * Math.sqrt(2 * steps);
    const eta = reach / Math.sqrt((steps + 1) * (1 + d * sigma * sigma));
    return { weight: counts.at(-1) / N, sigma, eta, apart: Math.SQRT2 * root * counts.at(-1) / N / hidden };
  }

  // The walk of all points, if one Zoe has this label in all her records, and all others the mixed ones.
  function walk(data, state, label) {
    const { rows, truth, own, d, reach, steps } = data, { weight, sigma, eta } = plan(data, state);
    const often = rows.map((row) => chance(dot(row, truth))), noise = normals(state.dice, d * steps);
    let theta = Array(d).fill(0);
    const points = [theta];
    for (let k = 0; k < steps; k += 1) {
      const slopes = rows.map((row, j) => (1 - weight) * (chance(dot(row, theta)) - often[j]) / rows.length);
      const hers = weight * (chance(dot(own, theta)) - (label > 0 ? 1 : 0));
      theta = theta.map((v, i) => v - eta * (sigma * noise[d * k + i] + hers * own[i] + sum(rows.map((row, j) => slopes[j] * row[i]))));
      const long = Math.hypot(...theta);
      if (long > reach) theta = theta.map((v) => v * reach / long);
      points.push(theta);
    }
    return points;
  }

  // Expected loss above the lowest one, of records whose labels are mixed as at the truth.
  function excess({ rows, truth }, theta) {
    const loss = (at) => sum(rows.map((row) => {
      const z = dot(row, at), p = chance(dot(row, truth));
      return p * Math.log1p(Math.exp(-z)) + (1 - p) * Math.log1p(Math.exp(z));
    })) / rows.length;
    return loss(theta) - loss(truth);
  }

  const middle = (points) => points[0].map((_, i) => sum(points.map((point) => point[i])) / points.length);

  // Levels of the bowl around its lowest point, in the two coefficients that are drawn, the first one at its best.
  function rings({ rows, truth }, count) {
    const spread = (i, j) => sum(rows.map((row) => {
      const p = chance(dot(row, truth));
      return p * (1 - p) * row[i] * row[j];
    })) / rows.length;
    const left = (i, j) => spread(i, j) - spread(0, i) * spread(0, j) / spread(0, 0);
    const [p, q, r] = [left(1, 1), left(1, 2), left(2, 2)], c = Math.sqrt(p), e = q / c, f = Math.sqrt(r - e * e);
    return Array.from({ length: count }, (_, k) => Array.from({ length: 73 }, (_, j) => {
      const size = 0.055 * (k + 1), u = size * Math.cos(j * Math.PI / 36), v = size * Math.sin(j * Math.PI / 36);
      return [truth[1] + (u - e * v / f) / c, truth[2] + v / f]; // by the root of the matrix
    }));
  }

  function view(data) {
    const { INK, beside, chart, choice, guess, literal, ratios, short, slider, svg } = explore;
    const ask = guess({ label: "Zoe's ε:", options: data.guesses });
    const rule = choice({ label: "The club cuts the arrow of", options: ["each record", "each person"] });
    const level = slider({ label: "Level h", start: data.level, text: (v) => `h = ${v}`,
      values: () => LEVELS });
    const epsilon = slider({ label: "Privacy budget ε", start: data.epsilon, text: (v) => `ε = ${v}`,
      values: () => [0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5] });
    const so = slider({ label: "Steps so far", start: data.steps, text: String,
      values: () => [1, 2, 5, 10, 20, 50, 100, 150, 200, 250, 300, 350, 400, data.steps] });
    const dice = slider({ label: "Throw of the dice", start: 1, text: String, values: () => [1, 2, 3, 4, 5, 6] });
    const LEVELS = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40], TOP = 0.6, most = Math.max(...data.sizes);
    return {
      title: "Two walks down a bowl, and what is proved about them",
      controls: { ask, rule, level, epsilon, so, dice },
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
      show({ ask: given, rule: which, level: h, epsilon: e, so, dice }, width) {
        const open = given >= 0, record = which === 0;
        const now = solve(data, { level: h, epsilon: e, record });
        const setting = { level: h, epsilon: e, record, dice }, { sigma, eta, apart } = plan(data, setting);
        const flat = (points) => points.map((point) => point.slice(1)), taken = open ? so : data.steps;
        const [hers, other] = [1, -1].map((label) => walk(data, setting, label).slice(0, taken + 1));
        const wide = Math.min(width, 330), bowl = chart({
          width: wide, height: Math.round(0.76 * (wide - 60)) + 92, left: 48,
          x: { low: -0.6, high: 2.2, ticks: [0, 1, 2], name: "coefficient of warm weather" },
          y: { low: -1.6, high: 0.64, ticks: [-1, 0], name: "of the week before" },
          keys: [{ color: INK.warm, text: "with Zoe's records" }, { color: INK.soft, dash: "3 2", text: "had she written the opposite in all" }],
          label: `A bowl from above and two walks of ${taken} steps from 0, with one noise. ` +
            (record ? "They part, and each is thin." : "They lie on each other, and both are wild."),
        });
        for (const ring of rings(data, 7)) bowl.line(ring, { color: INK.soft, width: 0.8, dash: "2 3" });
        bowl.line(flat(other), { color: INK.soft, dash: "3 2", width: 1.5 });
        bowl.line(flat(hers), { color: INK.warm, width: 1.5 });
        const [end] = flat(hers.slice(-1)), cloud = Math.SQRT2 * eta * sigma;
        bowl.line(Array.from({ length: 49 }, (_, k) => [end[0] + cloud * Math.cos(k * Math.PI / 24), end[1] + cloud * Math.sin(k * Math.PI / 24)]),
          { color: "currentColor", width: 1.5 });
        bowl.mark(...data.truth.slice(1), { color: "currentColor", shape: "triangle" });
        const released = middle(hers), means = [released, middle(other)].map((one) => one.slice(1));
        bowl.mark(...means[1], { color: INK.soft, shape: "circle" }, true);
        bowl.mark(...means[0], { color: INK.blue, shape: "circle" });
        if (!open)
          return { charts: [bowl], text: "Two walks down a bowl, with one noise. It hides the arrow of a single record: " +
            "Ana, who has one, is promised ε = 1. Zoe has forty, and turned them all around. Which ε has Zoe?",
          table: { caption: "", head: [], rows: [] } };
        const [, right] = beside(width, width > 640 ? width - wide - 16 : width);
        const far = Math.max(apart + 4, 8), bells = chart({
          width: right, height: 104, left: 48, label: "", x: { low: -4, high: far, ticks: [0],
            name: "all steps together (standard deviations)" }, y: { low: 0, high: 1.35, ticks: [], name: "" } });
        for (const [mean, color, dash] of [[0, INK.soft, "6 4"], [apart, INK.warm]]) {
          const hill = Array.from({ length: 121 }, (_, k) => mean + k / 15 - 4).map((u) => [u, Math.exp(-((u - mean) ** 2) / 2)]);
          bells.area(hill, { color, opacity: 0.2 });
          bells.line(hill, { color, dash, width: 2 });
        }
        bells.name(`${short(apart)} apart`, apart / 2, 1.12, { color: "currentColor" }, "middle");
        const lines = chart({
          width: right, height: 190, left: 48,
          label: "",
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
        if (least.bound < 0.5 && now.best > 4) lines.name("level of the theorem", now.best, least.bound + 0.07, total, now.best > 15 ? "end" : "middle");
        lines.mark(h, now.bound, total);
        const verdict = ask.verdict(data.right, "Zoe, with 40 times Ana's arrow, is promised no better than " +
          `ε = ${short(solve(data, { level: 1, epsilon: data.epsilon, record: true }).promised.at(-1))}`);
        lines.stage.setAttribute("y", 104);
        const pile = svg("svg", { width: right, height: 294, viewBox: `0 0 ${right} 294`, role: "img",
          "aria-label": `Two bells, ${short(apart)} apart. Below, curves: the bound on the loss against the level, and its two parts.` },
        ...[bells, lines].map(({ stage }) => {
          for (const name of ["role", "aria-label"]) stage.removeAttribute(name); // one picture
          return stage;
        }));
        const worst = Math.max(...now.promised), lowest = Math.min(...at("bound").map(([, v]) => v));
        const lower = LEVELS.filter((g) => solve(data, { level: g, epsilon: e, record: false }).bound < now.bound);
        return {
          charts: [bowl, { stage: pile }],
          verdict,
          met: !record && !lower.length,
          text: (record
            ? `Cut by record, ε = ${e} holds for Ana; Zoe is promised ε = ${short(worst)}. `
            : `Cut by person, everybody is promised ε = ${e} or less. `) +
            `The two walks of Zoe can be told apart at most like two bells ${short(apart)} standard deviations apart. ` +
            `After ${taken} steps the average (blue) has a loss ${short(excess(data, released))} above the lowest. ` +
            `By person at level ${short(h)}, noise has ${short(now.noise)}, sampling ${short(now.luck)}, and the bound is ${short(now.bound)} in all.`,
          table: {
            caption: "Each group: records of one member, how many they count for, and the promised ε. " +
              `The bound is ${short(least.bound)} at the level of the theorem, ${short(now.best)}, and ${short(lowest)} where it is lowest`,
            head: ["group", "records", "count for", "promised ε"],
            rows: data.sizes.map((s, k) => [data.names[k], String(s),
              short(record ? s : now.counts[k]), short(now.promised[k])]),
          },
        };
      },
    };
  }

  return { excess, middle, plan, solve, view, walk };
})();
explore.mount("erm", explore.erm.view);
