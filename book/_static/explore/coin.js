// Answers through a coin: how many are the truth on purpose, and how many open answers they are worth.
"use strict";

explore.coin = (() => {
  // One report at a budget: how often the coin falls on truth, how often the report is true,
  // and what part of an open answer it is worth; see lem-rr-debias and def-rr-worth.
  function solve(epsilon) {
    const truth = Math.tanh(epsilon / 2);
    return { truth, report: (1 + truth) / 2, worth: truth * truth };
  }

  const BLUE = "var(--fig-blue, #0072b2)", WARM = "var(--fig-warm, #b84a00)";
  const GREEN = "var(--fig-green, #00795a)", SOFT = "var(--fig-soft, #6b737d)";
  const COLUMNS = 20;

  // Two crowds of dots of one size: what comes in, by color, and as many open answers as that is worth.
  function crowds(size, told, worth, open, width) {
    const { svg } = explore;
    const wide = width > 560, gap = 36, top = 26, rows = Math.ceil(size / COLUMNS);
    const each = wide ? (width - gap) / 2 : width, step = Math.min(each / COLUMNS, 15), high = step * rows;
    const below = top + high + 8, height = wide ? below : 2 * below + 6;
    const stage = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": `${size} dots: ${told} are the truth on purpose, ${size - told} come from the fair coin. ` +
        (open ? `Beside them ${worth} dots, the open answers that they are worth.` : "What they are worth comes after your guess.") });
    const crowd = (x, y, title, color, count, rest, word) => {
      stage.append(svg("text", { x, y: y + 13, style: `fill:${color}`, class: "explore-name" }, title),
        ...word);
      for (let k = 0; k < size; k += 1)
        stage.append(svg("circle", { cx: x + step * (k % COLUMNS + 0.5),
          cy: y + top + step * (Math.floor(k / COLUMNS) + 0.5), r: step * 0.34,
          fill: k < count ? color : rest ? WARM : "none", stroke: k < count ? color : rest ? WARM : SOFT,
          "stroke-width": k < count || rest ? 0 : 0.8 }));
    };
    crowd(0, 0, `truth ${told}`, BLUE, told, true,
      [svg("text", { x: step * COLUMNS, y: 13, "text-anchor": "end", style: `fill:${WARM}`, class: "explore-name" },
        `fair coin ${size - told}`)]);
    const [x, y] = wide ? [each + gap, 0] : [0, below + 6];
    crowd(x, y, open ? `worth ${worth} open answers` : "worth ? open answers", GREEN, open ? worth : 0, false, []);
    return { stage };
  }

  function view(data) {
    const { chart, guess, short, slider } = explore;
    const { size } = data;
    const budgets = Array.from({ length: 121 }, (_, k) => Number((k * 0.05).toFixed(2)));
    const curve = budgets.map((e) => [e, solve(e)]);
    const ask = guess({ label: "As good as this many open answers:", options: data.guesses });
    const budget = slider({ label: "Your budget", values: () => budgets, start: data.start,
      text: (v) => `ε = ${v}` });
    return {
      title: "Choose your coin, and see what answers through it are worth",
      controls: { ask, epsilon: budget },
      extreme: { epsilon: "6" },
      challenge: `Find the budget at which half of the ${data.size} answers are left.`,
      python: ({ epsilon }) => `from pdpbook.guarantees import PureDP

coin = PureDP(${epsilon}, neighbors="replace-one")
print(${data.size} * coin.profile(0.0)**2)  # open answers`,
      show({ ask: given, epsilon }, width) {
        const open = given >= 0, now = solve(open ? epsilon : data.start);
        const told = Math.round(size * now.truth), worth = Math.round(size * now.worth);
        const lines = chart({
          width, height: 210, left: 54,
          label: "Two curves over the budget: how many answers are the truth on purpose and, below it, what all are worth.",
          x: { low: 0, high: 6, ticks: [0, 1, 2, 3, 4, 5, 6], name: "privacy budget ε of each" },
          y: { low: 0, high: size * 1.06, ticks: [0, size / 4, size / 2, 3 * size / 4, size], name: `of ${size} answers` },
        });
        const truth = { color: BLUE, dash: "7 4", shape: "circle" }, value = { color: GREEN, width: 3, shape: "circle" };
        if (open) {
          lines.upright(epsilon, { color: SOFT, width: 1 });
          lines.line(curve.map(([e, one]) => [e, size * one.truth]), truth);
          lines.line(curve.map(([e, one]) => [e, size * one.worth]), value);
          lines.name("truth on purpose", 0.12, size * 0.96, truth);
          lines.name("worth in open answers", 1.9, size * 0.2, value);
          lines.mark(epsilon, size * now.truth, truth);
          lines.mark(epsilon, size * now.worth, value);
        }
        const odds = `e^${short(epsilon)}, or ${short(Math.exp(epsilon))},`;
        return {
          charts: [crowds(size, told, worth, open, width), ...(open ? [lines] : [])],
          text: !open ? `Of ${size} answers with ${data.name}'s budget, ${told} are the truth on purpose. The club sees no colors, only yes or no.` :
            `With a budget of ${short(epsilon)} the coin falls on truth in ${short(100 * now.truth)} of 100 cases, and ` +
            `${short(100 * now.report)} of 100 reports are true: ${odds} times as likely as false. ` +
            `So ${size} reports are worth ${short(size * now.worth)} open answers.`,
          verdict: ask.verdict(data.right, `with ${data.name}'s budget it is about ${data.guesses[data.right]} open answers`),
          met: Math.abs(now.worth - 0.5) < 0.005,
          table: {
            caption: "Each member: budget; coin falls on truth, report is true, and worth, in percent",
            head: ["member", "budget", "truth", "true", "worth"],
            rows: [...data.names.map((name, k) => [name, data.budgets[k]]), ["you", epsilon]].map(([name, e]) => {
              const one = solve(e);
              return [name, String(e), ...[one.truth, one.report, one.worth].map((v) => short(100 * v))];
            }),
          },
        };
      },
    };
  }

  return { solve, view };
})();
explore.mount("coin", explore.coin.view);
