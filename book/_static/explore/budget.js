// Your budget among others: weights, noise and everybody's expected error as one budget moves.
"use strict";

explore.budget = (() => {
  const sum = (list) => list.reduce((total, v) => total + v, 0);

  // Ridge for two features: the minimizer of sum w (y - x theta)^2 + lam |theta|^2.
  function fit({ X, y, lam }, weights) {
    let a = lam, b = 0, c = lam, p = 0, q = 0;
    X.forEach(([u, v], i) => {
      a += weights[i] * u * u;
      b += weights[i] * u * v;
      c += weights[i] * v * v;
      p += weights[i] * u * y[i];
      q += weights[i] * v * y[i];
    });
    const det = a * c - b * b;
    return [(c * p - b * q) / det, (a * q - b * p) / det];
  }

  // Expected squared error of each person, over noise of rate eta: one row of loss_moments.
  function errors({ X, y }, theta, eta) {
    return X.map(([u, v], i) =>
      (y[i] - u * theta[0] - v * theta[1]) ** 2 + 3 / eta ** 2 * (u * u + v * v));
  }

  const root = (squares) => Math.sqrt(sum(squares) / squares.length);

  // One level for all who reach it, 0 for the others: the level with the largest sum.
  function threshold(budgets) {
    const sorted = [...budgets].sort((a, b) => b - a);
    const [, level] = sorted.map((e, k) => [(k + 1) * e, e]).reduce((a, b) => b[0] > a[0] ? b : a);
    return budgets.map((e) => e >= level ? level : 0);
  }

  // Everything the figure shows. Person 0 is you; the others keep the budgets of the data.
  function solve(data, own) {
    const budgets = [own, ...data.epsilon.slice(1)], n = budgets.length, total = sum(budgets);
    const weights = budgets.map((e) => e / total), eta = total / data.constant;
    const squares = errors(data, fit(data, weights), eta);
    const least = n * Math.min(...budgets) / data.constant;
    const equal = fit(data, budgets.map(() => 1 / n));
    const level = threshold(budgets), part = sum(level);
    const few = fit(data, level.map((e) => e / part));
    return {
      budgets, weights, eta, noise: 2 / eta,
      people: squares.map(Math.sqrt), all: root(squares),
      shared: root(errors(data, equal, least)), sharedEta: least,
      threshold: root(errors(data, few, part / data.constant)),
      zero: root(data.y.map((v) => v * v)),
    };
  }

  function view(data) {
    const { BLUE, VERMILION, GREEN, GRAY, chart, ratios, short, slider, steps } = explore;
    const people = data.epsilon.length;
    const curve = ratios(0.01, 5, 80).map((own) => [own, solve(data, own)]);
    const own = { text: "personal weights", color: BLUE, shape: "circle" };
    const shared = { text: "smallest budget for all", color: VERMILION, shape: "square" };
    const best = { text: "best threshold", color: GREEN, shape: "triangle" };
    const zero = { text: "predict zero for everybody", color: GRAY, dash: "6 4" };
    const you = { fill: BLUE, color: BLUE }, others = { fill: GRAY, color: GRAY };
    return {
      title: "Your budget among others",
      controls: {
        own: slider({ label: "Your budget", values: () => steps(0.01, 5), start: data.epsilon[0],
          text: (v) => `${v} nats` }),
      },
      show(state, width) {
        const now = solve(data, state.own), share = 100 * now.weights[0];
        const bars = chart({
          width, height: 170, label: "Bars: the weight of each person. The table has the numbers.",
          x: { low: 0, high: people + 1, ticks: [], name: `you, and ${people - 1} others` },
          y: { low: 0, high: 30, ticks: [0, 10, 20, 30], name: "weight (percent)" },
        });
        now.weights.forEach((w, i) => bars.bar(i + 1, 0.36, 100 * w, i ? others : you));
        bars.note("you", 1, share);
        const lines = chart({
          width, height: 310,
          label: "Lines: the expected error of all against your budget. The sentence has the numbers.",
          x: { low: 0.01, high: 5, ticks: [0.01, 0.1, 1, 5], name: "your budget (nats)", log: true },
          y: { low: 0.1, high: 30, ticks: [0.1, 1, 10], name: "expected error", log: true },
          keys: [own, shared, best, zero],
        });
        lines.line(curve.map(([e, one]) => [e, one.shared]), shared);
        lines.line(curve.map(([e, one]) => [e, one.threshold]), best);
        lines.line(curve.map(([e, one]) => [e, one.all]), own);
        lines.level(now.zero, zero);
        now.people.forEach((v) => lines.dash(state.own, v, own));
        lines.mark(state.own, now.shared, shared);
        lines.mark(state.own, now.threshold, best);
        lines.mark(state.own, now.all, own);
        return {
          charts: [bars, lines],
          text: `With a budget of ${short(state.own)} nats you weigh ${short(share)} percent. ` +
            `The noise has rate ${short(now.eta)} and mean length ${short(now.noise)}. ` +
            `The root mean square error to expect over all is ${short(now.all)} with personal ` +
            `weights, ${short(now.shared)} if all lived on the smallest budget, ` +
            `${short(now.threshold)} with the best threshold, and ` +
            `${short(now.zero)} if zero were predicted for everybody.`,
          table: {
            caption: "Each person: budget in nats, weight in percent, expected error",
            head: ["person", "budget", "weight", "error"],
            rows: now.budgets.map((e, i) => [i ? String(i + 1) : "you", short(e),
              short(100 * now.weights[i]), short(now.people[i])]),
          },
        };
      },
    };
  }

  return { solve, view };
})();
explore.mount("budget", explore.budget.view);
