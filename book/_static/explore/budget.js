// One budget among five groups: what each rule uses of the budgets, and the line it can release.
"use strict";

explore.budget = (() => {
  const sum = (list) => list.reduce((total, v) => total + v, 0);

  // One level for all who reach it, 0 for the others: the level with the largest sum,
  // and of two such the one that leaves out fewer.
  function threshold(budgets) {
    const sorted = [...budgets].sort((a, b) => b - a);
    const [, level] = sorted.map((e, k) => [(k + 1) * e, e]).reduce((a, b) => b[0] >= a[0] ? b : a);
    return budgets.map((e) => e >= level ? level : 0);
  }

  // Each rule: what it uses of every budget, weights in percent of a group, slope, mean noise.
  // Groups have the same size, so the best threshold is found among five budgets.
  function solve(data, own) {
    const budgets = data.budgets.map((e, k) => k === data.who ? own : e);
    const rule = (used) => {
      const total = sum(used), shares = used.map((e) => e / total);
      const mean = (list) => sum(list.map((v, k) => shares[k] * v));
      return { used, shares, slope: mean(data.xy) / (mean(data.xx) + data.lam),
        noise: data.constant / (data.copies * total) };
    };
    const least = Math.min(...budgets);
    return { budgets, minimum: rule(budgets.map(() => least)),
      threshold: rule(threshold(budgets)), own: rule(budgets) };
  }

  const BLUE = "var(--fig-blue, #0072b2)", WARM = "var(--fig-warm, #b84a00)";
  const SOFT = "var(--fig-soft, #6b737d)";
  const REACH = Math.log(5); // a Laplace variable of mean length 1 stays within it in 80 percent

  const { word } = explore;

  // Five bars; the one that may change has a grip, which is dragged or moved by the slider above.
  function bars(data, set, done) {
    const { svg, short } = explore;
    const height = 182, top = 16, foot = 50, left = 60, right = 16, high = height - top - foot;
    const to = (v) => top + high * (1 - v);
    const stage = svg("svg", { height, role: "img" }), holder = { stage };
    explore.drag(stage, (x, y) => set((top + high - y) / high), done);
    // Made once: a finger that drags must not lose what it touched.
    const area = svg("rect", { y: -18, height: 36, fill: "transparent" });
    const knob = svg("g", {}, svg("circle", { r: 11, fill: WARM }),
      svg("path", { d: "M-4,-2.5l4,-4l4,4M-4,2.5l4,4l4,-4", fill: "none",
        stroke: "var(--fig-on, #fff)", "stroke-width": 1.6 }));
    const grip = svg("g", { class: "explore-grip" }, area, knob), drawing = svg("g");
    stage.append(drawing, grip);
    holder.draw = (now, width) => {
      stage.setAttribute("width", width);
      stage.setAttribute("viewBox", `0 0 ${width} ${height}`);
      stage.setAttribute("aria-label",
        `Five bars, the budgets: ${data.names.map((n, k) => `${n} ${short(now.budgets[k])}`).join(", ")}.`);
      const step = (width - left - right) / data.names.length, wide = Math.min(step * 0.62, 84);
      const marks = [
        svg("path", { d: `M${left},${to(1)}V${to(0)}H${width - right}`, class: "explore-axis" }),
        word("budget", -(top + high / 2), 14, "middle", { transform: "rotate(-90)" })];
      for (const v of [0, 0.5, 1])
        marks.push(svg("path", { d: `M${left - 5},${to(v)}h5`, class: "explore-axis" }),
          word(short(v), left - 8, to(v) + 4, "end"));
      now.budgets.forEach((e, k) => {
        const mid = left + step * (k + 0.5);
        marks.push(
          svg("rect", { x: mid - wide / 2, y: to(e), width: wide, height: to(0) - to(e), fill: BLUE }),
          word(data.names[k], mid, height - foot + 24, "middle", { "font-weight": 600 }),
          word(short(e), mid, height - foot + 42));
      });
      const mid = left + step * (data.who + 0.5);
      drawing.replaceChildren(...marks);
      area.setAttribute("x", -wide / 2);
      area.setAttribute("width", wide);
      grip.setAttribute("transform", `translate(${mid} ${to(now.budgets[data.who])})`);
      return holder;
    };
    return holder;
  }

  // Three wedges on one scale: with a probability of 80 percent the released line lies in it.
  function wedges(now, width) {
    const { svg, short } = explore;
    const height = 206, top = 42, foot = 42, left = 48, right = 8, low = -0.6, up = 1.8;
    const high = height - top - foot, gap = width > 480 ? 30 : 22, step = (width - left - right + gap) / 3;
    const to = (v) => top + high * (up - v) / (up - low);
    const stage = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": "Three wedges around a rising line. The sentence has the numbers." });
    for (const v of [0, 1])
      stage.append(svg("path", { d: `M${left - 5},${to(v)}h5`, class: "explore-axis" }),
        word(short(v), left - 8, to(v) + 4, "end"));
    stage.append(word("faster by (minutes)", -(top + high / 2), 14, "middle", { transform: "rotate(-90)" }),
      word("part of the training attended", (left + width - right) / 2, height - 4));
    const names = width > 480 ? ["smallest for all", "best threshold", "own weights"]
      : ["smallest", "threshold", "own"];
    [[names[0], now.minimum, SOFT], [names[1], now.threshold, WARM], [names[2], now.own, BLUE]].forEach(([name, rule, color], k) => {
      const x = left + step * k, wide = step - gap;
      const inner = svg("svg", { x, y: top, width: wide, height: high }); // clips
      const at = (v) => to(v) - top, reach = REACH * rule.noise;
      inner.append(
        svg("path", { d: `M0,${at(0)}L${wide},${at(rule.slope + reach)}V${at(rule.slope - reach)}z`,
          fill: color, "fill-opacity": 0.3 }),
        svg("path", { d: `M0,${at(0)}L${wide},${at(rule.slope)}`, stroke: color, "stroke-width": 2.5 }));
      stage.append(inner,
        svg("path", { d: `M${x},${top}V${top + high}M${x},${to(0)}h${wide}`, class: "explore-axis" }),
        word("0", x, top + high + 18, "start"), word("1", x + wide, top + high + 18, "end"),
        word(name, x + wide / 2, 16, "middle", { style: `fill:${color}`, class: "explore-name" }),
        word(`noise ${short(rule.noise)}`, x + wide / 2, 34, "middle", { style: `fill:${color}` }));
    });
    return { stage };
  }

  function view(data) {
    const { guess, literal, short, slider, steps } = explore;
    const name = data.names[data.who], start = data.budgets[data.who];
    const values = steps(0.01, 1), before = solve(data, start);
    const budget = slider({ label: `${name}'s budget`, values: () => values, start,
      text: (v) => String(v) });
    const set = (v) => {
      const gaps = values.map((one) => Math.abs(one - v));
      budget.input.value = gaps.indexOf(Math.min(...gaps));
      budget.input.dispatchEvent(new Event("input"));
    };
    const ask = guess({ label: "The noise becomes:", options: data.guesses });
    ask.input.addEventListener("input", () => set(data.asked));
    const picture = bars(data, set, () => budget.input.dispatchEvent(new Event("change")));
    const than = (rule, own) => { // nothing is said of the change if there is none yet
      if (own === start) return "";
      const ratio = solve(data, own)[rule].noise / before[rule].noise, by = Math.round(100 * (ratio - 1));
      if (ratio > 1.995) return `${short(ratio)} times as long as at ${short(start)}`;
      return by === 0 ? `as at ${short(start)}`
        : `${Math.abs(by)} percent ${by > 0 ? "longer" : "shorter"} than at ${short(start)}`;
    };
    const listed = (names) => names.join(", ").replace(/, ([^,]*)$/, " and $1");
    const aside = (...notes) => notes.some(Boolean) ? ` (${notes.filter(Boolean).join("; ")})` : "";
    return {
      title: "One budget, and the line that three rules release",
      controls: { ask, own: budget },
      extreme: { own: "0.01" },
      challenge: "Find a budget at which the best threshold leaves nobody but Ben and Dora out.",
      python: ({ own }) => `import numpy as np
from pdpbook.sensitivity import ridge_constant

epsilon = np.repeat(${literal(solve(data, own).budgets)}, ${data.copies})
constant = ridge_constant(${data.lam}, 1, "published")
print(constant / epsilon.sum())  # mean length of the noise`,
      show({ ask: given, own }, width) {
        const open = given >= 0;
        const now = solve(data, own);
        const left = data.names.filter((_, k) => !now.threshold.used[k]);
        return {
          charts: [picture.draw(now, width), wedges(now, width)],
          verdict: ask.verdict(0, `with own weights it grows by ${Math.round(100 * (solve(data, data.asked).own.noise / before.own.noise - 1))} ` +
            `percent; with the smallest budget for all it is ten times as long`),
          met: left.join() === "Ben,Dora",
          text: !open ? `${name}'s budget is ${short(own)}. What happens to the noise at ${data.asked}?` :
            `If ${name}'s budget is ${short(own)}, the mean length of the noise is ` +
            `${short(now.own.noise)} with own weights${aside(than("own", own))}, ` +
            `${short(now.threshold.noise)} at the best threshold` +
            `${aside(than("threshold", own), left.length && `it leaves out ${listed(left)}`)}, and ` +
            `${short(now.minimum.noise)} with the smallest budget for all${aside(than("minimum", own))}. ` +
            `With own weights ${name}'s group has ` +
            `${short(100 * now.own.shares[data.who])} percent of all weight.`,
          table: {
            caption: `Each group of ${data.copies}: budget, which is what a member loses at most with own ` +
              `weights; the same at the best threshold; own weight of the group`,
            head: ["group", "budget", "threshold", "weight"],
            rows: data.names.map((n, k) => [n, short(now.budgets[k]), short(now.threshold.used[k]),
              `${(100 * now.own.shares[k]).toFixed(1)} %`]),
          },
        };
      },
    };
  }

  return { solve, view };
})();
explore.mount("budget", explore.budget.view);
