// A mean of a few answers: drag one of them, and see everybody's loss, its bound and the promise.
"use strict";

explore.levels = (() => {
  // For every member the mean of the others, how far the member moves the mean over the noise (the
  // loss), the largest such move whatever this member answers (the bound), and for all: the promise.
  function solve(answers, { noise, low, high }) {
    const n = answers.length, total = answers.reduce((sum, v) => sum + v, 0), unit = n * noise;
    return { mean: total / n, promise: (high - low) / unit, people: answers.map((v) => {
      const others = (total - v) / (n - 1);
      return { others, loss: Math.abs(v - others) / unit, bound: Math.max(others - low, high - others) / unit };
    }) };
  }

  const { BLUE, GREEN, VERMILION: WARM } = explore;
  const LEFT = 48, RIGHT = 16, ROW = 24;

  const { named, word } = explore;
  const path = (d, color, width = 2, more = {}) =>
    explore.svg("path", { d, fill: "none", stroke: color, "stroke-width": width, ...more });
  const row = (top, k) => top + ROW * (k + 0.5);

  // A row for each member with the name in front, and an axis below.
  function rows(data, stage, width, top, axis) {
    const { svg, short } = explore, foot = top + ROW * data.names.length, wide = width - LEFT - RIGHT;
    const at = (v) => LEFT + wide * (v - axis.low) / (axis.high - axis.low);
    stage.setAttribute("width", width);
    stage.setAttribute("height", foot + 44);
    stage.setAttribute("viewBox", `0 0 ${width} ${foot + 44}`);
    const marks = [svg("path", { d: `M${LEFT},${top}V${foot}H${width - RIGHT}`, class: "explore-axis" }),
      word(axis.name, LEFT + wide / 2, foot + 38),
      ...data.names.map((name, k) => word(name, LEFT - 8, row(top, k) + 4, "end", { "font-weight": 600 }))];
    for (const v of axis.ticks)
      marks.push(svg("path", { d: `M${at(v)},${foot}v5`, class: "explore-axis" }), word(short(v), at(v), foot + 19));
    return { at, marks, foot };
  }

  // The answers; one has a grip. Made once: a finger that drags must not lose what it touched.
  function answered(data, set, done) {
    const { svg, short } = explore, top = 26;
    const stage = svg("svg", { role: "img" }), holder = { stage }, drawing = svg("g");
    let wide = 1;
    explore.drag(stage, (x) => set(data.low + (x - LEFT) * (data.high - data.low) / wide), done);
    const grip = svg("g", { class: "explore-grip", style: "cursor:ew-resize" },
      svg("circle", { r: 20, fill: "transparent" }), svg("circle", { r: 9, fill: WARM }),
      svg("path", { d: "M-4,0h8", stroke: "var(--fig-on, #fff)", "stroke-width": 1.6 }));
    stage.append(drawing, grip);
    holder.draw = ({ answers, who, open }, now, width) => {
      wide = width - LEFT - RIGHT;
      const { at, marks } = rows(data, stage, width, top, { low: data.low, high: data.high,
        ticks: [0, 1, 2, 3, 4, 5], name: "answer (hours)" });
      stage.setAttribute("aria-label", `Five answers in hours: ${data.names.map((n, k) =>
        `${n} ${short(answers[k])}, the others' mean ${short(now.people[k].others)}`).join("; ")}.`);
      marks.push(named("mean of the four others", at((data.low + data.high) / 2), 14, GREEN));
      answers.forEach((v, k) => {
        const y = row(top, k), { others } = now.people[k];
        marks.push(path(`M${at(others)},${y}H${at(v)}`, BLUE, 4),
          path(`M${at(others)},${y - 9}v18`, GREEN, 3));
        if (!open || k !== who) marks.push(svg("circle", { cx: at(v), cy: y, r: 6, fill: "currentColor" }));
      });
      drawing.replaceChildren(...marks);
      grip.setAttribute("visibility", open ? "visible" : "hidden");
      grip.setAttribute("transform", `translate(${at(answers[who])} ${row(top, who)})`);
      return holder;
    };
    return holder;
  }

  // Three levels for everybody: the loss as a bar, the bound as a mark, the promise as a line.
  function losses(data, now, width) {
    const { svg, short } = explore, top = 26;
    const stage = svg("svg", { role: "img", "aria-label": `Losses: ${data.names.map((n, k) =>
      `${n} ${short(now.people[k].loss)}, at most ${short(now.people[k].bound)} whatever ${n} answers`).join("; ")}. ` +
      `Promised to all: ${short(now.promise)}.` });
    const { at, marks, foot } = rows(data, stage, width, top, { low: 0, high: 1.1, ticks: [0, 0.25, 0.5, 0.75, 1],
      name: "loss" });
    now.people.forEach(({ loss, bound }, k) => {
      const y = row(top, k);
      marks.push(svg("rect", { x: at(0), y: y - 8, width: at(loss) - at(0), height: 16, fill: BLUE }),
        path(`M${at(bound)},${y - 10}v20`, GREEN, 3, { "stroke-dasharray": "4 2" }));
    });
    marks.push(path(`M${at(now.promise)},${top - 4}V${foot}`, WARM, 3),
      named("report", at(0), 14, BLUE, "start"), named("bound", at(0.6), 14, GREEN, "middle"),
      named("promise", at(now.promise), 14, WARM, "middle"));
    stage.append(...marks);
    return { stage };
  }

  function view(data) {
    const { choice, guess, held, literal, short, slider } = explore;
    const grid = Array.from({ length: 51 }, (_, k) => Number((data.low + k * (data.high - data.low) / 50).toFixed(1)));
    const answers = [...data.answers], first = solve(answers, data);
    const asked = data.answers.map((v, k) => (k === data.who ? data.asked : v)), then = solve(asked, data);
    const ask = guess({ label: "Whose loss changes:", options: data.guesses });
    const who = choice({ label: "Member", options: data.names });
    who.input.selectedIndex = data.who;
    const own = slider({ label: "Answer (hours)", values: () => grid, start: answers[data.who], text: (v) => String(v) });
    const put = (v) => {
      const gaps = grid.map((one) => Math.abs(one - v));
      own.input.value = gaps.indexOf(Math.min(...gaps));
    };
    who.input.addEventListener("input", () => put(answers[who.input.selectedIndex])); // before the figure reads it
    ask.input.addEventListener("input", () => put(data.asked)); // what the question asks for
    const drawing = answered(data, (v) => {
      put(v);
      own.input.dispatchEvent(new Event("input"));
    }, () => own.input.dispatchEvent(new Event("change")));
    const name = data.names[data.who], [before, after] = [first, then].map((one) => one.people);
    return {
      title: "A mean of five answers, and what it reveals about each member",
      controls: { ask, answers: held([answers], (v) => v >= data.low && v <= data.high), who, own },
      extreme: { who: "Zoe", own: "5" },
      challenge: "Make Dora's loss 0 without touching her answer.",
      python: ({ who: k }) => `import numpy as np
from pdpbook.ridge import leave_one_out

answers = np.array(${literal(answers)}, dtype=float)
fit = leave_one_out(np.ones((len(answers), 1)), answers, lam=0)
print(abs(fit.move[${k}, 0]) / ${data.noise})  # the loss of ${data.names[k]}`,
      show({ ask: guessed, who: k, own: v }, width) {
        const open = guessed >= 0;
        if (open) answers[k] = v;
        const now = solve(answers, data), { others, loss, bound } = now.people[k], one = data.names[k];
        return {
          charts: [drawing.draw({ answers, who: k, open }, now, width), losses(data, now, width)],
          text: !open ? `${name} answered ${data.answers[data.who]}. Whose loss changes with the answer ${data.asked}?` :
            `${one} answers ${short(v)}, the others' mean is ${short(others)}: the loss is ` +
            `${short(Math.abs(v - others))}/${answers.length} = ${short(loss)}. With these others it is at most ` +
            `${short(bound)}, whatever ${one} answers. Promised: at most ${short(now.promise)}, with any others.`,
          verdict: ask.verdict(data.right, `everyone's, ${name}'s own from ${short(before[data.who].loss)} to ` +
            `${short(after[data.who].loss)} and ${data.names[data.other]}'s from ${short(before[data.other].loss)} to ` +
            `${short(after[data.other].loss)}`),
          met: now.people[3].loss < 1e-9 && answers[3] === data.answers[3],
          table: {
            caption: `Each member's report and bound; the promise to all is ${short(now.promise)}`,
            head: ["member", "answer", "others' mean", "report", "bound"],
            rows: data.names.map((each, j) => {
              const p = now.people[j];
              return [each, short(answers[j]), ...[p.others, p.loss, p.bound].map((t) => short(Number(t.toFixed(9))))];
            }),
          },
        };
      },
    };
  }

  return { solve, view };
})();
explore.mount("levels", explore.levels.view);
