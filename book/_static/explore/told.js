// What a release really told about you: your actual loss beside your budget.
"use strict";

explore.told = (() => {
  // Your actual loss: how far the average of the others and yours differ, as a part of the width.
  const loss = ({ width }, own, answer, others) => own * Math.abs(answer - others) / width;

  function view(data) {
    const { INK, chart, guess, literal, short, slider, steps } = explore;
    const halves = (step) => Array.from({ length: 5 / step + 1 }, (_, k) => k * step);
    const answer = slider({ label: "Your days", values: () => halves(1), start: 5, text: (v) => `${v} days` });
    const others = slider({ label: "Average of the others", values: () => halves(0.5), start: 3, text: (v) => `${v} days` });
    const own = slider({ label: "Your budget", values: () => steps(0.05, 2), start: data.own,
      text: (v) => `ε = ${v}`, share: "own" });
    const ask = guess({ label: "Your actual loss:", options: ["0", "0.2", "0.3", "0.5"] });
    return {
      title: "Your actual loss against your answer",
      controls: { ask, answer, others, own },
      extreme: { answer: "5", others: "0" },
      challenge: "Lose nothing of what you allowed, although you answer 5.",
      python: ({ answer: x, others: a, own: mine }) => `import numpy as np
from pdpbook.noise import ProductLaw
from pdpbook.personalized import pdp_weights

epsilon = np.repeat(${literal([...data.epsilon, mine])}, ${data.copies})
weight = pdp_weights(epsilon)[-1]  # yours
center, scale = ${a}, ${data.width} * weight / epsilon[-1]
without = ProductLaw([center], [scale])
law = ProductLaw([center + weight * (${x} - center)], [scale])
ends = np.array([[center - 1], [center + 1]])
print(np.abs(law.logpdf(ends) - without.logpdf(ends)).max())`,
      show({ ask: given, answer: x, others: a, own: mine }, width) {
        const open = given >= 0, budget = open ? mine : data.own;
        const at = (v) => loss(data, budget, v, a), now = at(x);
        const lines = chart({
          width, height: 250, left: 60, x: { low: -0.15, high: 5.15, ticks: [0, 1, 2, 3, 4, 5], name: "your days a week" },
          y: { low: 0, high: 1.18 * budget, ticks: [0, 1, 2, 3, 4, 5].map((v) => v * budget / 5), name: "actual loss" },
          label: open ? "A line shaped like a V: your actual loss against your answer. The sentence has the numbers."
            : "Axes without a line. It is drawn after your guess.",
        });
        lines.level(budget, { color: INK.soft, dash: "6 4" });
        lines.name(`your budget: ${budget}`, 0, 1.04 * budget, { color: INK.soft });
        lines.line([[a, 0], [a, 0.94 * budget]], { color: INK.soft, width: 1, dash: "3 3" });
        lines.name("the others", a > 3.5 ? a - 0.06 : a + 0.06, 0.84 * budget, { color: INK.soft }, a > 3.5 ? "end" : "start");
        if (open) {
          lines.line([[0, at(0)], [a, 0], [5, at(5)]], { color: INK.blue, width: 3 });
          lines.mark(x, now, { shape: "circle", color: INK.warm });
          lines.name(`you: ${short(now)}`, x, now + 0.07 * budget, { color: INK.warm }, x > 3 ? "end" : "start");
        } else {
          lines.mark(x, 0, { shape: "circle", color: INK.warm });
          lines.name("you: ?", 4.9, 0.07 * budget, { color: INK.warm }, "end");
        }
        return {
          charts: [lines],
          text: !open ? `You answered 5, the others 3 on average, and your budget is ${budget}. How large is your actual loss?` :
            `Now your answer is ${x} and the others are at ${a}: you lose ${short(now)} of the ${budget} that you allowed. No result is ` +
            `more than ${short(Math.exp(now))} times as likely with you as without you, or the other way round; you allowed ` +
            `${short(Math.exp(budget))} times.`,
          verdict: ask.verdict(1, `with your answer 5, the others at 3 and a budget of ${data.own} it is ${short(loss(data, data.own, 5, 3))}`),
          met: x === 5 && now === 0,
          table: {
            caption: "Your actual loss for each answer",
            head: ["your days", "actual loss", "your budget"],
            rows: halves(1).map((v) => [String(v), short(at(v)), String(budget)]),
          },
        };
      },
    };
  }

  return { loss, view };
})();
explore.mount("told", explore.told.view);
