// One record among a few dozen is replaced: how far the line moves, against what is proved for all data.
"use strict";

explore.replace = (() => {
  // The slope of the others and one record; xx and xy are the others' part of the weighted means.
  function slope(data, crowd, x, y) {
    const { xx, xy } = data.crowds[crowd];
    return (xy + x * y / data.people) / (xx + x * x / data.people + data.lam);
  }

  function solve(data, crowd, x, y) {
    const before = slope(data, crowd, ...data.old), after = slope(data, crowd, x, y);
    return { before, after, move: Math.abs(after - before) };
  }

  const { BLUE, VERMILION: WARM, GRAY: SOFT } = explore;

  const word = (text, x, y, anchor = "middle", more = {}) =>
    explore.svg("text", { x, y, "text-anchor": anchor, ...more }, text);
  const named = (text, x, y, color, anchor) =>
    word(text, x, y, anchor, { style: `fill:${color}`, class: "explore-name" });

  // The square of all records: the others as dots, the new record as a grip that is made once.
  function square(data, set, done) {
    const { svg, short } = explore;
    const height = 300, top = 14, foot = 44, left = 52, right = 16, high = height - top - foot;
    const to = (v) => top + high * (1 - v) / 2, back = (v) => 1 - 2 * (v - top) / high;
    const stage = svg("svg", { height, role: "img" }), holder = { stage };
    let wide = 1;
    const at = (u) => left + wide * u;
    explore.drag(stage, (x, y) => set((x - left) / wide, back(y)), done);
    const clip = svg("svg", { x: left, y: top, height: high }), drawing = svg("g");
    const grip = svg("g", { class: "explore-grip" },
      svg("circle", { r: 20, fill: "transparent" }), svg("circle", { r: 9, fill: WARM }),
      svg("path", { d: "M-4,0h8M0,-4v8", stroke: "var(--fig-on, #fff)", "stroke-width": 1.6 }));
    stage.append(clip, drawing, grip);
    holder.draw = ({ crowd, x, y, open }, now, width) => {
      wide = width - left - right;
      stage.setAttribute("width", width);
      stage.setAttribute("viewBox", `0 0 ${width} ${height}`);
      stage.setAttribute("aria-label", "The square of all records, training from 0 to 1, result from -1 to 1. " +
        (open ? `Zoe's new record is at ${short(x)} and ${short(y)}. The sentence has both slopes.`
          : "One line fits all members."));
      clip.setAttribute("width", wide);
      const line = (slope, color, dash) => svg("path", { d: `M0,${to(0) - top}L${wide},${to(slope) - top}`,
        stroke: color, "stroke-width": 2.5, "stroke-dasharray": dash });
      clip.replaceChildren(line(now.before, SOFT, "7 5"), ...(open ? [line(now.after, BLUE, "none")] : []));
      const marks = [
        svg("path", { d: `M${left},${top}H${left + wide}V${top + high}H${left}zM${left},${to(0)}H${left + wide}`,
          class: "explore-axis", fill: "none" }),
        word("faster by (minutes)", -(top + high / 2), 12, "middle", { transform: "rotate(-90)" }),
        word("part of the training attended", left + wide / 2, height - 4)];
      for (const v of [-1, 0, 1])
        marks.push(svg("path", { d: `M${left - 5},${to(v)}h5`, class: "explore-axis" }),
          word(short(v), left - 8, to(v) + 4, "end"));
      for (const u of [0, 0.5, 1]) marks.push(word(short(u), at(u), top + high + 18));
      for (const [u, v] of data.crowds[crowd].points)
        marks.push(svg("circle", { cx: at(u), cy: to(v), r: 5, fill: "currentColor" }));
      const [u, v] = data.old;
      marks.push(svg("circle", { cx: at(u), cy: to(v), r: 8, fill: "none", stroke: WARM, "stroke-width": 2,
        "stroke-dasharray": "3 3" }),
      named("Zoe's old record", at(u) - 14, to(v) + 16, WARM, "end"),
      named(open ? "fit before (dashed)" : "fit to all (dashed)", left + 12, to(-0.68), SOFT, "start"));
      if (open) marks.push(named("fit after", left + 12, to(-0.87), BLUE, "start"));
      drawing.replaceChildren(...marks);
      grip.setAttribute("visibility", open ? "visible" : "hidden");
      grip.setAttribute("transform", `translate(${at(x)} ${to(y)})`);
      return holder;
    };
    return holder;
  }

  // Bars on one scale: a mean, this move, the farthest so far, and two bounds.
  function bars(data, now, farthest, open, width) {
    const { svg, short } = explore;
    const rows = [
      ["a mean, at most", data.mean, SOFT], ["this move", now.move, BLUE], ["farthest so far", farthest, BLUE],
      ["smallest proved", data.smallest, WARM], ["first proof", data.published, WARM]];
    const step = 27, left = 128, right = 58, height = rows.length * step + 6;
    const long = (v) => (width - left - right) * v / data.published;
    const stage = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": open ? "Five bars: the move and what bounds it. The sentence has the numbers."
        : "Five names without bars. They are drawn after your guess." });
    rows.forEach(([name, v, color], k) => {
      const y = 4 + step * k, shown = open || !k;
      stage.append(word(name, left - 8, y + 15, "end"),
        svg("rect", { x: left, y: y + 2, width: shown ? Math.max(long(v), 1) : 0, height: 17, fill: color }),
        word(shown ? short(v) : "?", left + (shown ? long(v) : 0) + 6, y + 15, "start"));
    });
    return { stage };
  }

  function view(data) {
    const { choice, guess, short, slider } = explore;
    const grid = (low, count) => Array.from({ length: count }, (_, k) => Number((low + k * 0.05).toFixed(2)));
    const X = grid(0, 21), Y = grid(-1, 41);
    const ask = guess({ label: "At most:", options: data.guesses });
    const crowd = choice({ label: "The others train", options: data.crowds.map(({ name }) => name) });
    const across = slider({ label: "New record, x", values: () => X, start: data.start[0], text: (v) => String(v) });
    const up = slider({ label: "New record, y", values: () => Y, start: data.start[1], text: (v) => String(v) });
    const near = (list, v) => list.reduce((best, one, k) =>
      Math.abs(one - v) < Math.abs(list[best] - v) ? k : best, 0);
    const drawing = square(data, (u, v) => {
      across.input.value = near(X, u);
      up.input.value = near(Y, v);
      up.input.dispatchEvent(new Event("input"));
    }, () => up.input.dispatchEvent(new Event("change")));
    let farthest = 0;
    return {
      title: "One record is replaced, and the line moves",
      controls: { ask, crowd, across, up },
      show({ ask: given, crowd: k, across: u, up: v }, width) {
        const open = given >= 0, now = solve(data, k, u, v);
        if (open) farthest = Math.max(farthest, now.move);
        const percent = (bound) => `${short(100 * now.move / bound)} percent of`;
        return {
          charts: [drawing.draw({ crowd: k, x: u, y: v, open }, now, width), bars(data, now, farthest, open, width)],
          text: !open ? "How far can the slope move? The new record and the bounds are drawn after your guess." :
            ask.verdict(data.right, data.answer) +
            `Here the slope goes from ${short(now.before)} to ${short(now.after)}, so it moves by ${short(now.move)}: ` +
            `${percent(data.smallest)} the smallest bound that this book proves for all data, ` +
            `${percent(data.published)} the bound of the first proof.`,
          table: {
            caption: `The new record at ${short(u)} and ${short(v)}: slope before, after, and the move`,
            head: ["the others train", "before", "after", "move"],
            rows: data.crowds.map(({ name }, j) => {
              const one = solve(data, j, u, v);
              return [name, short(one.before), short(one.after), short(one.move)];
            }),
          },
        };
      },
    };
  }

  return { solve, view };
})();
explore.mount("replace", explore.replace.view);
