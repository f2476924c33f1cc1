// Three fillings of one staircase of budgets, whose steps are dragged, and the noise that each leaves.
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
  function fill(data, budgets) {
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

  // The budgets of the chapter, with that of one group changed.
  const solve = (data, own) => fill(data, data.budgets.map((e, k) => k === data.who ? own : e));

  const { INK, word, named } = explore;
  const REACH = Math.log(5); // a Laplace variable of mean length 1 stays within it in 80 percent
  const NOISE = 0.5; // the end of the axis of the noise

  // The same five steps three times, filled as far as a rule uses them. Any step can be dragged.
  function fillings(data, set, done) {
    const { svg, short, drag } = explore;
    const height = 226, top = 30, foot = 76, gap = 14, left = 30, high = height - top - foot;
    const stage = svg("svg", { height, role: "img" }), drawing = svg("g"), to = (v) => top + high * (1 - v);
    const size = data.names.length;
    let taken = 0, each = 1;
    const grips = Array.from({ length: 3 * size }, () => svg("g", { class: "explore-grip" },
      svg("rect", { y: -14, height: 28, fill: "transparent" }), svg("path", { "stroke-width": 5, "stroke-linecap": "round" })));
    stage.append(drawing, ...grips);
    stage.addEventListener("pointerdown", (event) => {
      const grip = event.target.closest(".explore-grip");
      if (grip) taken = grips.indexOf(grip) % size;
    });
    drag(stage, (_, y) => set(taken, (top + high - y) / high), done);
    return (now, who, width) => {
      stage.setAttribute("width", width);
      stage.setAttribute("viewBox", `0 0 ${width} ${height}`);
      stage.setAttribute("aria-label", `Five steps, the budgets: ${data.names.map((n, k) =>
        `${n} ${short(now.budgets[k])}`).join(", ")}. Filled three times: as far as the smallest, a threshold, or each uses them.`);
      const wide = (width - left - 2 * gap) / 3, marks = [];
      each = wide / size;
      for (const v of [0, 0.5, 1])
        marks.push(svg("path", { d: `M${left - 4},${to(v)}h4`, class: "explore-axis" }), word(short(v), left - 7, to(v) + 4, "end"));
      const names = width > 560 ? ["the smallest for all", "the best threshold", "own weights"] : ["smallest", "threshold", "own"];
      [[now.minimum, INK.soft], [now.threshold, INK.warm], [now.own, INK.blue]].forEach(([rule, color], p) => {
        const start = left + p * (wide + gap);
        marks.push(named(names[p], start + wide / 2, 14, color),
          svg("path", { d: `M${start},${to(0)}h${wide}`, class: "explore-axis" }));
        now.budgets.forEach((e, k) => {
          const x = start + each * k, box = { x: x + 1, width: each - 2 };
          marks.push(
            svg("rect", { ...box, y: to(e), height: to(0) - to(e), fill: "none", stroke: color }),
            svg("rect", { ...box, y: to(rule.used[k]), height: to(0) - to(rule.used[k]), fill: color }),
            word(each > 34 ? data.names[k] : data.names[k][0], x + each / 2, to(0) + 16, "middle",
              k === who ? { "font-weight": 700 } : {}));
          const [area, line] = grips[p * size + k].children;
          area.setAttribute("x", x);
          area.setAttribute("width", each);
          line.setAttribute("d", `M${x + 4},0h${each - 8}`);
          line.setAttribute("stroke", k === who ? "currentColor" : color);
          grips[p * size + k].setAttribute("transform", `translate(0 ${to(e)})`);
        });
        const long = wide * Math.min(rule.noise / NOISE, 1), y = to(0) + 30;
        marks.push(svg("rect", { x: start, y, width: long, height: 12, fill: color, "fill-opacity": 0.55 }),
          svg("path", { d: `M${start},${y - 3}v18`, class: "explore-axis" }),
          word(`noise ${short(rule.noise)}`, start, y + 30, "start"));
        if (rule.noise > NOISE) marks.push(svg("path", { d: `M${start + wide + 2},${y + 6}l-10,-7v14z`, fill: color }));
      });
      drawing.replaceChildren(...marks);
      return { stage };
    };
  }

  // Three wedges on one scale: with a probability of 80 percent the released line lies in it.
  function wedges(now, width) {
    const { svg, short } = explore;
    const height = 150, top = 6, foot = 42, left = 30, gap = 14, low = -0.6, up = 1.8;
    const high = height - top - foot, wide = (width - left - 2 * gap) / 3;
    const to = (v) => top + high * (up - v) / (up - low);
    const stage = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": "Three wedges around a rising line. The sentence has the numbers." });
    for (const v of [0, 1])
      stage.append(svg("path", { d: `M${left - 4},${to(v)}h4`, class: "explore-axis" }), word(short(v), left - 7, to(v) + 4, "end"));
    stage.append(word("faster by", -(top + high / 2), 11, "middle", { transform: "rotate(-90)" }),
      word("part of the training attended", left + (width - left) / 2, height - 4));
    [[now.minimum, INK.soft], [now.threshold, INK.warm], [now.own, INK.blue]].forEach(([rule, color], k) => {
      const x = left + (wide + gap) * k, inner = svg("svg", { x, y: top, width: wide, height: high }); // clips
      const at = (v) => to(v) - top, reach = REACH * rule.noise;
      inner.append(
        svg("path", { d: `M0,${at(0)}L${wide},${at(rule.slope + reach)}V${at(rule.slope - reach)}z`,
          fill: color, "fill-opacity": 0.3 }),
        svg("path", { d: `M0,${at(0)}L${wide},${at(rule.slope)}`, stroke: color, "stroke-width": 2.5 }));
      stage.append(inner,
        svg("path", { d: `M${x},${top}V${top + high}M${x},${to(0)}h${wide}`, class: "explore-axis" }),
        word("0", x, top + high + 16, "start"), word("1", x + wide, top + high + 16, "end"));
    });
    return { stage };
  }

  function view(data) {
    const { choice, guess, held, literal, short, slider, steps } = explore;
    const values = steps(0.01, 1), before = fill(data, data.budgets), budgets = [...data.budgets];
    const ask = guess({ label: "With own weights the noise becomes:", options: data.guesses });
    const who = choice({ label: "Step of", options: data.names });
    who.input.selectedIndex = data.who;
    const own = slider({ label: "Budget", values: () => values, start: budgets[data.who], text: String });
    const put = (v) => {
      const gaps = values.map((one) => Math.abs(one - v));
      own.input.value = gaps.indexOf(Math.min(...gaps));
    };
    who.input.addEventListener("input", () => put(budgets[who.input.selectedIndex])); // before the figure reads it
    ask.input.addEventListener("input", () => put(data.asked));
    const draw = fillings(data, (k, v) => {
      if (who.input.selectedIndex !== k) {
        who.input.selectedIndex = k;
        who.input.dispatchEvent(new Event("input"));
      }
      put(v);
      own.input.dispatchEvent(new Event("input"));
    }, () => own.input.dispatchEvent(new Event("change")));
    // Of the change nothing is said if there is none.
    const than = (now, rule) => {
      const ratio = now[rule].noise / before[rule].noise, by = Math.round(100 * (ratio - 1));
      if (now.budgets.every((e, k) => e === data.budgets[k])) return "";
      if (ratio > 1.995) return `${short(ratio)} times as long as at first`;
      return by === 0 ? "as at first" : `${Math.abs(by)} percent ${by > 0 ? "longer" : "shorter"} than at first`;
    };
    const joined = (names) => names.join(", ").replace(/, ([^,]*)$/, " and $1");
    const aside = (...notes) => notes.some(Boolean) ? ` (${notes.filter(Boolean).join("; ")})` : "";
    const asked = solve(data, data.asked), name = data.names[data.who];
    return {
      title: "Three fillings of one staircase of budgets, and the noise of each",
      controls: { ask, budgets: held([budgets], (v) => v >= 0.01 && v <= 1), who, own },
      extreme: { who: "Zoe", own: "0.01" },
      challenge: "Drag steps until the best threshold leaves out Ben and Dora, and nobody else.",
      python: () => `import numpy as np
from pdpbook.sensitivity import ridge_constant

epsilon = np.repeat(${literal(budgets)}, ${data.copies})
constant = ridge_constant(${data.lam}, 1, "published")
print(constant / epsilon.sum())  # mean length of the noise`,
      show({ ask: given, who: k, own: v }, width) {
        if (given >= 0) budgets[k] = v;
        const now = fill(data, [...budgets]), left = data.names.filter((_, j) => !now.threshold.used[j]);
        return {
          charts: [draw(now, k, width), wedges(now, width)],
          text: given < 0 ? `The larger the filled area, the less noise. ${name} allows ${short(data.budgets[data.who])}. ` +
            `What happens to the noise if it is only ${short(data.asked)}?` :
            `The mean length of the noise is ` +
            `${short(now.own.noise)} with own weights${aside(than(now, "own"))}, ` +
            `${short(now.threshold.noise)} at the best threshold` +
            `${aside(than(now, "threshold"), left.length && `it leaves out ${joined(left)}`)}, and ` +
            `${short(now.minimum.noise)} with the smallest budget for all${aside(than(now, "minimum"))}. ` +
            `Own weights fill every step; ${data.names[k]}'s group then has ${short(100 * now.own.shares[k])} percent of all weight.`,
          verdict: ask.verdict(0, `with ${name} at ${data.asked} it becomes ${Math.round(100 * (asked.own.noise / before.own.noise - 1))} ` +
            `percent longer; with the smallest budget for all ${short(asked.minimum.noise / before.minimum.noise)} times as long`),
          met: left.join() === "Ben,Dora",
          table: {
            caption: `Each group of ${data.copies}: budget, which is what a member loses at most with own ` +
              `weights; the same at the best threshold; own weight of the group`,
            head: ["group", "budget", "threshold", "weight"],
            rows: data.names.map((n, j) => [n, short(now.budgets[j]), short(now.threshold.used[j]),
              `${(100 * now.own.shares[j]).toFixed(1)} %`]),
          },
        };
      },
    };
  }

  return { solve, view };
})();
explore.mount("budget", explore.budget.view);
