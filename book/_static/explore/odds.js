// Two hills of releases, and a lens: how far one result can move a belief about one person.
"use strict";

explore.odds = (() => {
  // The noise at a budget: each further step is e^-rate times as likely. One answer moves the total
  // from `low` to `high`.
  const rate = ({ low, high }, epsilon) => epsilon / (high - low);

  // How likely a result is at a total, compared with the most likely one.
  const likely = (data, epsilon, total, result) =>
    Math.exp(-rate(data, epsilon) * Math.abs(result - total));

  // How many times as likely a result is if the total is `high` as if it is `low`.
  const ratio = (data, epsilon, result) =>
    Math.exp(rate(data, epsilon) * (Math.abs(result - data.low) - Math.abs(result - data.high)));

  // The belief in `high` after a result: the odds are multiplied by its ratio.
  const belief = (prior, times) => prior * times / (prior * times + 1 - prior);

  const { word } = explore;

  // A column for each result, one bar for each total; the chosen column is full, the others pale.
  function hills(data, { epsilon, result, open }, width, choose) {
    const { PUBLISHED, WITH, WITHOUT, svg } = explore;
    const height = 300, top = 42, foot = 44, left = 30, right = 8, high = height - top - foot;
    const step = (width - left - right) / (data.results[1] - data.results[0] + 1);
    const at = (r) => left + step * (r - data.results[0] + 0.5), to = (v) => top + high * (1 - v);
    const stage = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      style: "cursor:pointer;touch-action:manipulation",
      "aria-label": `Bars for the results from ${data.results[0]} to ${data.results[1]}, one of each pair if ` +
        `${data.who} answered ${data.answers[0]}, one if ${data.answers[1]}. The sentence has the numbers.` });
    const wide = Math.max(step * 0.42, 1.5);
    for (let r = data.results[0]; r <= data.results[1]; r += 1)
      for (const [total, color, side] of [[data.low, WITHOUT, -wide], [data.high, WITH, 0]]) {
        const v = likely(data, epsilon, total, r);
        stage.append(svg("rect", { x: at(r) + side, y: to(v), width: wide, height: to(0) - to(v), fill: color,
          "fill-opacity": open && r === result ? 1 : 0.45 }));
      }
    stage.append(svg("path", { d: `M${left},${to(0)}H${width - right}`, class: "explore-axis" }));
    for (let r = Math.ceil(data.results[0] / 5) * 5; r <= data.results[1]; r += 5)
      stage.append(svg("path", { d: `M${at(r)},${to(0)}v5`, class: "explore-axis" }),
        word(String(r), at(r), to(0) + 19));
    if (open) stage.append(
      svg("path", { d: `M${at(result)},${to(0) + 5}l-6,10h12z`, fill: PUBLISHED }));
    stage.append(word("published result", (left + width - right) / 2, height - 6),
      word("how likely", -(top + high / 2), 14, "middle", { transform: "rotate(-90)" }),
      word(`${data.who} answered ${data.answers[0]}`, at(data.low), 16, "end",
        { style: `fill:${WITHOUT}`, class: "explore-name" }),
      word(`total ${data.low}`, at(data.low), 33, "end", { style: `fill:${WITHOUT}` }),
      word(`${data.who} answered ${data.answers[1]}`, at(data.high), 16, "start",
        { style: `fill:${WITH}`, class: "explore-name" }),
      word(`total ${data.high}`, at(data.high), 33, "start", { style: `fill:${WITH}` }));
    stage.addEventListener("click", (event) => {
      const x = event.clientX - stage.getBoundingClientRect().left;
      choose(Math.floor((x - left) / step) + data.results[0]);
    });
    return { stage };
  }

  // Belief before and after: the lens holds all that any result can make of a belief.
  const GRID = Array.from({ length: 101 }, (_, k) => 0.5 - Math.cos(Math.PI * k / 100) / 2);
  function lens(data, { epsilon, prior, result, open }, width) {
    const { PUBLISHED, WITH, WITHOUT, chart } = explore, up = Math.exp(epsilon);
    const axes = chart({ width, height: 300, left: 48,
      x: { low: 0, high: 1, ticks: [0, 0.25, 0.5, 0.75, 1], name: `belief before that ${data.who} answered ${data.answers[1]}` },
      y: { low: 0, high: 1, ticks: [0, 0.25, 0.5, 0.75, 1], name: "belief after" },
      label: open ? "A lens around the diagonal: how far any result can move each belief. The sentence has the numbers."
        : "A diagonal: without a result a belief stays as it was. The lens is drawn after your guess." });
    const soft = { color: "currentColor", dash: "5 4", width: 1 }, now = { color: PUBLISHED, shape: "circle" };
    if (open) {
      const edge = (times) => GRID.map((p) => [p, belief(p, times)]);
      axes.area([...edge(up), ...edge(1 / up).reverse()], { color: WITH, opacity: 0.22 });
      axes.line(edge(up), { color: WITH, width: 2 });
      axes.line(edge(1 / up), { color: WITHOUT, width: 2 });
    }
    axes.line([[0, 0], [1, 1]], soft);
    axes.name("learned nothing", 0.99, 0.04, { color: "currentColor" }, "end");
    const after = open ? belief(prior, ratio(data, epsilon, result)) : prior;
    axes.line([[prior, 0], [prior, open ? belief(prior, up) : prior]], { color: "currentColor", width: 1, dash: "2 3" });
    axes.line([[0, after], [prior, after]], { color: PUBLISHED, width: 1, dash: "2 3" });
    axes.mark(prior, after, now);
    if (!open) axes.name("up to where?", prior, 0.8, { color: WITH }, "middle");
    return axes;
  }

  function view(data) {
    const { beside, guess, short, slider, steps } = explore;
    const range = Array.from({ length: data.results[1] - data.results[0] + 1 }, (_, k) => k + data.results[0]);
    // 99.95 and more with as many digits as it takes not to say 100
    const percent = (p) => (p > 0.9995 ? `${Math.floor(1e5 * p) / 1e3} percent` : `${short(100 * p)} percent`);
    const ask = guess({ label: "It can rise to:", options: data.guesses });
    const result = slider({ label: "Published result", values: () => range, start: data.result,
      text: (v) => String(v) });
    const epsilon = slider({ label: "Privacy budget ε", values: () => steps(0.1, 10), start: data.epsilon,
      text: (v) => `ε = ${v}` });
    const prior = slider({ label: "Belief before", start: data.prior, text: percent,
      values: () => [0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999] });
    const choose = (r) => {
      result.input.value = Math.min(Math.max(r, data.results[0]), data.results[1]) - data.results[0];
      result.input.dispatchEvent(new Event("input"));
    };
    return {
      title: "Two hills of releases, and the lens of beliefs before and after",
      controls: { ask, result, epsilon, prior },
      extreme: { epsilon: "10" },
      challenge: "Find the smallest budget on the slider with which a belief of 50 percent can pass 90.",
      python: ({ result: r, epsilon: e, prior: p }) => `import numpy as np
from fractions import Fraction
from pdpbook.noise import WholeNumbers

rate = Fraction("${e}") / ${data.high - data.low}  # of the noise
low, high = (WholeNumbers((total,), (rate,), (Fraction(1),))
             for total in (${data.low}, ${data.high}))
times = np.exp(high.logpmf([${r}]) - low.logpmf([${r}]))
odds = times * ${p} / (1 - ${p})
print(100 * odds / (1 + odds))  # percent`,
      show({ ask: given, result: r, epsilon: e, prior: p }, width) {
        const open = given >= 0, now = { epsilon: e, prior: p, result: r, open };
        const times = ratio(data, e, r), bound = Math.exp(e), [one, other] = data.answers;
        const [least, most] = [1 / bound, bound].map((factor) => belief(p, factor));
        const said = Math.abs(times - 1) < 1e-9 ? "is equally likely in both cases"
          : times > 1 ? `is ${short(times)} times as likely if ${data.who} answered ${other} as if ${one}`
            : `is ${short(1 / times)} times as likely if ${data.who} answered ${one} as if ${other}`;
        const after = belief(p, times), points = 100 * Math.abs(after - p);
        const [first, second] = beside(width, 340);
        return {
          charts: [hills(data, now, first, open ? choose : () => {}), lens(data, now, second)],
          text: !open ? `The bars show which results to expect at a budget of ${data.epsilon}. Somebody believes with 50 percent that ` +
            `${data.who} answered ${other}. How far can one result move this belief?` :
            `With a budget of ${e} the result ${r} ${said}: a belief of ${percent(p)} ` +
            `becomes ${percent(after)}, ${short(Number(points.toFixed(3)))} points ${after < p ? "less" : "more"}. ` +
            `No result takes it above ${percent(most)} or below ${percent(least)}: it stays in the lens.`,
          verdict: ask.verdict(data.right, `from 50 percent a budget of ${data.epsilon} lets it rise to ${percent(belief(0.5, Math.exp(data.epsilon)))}`),
          met: p === 0.5 && e === steps(0.1, 10).find((v) => belief(0.5, Math.exp(v)) > 0.9),
          table: {
            caption: `Results at ε = ${e}: how many times as likely if ${data.who} answered ${other} as if ` +
              `${one}, and the belief after, from ${percent(p)} before`,
            head: ["result", "ratio", "belief after"],
            rows: [data.low - 1, ...Array.from({ length: data.high - data.low + 1 }, (_, k) => data.low + k), data.high + 1]
              .map((s, k, all) => [k === 0 ? `up to ${s}` : k === all.length - 1 ? `${s} or more` : String(s),
                short(ratio(data, e, s)), percent(belief(p, ratio(data, e, s)))]),
          },
        };
      },
    };
  }

  return { likely, ratio, belief, view };
})();
explore.mount("odds", explore.odds.view);
