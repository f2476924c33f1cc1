// From a budget and a number of publications to the most that somebody may come to believe.
"use strict";

explore.belief = (() => {
  // The odds are multiplied by e^total at most; randomized response attains it.
  const after = (before, total) => before / (before + (1 - before) * Math.exp(-total));

  // The budget for all publications together at which `before` can become `accepted`.
  const budget = (before, accepted) =>
    Math.log(accepted / (1 - accepted)) - Math.log(before / (1 - before));

  const percent = (p) => (p > 0.995 ? "more than 99.5 %" : `${explore.short(100 * p)} %`);

  function view(data) {
    const { INK, chart, guess, short, slider } = explore;
    const ask = guess({ label: "At most", options: data.guesses });
    const epsilon = slider({ label: "Budget ε of one publication", start: data.epsilon, text: (v) => `ε = ${v}`,
      values: () => [0.01, 0.02, 0.05, 0.08, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3] });
    const count = slider({ label: "Publications", start: data.count, text: String,
      values: () => [1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100] });
    const before = slider({ label: "Belief before", start: data.before, text: percent,
      values: () => [0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7] });
    const accepted = slider({ label: "Accepted after", start: data.accepted, text: percent,
      values: () => [0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95] });
    const shares = [0, ...Array.from({ length: 201 }, (_, k) => 0.0005 + 0.999 * k / 200), 1];
    return {
      title: "What somebody may come to believe",
      controls: { ask, epsilon, count, before, accepted },
      extreme: { epsilon: "3", count: "100" },
      challenge: "Publish ten times, and keep a belief of 10 percent at 20 or below.",
      python: ({ epsilon: e, count: k }) => `from pdpbook.guarantees import PureDP, compose

one = PureDP(${e}, neighbors="replace-one")
print(compose(*[one] * ${k}).epsilon)  # of all publications together`,
      show({ ask: given, epsilon: e, count: k, before: p, accepted: most }, width) {
        const open = given >= 0, total = e * k, one = after(p, e), all = after(p, total);
        const axes = chart({
          width, height: Math.min(300, 0.55 * width + 90), left: 58,
          label: open ? "Curves above a diagonal: the belief after one publication and after all of them, by the belief before."
            : "A diagonal: without a publication the belief stays as it was. The curves come after your guess.",
          x: { low: 0, high: 1, ticks: [0, 0.25, 0.5, 0.75, 1], name: "belief before" },
          y: { low: 0, high: 1, ticks: [0, 0.25, 0.5, 0.75, 1], name: "belief after, at most" },
        });
        const soft = { color: INK.soft, dash: "5 4" }, warm = { color: INK.warm, width: 3, shape: "circle" };
        const blue = { color: INK.blue, shape: "circle" };
        axes.line([[0, 0], [1, 1]], soft);
        axes.name("no publication", 0.99, 0.45, soft, "end");
        if (!open)
          return { charts: [axes], table: { caption: "", head: [], rows: [] },
            text: `Somebody thinks that ${data.who} has asthma with a probability of ${percent(data.before)}. Ten tables come ` +
              `out, each with ε = ${data.epsilon} for ${data.who}. How sure can they be now, at most?` };
        axes.level(most, { color: "currentColor", dash: "2 4", width: 1.5 });
        axes.line(shares.map((s) => [s, after(s, e)]), blue);
        axes.line(shares.map((s) => [s, after(s, total)]), warm);
        axes.mark(p, one, blue);
        axes.mark(p, all, warm);
        const verdict = ask.verdict(data.right, "ten publications with ε = 1 multiply the odds by up to 22,000, " +
          `and ${percent(data.before)} can become more than 99.5 %`);
        const limit = budget(p, most);
        return {
          charts: [axes],
          verdict,
          met: k === 10 && p === 0.1 && all <= 0.2,
          text: `With ε = ${e} in each of ${k === 1 ? "1 publication" : `${k} publications`}, ` +
            `ε = ${short(total)} in all, ${percent(p)} can become ${percent(all)} (orange); after one it is at most ` +
            `${percent(one)} (blue). ` + (limit > 1e-9
            ? `To keep it at ${percent(most)} (dotted), take ε = ${short(limit)} for all together` +
              (k === 1 ? "." : `, or ${short(limit / k)} for each.`)
            : `It was not below ${percent(most)} before, so no budget above 0 keeps it there.`),
          table: {
            caption: "What a belief can become, at most",
            head: ["before", "after one", `after ${k}`],
            rows: [0.01, 0.1, 0.3, 0.5, 0.7].map((s) => [s, after(s, e), after(s, total)].map(percent)),
          },
        };
      },
    };
  }

  return { after, budget, view };
})();
explore.mount("belief", explore.belief.view);
