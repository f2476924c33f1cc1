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

  const { named, word } = explore;

  // The square of all records: the others as dots, the new record as a grip that is made once.
  function square(data, set, done) {
    const { svg, short } = explore;
    const left = 52, holder = {};
    const { stage, clip, at, to, inner, fit, axes, place } = explore.plane({ height: 300, top: 14, left, right: 16,
      end: 1, low: -1, high: 1, fill: WARM, ink: "var(--fig-on, #fff)" }, set, done);
    holder.stage = stage;
    holder.draw = ({ crowd, x, y, open }, now, width) => {
      fit(width, "The square of all records, training from 0 to 1, result from -1 to 1. " +
        (open ? `Zoe's new record is at ${short(x)} and ${short(y)}. The sentence has both slopes.`
          : "One line fits all members."));
      const line = (slope, color, dash) => svg("path", { d: `M${inner(0, 0)}L${inner(1, slope)}`,
        stroke: color, "stroke-width": 2.5, "stroke-dasharray": dash });
      clip.replaceChildren(line(now.before, SOFT, "7 5"), ...(open ? [line(now.after, BLUE, "none")] : []));
      const frame = `M${at(0)},${to(1)}H${at(1)}V${to(-1)}H${at(0)}z`;
      const marks = axes([0, 0.5, 1], [-1, 0, 1], frame);
      for (const [u, v] of data.crowds[crowd].points)
        marks.push(svg("circle", { cx: at(u), cy: to(v), r: 5, fill: "currentColor" }));
      const [u, v] = data.old;
      marks.push(svg("circle", { cx: at(u), cy: to(v), r: 8, fill: "none", stroke: WARM, "stroke-width": 2,
        "stroke-dasharray": "3 3" }),
      named("Zoe's old record", at(u) - 14, to(v) + 16, WARM, "end"),
      named(open ? "fit before (dashed)" : "fit to all (dashed)", left + 12, to(-0.68), SOFT, "start"));
      if (open) marks.push(named("fit after", left + 12, to(-0.87), BLUE, "start"));
      place(marks, x, y, open);
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
      extreme: { crowd: data.crowds[1].name, across: "1", up: "-1" },
      challenge: "Move the slope by more than 0.33.",
      python: () => `from pdpbook.sensitivity import capped_sensitivity

print(capped_sensitivity(1 / ${data.people}, ${data.lam}, 1))  # for all data`,
      show({ ask: given, crowd: k, across: u, up: v }, width) {
        const open = given >= 0, now = solve(data, k, u, v);
        if (open) farthest = Math.max(farthest, now.move);
        const percent = (bound) => `${short(100 * now.move / bound)} percent of`;
        return {
          charts: [drawing.draw({ crowd: k, x: u, y: v, open }, now, width), bars(data, now, farthest, open, width)],
          text: !open ? "How far can the slope move? The new record and the bounds are drawn after your guess." :
            `Here the slope goes from ${short(now.before)} to ${short(now.after)}, so it moves by ${short(now.move)}: ` +
            `${percent(data.smallest)} the smallest bound that this book proves for all data, ${short(data.smallest)}, and ` +
            `${percent(data.published)} the bound of the first proof, ${short(data.published)}.`,
          verdict: ask.verdict(data.right, data.answer),
          met: now.move > 0.33,
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
