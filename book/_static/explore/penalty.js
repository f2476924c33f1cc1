// Floor, bias and noise of each mechanism, stacked, while one penalty for all of them is dragged.
"use strict";

explore.penalty = (() => {
  // The parts at a budget and a penalty; none where the mechanism keeps no such promise.
  function solve(data, row, k, j) {
    const { parts } = data.rows[row], found = parts[k][parts[k].length > 1 ? j : 0];
    if (!found) return null;
    const [bias, noise] = found;
    return { bias, noise, error: data.floor + bias + noise };
  }

  // The penalty with the least error of a row, at a budget.
  function lowest(data, row, k) {
    const errors = data.rows[row].parts[k].map((_, j) => solve(data, row, k, j)?.error ?? Infinity);
    const error = Math.min(...errors);
    return { place: errors.indexOf(error), error };
  }

  const below = (data, k, j) =>
    data.rows.filter((one, row) => one.moves && solve(data, row, k, j)?.error < 100).length;

  const { BLUE, GRAY: SOFT, VERMILION: WARM, named, word } = explore;
  const HIGH = 150, ROW = 25, TOP = 44, LEFT = 128, RIGHT = 66;

  function bars(data, { k, j, chosen, open }, width) {
    const { svg, short } = explore, wide = width - LEFT - RIGHT, marks = [];
    const at = (v) => LEFT + wide * Math.min(v, HIGH) / HIGH;
    const foot = TOP + ROW * data.rows.length + 4, height = foot + 40;
    data.rows.forEach(({ name, moves }, row) => {
      const y = TOP + ROW * row, now = solve(data, row, k, j);
      marks.push(word(name, LEFT - 8, y + 16, "end", row === chosen ? { "font-weight": 700 } : {}));
      if (!now) return marks.push(word("no such promise", LEFT + 6, y + 16, "start", { style: `fill:${SOFT}` }));
      let from = 0;
      [[data.floor, SOFT], [now.bias, BLUE], [now.noise, WARM]].forEach(([part, color]) => {
        if (at(from + part) > at(from)) marks.push(svg("rect", { x: at(from), y: y + 3, fill: color,
          width: at(from + part) - at(from), height: ROW - 7, "fill-opacity": moves ? 1 : 0.6 }));
        from += part;
      });
      const end = at(now.error) + 5, crossed = end < at(100) && end + 34 > at(100); // not under the line
      marks.push(word(`${short(now.error)}${now.error > HIGH ? " ▸" : ""}`, crossed ? at(100) + 5 : end, y + 16, "start"));
      if (open && moves && lowest(data, row, k).error < HIGH) {
        const x = at(lowest(data, row, k).error);
        marks.push(svg("path", { d: `M${x},${y + 1}v${ROW - 3}`, stroke: "currentColor", "stroke-width": 2.5 }));
      }
    });
    marks.push(
      svg("path", { d: `M${at(100)},${TOP - 6}V${foot}`, fill: "none", stroke: "currentColor", "stroke-dasharray": "6 4", "stroke-width": 1.5 }),
      word("the mean", at(100), TOP - 10),
      named("least squares", LEFT, 14, SOFT, "start"), named("bias", LEFT + 104, 14, BLUE, "start"),
      named("noise", LEFT + 142, 14, WARM, "start"),
      svg("path", { d: `M${LEFT},${foot}H${width - RIGHT}`, class: "explore-axis" }));
    for (const v of [0, 50, 100, 150])
      marks.push(svg("path", { d: `M${at(v)},${foot}v5`, class: "explore-axis" }), word(short(v), at(v), foot + 18));
    marks.push(word("error, the mean has 100", LEFT + wide / 2, foot + 36));
    return { stage: svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": "A bar for each mechanism, in three parts: least squares, bias and noise. " +
        "A line marks the mean, at 100. The table has the numbers." }, ...marks) };
  }

  // The error of one row over all penalties, with its parts.
  function curve(data, { k, j, chosen }, width) {
    const { chart, short } = explore, { name } = data.rows[chosen], least = lowest(data, chosen, k);
    const drawn = chart({ width, height: 300, left: 48,
      label: `${name}: error against the penalty. Its lowest point is ${short(least.error)}.`,
      x: { low: data.penalties[0], high: data.penalties.at(-1), log: true, ticks: [0.01, 0.1, 1], name: "penalty λ" },
      y: { low: 50, high: HIGH, ticks: [50, 75, 100, 125, 150], name: "error" } });
    const found = data.penalties.map((lam, i) => ({ lam, ...solve(data, chosen, k, i) })).filter((one) => one.error);
    const level = (of) => found.map((one) => [one.lam, Math.min(of(one), 10 * HIGH)]);
    const floor = level(() => data.floor), bias = level((one) => data.floor + one.bias), all = level((one) => one.error);
    drawn.area([...floor, ...[...bias].reverse()], { color: BLUE, opacity: 0.35 });
    drawn.area([...bias, ...[...all].reverse()], { color: WARM, opacity: 0.35 });
    drawn.line(all, { color: "currentColor", width: 2.5 });
    drawn.level(data.floor, { color: SOFT, width: 2 });
    drawn.level(100, { color: "currentColor", dash: "6 4", width: 1.5 });
    drawn.upright(data.penalties[j], { color: SOFT, width: 1 });
    drawn.name("bias", data.penalties.at(-2), data.floor + 8, { color: BLUE }, "end");
    if (found[2].error > 130 && found[0].bias < 60) drawn.name("noise", found[0].lam * 1.15, 135, { color: WARM });
    drawn.name("least squares", data.penalties.at(-2), data.floor - 7, { color: SOFT }, "end");
    drawn.mark(data.penalties[least.place], least.error, { color: "currentColor", shape: "circle" }, true);
    const now = solve(data, chosen, k, j);
    if (now) drawn.mark(data.penalties[j], now.error, { color: "currentColor", shape: "circle" });
    return drawn;
  }

  function view(data) {
    const { beside, choice, guess, short, slider } = explore;
    const moving = data.rows.filter((one) => one.moves);
    const ask = guess({ label: "Down to:", options: data.guesses });
    const row = choice({ label: "Mechanism", options: moving.map(({ name }) => name) });
    row.input.selectedIndex = data.row;
    const lam = slider({ label: "Penalty λ, for all", values: () => data.penalties, start: data.start, text: (v) => `λ = ${v}` });
    const budget = slider({ label: "Budget ε", values: () => data.budgets, start: 1, text: (v) => `ε = ${v}` });
    const one = data.budgets.indexOf(1), asked = lowest(data, data.row, one), early = data.penalties.indexOf(data.before);
    return {
      title: "Floor, bias and noise while the penalty is dragged",
      controls: { ask, row, lam, epsilon: budget },
      extreme: { row: data.rows[data.row].name, lam: String(data.penalties[0]), epsilon: String(data.budgets[0]) },
      challenge: "Bring six of the seven below the mean, with one penalty for all.",
      python: ({ row: chosen, lam: penalty, epsilon }) => `from lab import comparison
from lab.comparison.penalties import by_penalty

crowd = comparison.patients()
split, _ = by_penalty(crowd, "${data.rows[chosen].key}", ${epsilon}, [${penalty}])
lines = crowd.lines()
print(100 * (lines["least squares"] + split.sum()) / lines["mean"])  # the error`,
      show({ ask: given, row: chosen, lam: penalty, epsilon }, width) {
        const open = given >= 0, k = open ? data.budgets.indexOf(epsilon) : one;
        const j = open ? data.penalties.indexOf(penalty) : early;
        const now = solve(data, chosen, k, j), least = lowest(data, chosen, k), { name } = data.rows[chosen];
        const [left, right] = beside(width, Math.round(0.38 * width)), wins = below(data, k, j);
        const setting = { k, j, chosen, open }, sum = now &&
          `${short(data.floor)} + ${short(now.bias)} + ${short(now.noise)} = ${short(now.error)}`;
        return {
          charts: open ? [bars(data, setting, left), curve(data, setting, right)] : [bars(data, setting, width)],
          text: !open ? `At ε = 1 the row "${name}" has too much noise with the penalty ${data.before}: ${sum}. ` +
              "A larger penalty leaves less noise and more bias. How far down does it bring the error of this row?"
            : `In the row "${name}", with λ = ${penalty} and ε = ${epsilon}, ` +
              `${now ? `least squares, bias and noise are ${sum}` : "it keeps no such promise"}. ` +
              `${j === least.place ? "This is its lowest point" : `Its lowest point is ${short(least.error)}, at λ = ${data.penalties[least.place]}`}` +
              `, ${least.error < 100 ? "below" : "above"} the mean. ` +
              `With λ = ${penalty}, ${wins || "none"} of the ${moving.length} regressions with a penalty ${wins === 1 ? "is" : "are"} below the mean.`,
          verdict: ask.verdict(data.right, `the lowest is ${short(asked.error)}, at λ = ${data.penalties[asked.place]}`),
          met: wins >= 6,
          table: {
            caption: `Parts of the error at ε = ${data.budgets[k]} and λ = ${data.penalties[j]}, and the lowest error of any λ`,
            head: ["mechanism", "bias", "noise", "error", "lowest"],
            rows: data.rows.map((each, i) => {
              const parts = solve(data, i, k, j);
              return [each.name, ...(parts ? [parts.bias, parts.noise, parts.error].map(short) : ["–", "–", "–"]),
                each.moves && open ? short(lowest(data, i, k).error) : ""];
            }),
          },
        };
      },
    };
  }

  return { below, lowest, solve, view };
})();
explore.mount("penalty", explore.penalty.view);
