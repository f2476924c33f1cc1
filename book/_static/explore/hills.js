// One noise, six promises: a row for each member, with the hill before and after the answer changes.
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

  const LOW = 2.9, HIGH = 3.1, PEAK = 41, ROW = 46, TOP = 26, FOOT = 44, LEFT = 44, RIGHT = 92;
  const ORDER = [4, 0, 5, 1, 3, 2]; // from the largest budget to the smallest

  // A line at the published result runs through all rows; its grip is made once.
  function rows(data, names, set, done) {
    const { PUBLISHED, WITH, WITHOUT, bell, drag, short, svg, word, named } = explore;
    const high = ROW * ORDER.length, height = TOP + high + FOOT;
    const stage = svg("svg", { height, role: "img" }), drawing = svg("g");
    let wide = 1;
    const at = (v) => LEFT + wide * (v - LOW) / (HIGH - LOW);
    const grip = svg("g", { class: "explore-grip", style: "cursor:ew-resize" },
      svg("rect", { x: -14, y: TOP, width: 28, height: high + 14, fill: "transparent" }),
      svg("path", { d: `M0,${TOP}V${TOP + high}`, stroke: PUBLISHED, "stroke-width": 1.5 }),
      svg("path", { d: `M0,${TOP + high}l-8,13h16z`, fill: PUBLISHED }));
    stage.append(drawing, grip);
    drag(stage, (x) => set(LOW + (x - LEFT) * (HIGH - LOW) / wide), done);
    return (own, result, open, width) => {
      wide = width - LEFT - RIGHT;
      stage.setAttribute("width", width);
      stage.setAttribute("viewBox", `0 0 ${width} ${height}`);
      stage.setAttribute("aria-label", open
        ? "Six rows, each with two hills of one shape: Zoe's are the farthest apart. The sentence has the factors."
        : "Six rows with the same hill. The second hill of each is drawn after your guess.");
      const marks = [word("factor here, at most", width, 14, "end")];
      ORDER.forEach((who, k) => {
        const { scale, shift, budget } = solve(data, own, who), foot = TOP + ROW * (k + 1) - 2;
        const to = (v) => foot - (ROW - 6) * v / PEAK, color = who === 5 ? WITH : "currentColor";
        const hill = (middle, more) => svg("path", { "stroke-width": 2, ...more, d: bell(middle, scale, LOW, HIGH)
          .map(([x, v], j) => `${j ? "L" : "M"}${at(x).toFixed(1)},${to(v).toFixed(1)}`).join("") +
          `L${at(HIGH)},${foot}H${at(LOW)}z` });
        marks.push(hill(3, { fill: WITHOUT, "fill-opacity": 0.25, stroke: WITHOUT, "stroke-dasharray": "5 4" }));
        if (open) {
          const height = (middle) => Math.exp(-Math.abs(result - middle) / scale) / (2 * scale);
          marks.push(hill(3 + shift, { fill: "none", stroke: color }),
            svg("circle", { cx: at(result), cy: to(height(3)), r: 4, fill: WITHOUT }),
            svg("circle", { cx: at(result), cy: to(height(3 + shift)), r: 4, fill: color }));
        }
        marks.push(named(names[who], LEFT - 8, foot - 12, color, "end"),
          named(open ? short(ratio(data, own, who, result)) : "?", width - 44, foot - 12, color, "end"),
          word(open ? short(Math.exp(budget)) : "", width, foot - 12, "end"));
      });
      for (const v of [2.9, 2.95, 3, 3.05, 3.1])
        marks.push(svg("path", { d: `M${at(v)},${TOP + high}v5`, class: "explore-axis" }),
          word(short(v), at(v), TOP + high + 24));
      marks.push(svg("path", { d: `M${LEFT},${TOP + high}H${width - RIGHT}`, class: "explore-axis" }),
        word("published average (days a week)", LEFT + wide / 2, height - 3, "middle", { style: `fill:${PUBLISHED}` }));
      drawing.replaceChildren(...marks);
      grip.setAttribute("transform", `translate(${at(result)} 0)`);
      return { stage };
    };
  }

  function view(data) {
    const { guess, literal, short, slider, steps } = explore;
    const results = Array.from({ length: 101 }, (_, k) => Number((LOW + k * 0.002).toFixed(3)));
    const result = slider({ label: "Published result", values: () => results, start: 3.03,
      text: (v) => v.toFixed(3) });
    const own = slider({ label: "Your budget", values: () => steps(0.05, 2), start: data.own,
      text: (v) => `ε = ${v}`, share: "own" });
    const ask = guess({ label: "For Zoe, at most:", options: ["1.1 times", "1.6 times", "2.7 times", "no limit"] });
    const names = [...data.names, "you"];
    const draw = rows(data, names, (x) => {
      result.input.value = Math.round((Math.min(Math.max(x, LOW), HIGH) - LOW) / 0.002);
      result.input.dispatchEvent(new Event("input"));
    }, () => result.input.dispatchEvent(new Event("change")));
    return {
      title: "One noise, six promises: the results to expect after two answers of each member",
      controls: { ask, result, own },
      extreme: { result: "3.1" },
      challenge: "Find a result that says nothing about Zoe's answer.",
      python: ({ result: x, own: mine }) => `import numpy as np
from pdpbook.noise import ProductLaw
from pdpbook.personalized import pdp_weights

epsilon = np.repeat(${literal([...data.epsilon, mine])}, ${data.copies})
k = ${4 * data.copies}  # Zoe, who answers 0, or ${data.width}
move = ${data.width} * pdp_weights(epsilon)[k]
zero, five = (ProductLaw([m], [move / epsilon[k]]) for m in (3, 3 + move))
print(np.exp(five.logpdf([${x}]) - zero.logpdf([${x}])))`,
      show({ ask: given, result: x, own: mine }, width) {
        const open = given >= 0, budget = open ? mine : data.own;
        const factor = (who) => short(ratio(data, budget, who, x));
        return {
          charts: [draw(budget, x, open, width)],
          text: !open ? "The hill shows which results to expect if a member answers 0: the same for all six. " +
            "Zoe answers 5 instead, and her hill moves. How much likelier can that make a result?" :
            `At the result ${x.toFixed(3)} the factor is ${factor(4)} for Zoe, ${factor(0)} for Ana, ${factor(1)} for ` +
            `Ben and for Dora, ${factor(2)} for Chi and ${factor(5)} for you: so much likelier is it after the answer 5 ` +
            "than after 0. The noise is the same for all. What differs is how far one answer moves the hill, in sizes " +
            "of the noise: by the member's own budget.",
          verdict: ask.verdict(2, "for Zoe it is at most e, or 2.72, times"),
          met: open && Math.abs(Math.log(ratio(data, budget, 4, x))) < 0.01,
          table: {
            caption: "Each member: budget, move of the average in days, factor at this result, and at most",
            head: ["member", "budget", "move", "here", "at most"],
            rows: ORDER.map((k) => {
              const { budget: allowed, shift } = solve(data, budget, k);
              return [names[k], String(allowed), short(shift), factor(k), short(Math.exp(allowed))];
            }),
          },
        };
      },
    };
  }

  return { solve, ratio, view };
})();
explore.mount("hills", explore.hills.view);
