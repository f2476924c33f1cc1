// A person's records at a level: weights that stop growing, against records that are thrown away.
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

  // Objectives of weights min(records, h), all used; and of at most h records kept of each person.
  function weighted(h, sizes, tradeoff) {
    const used = kept(sizes, h);
    return (Math.max(...used) ** 2 + tradeoff * sum(used.map((r, l) => r * r / sizes[l])))
      / sum(used) ** 2;
  }
  function limited(h, sizes, tradeoff) {
    const used = kept(sizes, h), n = sum(used);
    return (Math.max(...used) / n) ** 2 + tradeoff / n;
  }

  function threshold(sizes, tradeoff) {
    let found = Math.min(...sizes);
    for (let h = found + 1; h <= Math.max(...sizes); h += 1)
      if (limited(h, sizes, tradeoff) < limited(found, sizes, tradeoff)) found = h;
    return found;
  }

  function view(data) {
    const { INK, chart, choice, literal, ratios, short, slider, steps } = explore;
    const weigh = { color: INK.blue, width: 3, shape: "circle" };
    const cut = { color: INK.warm, shape: "square" };
    const counts = { fill: INK.blue, color: INK.blue }, beyond = { fill: "none", color: INK.soft };
    const here = { color: INK.soft, dash: "6 4" };
    const percent = (part, whole) => short(100 * part / whole);
    const records = (h) => `${h} ${h === 1 ? "record" : "records"}`;
    const times = (x) => (x < 1.005 ? "the smallest possible" : `${short(x)} times the smallest`);
    return {
      title: "Two rules for diligent people, and the variance of each",
      controls: {
        crowd: choice({ label: "People", options: data.crowds.map((one) => one.name) }),
        h: slider({ label: "Level h", start: data.h, text: records,
          values: ({ crowd }) =>
            Array.from({ length: Math.max(...data.crowds[crowd].sizes) }, (_, k) => k + 1) }),
        epsilon: slider({ label: "Budget of each person", values: () => steps(0.1, 30),
          start: data.epsilon, text: (v) => `ε = ${v}` }),
      },
      extreme: { crowd: data.crowds[1].name, h: "60" },
      challenge: "Find the level at which discarding is best.",
      python: ({ crowd, epsilon }) => `from pdpbook.user_level import tradeoff_weights

records = ${literal(data.crowds[crowd].sizes)}
noise = 2 * (${data.width} / ${epsilon})**2  # variance at weight 1
print(tradeoff_weights(records, ${data.sigma2} / noise).h)  # the best level`,
      show({ crowd, h, epsilon }, width) {
        const sizes = [...data.crowds[crowd].sizes].sort((one, other) => other - one);
        const noise = 2 * (data.width / epsilon) ** 2, tradeoff = data.sigma2 / noise; // kappa and A
        const used = kept(sizes, h), n = sum(used), all = sum(sizes), most = sizes[0];
        const top = best(sizes, tradeoff), whole = threshold(sizes, tradeoff);
        const ratio = (f, at) => f(at, sizes, tradeoff) / top.value;
        const mine = ratio(weighted, h), theirs = ratio(limited, h);
        const full = sizes.filter((s) => s > h).length;
        const step = [5, 10, 20].find((one) => most <= 5 * one) ?? 50;
        const ticks = [0, 1, 2, 3, 4, 5].map((k) => k * step).filter((v) => v <= most);
        const bars = chart({
          width, height: 210,
          label: "Bars: the records of each person, cut at the level. The table has the numbers.",
          x: { low: 0, high: sizes.length + 1, ticks: [], name: "people, by number of records" },
          y: { low: 0, high: 1.2 * most, ticks, name: "records" },
        });
        sizes.forEach((s, l) => {
          bars.bar(l + 1, 0.38, s, beyond);
          bars.bar(l + 1, 0.38, used[l], counts);
        });
        bars.level(h, here);
        bars.name("up to the level", 0.4, 1.08 * most, { color: INK.blue });
        bars.name("above the level", sizes.length + 1, 1.08 * most, { color: INK.soft }, "end");
        const low = 0.8, high = Math.max(most, 2), LEAST = 0.5, HIGH = 4;
        const lines = chart({
          width, height: 290,
          label: "Lines: variance against the level, pressing down and discarding. The sentence has the numbers.",
          x: { low, high, log: true, name: "level h (records)",
            ticks: [1, 2, 5, 10, 20, 50].filter((v) => v <= most) },
          y: { low: LEAST, high: HIGH, ticks: [1, 2, 3, 4], name: "variance over the smallest" },
        });
        const curve = ratios(1, most, 120);
        lines.upright(h, here);
        lines.line(curve.map((g) => [g, ratio(limited, g)]), cut);
        lines.line(curve.map((g) => [g, ratio(weighted, g)]), weigh);
        lines.mark(Math.max(top.h, low), 1, weigh, true);
        lines.mark(whole, ratio(limited, whole), cut, true);
        lines.mark(h, theirs, cut);
        lines.mark(h, mine, weigh);
        // Pressing down is never below 1, so its name has room there. Discarding is named above both
        // curves, where they leave the most room: on the left, in the middle or on the right.
        lines.name("pressed down: all records count", 1, 0.66, weigh);
        const wide = 140 / (width - 60), to = (part) => low * (high / low) ** part;
        const places = [[0.06, "start", 0.06], [0.5 - wide / 2, "middle", 0.5], [1 - wide, "end", 1]];
        const tops = places.map(([from]) => {
          const over = curve.filter((g) => g >= to(from) && g <= to(from + wide))
            .flatMap((g) => [ratio(limited, g), ratio(weighted, g)]);
          return over.every((v) => v > HIGH) ? 3.4 : Math.min(Math.max(...over), HIGH); // 3.4: no curve in sight
        });
        const [, side, at] = places[tops.indexOf(Math.min(...tops))];
        lines.name("discarded above h", to(at), Math.min(Math.min(...tops) + 0.3, 3.75), cut, side);
        const variance = (of) => short(noise * top.value * of);
        return {
          charts: [bars, lines],
          met: h === whole,
          text: `At a level of ${records(h)}, ${full} of ${sizes.length} people have more. Pressing down ` +
            `uses all ${all} records: variance ${variance(mine)}, ${times(mine)}. Discarding keeps ${n} of ` +
            `them: variance ${variance(theirs)}, ${times(theirs)}. The best level for pressing down is ` +
            `${short(top.h)}; for discarding it is ${whole}, with a variance that is ${times(ratio(limited, whole))}.`,
          table: {
            caption: "Each person, in percent: their weight, that of one record if pressed down, and the " +
              "share of their records that discarding keeps",
            head: ["records", "weight", "one record", "kept"],
            rows: sizes.map((s, l) => [String(s), percent(used[l], n), percent(used[l], n * s),
              percent(used[l], s)]),
          },
        };
      },
    };
  }

  return { best, limited, threshold, view, weighted };
})();
explore.mount("limit", explore.limit.view);
