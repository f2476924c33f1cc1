// The square of all cases of a mean of five answers: drag one, and see its loss, a bound and the promise.
"use strict";

explore.levels = (() => {
  // For every member the mean of the others, how far the member moves the mean over the noise (the
  // loss), the largest such move whatever this member answers (the bound) and whatever the others
  // answer (of the answer), and for all: the promise.
  function solve(answers, { noise, low, high }) {
    const n = answers.length, total = answers.reduce((sum, v) => sum + v, 0), unit = n * noise;
    const worst = (v) => Math.max(v - low, high - v) / unit;
    return { mean: total / n, promise: (high - low) / unit, people: answers.map((v) => {
      const others = (total - v) / (n - 1);
      return { others, loss: Math.abs(v - others) / unit, bound: worst(others), answer: worst(v) };
    }) };
  }

  const STEP = 0.1; // hours, of every answer

  // The others change their answers, a step at a time, until they have this mean: the lowest goes up,
  // or the highest down.
  function shift(answers, who, mean) {
    const tenths = answers.map((v) => Math.round(v / STEP)), rest = answers.map((_, k) => k).filter((k) => k !== who);
    let left = Math.round(mean * rest.length / STEP) - rest.reduce((sum, k) => sum + tenths[k], 0);
    while (left) {
      const way = Math.sign(left), next = rest.reduce((one, k) => (way * (tenths[k] - tenths[one]) < 0 ? k : one));
      tenths[next] += way;
      left -= way;
    }
    return tenths.map((v) => Number((v * STEP).toFixed(1)));
  }

  const { BLUE, GREEN, VERMILION: WARM, GRAY, named, word } = explore;
  const LEFT = 48, TOP = 26, FOOT = 44, RIGHT = 12;
  const path = (d, color, width = 2, more = {}) =>
    explore.svg("path", { d, fill: "none", stroke: color, "stroke-width": width, ...more });

  // The square: the mean of the others across, the answer up. The darker, the larger the loss.
  function square(data, set) {
    const { svg, short } = explore, stage = svg("svg", { role: "img" }), drawing = svg("g"), end = data.high - data.low;
    let side = 1;
    const at = (u) => LEFT + side * (u - data.low) / end, to = (v) => TOP + side * (data.high - v) / end;
    // Made once: a finger that drags must not lose what it touched.
    const grip = svg("g", { class: "explore-grip", style: "cursor:move" },
      svg("circle", { r: 20, fill: "transparent" }), svg("circle", { r: 9, fill: BLUE }),
      svg("path", { d: "M-4,0h8M0,-4v8", stroke: "var(--fig-on, #fff)", "stroke-width": 1.6 }));
    const inside = (v) => Math.min(Math.max(v, data.low), data.high);
    // A point that is dragged along one side stays on its line: the other side moves from a quarter of an hour on.
    let here = [0, 0], from = here, free = [false, false];
    stage.addEventListener("pointerdown", () => {
      from = here;
      free = [false, false];
    });
    explore.drag(stage, (x, y) => {
      const wanted = [data.low + (x - LEFT) * end / side, data.high - (y - TOP) * end / side].map(inside);
      free = free.map((is, k) => is || Math.abs(wanted[k] - from[k]) > 0.25);
      set(...wanted.map((v, k) => (free[k] ? v : from[k])));
    });
    stage.append(drawing, grip);
    return {
      stage,
      draw({ answers, first, who, kind, open }, now, width) {
        side = Math.min(width - LEFT - RIGHT, 260);
        const box = { width: side + LEFT + RIGHT, height: side + TOP + FOOT };
        for (const [name, value] of Object.entries(box)) stage.setAttribute(name, value);
        stage.setAttribute("viewBox", `0 0 ${box.width} ${box.height}`);
        stage.setAttribute("aria-label", `A square with a point for each member. ${data.names.map((n, k) =>
          `${n} answers ${short(answers[k])}, the others' mean is ${short(now.people[k].others)}`).join("; ")}.`);
        const marks = [];
        for (let d = data.low; d < data.high; d += 1) { // both sides of the valley, laid on each other
          marks.push(svg("path", { d: `M${at(data.low)},${to(d)}V${to(data.high)}H${at(data.high - d)}z`, fill: WARM, "fill-opacity": 0.11 }),
            svg("path", { d: `M${at(d)},${to(data.low)}H${at(data.high)}V${to(data.high - d)}z`, fill: WARM, "fill-opacity": 0.11 }));
          marks.push(path(`M${at(d)},${to(data.low)}v5M${LEFT - 5},${to(d)}h5`, "currentColor", 1),
            word(short(d), at(d), to(data.low) + 18), word(short(d), LEFT - 8, to(d) + 4, "end"));
        }
        marks.push(word(short(data.high), at(data.high), to(data.low) + 18), word(short(data.high), LEFT - 8, to(data.high) + 4, "end"),
          word("mean of the four others", LEFT + side / 2, box.height - 6),
          word("answer (hours)", -(TOP + side / 2), 12, "middle", { transform: "rotate(-90)" }),
          path(`M${at(data.low)},${to(data.low)}L${at(data.high)},${to(data.high)}`, "currentColor", 1, { "stroke-dasharray": "4 4" }),
          svg("rect", { x: LEFT, y: TOP, width: side, height: side, fill: "none", stroke: WARM, "stroke-width": 2.2 }),
          named("promise: the whole square", at(data.low), 14, WARM, "start"));
        const { others } = now.people[who], own = answers[who];
        marks.push(path(kind ? `M${at(data.low)},${to(own)}H${at(data.high)}` : `M${at(others)},${to(data.low)}V${to(data.high)}`, GREEN, 3));
        answers.forEach((v, k) => {
          const u = now.people[k].others, before = first.people[k].others;
          if (Math.abs(u - before) + Math.abs(v - data.answers[k]) > 1e-9)
            marks.push(path(`M${at(before)},${to(data.answers[k])}L${at(u)},${to(v)}`, GRAY, 1.5),
              svg("circle", { cx: at(before), cy: to(data.answers[k]), r: 4, fill: "none", stroke: GRAY, "stroke-width": 1.5 }));
        });
        const labels = []; // one for points that lie together
        answers.forEach((v, k) => {
          const u = now.people[k].others, x = at(u), y = to(v);
          if (!open || k !== who) marks.push(svg("circle", { cx: x, cy: y, r: k === who ? 7 : 5, fill: BLUE }));
          const near = labels.find((one) => Math.abs(one.x - x) < 50 && Math.abs(one.y - y) < 14);
          if (near) near.members.push(k);
          else labels.push({ x, y, members: [k] });
        });
        for (const { x, y, members } of labels) {
          const far = x > LEFT + 0.7 * side;
          marks.push(word(members.map((k) => data.names[k]).join(", "), x + (far ? -13 : 13), Math.min(Math.max(y + 5, TOP + 16), to(data.low) - 5),
            far ? "end" : "start", members.includes(who) ? { "font-weight": 700 } : {}));
        }
        drawing.replaceChildren(...marks);
        here = [others, own];
        grip.setAttribute("visibility", open ? "visible" : "hidden");
        grip.setAttribute("transform", `translate(${at(others)} ${to(own)})`);
        return this;
      },
    };
  }

  // The valley cut open along the green line: the loss as a height, and the three levels.
  function cut(data, { answers, who, kind }, now, width) {
    const { chart, short } = explore, { others, loss, bound, answer } = now.people[who], own = answers[who];
    const fixed = kind ? own : others, here = kind ? others : own, worst = kind ? answer : bound;
    const height = (v) => Math.abs(v - fixed) / (data.high - data.low) * now.promise;
    const drawn = chart({ width, height: 270, left: 50,
      label: `The valley along the line of the bound: report ${short(loss)}, bound ${short(worst)}, promise ${short(now.promise)}.`,
      x: { low: data.low, high: data.high, ticks: [0, 1, 2, 3, 4, 5], name: kind ? "mean of the four others" : `${data.names[who]}'s answer (hours)` },
      y: { low: 0, high: 1.15 * now.promise, ticks: [0, 0.25, 0.5, 0.75, 1], name: "loss" } });
    drawn.area([data.low, fixed, data.high].map((v) => [v, height(v)]).concat([[data.high, 0], [data.low, 0]]), { color: WARM, opacity: 0.15 });
    drawn.level(now.promise, { color: WARM, width: 3 });
    drawn.level(worst, { color: GREEN, width: 2.5, dash: "6 4" });
    drawn.level(loss, { color: BLUE, width: 2 });
    drawn.line([data.low, fixed, data.high].map((v) => [v, height(v)]), { color: "currentColor" });
    const end = [data.low, data.high].find((v) => height(v) > worst - 1e-9);
    drawn.mark(end, worst, { color: GREEN, shape: "circle" });
    drawn.mark(here, loss, { color: BLUE, shape: "circle" });
    // Below the line, and away from the ends of the valley, where the promise has its name above.
    const room = 0.025 * now.promise, place = (v) => (v > 0.9 * now.promise ? [1, v - 3 * room] : [0.1, v + room]);
    const [left, low] = place(loss), [right, high] = place(worst);
    drawn.name(`promise ${short(now.promise)}`, data.high - 0.1, now.promise + room, { color: WARM }, "end");
    drawn.name(`bound ${short(worst)}`, data.high - right, high, { color: GREEN }, "end");
    drawn.name(`report ${short(loss)}`, data.low + left, low, { color: BLUE });
    return drawn;
  }

  function view(data) {
    const { beside, choice, guess, held, literal, short, slider } = explore;
    const grid = (count) => Array.from({ length: count + 1 }, (_, k) =>
      Number((data.low + k * (data.high - data.low) / count).toFixed(3)));
    const answers = [...data.answers], first = solve(answers, data);
    const asked = data.answers.map((v, k) => (k === data.who ? data.asked : v)), then = solve(asked, data);
    const ask = guess({ label: "Whose loss changes:", options: data.guesses });
    const who = choice({ label: "Member", options: data.names });
    who.input.selectedIndex = data.who;
    const steps = Math.round((data.high - data.low) / STEP), text = String;
    const own = slider({ label: "Answer (hours)", values: () => grid(steps), start: answers[data.who], text });
    const others = slider({ label: "Mean of the others", start: first.people[data.who].others, text,
      values: () => grid(steps * (answers.length - 1)) });
    const kind = choice({ label: "Bound over", options: ["any answer", "any others"] });
    const put = (one, v) => {
      const gaps = grid(Number(one.input.max)).map((w) => Math.abs(w - v));
      one.input.value = gaps.indexOf(Math.min(...gaps));
    };
    const follow = () => {
      put(own, answers[who.input.selectedIndex]);
      put(others, solve(answers, data).people[who.input.selectedIndex].others);
    };
    // Before the figure reads: what is moved changes the answers, and the sliders follow them.
    who.input.addEventListener("input", follow);
    own.input.addEventListener("input", () => {
      answers[who.input.selectedIndex] = grid(steps)[own.input.value];
    });
    others.input.addEventListener("input", () => {
      const mean = grid(Number(others.input.max))[others.input.value];
      answers.splice(0, answers.length, ...shift(answers, who.input.selectedIndex, mean));
    });
    ask.input.addEventListener("input", () => { // what the question asks for
      answers[data.who] = data.asked;
      follow();
    });
    const map = square(data, (mean, answer) => {
      put(own, answer);
      own.input.dispatchEvent(new Event("input"));
      put(others, mean);
      others.input.dispatchEvent(new Event("input"));
    });
    const name = data.names[data.who], [before, after] = [first, then].map((one) => one.people);
    return {
      title: "All cases of a mean of five answers, as a valley of losses",
      controls: { ask, answers: held([answers], (v) => v >= data.low && v <= data.high), who, own, others, kind },
      extreme: { answers: "0,0,0,0,5", who: "Zoe", own: "5", others: "0" },
      challenge: "Make Dora's loss 0 without touching her answer.",
      python: ({ who: k }) => `import numpy as np
from pdpbook.ridge import leave_one_out

answers = np.array(${literal(answers)}, dtype=float)
fit = leave_one_out(np.ones((len(answers), 1)), answers, lam=0)
print(abs(fit.move[${k}, 0]) / ${data.noise})  # the loss of ${data.names[k]}`,
      show({ ask: guessed, who: k, kind: along }, width) {
        const open = guessed >= 0, now = solve(answers, data), person = now.people[k], one = data.names[k];
        const state = { answers, first, who: k, kind: along, open }, round = (v) => short(Number(v.toFixed(9)));
        const [, second] = beside(width, width - 336);
        return {
          charts: [map.draw(state, now, width), cut(data, state, now, second)],
          text: !open ? `${name}, at the bottom of the square, answered ${data.answers[data.who]}. Whose loss changes with the answer ${data.asked}?` :
            `Report: ${one} answers ${short(answers[k])}, the others' mean is ${round(person.others)}, and the loss is ` +
            `${round(Math.abs(answers[k] - person.others))}/${answers.length} = ${round(person.loss)}. Bound: ` +
            `at most ${along ? `${round(person.answer)}, whatever the others answer` : `${round(person.bound)}, whatever ${one} answers`}. ` +
            `Promise: at most ${short(now.promise)}, in all cases.`,
          verdict: ask.verdict(data.right, `everyone's, ${name}'s own from ${short(before[data.who].loss)} to ` +
            `${short(after[data.who].loss)} and ${data.names[data.other]}'s from ${short(before[data.other].loss)} to ` +
            `${short(after[data.other].loss)}`),
          met: now.people[3].loss < 1e-9 && answers[3] === data.answers[3],
          table: {
            caption: `Each member's report and bound, for any answer; the promise to all is ${short(now.promise)}`,
            head: ["member", "answer", "others' mean", "report", "bound"],
            rows: data.names.map((each, j) => {
              const p = now.people[j];
              return [each, short(answers[j]), ...[p.others, p.loss, p.bound].map(round)];
            }),
          },
        };
      },
    };
  }

  return { shift, solve, view };
})();
explore.mount("levels", explore.levels.view);
