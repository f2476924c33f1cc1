// All mechanisms on one data set: a row each, and the budget moves the dots past the mean.
"use strict";

explore.contest = (() => {
  // Who hides a whole record, publishes a regression, and is clearly better than the mean.
  function solve(data, k) {
    const mean = data.rows.find((row) => row.rival).errors[k], bar = Math.min(100, mean);
    const record = data.rows.filter((row) => row.group < 2 && !row.rival);
    const wins = record.filter((row) => row.errors[k] + 2 * row.doubt[k] < bar);
    return { wins: wins.length, of: record.length, // the best is one among equal promises
      best: record.reduce((one, row) => (row.errors[k] < one.errors[k] ? row : one)) };
  }

  const ROW = 21, HEAD = 28, LEFT = 142, RIGHT = 14, LOW = 50, HIGH = 150;

  function dots(data, k, open, width) {
    const { INK, svg, short } = explore, wide = width - LEFT - RIGHT, marks = [];
    const at = (v) => LEFT + wide * (v - LOW) / (HIGH - LOW);
    const word = (text, x, y, anchor, more = {}) =>
      marks.push(svg("text", { x, y, "text-anchor": anchor, ...more }, text));
    let y = 0, group = -1;
    const places = data.rows.map((row) => {
      if (row.group !== group) {
        group = row.group;
        y += HEAD;
        word(data.groups[group], 0, y - 8, "start", { "font-weight": 600 });
      }
      y += ROW;
      return y - ROW / 2;
    });
    // A line runs through the rows of each group, and stops before the words above the next one.
    const foot = y + 6, runs = data.groups.map((_, g) => places.filter((_, j) => data.rows[j].group === g))
      .map((rows) => [rows[0] - ROW / 2, rows.at(-1) + ROW / 2]);
    const line = (v, dash, color) => marks.push(svg("path", {
      d: runs.map(([top, end]) => `M${at(v)},${top}V${end}`).join(""),
      fill: "none", stroke: color, "stroke-dasharray": dash, "stroke-width": 1.5 }));
    line(100, "6 4", INK.soft);
    line(data.floor, "2 3", INK.soft);
    marks.push(svg("path", { d: `M${LEFT},${foot}H${width - RIGHT}`, class: "explore-axis" }));
    for (const v of [60, 80, 100, 120, 140]) {
      marks.push(svg("path", { d: `M${at(v)},${foot}v5`, class: "explore-axis" }));
      word(short(v), at(v), foot + 19, "middle");
    }
    word("error, the mean has 100", LEFT + wide / 2, foot + 38, "middle");
    data.rows.forEach((row, j) => {
      const v = row.errors[k], color = row.group < 2 && !row.rival ? INK.blue : "var(--fig-green)";
      word(row.name, LEFT - 8, places[j] + 4, "end");
      if (!open && !row.rival) return word("?", at(102), places[j] + 4, "start", { style: `fill:${INK.soft}` });
      if (v <= HIGH - 2) marks.push(svg("circle", { cx: at(v), cy: places[j], r: 6, fill: color }));
      else word(`${Math.round(v)} ▸`, width - RIGHT, places[j] + 4, "end", { style: `fill:${color}`, class: "explore-name" });
    });
    const height = foot + 44;
    return { stage: svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": open ? "A row with one dot for each mechanism. The table has the numbers."
        : "A row for each mechanism. Only the means have dots; the others are drawn after your guess." }, ...marks) };
  }

  function view(data) {
    const { guess, short, slider } = explore, asked = solve(data, data.budget);
    const ask = guess({ label: "Clearly better than the mean:", options: data.guesses });
    const budget = slider({ label: "Budget ε", values: () => data.budgets, start: data.budgets[data.budget], text: (v) => `ε = ${v}` });
    return {
      title: "Errors of all mechanisms on the same patients",
      controls: { ask, budget },
      extreme: { budget: "10" },
      show({ ask: given, budget: epsilon }, width) {
        const open = given >= 0, k = open ? data.budgets.indexOf(epsilon) : data.budget, now = solve(data, k);
        return {
          charts: [dots(data, k, open, width)],
          text: !open ? `Fourteen rows in the first two groups publish a regression. How many are clearly left of 100 at ε = ${data.budgets[data.budget]}?`
            : `Of the ${now.of} regressions that hide a record (blue), ${now.wins} ${now.wins === 1 ? "is" : "are"} clearly better than the mean at ε = ${epsilon}. ` +
              `Among them the smallest error is ${short(now.best.errors[k])}, in the row "${now.best.name}" (${data.groups[now.best.group]}).`,
          verdict: ask.verdict(data.right, `at ε = ${data.budgets[data.budget]} it is ${asked.wins} of ${asked.of}`),
          table: {
            caption: "Error by budget, in percent of that of the mean",
            head: ["mechanism", ...data.budgets.map((v) => `ε = ${v}`)],
            rows: data.rows.map((row) => [`${data.groups[row.group]}: ${row.name}`, ...row.errors.map((v) => v.toFixed(1))]),
          },
        };
      },
    };
  }

  return { solve, view };
})();
explore.mount("contest", explore.contest.view);
