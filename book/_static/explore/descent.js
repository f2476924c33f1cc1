// Noisy steps: how often a guess whether somebody took part is right, after more and more of them.
"use strict";

explore.descent = (() => {
  // In how many of 100 cases the best guess is right, by lot and with everybody in every step.
  function solve(data, sigma, steps) {
    const k = data.sigmas.indexOf(sigma), j = data.steps.indexOf(steps);
    return { lot: data.lot[k][j], all: data.all[k][j], epsilon: data.epsilon[k][j] };
  }

  function view(data) {
    const { INK, chart, guess, short, slider } = explore;
    const ask = guess({ label: "After 100 steps, in at most:", options: data.guesses });
    const asked = solve(data, data.sigma, data.count);
    const lot = { color: INK.blue, text: "in one step of ten, by coins", width: 3 };
    const all = { color: INK.soft, text: "in every step", dash: "6 4" };
    return {
      title: "How often a guess is right after many noisy steps",
      controls: {
        ask,
        steps: slider({ label: "Steps", values: () => data.steps, start: data.count, text: String }),
        sigma: slider({ label: "Noise multiplier", values: () => data.sigmas, start: data.sigma, text: String }),
      },
      extreme: { steps: String(data.steps.at(-1)) },
      challenge: "Take 1,000 steps, and keep the guesser below 70 of 100.",
      python: ({ steps, sigma }) => `from pdpbook.gradient import dpsgd_total_variation

print(50 + 50 * dpsgd_total_variation(${sigma}, 0.1, ${steps}))  # of 100`,
      show({ ask: given, steps, sigma }, width) {
        const open = given >= 0, noise = open ? sigma : data.sigma, now = solve(data, noise, steps);
        const lines = chart({
          width, height: 290, keys: open ? [lot, all] : [],
          x: { low: 1, high: 1400, ticks: [1, 10, 100, 1000], log: true, name: "steps" },
          y: { low: 50, high: 100, ticks: [50, 60, 70, 80, 90, 100], name: "right guesses of 100" },
          label: open ? "Two curves that rise with the number of steps. The sentence has the numbers."
            : "One point, for one step. The curve is drawn after your guess.",
        });
        const one = solve(data, noise, 1);
        if (open) {
          lines.line(data.steps.map((v) => [v, solve(data, noise, v).all]), all);
          lines.line(data.steps.map((v) => [v, solve(data, noise, v).lot]), lot);
          lines.upright(steps, { color: INK.soft, dash: "2 3", width: 1 });
          lines.mark(steps, now.lot, { ...lot, shape: "circle" });
          lines.mark(steps, now.all, { ...all, shape: "square" });
        } else {
          lines.mark(1, one.lot, { ...lot, shape: "circle" });
          lines.name("after one step", 1.25, one.lot + 2, lot);
        }
        const count = steps === 1 ? "1 step" : `${steps} steps`;
        return {
          charts: [lines],
          text: !open ? `After one step the guess is right in at most ${short(one.lot)} of 100 cases.`
            : `After ${count} with the noise multiplier ${sigma} it is right in at most ${short(now.lot)} of 100 ` +
              `cases, and in ${short(now.all)} if everybody is in every step. ` +
              `By coins, ε is ${short(now.epsilon)} at δ = 0.00001.`,
          verdict: ask.verdict(data.right, `after ${data.count} steps with the noise multiplier ` +
            `${data.sigma} it is right in at most ${short(asked.lot)} of 100 cases`),
          met: steps === 1000 && now.lot < 70,
          table: {
            caption: `Right guesses of 100 with the noise multiplier ${noise}, at most, and ε at δ = 0.00001 by coins`,
            head: ["steps", "by coins", "every step", "ε"],
            rows: data.steps.map((v) => {
              const { lot: few, all: each, epsilon } = solve(data, noise, v);
              return [String(v), short(few), short(each), short(epsilon)];
            }),
          },
        };
      },
    };
  }

  return { solve, view };
})();
explore.mount("descent", explore.descent.view);
