// Two clouds of releases: click a result, and see how far it moves a belief about one person.
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
  function clouds(data, { epsilon, result, open }, width, choose) {
    const { svg, short, INK } = explore;
    const height = 238, top = 42, foot = 44, left = 30, right = 8, high = height - top - foot;
    const step = (width - left - right) / (data.results[1] - data.results[0] + 1);
    const at = (r) => left + step * (r - data.results[0] + 0.5), to = (v) => top + high * (1 - v);
    const stage = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      style: "cursor:pointer;touch-action:manipulation",
      "aria-label": `Bars for the results from ${data.results[0]} to ${data.results[1]}, one of each pair if ` +
        `${data.who} answered ${data.answers[0]}, one if ${data.answers[1]}. The sentence has the numbers.` });
    const wide = Math.max(step * 0.42, 1.5);
    for (let r = data.results[0]; r <= data.results[1]; r += 1)
      for (const [total, color, side] of [[data.low, INK.blue, -wide], [data.high, INK.warm, 0]]) {
        const v = likely(data, epsilon, total, r);
        stage.append(svg("rect", { x: at(r) + side, y: to(v), width: wide, height: to(0) - to(v), fill: color,
          "fill-opacity": open && r === result ? 1 : 0.4 }));
      }
    stage.append(svg("path", { d: `M${left},${to(0)}H${width - right}`, class: "explore-axis" }));
    for (let r = Math.ceil(data.results[0] / 5) * 5; r <= data.results[1]; r += 5)
      stage.append(svg("path", { d: `M${at(r)},${to(0)}v5`, class: "explore-axis" }),
        word(String(r), at(r), to(0) + 19));
    if (open) stage.append(
      svg("path", { d: `M${at(result)},${to(0) + 5}l-6,10h12z`, fill: "currentColor" }));
    stage.append(word("published result", (left + width - right) / 2, height - 6),
      word("how likely", -(top + high / 2), 14, "middle", { transform: "rotate(-90)" }),
      word(`${data.who} answered ${data.answers[0]}`, at(data.low), 16, "end",
        { style: `fill:${INK.blue}`, class: "explore-name" }),
      word(`total ${data.low}`, at(data.low), 33, "end", { style: `fill:${INK.blue}` }),
      word(`${data.who} answered ${data.answers[1]}`, at(data.high), 16, "start",
        { style: `fill:${INK.warm}`, class: "explore-name" }),
      word(`total ${data.high}`, at(data.high), 33, "start", { style: `fill:${INK.warm}` }));
    stage.addEventListener("click", (event) => {
      const x = event.clientX - stage.getBoundingClientRect().left;
      choose(Math.floor((x - left) / step) + data.results[0]);
    });
    return { stage };
  }

  // The belief before, after, and how far any result could move it.
  function scale(data, { epsilon, prior, result, open }, width) {
    const { svg, INK } = explore;
    const height = 92, left = 30, right = 22, wide = width - left - right, y = 44;
    const at = (p) => left + wide * p;
    const ends = [-epsilon, epsilon].map((e) => belief(prior, Math.exp(e)));
    const after = belief(prior, ratio(data, epsilon, result));
    const stage = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": open ? "A scale from 0 to 100 percent with the belief before and after, and the range that "
        + "any result could reach. The sentence has the numbers." : "An empty scale from 0 to 100 percent." });
    stage.append(svg("path", { d: `M${at(0)},${y}H${at(1)}`, class: "explore-axis" }));
    for (const p of [0, 0.25, 0.5, 0.75, 1])
      stage.append(svg("path", { d: `M${at(p)},${y}v5`, class: "explore-axis" }),
        word(`${100 * p} %`, at(p), y + 20));
    if (open) stage.append(
      svg("rect", { x: at(ends[0]), y: y - 7, width: Math.max(at(ends[1]) - at(ends[0]), 1), height: 14,
        fill: INK.warm, "fill-opacity": 0.3 }));
    const name = (text, p, color) => {
      const x = at(p), anchor = x < left + 60 ? "start" : x > width - right - 60 ? "end" : "middle";
      return word(text, anchor === "start" ? left - 20 : anchor === "end" ? width - 4 : x, y - 16, anchor,
        { style: `fill:${color}`, class: "explore-name" });
    };
    stage.append(svg("path", { d: `M${at(prior)},${y - 9}v18`, stroke: INK.soft, "stroke-width": 3 }));
    if (open) stage.append(svg("circle", { cx: at(after), cy: y, r: 7, fill: INK.warm }),
      name("belief after", after, INK.warm));
    else stage.append(name("belief before", prior, INK.soft));
    stage.append(word(`how sure that ${data.who} answered ${data.answers[1]}`, left + wide / 2, height - 6));
    return { stage };
  }

  function view(data) {
    const { guess, short, slider, steps } = explore;
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
      title: "Two clouds of releases, and what one result does to a belief",
      controls: { ask, result, epsilon, prior },
      extreme: { result: "13", epsilon: "10", prior: "0.01" },
      challenge: "Let a result move a belief of 50 percent above 90.",
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
        const open = given >= 0, now = open ? { epsilon: e, prior: p, result: r, open }
          : { epsilon: data.epsilon, prior: data.prior, result: data.result, open };
        const times = ratio(data, now.epsilon, now.result), bound = Math.exp(now.epsilon);
        const [least, most] = [1 / bound, bound].map((one) => belief(now.prior, one));
        const [one, other] = data.answers;
        const said = Math.abs(times - 1) < 1e-9 ? "is equally likely in both cases"
          : times > 1 ? `is ${short(times)} times as likely if ${data.who} answered ${other} as if ${one}`
            : `is ${short(1 / times)} times as likely if ${data.who} answered ${one} as if ${other}`;
        return {
          charts: [clouds(data, now, width, open ? choose : () => {}), scale(data, now, width)],
          text: !open ? `The bars show which results to expect at a budget of ${data.epsilon}. How far can one of them move the belief?` :
            `With a budget of ${now.epsilon} the result ${now.result} ${said}: a belief of ${percent(now.prior)} ` +
            `becomes ${percent(belief(now.prior, times))}. No result takes it above ${percent(most)} or below ${percent(least)}.`,
          verdict: ask.verdict(data.right, `from 50 percent a budget of ${data.epsilon} lets it rise to ${percent(belief(0.5, Math.exp(data.epsilon)))}`),
          met: p === 0.5 && belief(p, times) > 0.9,
          table: {
            caption: `Results at ε = ${now.epsilon}: how many times as likely if ${data.who} answered ${other} as if ` +
              `${one}, and the belief after, from ${percent(now.prior)} before`,
            head: ["result", "ratio", "belief after"],
            rows: [data.low - 1, ...Array.from({ length: data.high - data.low + 1 }, (_, k) => data.low + k), data.high + 1]
              .map((s, k, all) => [k === 0 ? `up to ${s}` : k === all.length - 1 ? `${s} or more` : String(s),
                short(ratio(data, now.epsilon, s)), percent(belief(now.prior, ratio(data, now.epsilon, s)))]),
          },
        };
      },
    };
  }

  return { likely, ratio, belief, view };
})();
explore.mount("odds", explore.odds.view);
