// One budget for all: the smallest of six, and the noise that follows.
"use strict";

explore.careful = (() => {
  // Everything the figure shows; the last of the budgets is yours. The scale of the noise, in
  // days, is the mean distance by which it moves the average.
  function solve({ epsilon, width, copies }, own) {
    const budgets = [...epsilon, own], least = Math.min(...budgets);
    return { budgets, least, scale: width / (copies * budgets.length * least) };
  }

  // The bell of the noise, with its peak at the middle: points to draw it through.
  function bell(middle, b, low, high) {
    const at = Array.from({ length: 161 }, (_, k) => low + (high - low) * k / 160);
    return [...at, middle].sort((one, other) => one - other)
      .map((x) => [x, Math.exp(-Math.abs(x - middle) / b) / (2 * b)]);
  }

  function view(data) {
    const { INK, chart, guess, short, slider, steps } = explore;
    const own = slider({ label: "Your budget", values: () => steps(0.05, 2), start: data.own,
      text: (v) => `ε = ${v}`, share: "own" });
    const ask = guess({ label: "The noise for all 600:",
      options: ["stays as it is", "grows by a sixth", "doubles"], also: [own] });
    const at = (e) => short(solve(data, e).scale);
    const names = [...data.names, "you"];
    return {
      title: "Six budgets, and the noise if the smallest holds for all",
      controls: { ask, own },
      show({ ask: given, own: mine }, width) {
        const now = solve(data, mine), open = given >= 0;
        const bars = chart({
          width, height: 210, x: { low: 0.4, high: 6.6, ticks: [], name: "" },
          y: { low: 0, high: 1.1, ticks: [0, 0.5, 1], name: "budget" },
          label: "Bars: the budgets of the six groups, cut off at the smallest. The table has the numbers.",
        });
        now.budgets.forEach((e, k) => {
          const you = k === 5, color = you ? INK.warm : INK.blue;
          bars.bar(k + 1, 0.34, e, { fill: "none", color });
          bars.bar(k + 1, 0.34, now.least, { fill: color, color });
          bars.name(e > 1 ? `${e} ↑` : String(e), k + 1, Math.min(e, 1) + 0.03, { color }, "middle");
          bars.name(names[k], k + 1, -0.13, { color: "currentColor" }, "middle");
        });
        bars.level(now.least, { color: INK.soft, dash: "5 4", width: 1.5 });
        const curve = chart({
          width, height: 190, x: { low: 2, high: 4, ticks: [2, 2.5, 3, 3.5, 4], name: "published average (days a week)" },
          y: { low: 0, high: 6.8, ticks: [], name: "how likely" },
          label: "A bell around the true average of 3 days: what may be published. The sentence has the numbers.",
        });
        curve.upright(3, { color: INK.soft, width: 1, dash: "3 3" });
        if (open) {
          curve.line(bell(3, solve(data, 0.05).scale, 2, 4), { color: INK.soft, dash: "5 4" });
          curve.line(bell(3, now.scale, 2, 4), { color: INK.blue, width: 3 });
          curve.name(`your budget ${mine}`, 2.95, 5, { color: INK.blue }, "end");
          curve.name("if it were 0.05", 2.85, 2.2, { color: INK.soft }, "end");
        } else {
          curve.name("Guess first.", 3.05, 3.4, { color: INK.soft });
        }
        return {
          charts: [bars, curve],
          text: !open ? "The filled part of each bar is what one common promise uses. Guess, then move your budget." :
            (given === 2 ? "Right. " : given < 3 ? "Not quite. " : "") +
            `At a budget of 0.1 the noise is ${at(0.1)} days on average; at 0.05 it is ${at(0.05)}, twice as much, ` +
            `for everyone. At yours, ${mine}, the smallest budget is ${now.least} and the noise is ` +
            `${short(now.scale)} days.`,
          table: {
            caption: "Each group: its budget, and the budget that one common promise uses",
            head: ["group", "budget", "used"],
            rows: now.budgets.map((e, k) => [names[k], String(e), String(now.least)]),
          },
        };
      },
    };
  }

  return { solve, bell, view };
})();
explore.mount("careful", explore.careful.view);
