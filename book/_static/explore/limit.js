// A user's rows being capped: weights that stop growing, against rows that are thrown away.
"use strict";

explore.limit = (() => {
  const sum = (list) => list.reduce((total, v) => total + v, 0);
  const kept = (sizes, h) => sizes.map((s) => Math.min(s, h));

  // The root of h = A sum (1 - h/s)+ is the largest of m fractions; see lem-wa-optimum.
  function best(sizes, tradeoff) {
    let h = 0, above = 0;
    [...sizes].sort((one, other) => other - one).forEach((s, k) => {
      above += 1 / s;
      h = Math.max(h, tradeoff * (k + 1) / (1 + tradeoff * above));
    });
    return { h, value: tradeoff / sum(kept(sizes, h)) };
  }

  // Objectives of weights min(rows, h), all rows used; and of at most h rows kept of each user.
  function weighted(h, sizes, tradeoff) {
    const rows = kept(sizes, h);
    return (Math.max(...rows) ** 2 + tradeoff * sum(rows.map((r, l) => r * r / sizes[l])))
      / sum(rows) ** 2;
  }
  function limited(h, sizes, tradeoff) {
    const rows = kept(sizes, h), n = sum(rows);
    return (Math.max(...rows) / n) ** 2 + tradeoff / n;
  }

  function threshold(sizes, tradeoff) {
    let found = Math.min(...sizes);
    for (let h = found + 1; h <= Math.max(...sizes); h += 1)
      if (limited(h, sizes, tradeoff) < limited(found, sizes, tradeoff)) found = h;
    return found;
  }

  function view(data) {
    const { BLUE, VERMILION, GRAY, chart, choice, ratios, short, slider, steps } = explore;
    const weigh = { text: "weighting: all rows, weight stops at h", color: BLUE, shape: "circle" };
    const cut = { text: "discarding: at most h rows of each", color: VERMILION, shape: "square" };
    const counts = { text: "counts: min(rows, h)", fill: BLUE, color: BLUE };
    const beyond = { text: "rows above h", fill: "none", color: GRAY };
    const here = { color: GRAY, dash: "6 4" };
    const percent = (part, whole) => short(100 * part / whole);
    return {
      title: "A user's rows being capped",
      controls: {
        crowd: choice({ label: "People", options: data.crowds.map((one) => one.name) }),
        h: slider({ label: "Limit h", start: data.h, text: (h) => `${h} ${h === 1 ? "row" : "rows"}`,
          values: ({ crowd }) =>
            Array.from({ length: Math.max(...data.crowds[crowd].sizes) }, (_, k) => k + 1) }),
        epsilon: slider({ label: "Budget of each user", values: () => steps(0.1, 30),
          start: data.epsilon, text: (v) => `${v} nats` }),
      },
      show({ crowd, h, epsilon }, width) {
        const sizes = [...data.crowds[crowd].sizes].sort((one, other) => other - one);
        const noise = 2 * (data.width / epsilon) ** 2, tradeoff = data.sigma2 / noise; // kappa and A
        const rows = kept(sizes, h), n = sum(rows), all = sum(sizes), most = sizes[0];
        const top = best(sizes, tradeoff), whole = threshold(sizes, tradeoff);
        const ratio = (f, at) => f(at, sizes, tradeoff) / top.value;
        const mine = ratio(weighted, h), theirs = ratio(limited, h);
        const full = sizes.filter((s) => s > h).length;
        const step = [5, 10, 20].find((one) => most <= 5 * one) ?? 50;
        const ticks = [0, 1, 2, 3, 4, 5].map((k) => k * step).filter((v) => v <= most);
        const bars = chart({
          width, height: 210,
          label: "Bars: the rows of each user, cut at the limit. The table has the numbers.",
          x: { low: 0, high: sizes.length + 1, ticks: [], name: "users, by number of rows" },
          y: { low: 0, high: most, ticks, name: "rows" }, keys: [counts, beyond],
        });
        sizes.forEach((s, l) => {
          bars.bar(l + 1, 0.38, s, beyond);
          bars.bar(l + 1, 0.38, rows[l], counts);
        });
        bars.level(h, here);
        const lines = chart({
          width, height: 290,
          label: "Lines: variance against the limit, weighting and discarding. The sentence has the numbers.",
          x: { low: 0.8, high: Math.max(most, 2), log: true, name: "limit h (rows)",
            ticks: [1, 2, 5, 10, 20, 50].filter((v) => v <= most) },
          y: { low: 0.8, high: 4, ticks: [1, 2, 3, 4], name: "variance over the best" },
          keys: [weigh, cut],
        });
        const curve = ratios(1, most, 120);
        lines.upright(h, here);
        lines.line(curve.map((g) => [g, ratio(limited, g)]), cut);
        lines.line(curve.map((g) => [g, ratio(weighted, g)]), weigh);
        lines.mark(Math.max(top.h, 0.8), 1, weigh, true);
        lines.mark(whole, ratio(limited, whole), cut, true);
        lines.mark(h, theirs, cut);
        lines.mark(h, mine, weigh);
        const variance = (of) => short(noise * top.value * of);
        return {
          charts: [bars, lines],
          text: `With a limit of ${h} ${h === 1 ? "row" : "rows"}, ${full} of ${sizes.length} users have ` +
            `more. Weighting uses all ${all} rows: variance ${variance(mine)}, ${short(mine)} times the ` +
            `best. Discarding keeps ${n} of them: variance ${variance(theirs)}, ${short(theirs)} times ` +
            `the best. The best limit for weighting is ${short(top.h)} rows; for discarding it is ` +
            `${whole}, at ${short(ratio(limited, whole))} times the best.`,
          table: {
            caption: "Each user, in percent: their weight, that of one row by weighting, and the " +
              "share of rows that discarding keeps",
            head: ["rows", "weight", "one row", "kept"],
            rows: sizes.map((s, l) => [String(s), percent(rows[l], n), percent(rows[l], n * s),
              percent(rows[l], s)]),
          },
        };
      },
    };
  }

  return { best, limited, threshold, view, weighted };
})();
explore.mount("limit", explore.limit.view);
