// One noise for all: two hills for two answers of one person, and how they compare at a result.
"use strict";

explore.hills = (() => {
  // One member of a group answers 0, or 5: where the averages lie, in days, and the noise.
  function solve({ epsilon, copies, width }, own, who) {
    const budgets = [...epsilon, own], total = budgets.reduce((a, b) => a + b, 0);
    const scale = width / (copies * total);
    return { scale, budget: budgets[who], shift: width * budgets[who] / (copies * total) };
  }

  // How much likelier a result is after the answer 5 than after 0.
  function ratio(data, own, who, result) {
    const { scale, shift } = solve(data, own, who);
    return Math.exp((Math.abs(result - 3) - Math.abs(result - 3 - shift)) / scale);
  }

  function view(data) {
    const { INK, bell, chart, choice, guess, literal, short, slider, steps } = explore;
    const LOW = 2.9, HIGH = 3.1, TOP = 44;
    const results = Array.from({ length: 101 }, (_, k) => Number((LOW + k * 0.002).toFixed(3)));
    const who = choice({ label: "Whose answer changes",
      options: [...[...data.names].reverse(), "you"] });
    const result = slider({ label: "Published result", values: () => results, start: 3.03,
      text: (v) => v.toFixed(3) });
    const own = slider({ label: "Your budget", values: () => steps(0.05, 2), start: data.own,
      text: (v) => `ε = ${v}`, share: "own" });
    const ask = guess({ label: "For Zoe, at most:", options: ["1.1 times", "1.6 times", "2.7 times", "no limit"] });
    return {
      title: "Two hills: the results to expect after two answers of one member",
      controls: { ask, who, result, own },
      extreme: { who: "Zoe", result: "3.100" },
      python: ({ who: chosen, result: x, own: mine }) => `import numpy as np
from pdpbook.noise import ProductLaw
from pdpbook.personalized import pdp_weights

epsilon = np.repeat(${literal([...data.epsilon, mine])}, ${data.copies})
k = ${data.copies * (chosen < 5 ? 4 - chosen : 5)}  # who answers 0, or ${data.width}
move = ${data.width} * pdp_weights(epsilon)[k]
zero, five = (ProductLaw([m], [move / epsilon[k]]) for m in (3, 3 + move))
print(np.exp(abs(five.logpdf([${x}]) - zero.logpdf([${x}]))))`,
      show({ ask: given, who: chosen, result: x, own: mine }, width) {
        const index = chosen < 5 ? 4 - chosen : 5, whose = chosen < 5 ? `${data.names[index]}'s` : "Your";
        const open = given >= 0, now = solve(data, open ? mine : data.own, index), here = ratio(data, mine, index, x);
        const [high, low] = [3 + now.shift, 3].map((m) => Math.exp(-Math.abs(x - m) / now.scale) / (2 * now.scale));
        const lines = chart({
          width, height: 280, x: { low: LOW, high: HIGH, ticks: [2.9, 2.95, 3, 3.05, 3.1], name: "published average (days a week)" },
          y: { low: 0, high: TOP, ticks: [], name: "how likely" },
          label: open ? "Two hills of one shape, a little apart. The sentence has the numbers."
            : "One hill. The other is drawn after your guess.",
        });
        const color = index === 5 ? INK.warm : INK.blue, name = index === 5 ? "you" : data.names[index];
        lines.line(bell(3, now.scale, LOW, HIGH), { color: INK.soft, dash: "5 4" });
        lines.name(`${name}: answer 0`, 2.905, TOP * 0.9, { color: INK.soft });
        if (open) {
          lines.line(bell(3 + now.shift, now.scale, LOW, HIGH), { color, width: 3 });
          lines.name(`${name}: answer 5`, 2.905, TOP * 0.8, { color });
          lines.upright(x, { color: INK.soft, width: 1 });
          lines.mark(x, low, { shape: "circle", color: INK.soft });
          lines.mark(x, high, { shape: "circle", color });
        } else {
          lines.name("answer 5: where?", 2.905, TOP * 0.8, { color });
        }
        const times = here >= 1 ? `${short(here)} times as likely after the answer 5 as after 0`
          : `${short(1 / here)} times as likely after the answer 0 as after 5`;
        return {
          charts: [lines],
          text: !open ? "The hill shows which results to expect if Zoe answers 0. Her answer 5 moves the hill: how much likelier can it make a result?" :
            `${whose} answer moves the hill by ${short(now.budget)} times the size of the noise. ` +
            `A result of ${x.toFixed(3)} is ${times}. No result comes above ${short(Math.exp(now.budget))} times.`,
          verdict: ask.verdict(2, "for Zoe it is at most e, or 2.72, times"),
          table: {
            caption: "Each member: budget, largest move of the average in days, largest factor",
            head: ["member", "budget", "move", "factor"],
            rows: [...data.names, "you"].map((one, k) => {
              const { budget, shift } = solve(data, mine, k);
              return [one, String(budget), short(shift), short(Math.exp(budget))];
            }),
          },
        };
      },
    };
  }

  return { solve, ratio, view };
})();
explore.mount("hills", explore.hills.view);
