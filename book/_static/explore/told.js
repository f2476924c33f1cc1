// What a release really told about you: your actual loss beside your budget.
"use strict";

explore.told = (() => {
  // Your actual loss: how far the average of the others and yours differ, as a part of the width.
  const loss = ({ width }, own, answer, others) => own * Math.abs(answer - others) / width;

  function view(data) {
    const { INK, chart, guess, short, slider, steps } = explore;
    const halves = (step) => Array.from({ length: 5 / step + 1 }, (_, k) => k * step);
    const answer = slider({ label: "Your days", values: () => halves(1), start: 5, text: (v) => `${v} days` });
    const others = slider({ label: "Average of the others", values: () => halves(0.5), start: 3, text: (v) => `${v} days` });
    const own = slider({ label: "Your budget", values: () => steps(0.05, 2), start: data.own,
      text: (v) => `ε = ${v}`, share: "own" });
    const ask = guess({ label: "Of your budget:", options: ["none", "40 percent", "60 percent", "all of it"],
      also: [answer, others, own] });
    return {
      title: "Your actual loss against your answer",
      controls: { ask, answer, others, own },
      show({ ask: given, answer: x, others: a, own: mine }, width) {
        const now = loss(data, mine, x, a), open = given >= 0, share = (v) => 100 * loss(data, 1, v, a);
        const lines = chart({
          width, height: 250, left: 56, x: { low: -0.15, high: 5.15, ticks: [0, 1, 2, 3, 4, 5], name: "your days a week" },
          y: { low: 0, high: 118, ticks: [0, 20, 40, 60, 80, 100], name: "percent of your budget" },
          label: "A line shaped like a V: the part of your budget that is used, against your answer. The sentence has the numbers.",
        });
        lines.level(100, { color: INK.soft, dash: "6 4" });
        lines.name(`promised to you: ${mine}`, 0, 104, { color: INK.soft });
        lines.line([[a, 0], [a, 94]], { color: INK.soft, width: 1, dash: "3 3" });
        lines.name("the others", a > 3.5 ? a - 0.06 : a + 0.06, 84, { color: INK.soft }, a > 3.5 ? "end" : "start");
        if (open) {
          lines.line([[0, share(0)], [a, 0], [5, share(5)]], { color: INK.blue, width: 3 });
          lines.mark(x, share(x), { shape: "circle", color: INK.warm });
          lines.name(`you: ${short(now)}`, x, share(x) + 7, { color: INK.warm }, x > 3 ? "end" : "start");
        } else {
          lines.mark(x, 0, { shape: "circle", color: INK.warm });
          lines.name("Guess first.", 0.1, 50, { color: INK.soft });
        }
        return {
          charts: [lines],
          text: !open ? "You answered 5, the others 3 on average. How much of your budget did the release use?" :
            (given === 1 ? "Right: 40 percent. " : given < 4 ? "Not quite: it was 40 percent. " : "") +
            `Now your answer is ${x} and the others have ${a} on average: your actual loss is ${short(now)} of the ${mine} ` +
            `that you allowed, ${short(share(x))} percent. With you in it no result is more than ` +
            `${short(Math.exp(now))} times as likely as without you, or the other way round; you had allowed ${short(Math.exp(mine))}.`,
          table: {
            caption: "Your actual loss for each answer",
            head: ["your days", "actual loss", "percent of your budget"],
            rows: halves(1).map((v) => [String(v), short(loss(data, mine, v, a)), short(share(v))]),
          },
        };
      },
    };
  }

  return { loss, view };
})();
explore.mount("told", explore.told.view);
