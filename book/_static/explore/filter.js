// A folded ruler that never leaves its circle, and two club houses that are alike once it is full.
"use strict";

explore.filter = (() => {
  // Week by week: what the coach asks by the published totals, how far the answer moves the total in
  // standard deviations of the noise, and whether it still fits. Squares add up.
  function solve({ hours, budgets, noise, worst }, { who, high, low, dots }) {
    const whole = budgets[who] ** 2 * (1 + 1e-12);
    let paid = 0;
    return dots.map((_, k) => {
      const part = k === 0 || dots[k - 1] > 0 ? high : low, answer = part * hours[who], move = answer / noise;
      const fits = paid + move ** 2 <= whole, wanted = Math.sqrt(paid + move ** 2);
      if (fits) paid += move ** 2;
      return { part, answer, move, fits, wanted, end: Math.sqrt(paid), worst: part * worst / noise };
    });
  }

  // Joints of the ruler: each leg stands at a right angle on the line from the center to the end so far.
  function joints(moves) {
    let far = 0, turn = 0;
    return moves.map((move) => {
      turn += far ? Math.atan(move / far) : 0;
      far = Math.hypot(far, move);
      return [far * Math.cos(turn), far * Math.sin(turn)];
    });
  }

  const { BLUE, VERMILION: WARM, GRAY: SOFT, named, word } = explore;
  const HEIGHT = 300, LIMIT = 2.5, STEP = 0.25;
  const path = (d, color, width = 2, more = {}) =>
    explore.svg("path", { d, fill: "none", stroke: color, "stroke-width": width, ...more });

  function ruler(name, mu, weeks, open, width) {
    const { short, svg } = explore, now = weeks.at(-1), out = !now.fits && open;
    const middle = [width / 2, 150], scale = 104 / mu;
    const put = ([u, v]) => [middle[0] + scale * u, middle[1] - scale * v].map((c) => c.toFixed(1));
    const inside = weeks.filter(({ fits }) => fits).map(({ move }) => move), all = joints([...inside, now.move]);
    const points = [[0, 0], ...all.slice(0, inside.length)];
    const parts = [svg("circle", { cx: middle[0], cy: middle[1], r: 104, fill: WARM, "fill-opacity": 0.07,
      stroke: "currentColor", "stroke-width": 2 })];
    for (const point of points.slice(1)) parts.push(path(`M${middle}L${put(point)}`, SOFT, 1, { "stroke-dasharray": "2 3" }));
    points.slice(1).forEach((point, k) => parts.push(
      path(`M${put(points[k])}L${put(point)}`, WARM, 4, { "stroke-linecap": "round" })));
    for (const point of points) {
      const [cx, cy] = put(point);
      parts.push(svg("circle", { cx, cy, r: 2.5, fill: "currentColor" }));
    }
    if (out) parts.push(path(`M${put(points.at(-1))}L${put(all.at(-1))}`, SOFT, 4, { "stroke-dasharray": "6 4" }));
    parts.push(word(`circle: radius ${short(mu)}, ${name}'s budget`, middle[0], 16),
      out ? named(`one more leg would end at ${short(now.wanted)}`, middle[0], HEIGHT - 24, SOFT, "middle") : "",
      named(`the ruler ends ${short(now.end)} from the center`, middle[0], HEIGHT - 6, WARM, "middle"));
    return { stage: svg("svg", { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "img",
      "aria-label": `A ruler of ${inside.length} legs, folded at right angles, in a circle of radius ${short(mu)}. ` +
        `It ends ${short(now.end)} from the center.` }, ...parts) };
  }

  // Two houses on one upright axis, the published total, and between them a column for each week.
  function houses(count, set, done) {
    const { drag, short, svg } = explore, drawing = svg("g"), top = 66, tall = 170, foot = top + tall;
    const grips = Array.from({ length: count }, () => svg("rect", { fill: "transparent" }));
    const stage = svg("svg", { height: HEIGHT, role: "img" }, drawing,
      ...grips.map((one) => svg("g", { class: "explore-grip" }, one)));
    const to = (v) => top + tall * (1 - (v + LIMIT + 0.3) / (2 * LIMIT + 0.6));
    let caught = 0;
    stage.addEventListener("pointerdown", ({ target }) => { caught = grips.indexOf(target); });
    drag(stage, (_, y) => set(caught, (LIMIT + 0.3) * (1 - 2 * (y - top) / tall)), done);
    const bell = (wall, way, mean, room) => Array.from({ length: 81 }, (_, k) => {
      const v = (LIMIT + 0.3) * (k / 40 - 1);
      return `${k ? "L" : "M"}${(wall + way * room * Math.exp(-((v - mean) ** 2) / 2)).toFixed(1)},${to(v).toFixed(1)}`;
    }).join("");
    return {
      stage,
      draw({ name, weeks, dots, open }, width) {
        const wide = Math.min(0.27 * width, 130), left = wide + 8, each = (width - 2 * left) / count, now = weeks.at(-1);
        stage.setAttribute("width", width);
        stage.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
        const apart = now.fits ? now.move : 0, week = weeks.length;
        stage.setAttribute("aria-label", `Two club houses, with ${name} and without. The bells of what they may publish in week ` +
          `${week} are ${short(apart)} standard deviations apart. Between them dots, the published totals.`);
        const parts = [[1, WARM, "with", apart], [width - 1, SOFT, "without", 0]].flatMap(([wall, color, said, mean], k) => {
          const way = k ? -1 : 1, room = 0.8 * wide, far = wall + way * wide, other = k ? apart : 0;
          return [
            path(`M${wall},${foot}V${top - 8}L${wall + way * wide / 2},${top - 40}L${far},${top - 8}V${foot}z`, "currentColor", 1.5),
            svg("path", { d: `${bell(wall, way, mean, room)}z`, fill: color, "fill-opacity": 0.25, stroke: color, "stroke-width": 2.5 }),
            path(bell(wall, way, other, room), k ? WARM : "currentColor", 1.2, { "stroke-dasharray": "3 3" }),
            path(`M${wall},${to(mean)}h${way * room}`, color, 1.5),
            named(said, wall + way * wide / 2, foot + 18, color, "middle"),
            named(name, wall + way * wide / 2, foot + 34, color, "middle")];
        });
        parts.push(path(`M${left},${to(0)}H${width - left}`, SOFT, 1, { "stroke-dasharray": "5 4" }),
          word(open ? "published totals, drag them" : "published totals", width / 2, top - 48),
          word("week", width / 2, HEIGHT - 4), path(`M${left},${foot + 28}H${width - left}`, SOFT, 1),
          path(`M${1 + wide},${to(dots[week - 1])}H${width - 1 - wide}`, BLUE, 1.5));
        const most = Math.max(...weeks.map(({ move }) => move), 1e-9);
        grips.forEach((one, k) => {
          const x = left + (k + 0.5) * each, shown = k < week && open, y = to(dots[k]);
          one.setAttribute("visibility", shown ? "visible" : "hidden");
          for (const [key, v] of Object.entries({ x: x - each / 2, y: y - 22, width: each, height: 44 })) one.setAttribute(key, v);
          if ([0, 3, 7, 11, 15].includes(k)) parts.push(word(String(k + 1), x, HEIGHT - 20));
          if (k >= week) return;
          const { fits, move } = weeks[k], leg = 24 * move / most;
          parts.push(svg("rect", { x: x - 0.3 * each, width: 0.6 * each, y: foot + 28 - leg, height: leg,
            fill: fits ? WARM : "none", stroke: fits ? WARM : SOFT }),
          svg("circle", { cx: x, cy: y, r: k === week - 1 ? 6 : 4, fill: BLUE }));
          if (k === week - 1 && open) parts.push(path(`M${x - 4},${y - 10}l4,-4l4,4M${x - 4},${y + 10}l4,4l4,-4`, BLUE, 1.6));
        });
        drawing.replaceChildren(...parts);
        return this;
      },
    };
  }

  function view(data) {
    const { beside, choice, guess, held, literal, short, slider } = explore;
    const dots = [...data.dots], GRID = Array.from({ length: 2 * LIMIT / STEP + 1 }, (_, k) => k * STEP - LIMIT);
    const PARTS = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1], part = (v) => (v === 1 ? "all of it" : v ? `${v} of it` : "nothing");
    const ask = guess({ label: "In week 5:", options: data.guesses });
    const who = choice({ label: "Member", options: data.names });
    who.input.selectedIndex = data.who;
    const week = slider({ label: "Weeks so far", values: () => dots.map((_, k) => k + 1), start: data.week, text: String });
    const dot = slider({ label: "Published in the last one", values: () => GRID, start: dots[data.week - 1], text: short });
    const high = slider({ label: "After a total above the line, ask for", values: () => PARTS, start: 1, text: part });
    const low = slider({ label: "After one below, ask for", values: () => PARTS, start: 1, text: part });
    const last = () => Number(week.input.value);
    const show = () => { dot.input.value = GRID.indexOf(dots[last()]); };
    week.input.addEventListener("input", show); // before the figure reads it
    dot.input.addEventListener("input", () => { dots[last()] = GRID[dot.input.value]; });
    const list = held([dots], (v) => GRID.includes(v));
    const drawing = houses(dots.length, (k, v) => {
      dots[k] = GRID[Math.min(Math.max(Math.round((v + LIMIT) / STEP), 0), GRID.length - 1)];
      show();
      week.input.dispatchEvent(new Event("input"));
    });
    return {
      title: "A folded ruler in a circle, and two club houses",
      controls: { ask, who, week, dot, high, low, dots: list },
      extreme: { who: "Ben", week: String(dots.length), high: "0.5", low: "0.5" },
      challenge: "Let Dora be left out in one week, and take part again in a later one.",
      python: ({ who: k, week: t, high: a, low: b }) => `from pdpbook.guarantees import BudgetAccount, GaussianDP

account = BudgetAccount([${data.budgets[k]}], neighbors="zero-out", kind=GaussianDP)
for answer in ${literal(solve(data, { who: k, high: a, low: b, dots }).slice(0, t).map(({ answer }) => answer))}:
    account.admit(answer / ${data.noise})
print(account.spent[0])  # from the center to the end of the ruler`,
      show({ ask: given, who: k, week: t, high: a, low: b }, width) {
        const open = given >= 0, weeks = solve(data, { who: k, high: a, low: b, dots }).slice(0, open ? t : data.week - 1);
        const name = data.names[k], mu = data.budgets[k], now = weeks.at(-1), at = dots[weeks.length - 1];
        const [left, right] = beside(width, Math.round(0.56 * width));
        const out = weeks.findIndex(({ fits }) => !fits), back = weeks.findIndex(({ fits, move }, j) => fits && move && j > out);
        return {
          charts: [ruler(name, mu, weeks, open, left), drawing.draw({ name, weeks, dots, open }, right)],
          text: !open ? `Each of Ben's answers moves a total by ${short(now.move)} standard deviations of the noise, and so far are the bells of ` +
            `the two houses apart. After ${weeks.length} weeks the ruler of his moves ends at ${short(now.end)}, on the circle. ` +
            "In week 5 he is left out. How far apart are the bells then?"
            : `In week ${t} ` + (!now.move ? "both bells are the same: the answer is 0, and costs nothing. "
              : now.fits ? `the bells are ${short(now.move)} apart, and a leg of this length fits. `
                : `a leg of ${short(now.move)} would end outside, at ${short(now.wanted)}. So ${name} is left out, both bells are the same, and leaving costs nothing. `) +
              `So far ${name} takes part in ${weeks.filter(({ fits }) => fits).length} of ${t} week${t === 1 ? "" : "s"}. ` +
              `The ruler ends ${short(now.end)} from the center; the radius of the circle is ${short(mu)}. ` +
              `Published is ${at ? `${short(Math.abs(at))} ${at > 0 ? "above" : "below"} the line` : "the line itself"}. ` +
              (now.worst ** 2 > mu ** 2 * (1 + 1e-12) ? `By the worst answer, a leg of ${short(now.worst)}, not even one week would fit.`
                : `The worst answer would need a leg of ${short(now.worst)}.`),
          verdict: ask.verdict(data.right, data.answer),
          met: name === "Dora" && out >= 0 && back > out,
          table: {
            caption: `${name}'s weeks: published totals and legs, in standard deviations of the noise`,
            head: ["week", "total", "answer", "leg", "ruler ends"],
            rows: weeks.map(({ answer, move, fits, end }, j) => [String(j + 1), short(dots[j]), short(answer),
              fits ? short(move) : `${short(move)}, out`, short(end)]),
          },
        };
      },
    };
  }

  return { joints, solve, view };
})();
explore.mount("filter", explore.filter.view);
