// A rubber band from a record to a ball in a bowl, and the circle wC that the ball never leaves.
"use strict";

explore.replace = (() => {
  const sum = (list) => list.reduce((total, v) => total + v, 0);

  // Minimum and matrix of the loss on two features: one record of weight w among others who share the rest.
  function fit({ rows, labels, shares }, w, lam, [a, b, y]) {
    const mean = (of) => (1 - w) * sum(rows.map((row, k) => shares[k] * of(row, labels[k])));
    const p = mean(([u]) => u * u) + w * a * a + lam;
    const q = mean(([u, v]) => u * v) + w * a * b;
    const r = mean(([, v]) => v * v) + w * b * b + lam;
    const s = mean(([u], label) => u * label) + w * a * y;
    const t = mean(([, v], label) => v * label) + w * b * y;
    const determinant = p * r - q * q;
    return { theta: [(r * s - q * t) / determinant, (p * t - q * s) / determinant], matrix: [p, q, r] };
  }

  // The constant C of thm-sensitivity for two features.
  function constant(lam) {
    const longest = Math.min(1 / Math.sqrt(lam), Math.SQRT2 / lam);
    return { longest, C: 2 * Math.SQRT2 / lam * (1 + Math.SQRT2 * longest) };
  }

  function solve(data, crowd, record, one, lam) {
    const w = 1 / one, old = fit(data.crowds[crowd], w, lam, data.old), now = fit(data.crowds[crowd], w, lam, record);
    // How a record pulls at the new minimum: length of its row, residual, and the force 2w residual * row.
    const pull = ([a, b, y]) => {
      const residual = y - a * now.theta[0] - b * now.theta[1];
      return { length: Math.hypot(a, b), residual, force: [2 * w * residual * a, 2 * w * residual * b] };
    };
    const gained = pull(record), lost = pull(data.old);
    const step = now.theta.map((v, k) => v - old.theta[k]), move = Math.hypot(...step);
    return {
      before: old.theta, after: now.theta, matrix: old.matrix, step, move, gained, lost,
      pull: Math.hypot(...gained.force.map((v, k) => v - lost.force[k])),
      radius: w * constant(lam).C,
      smallest: data.smallest[data.lams.indexOf(lam)][data.members.indexOf(one)],
    };
  }

  const { BLUE, VERMILION: WARM, GRAY: SOFT, named, word } = explore;

  // The square of all rows: the others as dots, the new row as a grip that is made once.
  function square(data, set, done) {
    const { svg, short } = explore;
    const height = 300, top = 32, left = 48, holder = {};
    const { stage, clip, at, to, fit: fill, place } = explore.plane({ height, top, left, right: 14,
      end: 1, low: 0, high: 1, fill: WARM, ink: "var(--fig-on, #fff)" }, set, done);
    holder.stage = stage;
    holder.draw = ({ crowd, record: [a, b, y], open }, width) => {
      const wide = fill(width, "The square of all rows: training in the pool and strength training, from 0 to 1. " +
        (open ? `Zoe's new record is at ${short(a)} and ${short(b)}, with the label ${short(y)}.`
          : "Zoe's old record is in the upper right corner."));
      clip.replaceChildren();
      const marks = [svg("path", { d: `M${at(0)},${to(1)}H${at(1)}V${to(0)}H${at(0)}z`, class: "explore-axis" }),
        word("in the pool, x₁", left + wide / 2, height - 6),
        word("strength training, x₂", -(to(0) + to(1)) / 2, 12, "middle", { transform: "rotate(-90)" })];
      for (const v of [0, 0.5, 1])
        marks.push(word(short(v), at(v), to(0) + 20), word(short(v), left - 8, to(v) + 4, "end"));
      const { rows, labels } = data.crowds[crowd];
      rows.forEach(([u, v], k) => {
        const same = labels.filter((_, j) => rows[j].join() === rows[k].join()), least = Math.min(...same);
        if (rows.findIndex((row) => row.join() === rows[k].join()) < k) return; // one dot for all of them
        const end = u > 0.7, said = `y = ${least}${Math.max(...same) > least ? ` to ${Math.max(...same)}` : ""}`;
        marks.push(svg("circle", { cx: at(u), cy: to(v), r: 5, fill: "currentColor" }),
          word(said, at(u) + (end ? -10 : 10), to(v) + (end && v > 0.9 ? 56 : v > 0.1 ? 4 : -6), end ? "end" : "start"));
      });
      const [u, v, label] = data.old;
      marks.push(svg("circle", { cx: at(u), cy: to(v), r: 8, fill: "none", stroke: SOFT, "stroke-width": 2,
        "stroke-dasharray": "3 3" }),
      named(`Zoe's old record, y = ${short(label)}`, at(u), to(v) - 14, SOFT, "end"));
      if (open) marks.push(named(`new, y = ${short(y)}`, at(a) + (a > 0.5 ? -14 : 14), to(b) + (b > 0.1 ? 22 : -14),
        WARM, a > 0.5 ? "end" : "start"));
      place(marks, a, b, open);
      return holder;
    };
    return holder;
  }

  // A zigzag from one point to another.
  function zigzag([x, y], [u, v]) {
    const long = Math.hypot(u - x, v - y), turns = Math.max(3, Math.round(long / 12));
    const across = [(y - v) / long, (u - x) / long];
    const corners = Array.from({ length: turns }, (_, k) => {
      const part = (k + 0.5) / turns, side = k % 2 ? 5 : -5;
      return `L${x + part * (u - x) + side * across[0]},${y + part * (v - y) + side * across[1]}`;
    });
    return `M${x},${y}${corners.join("")}L${u},${v}`;
  }

  // The bowl from above, around the old minimum, in a scale in which the circle of radius wC is always as large.
  function bowl(data, now, { record, w, open }, width) {
    const { svg, short } = explore, height = 300, left = 20, top = 26, foot = 40, wide = width - left;
    const tall = height - top - foot, middle = [wide / 2, tall / 2], round = Math.min(wide / 2 - 8, tall / 2 - 22);
    const scale = round / now.radius, put = ([u, v]) => [middle[0] + scale * u, middle[1] - scale * v];
    const inside = svg("svg", { x: left, y: top, width: wide, height: tall });
    // Levels of the old loss: ellipses, long where only the penalty holds.
    const [p, q, r] = now.matrix, half = Math.hypot((p - r) / 2, q), steep = (p + r) / 2 + half, flat = (p + r) / 2 - half;
    const turn = -Math.atan2(2 * q, p - r) * 90 / Math.PI;
    for (let k = 1; k <= 5; k += 1)
      inside.append(svg("ellipse", { rx: 0.4 * k * round * Math.sqrt(flat / steep), ry: 0.4 * k * round, fill: "none",
        stroke: SOFT, "stroke-opacity": 0.55, transform: `translate(${middle}) rotate(${turn})` }));
    const ring = (radius, color, dash) => inside.append(svg("circle", { cx: middle[0], cy: middle[1], r: scale * radius,
      fill: "none", stroke: color, "stroke-width": 2, "stroke-dasharray": dash }));
    const marks = [];
    if (open) {
      ring(now.radius, "currentColor", "none");
      ring(now.smallest, "currentColor", "5 4");
    }
    // The band leads to the nearest coefficients that fit the record without an error.
    const [a, b, y] = open ? record : data.old, long = Math.hypot(a, b);
    const theta = open ? now.after : now.before, ball = put(open ? now.step : [0, 0]);
    const far = long ? (y - a * theta[0] - b * theta[1]) / long : 0, color = open ? WARM : SOFT;
    if (Math.abs(scale * far) > 1) {
      const way = [Math.sign(far) * a / long, -Math.sign(far) * b / long];
      const reach = Math.min(...way.map((v, k) =>
        (v ? ((v > 0 ? [wide, tall][k] - 10 : 10) - ball[k]) / v : Infinity)));
      const ends = scale * Math.abs(far) > reach, stop = ends ? reach - 8 : scale * Math.abs(far);
      const end = ball.map((v, k) => v + stop * way[k]);
      inside.append(svg("path", { d: zigzag(ball, end), fill: "none", stroke: color, "stroke-width": 1.5 + 4 * Math.sqrt(w) }));
      if (ends) {
        const tip = ball.map((v, k) => v + reach * way[k]);
        inside.append(svg("path", { fill: color,
          d: `M${tip}L${end[0] - 6 * way[1]},${end[1] + 6 * way[0]}L${end[0] + 6 * way[1]},${end[1] - 6 * way[0]}z` }));
        const onward = way[0] > 0 ? wide - tip[0] > 60 : tip[0] < 60; // the number stands where the band is not
        inside.append(named(short(Math.abs(far)), tip[0] + (onward ? 12 : -12), tip[1] + (Math.abs(way[1]) < 0.4 ? -12 : way[1] > 0 ? 9 : 1),
          color, onward ? "start" : "end"));
      } else {
        const side = [-2000 * way[1], 2000 * way[0]];
        inside.append(svg("path", { d: `M${end.map((v, k) => v - side[k])}L${end.map((v, k) => v + side[k])}`,
          stroke: color, "stroke-width": 1.5, "stroke-dasharray": "2 3" }),
        svg("circle", { cx: end[0], cy: end[1], r: 4, fill: color }));
      }
    }
    if (open) {
      inside.append(svg("path", { d: `M${middle}L${ball}`, stroke: BLUE, "stroke-width": 3 }),
        svg("circle", { cx: middle[0], cy: middle[1], r: 4, fill: "none", stroke: BLUE, "stroke-width": 2 }));
      const unit = [1, 2, 5].flatMap((lead) => Array.from({ length: 12 }, (_, k) => Number(`${lead}e${k - 8}`)))
        .filter((v) => v < 0.6 * now.radius).reduce((one, v) => Math.max(one, v));
      marks.push(svg("path", { d: `M${left},${height - 32}v5h${scale * unit}v-5`, fill: "none", stroke: "currentColor" }),
        word(`this long: ${short(unit)}`, left, height - 12, "start"),
        word(`radius wC = ${short(now.radius)}`, left + middle[0], 16),
        word(`dashed: ${short(now.smallest)}`, width - 4, height - 12, "end"));
    } else {
      marks.push(word("How far from here?", left + middle[0], 16));
    }
    marks.push(word("coefficient of x₁", left + middle[0], height - 12),
      word("coefficient of x₂", -(top + middle[1]), 12, "middle", { transform: "rotate(-90)" }));
    inside.append(svg("circle", { cx: ball[0], cy: ball[1], r: 7, fill: BLUE }));
    return { stage: svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": "A bowl over the plane of both coefficients, from above, with a ball at its lowest point. " +
        (open ? `The ball moved by ${short(now.move)}, inside of a circle of radius ${short(now.radius)}.`
          : "A rubber band leads to Zoe's old record.") }, inside, ...marks) };
  }

  function view(data) {
    const { beside, choice, guess, literal, short, slider } = explore;
    const grid = (low, count) => Array.from({ length: count }, (_, k) => Number((low + k * 0.05).toFixed(2)));
    const SIDE = grid(0, 21), LABEL = grid(-1, 41), [a, b, y] = data.start;
    const ask = guess({ label: "At most:", options: data.guesses });
    const crowd = choice({ label: "The others train", options: data.crowds.map(({ name }) => name) });
    const number = (label, values, start) => slider({ label, values: () => values, start, text: (v) => String(v) });
    const first = number("New record, x₁", SIDE, a), second = number("New record, x₂", SIDE, b);
    const up = number("New record, y", LABEL, y);
    const weight = slider({ label: "Zoe's weight w", values: () => data.members, start: data.member, text: (v) => `w = 1/${v}` });
    const penalty = slider({ label: "Penalty λ", values: () => data.lams, start: data.lam, text: (v) => `λ = ${short(v)}` });
    const near = (v) => Math.min(Math.max(Math.round(20 * v), 0), 20);
    const drawing = square(data, (u, v) => {
      first.input.value = near(u);
      second.input.value = near(v);
      second.input.dispatchEvent(new Event("input"));
    }, () => second.input.dispatchEvent(new Event("change")));
    return {
      title: "A rubber band from a record to a ball in a bowl",
      controls: { ask, crowd, first, second, label: up, one: weight, lam: penalty },
      extreme: { crowd: data.crowds[0].name, first: "1", second: "1", label: "-1",
        one: String(data.member), lam: String(data.lams.at(-1)) },
      challenge: `With λ = ${short(data.lam)} and w = 1/${data.member}, move the ball by more than 0.55.`,
      python: ({ crowd: k, first: u, second: v, label, one, lam }) => `import numpy as np
from pdpbook.ridge import weighted_ridge

w, lam = 1 / ${one}, ${lam}
others = np.array([${data.crowds[k].rows.map(literal).join(", ")}])
labels = ${literal(data.crowds[k].labels)}
shares = np.array(${literal(data.crowds[k].shares)})

def fit(row, label):
    X, y = np.vstack([others, row]), np.append(labels, label)
    return weighted_ridge(X, y, lam, np.append((1 - w) * shares, w))

before, after = fit(${literal(data.old.slice(0, 2))}, ${data.old[2]}), fit([${u}, ${v}], ${label})
print(np.linalg.norm(after - before))  # how far the ball moves`,
      show({ ask: given, crowd: k, first: u, second: v, label, one, lam }, width) {
        const open = given >= 0, record = [u, v, label], now = solve(data, k, record, one, lam), w = 1 / one;
        const most = 1 + Math.SQRT2 * constant(lam).longest, [left, right] = beside(width, Math.round(width / 2) - 8);
        const percent = (bound) => short(100 * now.move / bound);
        const pulls = ({ length, residual }) => 2 * w * length * Math.abs(residual);
        return {
          charts: [drawing.draw({ crowd: k, record, open }, left), bowl(data, now, { record, w, open }, right)],
          text: !open ? "Zoe replaces her record, and a new band pulls the ball. How far can it move, whatever she and all others write?" :
            `The ball moved by ${short(now.move)}: ${percent(now.radius)} percent of wC = ${short(now.radius)}, the circle of this page, and ` +
            `${percent(now.smallest)} percent of ${short(now.smallest)}, the smallest circle that this book proves (dashed). ` +
            `The mean of all y moves by at most 2w = ${short(2 * w)}.`,
          verdict: ask.verdict(data.right, data.answer),
          met: now.move > 0.55 && one === data.member && lam === data.lam,
          table: {
            caption: "At the new minimum: what the proof allows, and what is so here",
            head: ["", "at most", "here"],
            rows: [
              ["length of the new row", short(Math.SQRT2), short(now.gained.length)],
              ["its residual", short(most), short(Math.abs(now.gained.residual))],
              ["pull of the new record", short(2 * w * Math.SQRT2 * most), short(pulls(now.gained))],
              ["pull of the old record", short(2 * w * Math.SQRT2 * most), short(pulls(now.lost))],
              ["new without old", short(4 * w * Math.SQRT2 * most), short(now.pull)],
              ["move: this over 2λ", short(now.radius), short(now.pull / (2 * lam))],
              ["move", short(now.radius), short(now.move)],
            ],
          },
        };
      },
    };
  }

  return { constant, solve, view };
})();
explore.mount("replace", explore.replace.view);
