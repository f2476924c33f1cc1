// The weight of the data is measured first: how much of it is published, and the error that follows.
"use strict";

explore.adaops = (() => {
  // Where the curve of measuring first crosses the other one, between two weights of the list.
  function crossing({ weights }, { measured, fixed }) {
    const gap = weights.map((_, k) => Math.log(measured[k] / fixed[k]));
    const k = gap.findIndex((v) => v < 0);
    const share = gap[k - 1] / (gap[k - 1] - gap[k]);
    return weights[k - 1] * (weights[k] / weights[k - 1]) ** share;
  }

  // One state of the figure: the bound in the middle of its bell, what it leads to, both errors.
  function at(data, which, weight) {
    const one = data.budgets[which], k = data.weights.indexOf(weight);
    return { bound: Math.max(weight - one.margin, 0), noise: one.noise, penalty: one.penalty[k],
      gamma: one.gamma[k], measured: one.measured[k], fixed: one.fixed[k] };
  }

  const { named } = explore;

  // A bar as long as the weight: the part that is published, and the part that hides a member.
  function strip(now, weight, top, width) {
    const { INK, PUBLISHED, short, svg } = explore;
    const left = 58, wide = width - left - 12, to = (v) => left + wide * v / top, height = 74;
    const part = (from, end, color, more = {}) => svg("rect",
      { x: to(from), y: 26, width: Math.max(to(end) - to(from), 0), height: 22, fill: color, ...more });
    const end = Math.max(now.bound + now.penalty, weight), inside = to(end) < width - 110;
    return { stage: svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": `The weight is ${weight}, the published bound ${short(now.bound)} on average.` },
    part(0, now.bound, PUBLISHED), part(now.bound, weight, INK.warm, { opacity: 0.8 }),
    svg("path", { d: `M${left},20V54`, class: "explore-axis" }),
    named(`published: ${short(now.bound)}`, left, 16, PUBLISHED, "start"),
    named(`held back: ${short(weight - now.bound)}`, inside ? to(weight) + 6 : width - 12,
      inside ? 42 : 68, INK.warm, inside ? "start" : "end")) };
  }

  function view(data) {
    const { INK, chart, choice, guess, short, slider } = explore;
    const ask = guess({ label: "Measuring first is better", options: data.guesses });
    const heavy = slider({ label: "Weight of the data", start: data.weight, values: () => data.weights,
      text: (v) => String(v) });
    const budget = choice({ label: "Budget ε", options: data.budgets.map((one) => String(one.epsilon)) });
    budget.input.selectedIndex = data.which;
    const LOW = 0.004, HIGH = 1.3, TOP = data.weights.at(-1), W = data.weights;
    return {
      title: "One sharpness for all clubs, or measuring first",
      controls: { ask, heavy, budget },
      extreme: { heavy: String(data.weights.at(-1)) },
      python: ({ heavy: weight, budget: which }) => `from pdpbook.posterior import AdaptivePlan

plan = AdaptivePlan(${data.budgets[which].epsilon}, 1e-3, d=1, n_max=1100, calibration="simple")
print(max(${weight} - plan.margin, 0))  # published, on average`,
      show({ ask: given, heavy: weight, budget: which }, width) {
        const open = given >= 0, one = data.budgets[which], now = at(data, which, weight);
        const lines = chart({
          width, height: 240, left: 58,
          label: open ? "Two falling curves of the error against the weight of the data. The table has the numbers."
            : "The error with one sharpness for all clubs falls slowly. The other curve is drawn after your guess.",
          x: { low: 0, high: TOP, ticks: [0, 150, 300, 450, 600], name: "weight of the data" },
          y: { low: LOW, high: HIGH, log: true, ticks: [0.01, 0.03, 0.1, 0.3, 1], name: "error of the slope" },
        });
        const first = { color: INK.blue, width: 3, shape: "circle" };
        const fixed = { color: INK.warm, width: 2, dash: "7 4", shape: "square" };
        const zero = { color: INK.soft, dash: "2 3" };
        lines.level(data.slope, zero);
        lines.name("publish 0", TOP, data.slope * 1.12, zero, "end");
        lines.line(W.map((w, k) => [w, one.fixed[k]]), fixed);
        const mid = W.indexOf(400);
        lines.name("one for all clubs", TOP, one.fixed[mid] * 1.45, fixed, "end");
        if (!open)
          return { charts: [strip(now, weight, TOP, width), lines],
            text: `At the weight ${weight} about ${short(now.bound)} is published. From which weight on does that pay?`,
            table: { caption: "", head: [], rows: [] } };
        lines.line(W.map((w, k) => [w, one.measured[k]]), first);
        lines.name("measure first", 300, one.measured[W.indexOf(300)] * 0.5, first, "end");
        lines.mark(weight, now.measured, first);
        lines.mark(weight, now.fixed, fixed);
        const from = crossing(data, one), asked = crossing(data, data.budgets[data.which]);
        return {
          charts: [strip(now, weight, TOP, width), lines],
          verdict: ask.verdict(data.right, `at ε = ${data.budgets[data.which].epsilon} from a weight of about ${short(asked)} on`),
          text: `The weight ${weight} is published as ${short(now.bound)} on average; after that ` +
            `${now.penalty > 0 ? `the penalty is ${short(now.penalty)}` : "no penalty is needed"} and the sharpness ` +
            `${short(now.gamma)}. Error of the slope: ${short(now.measured)} if one measures first, ` +
            `${short(now.fixed)} with one sharpness for all clubs.` + (which === data.which ? "" :
              ` With ε = ${one.epsilon} measuring is better from about ${short(from)} on.`),
          table: {
            caption: `Error of the slope at ε = ${one.epsilon}`,
            head: ["weight", "published", "measure first", "one for all"],
            rows: W.map((w, k) => [String(w), short(at(data, which, w).bound), short(one.measured[k]),
              short(one.fixed[k])]),
          },
        };
      },
    };
  }

  return { at, crossing, view };
})();
explore.mount("adaops", explore.adaops.view);
