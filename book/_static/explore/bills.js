// One budget for all, or each their own: who is left out, and what twenty released regressions say.
"use strict";

explore.bills = (() => {
  const OLDEST = 65, YOUNGEST = 18, MOST = 70; // ages; thousand dollars
  const dollars = (value) => Number(value.toPrecision(3)).toLocaleString("en-US");

  function view(data) {
    const { BLUE, INK, beside, chart, guess, short, slider } = explore;
    const own = data.rules.length - 1; // the last rule: each their own
    const ask = guess({ label: "With each person's own budget the miss is, in dollars:",
      options: data.guesses.map(dollars) });
    const rule = slider({ label: "Common budget", values: () => data.rules.map(({ budget }) => budget),
      start: data.rules[0].budget, text: (v) => (v ? `ε = ${short(v)}` : "none") });
    ask.input.addEventListener("input", () => {
      rule.input.value = own;
      rule.input.dispatchEvent(new Event("input"));
    });
    return {
      title: "Bills of 1,338 people, and regressions released under one budget for all or under their own",
      controls: { ask, rule },
      extreme: { rule: String(data.rules[0].budget) },
      challenge: "Find the common budget that misses least.",
      python: ({ rule: budget }) => {
        const { penalty } = data.rules.find((one) => one.budget === budget);
        return `import numpy as np
from pdpbook import datasets
from pdpbook.objective_perturbation import ObjectivePerturbation

table = datasets.load("medical-cost")
age, smokes = (table.age - 18) / 47, table.smoker == "yes"
X = np.column_stack([np.ones(len(table)), age, smokes]).astype(float)
y = 2 * table.charges.to_numpy() / 70_000 - 1
budgets = datasets.sample_budgets(len(y), rng=np.random.default_rng(0))
epsilon = ${budget ? `np.where(budgets >= ${budget}, ${budget}, 0)` : "budgets"}
law = ObjectivePerturbation(${penalty}).output_law(X, y, epsilon=epsilon)
theta = law.sample(1000, rng=np.random.default_rng(1))
print(35_000 * np.sqrt(np.mean((y - theta @ X.T) ** 2)))  # dollars`;
      },
      show({ ask: given, rule: budget }, width) {
        const k = data.rules.findIndex((one) => one.budget === budget), now = data.rules[k];
        const [first, second] = beside(width, 250), open = given >= 0;
        const people = chart({ width: first, height: 270,
          x: { low: YOUNGEST, high: OLDEST, ticks: [20, 30, 40, 50, 60], name: "age" },
          y: { low: -5, high: MOST, ticks: [0, 20, 40, 60], name: "bill (thousand dollars)" },
          label: `Dots: 400 of the people. Lines: twenty regressions that might be released, for smokers and for others. ${
            now.out} of all people are left out.` });
        for (const smokes of [0, 1]) {
          const color = smokes ? INK.warm : BLUE;
          const alike = data.people.filter((one) => one[2] === smokes);
          people.dots(alike.filter((one) => one[3] >= now.budget), { color, width: 4, opacity: 0.6 });
          people.dots(alike.filter((one) => one[3] < now.budget), { color, width: 4, opacity: 0.12 });
          for (const [start, slope, more] of now.lines)
            people.line([YOUNGEST, OLDEST].map((age) =>
              [age, 35 * (start + slope * (age - YOUNGEST) / (OLDEST - YOUNGEST) + more * smokes + 1)]), { color, width: 0.8 });
        }
        people.name("smokers", 20, 62, { color: INK.warm });
        people.name("others", 20, -2, { color: BLUE });
        const miss = chart({ width: second, height: 270,
          x: { low: 0.009, high: 1.1, log: true, ticks: [0.01, 0.1, 1], name: "one budget for all" },
          y: { low: 0, high: 22, ticks: [0, 5, 10, 15, 20], name: "miss (thousand dollars)" },
          label: open ? "A curve: by how much the regressions miss a bill, by the common budget. It falls and then rises, above the line of own budgets."
            : "One dot: by how much the regressions miss a bill with the smallest budget for all." });
        if (open) {
          miss.line(data.rules.slice(0, own).map((one) => [one.budget, one.miss / 1000]), { color: INK.soft });
          miss.level(data.rules[own].miss / 1000, { color: BLUE, dash: "6 4" });
          miss.name("each their own", 1, data.rules[own].miss / 1000 - 2.6, { color: BLUE }, "end");
        }
        if (k < own) miss.mark(now.budget, now.miss / 1000, { color: "currentColor", shape: "circle" });
        const who = k === own ? "Each has their own budget, nobody is left out"
          : now.out ? `ε = ${short(now.budget)} for all who allow it: ${now.out} people are left out`
            : `The smallest budget of all, ε = ${short(now.budget)}, for everybody`;
        const least = Math.min(...data.rules.slice(0, own).map((one) => one.miss));
        return {
          charts: [people, miss],
          text: `${who}. A regression misses a bill by ${dollars(now.miss)} dollars.` +
            (open ? "" : ` The same bill for everybody would miss by ${dollars(data.mean)}.`),
          verdict: ask.verdict(data.guesses.length - 1, `with each person's own budget it is ${
            dollars(data.rules[own].miss)} dollars, and with the best common one of the slider ${dollars(least)}`),
          met: k < own && now.miss === least,
          table: {
            caption: "Miss of a released regression (root mean square), by the rule",
            head: ["budget", "left out", "miss in dollars"],
            rows: data.rules.map((one, j) =>
              [j === own ? "each their own" : short(one.budget), String(one.out), dollars(one.miss)]),
          },
        };
      },
    };
  }

  return { view };
})();
explore.mount("bills", explore.bills.view);
