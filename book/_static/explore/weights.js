// Three rules for six groups: who counts for how much, and the noise that follows.
"use strict";

explore.weights = (() => {
  const sum = (list) => list.reduce((total, v) => total + v, 0);

  // Each rule uses up some of each budget; weights are in proportion to what it uses.
  function solve({ epsilon, copies, width }, own) {
    const budgets = [...epsilon, own], least = Math.min(...budgets);
    const total = (t) => t * budgets.filter((e) => e >= t).length;
    const level = [...budgets].sort((a, b) => a - b).reduce((a, b) => (total(b) > total(a) ? b : a));
    const rules = { least: budgets.map(() => least),
      threshold: budgets.map((e) => (e >= level ? level : 0)), own: budgets };
    const of = (used) => ({ shares: used.map((e) => e / sum(used)), scale: width / (copies * sum(used)) });
    return { budgets, level, ...Object.fromEntries(Object.entries(rules).map(([k, v]) => [k, of(v)])) };
  }

  // A row: what the rule says, six shares side by side, and a bar as long as the noise.
  function picture(rows, names, width, label) {
    const { INK, short, svg } = explore;
    const each = 92, left = 2, wide = width - 4, LONGEST = 0.17;
    const word = (text, x, y, more = {}) => svg("text", { x, y, ...more }, text);
    const parts = rows.flatMap(({ title, shares, scale, hidden }, k) => {
      const y = each * k + 28, out = [word(title, left, y, { class: "explore-name" })];
      let x = left;
      shares.forEach((share, j) => {
        const w = wide * share, you = j === 5, text = w > 8 * names[j].length + 6 ? names[j] : names[j][0];
        out.push(svg("rect", { x, y: y + 7, width: Math.max(w - 1.5, 0), height: 28, fill: you ? INK.warm : INK.blue }));
        if (w > 12)
          out.push(word(text, x + w / 2 - 0.75, y + 26, { "text-anchor": "middle", style: `fill:${INK.on}` }));
        x += w;
      });
      const long = Math.min(scale / LONGEST, 1) * (wide - 120);
      if (!hidden) out.push(svg("rect", { x: left, y: y + 44, width: long, height: 9, fill: INK.soft }));
      out.push(word(hidden ? "noise: your guess?" : `noise ${short(scale)} days`, hidden ? left : left + long + 6, y + 53));
      return out;
    });
    const height = each * rows.length;
    return { stage: svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, ...parts) };
  }

  function view(data) {
    const { guess, literal, short, slider, steps } = explore;
    const own = slider({ label: "Your budget", values: () => steps(0.05, 2), start: data.own,
      text: (v) => `ε = ${v}`, share: "own" });
    const ask = guess({ label: "The noise gets smaller:",
      options: ["not at all", "2 times", "about 4 times", "10 times"] });
    const gain = ({ least, own: weighted }) => short(least.scale / weighted.scale);
    const names = [...data.names, "you"];
    return {
      title: "Shares of the six groups, and the noise, under three rules",
      controls: { ask, own },
      extreme: { own: "2" },
      challenge: "Give your group a third of all weight.",
      python: ({ own: mine }) => `import numpy as np
from pdpbook.personalized import PersonalizedMean

epsilon = np.repeat(${literal([...data.epsilon, mine])}, ${data.copies})
y = np.full(len(epsilon), 3.0)
model = PersonalizedMean(y_bounds=(0, ${data.width}))
law = model.output_law(y[:, None], y, epsilon=epsilon)
print(${data.width} / 2 / law.eta)  # the noise, in days`,
      show({ ask: given, own: mine }, width) {
        const open = given >= 0, now = solve(data, open ? mine : data.own);
        const left = 100 * now.threshold.shares.filter((s) => s === 0).length;
        const percent = (s) => (100 * s).toFixed(1);
        return {
          charts: [picture([
            { title: "The smallest budget for all", ...now.least },
            { title: width > 420 ? `The best threshold: ${now.level} for all who allow it` : `Best threshold: ${now.level}`, ...now.threshold },
            { title: "A weight of one's own", ...now.own, hidden: !open },
          ], names, width, "Three rows of shares and noise. The table has the numbers.")],
          text: !open ? "Each row: the share of each group in the average, and the noise it needs. How long is the last bar?" :
            `Now your budget is ${mine}: own weights need noise of ${short(now.own.scale)} days instead of ` +
            `${short(now.least.scale)}, ${gain(now)} times less, and your group counts ${short(100 * now.own.shares[5])} percent. ` +
            `The best threshold needs ${short(now.threshold.scale)}` +
            (left ? ` and leaves ${left} of the 600 members out.` : " and leaves nobody out."),
          verdict: ask.verdict(2, `with your budget at ${data.own} it gets ${gain(solve(data, data.own))} times smaller`),
          met: Math.abs(now.own.shares[5] - 1 / 3) < 0.005,
          table: {
            caption: "Share of each group in the average under each rule, in percent",
            head: ["group", "same", "threshold", "own"],
            rows: names.map((name, k) => [name, ...["least", "threshold", "own"].map((rule) => percent(now[rule].shares[k]))]),
          },
        };
      },
    };
  }

  return { solve, view };
})();
explore.mount("weights", explore.weights.view);
