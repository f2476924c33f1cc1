// How many people a private regression needs: its explained variance over the sum of all budgets.
"use strict";

explore.plan = (() => {
  // Explained variance of each mechanism at a sum of budgets, between the sums that were rehearsed.
  function solve({ totals, columns, explained, penalties }, { people, budget, column }) {
    const total = people * budget, end = totals.length - 1;
    const inside = Math.min(Math.max(total, totals[0]), totals[end]);
    const k = Math.min(totals.findLastIndex((v) => v <= inside), end - 1);
    const part = Math.log(inside / totals[k]) / Math.log(totals[k + 1] / totals[k]);
    const values = explained[columns.indexOf(column)].map((row) => row[k] + part * (row[k + 1] - row[k]));
    const best = values.indexOf(Math.max(...values));
    // The penalty that did best at the nearer of the two sums.
    return { total, values, best, penalty: penalties[columns.indexOf(column)][best][part < 0.5 ? k : k + 1] };
  }

  function view(data) {
    const { GREEN, INK, chart, guess, short, slider, steps } = explore;
    const ask = guess({ label: "It explains of the variance:", options: data.guesses });
    const asked = solve(data, data), TOP = 0.55;
    const STYLE = [{ color: INK.blue, width: 3 }, { color: GREEN }, { color: GREEN, dash: "6 4" },
      { color: INK.warm, dash: "2 3" }].map((one, k) => ({ ...one, text: data.names[k] }));
    const share = (v) => Math.max(v, 0).toFixed(2);
    return {
      title: "What a private regression explains, by the sum of all budgets",
      controls: {
        ask,
        people: slider({ label: "People", values: () => [...steps(100, 1e6), data.people].sort((one, other) => one - other), start: data.people, text: (v) => v.toLocaleString("en") }),
        budget: slider({ label: "Mean budget ε", values: () => [0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1, 1.5, 2, 3], start: data.budget, text: (v) => `ε = ${v}` }),
        column: slider({ label: "Columns, or the next larger number", values: () => data.columns, start: data.column, text: String }),
      },
      extreme: { people: "1000000" },
      challenge: "Explain 0.45 or more with 980 people.",
      show({ ask: given, people, budget, column }, width) {
        const open = given >= 0, now = solve(data, { people, budget, column });
        const lines = chart({
          width, height: open ? 340 : 260, keys: open ? STYLE : [],
          x: { low: data.totals[0], high: data.totals.at(-1), ticks: [100, 1000, 10000, 100000], log: true, name: "sum of all budgets" },
          y: { low: 0, high: TOP, ticks: [0, 0.1, 0.2, 0.3, 0.4, 0.5], name: "explained variance" },
          label: open ? "Four rising curves, one for each place of the noise. The sentence has the numbers."
            : "Axes without curves. They are drawn after your guess.",
        });
        lines.level(0.5, { color: INK.soft, dash: "6 4", width: 1 });
        lines.name("least squares", data.totals[0] * 1.1, 0.515, { color: INK.soft });
        if (open) {
          const row = data.explained[data.columns.indexOf(column)];
          STYLE.forEach((style, k) => lines.line(data.totals.map((v, j) => [v, row[k][j]]), style));
          lines.upright(now.total, { color: INK.soft, dash: "2 3", width: 1.5 });
          lines.mark(now.total, Math.max(now.values[now.best], 0), { ...STYLE[now.best], shape: "circle" });
        } else lines.name("a private one: your guess", now.total, 0.3, { color: INK.soft }, "middle");
        if (!open) lines.upright(now.total, { color: INK.soft, dash: "2 3", width: 1.5 });
        const outside = now.total < data.totals[0] || now.total > data.totals.at(-1);
        const value = now.values[now.best];
        return {
          charts: [lines],
          text: !open ? "980 members with a mean budget of 0.4, five columns. Least squares would explain 0.50."
            : `${people.toLocaleString("en")} people with a mean budget of ${budget} have a sum of ${Math.round(now.total).toLocaleString("en")}` +
              `${outside ? ", beyond the ends of what was rehearsed" : ""}. ` +
              (value < 0.05 ? `With ${column} column${column > 1 ? "s" : ""} the best of the four explains less than 0.05: publish the mean.`
                : `With ${column} column${column > 1 ? "s" : ""} the best is ${data.names[now.best]}, which explains ${share(value)}, with a penalty near ${now.penalty}.`),
          verdict: ask.verdict(data.right, `the best of the four explains ${share(asked.values[asked.best])} of 0.50`),
          met: people === 980 && value >= 0.45,
          table: {
            caption: `Explained variance with ${column} column${column > 1 ? "s" : ""}; 0.00 is that of the mean, or worse`,
            head: ["sum of budgets", ...data.kinds],
            rows: data.totals.map((v, j) => [v.toLocaleString("en"),
              ...data.explained[data.columns.indexOf(column)].map((row) => share(row[j]))]),
          },
        };
      },
    };
  }

  return { solve, view };
})();
explore.mount("plan", explore.plan.view);
