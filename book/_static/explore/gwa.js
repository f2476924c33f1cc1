// Tanks of evenings, flooded until nobody counts for more than a level, and what that does to the error.
"use strict";

explore.gwa = (() => {
  const sum = (list) => list.reduce((total, v) => total + v, 0);
  const own = ({ kinds }, l) => kinds.filter(({ who }) => who === l);
  const members = (data) => Array.from({ length: data.members }, (_, l) => l);

  // For a total weight of each kind of record (of one member), scaled so that the result is unbiased:
  // how far each member can move the result, and both parts of its variance; see thm-gwa.
  function solve({ kinds, members, copies, sigma2, width }, weights, epsilon) {
    const scale = copies * sum(kinds.map(({ x }, k) => x * weights[k]));
    const u = weights.map((w) => w / scale);
    const moves = Array.from({ length: members }, (_, l) =>
      width * sum(kinds.map(({ who }, k) => (who === l ? Math.abs(u[k]) : 0))));
    const records = sigma2 * copies * sum(kinds.map(({ s }, k) => u[k] * u[k] / s));
    const noise = 2 * (Math.max(...moves) / epsilon) ** 2;
    return { u, moves, records, noise, variance: records + noise };
  }

  // What a member counts for when water stands at a height: the hours that stick out.
  const counts = (data, l, water) => sum(own(data, l).map(({ s, x }) => s * Math.max(x - water, 0)));

  // The water in each tank that leaves no member above a level. A member's count is the largest of the
  // lines "the hours of the k longest kinds, less the water for each of their evenings".
  const flood = (data, h) => members(data).map((l) => {
    let hours = 0, evenings = 0, water = 0;
    [...own(data, l)].sort((one, other) => other.x - one.x).forEach(({ s, x }) => {
      hours += s * x;
      evenings += s;
      water = Math.max(water, (hours - h) / evenings);
    });
    return water;
  });

  // At a level: water, what the members count for, and errors.
  function pressed(data, h, epsilon) {
    const water = flood(data, h), weights = data.kinds.map(({ who, s, x }) => s * Math.max(x - water[who], 0));
    return { water, counts: members(data).map((l) => counts(data, l, water[l])), ...solve(data, weights, epsilon) };
  }

  // Hours of level that an hour of water gives, for all members of a kind.
  const gain = ({ copies, sigma2, width }, epsilon) => copies * sigma2 / (2 * (width / epsilon) ** 2);

  // The best level is as high as this many times all water; see thm-gwa-dual.
  function best(data, epsilon) {
    let low = 0, high = Math.max(...members(data).map((l) => counts(data, l, 0)));
    for (let k = 0; k < 200; k += 1) {
      const middle = (low + high) / 2;
      if (gain(data, epsilon) * sum(flood(data, middle)) > middle) low = middle;
      else high = middle;
    }
    return { h: low, ...pressed(data, low, epsilon) };
  }

  const BLUE = "var(--fig-blue, #0072b2)", WARM = "var(--fig-warm, #b84a00)";
  const SOFT = "var(--fig-soft, #6b737d)";

  // A tank for each member, with a column for every evening. The water is dragged in the last tank, and
  // the others follow: all who are pressed down count for the same.
  function tanks(data, set) {
    const { named, svg, short, word } = explore, height = 250, top = 24, foot = 62, left = 54, right = 26, gap = 30;
    const last = data.members - 1, most = Math.max(...data.kinds.map(({ x }) => x)), high = height - top - foot;
    const to = (v) => top + high * (1 - v / most);
    const stage = svg("svg", { height, role: "img" }), drawing = svg("g");
    explore.drag(stage, (_, y) => {
      const water = most * (1 - (y - top) / high);
      set(counts(data, last, Math.min(Math.max(water, 0), most)));
    });
    // Made once: a finger that drags must not lose what it touched.
    const { grip, area, line, knob } = explore.leveler(BLUE, 18);
    stage.append(drawing, grip);
    return {
      stage,
      draw(h, now, width) {
        stage.setAttribute("width", width);
        stage.setAttribute("viewBox", `0 0 ${width} ${height}`);
        stage.setAttribute("aria-label", "Five tanks with a column for each evening. " + data.names.map((name, l) =>
          `${name}: water ${short(now.water[l])}, counts for ${short(now.counts[l])}`).join("; ") + ".");
        const columns = sum(data.kinds.map(({ s }) => s));
        const each = (width - left - right - gap * last) / columns, space = Math.min(0.8, each * 0.2);
        const marks = [];
        for (let v = 0; v <= most; v += 1)
          marks.push(svg("path", { d: `M${left - 14},${to(v)}h5`, class: "explore-axis" }),
            word(short(v), left - 18, to(v) + 4, "end"));
        marks.push(word("hours of an evening", -(top + high / 2), 12, "middle", { transform: "rotate(-90)" }),
          word("counts", left - 8, height - 27, "end"));
        let from = left;
        data.names.forEach((name, l) => {
          const kinds = own(data, l), wide = each * sum(kinds.map(({ s }) => s)), water = now.water[l];
          const color = now.counts[l] > h * (1 - 1e-9) ? WARM : SOFT;
          marks.push(svg("rect", { x: from, y: to(water), width: wide, height: to(0) - to(water), fill: BLUE,
            "fill-opacity": 0.2 }));
          let x = from;
          for (const { s, x: hours } of kinds)
            for (let k = 0; k < s; k += 1, x += each) {
              const wet = Math.min(hours, water), put = { x: x + space / 2, width: each - space };
              if (wet) marks.push(svg("rect", { ...put, y: to(wet), height: to(0) - to(wet), fill: BLUE, "fill-opacity": 0.45 }));
              if (hours > wet) marks.push(svg("rect", { ...put, y: to(hours), height: to(wet) - to(hours), fill: color }));
            }
          marks.push(svg("path", { d: `M${from - 3},${top - 8}V${to(0) + 2}h${wide + 6}V${top - 8}`, class: "explore-axis" }));
          if (water && l < last)
            marks.push(svg("path", { d: `M${from},${to(water)}h${wide}`, stroke: BLUE, "stroke-width": 2.5 }));
          const middle = from + wide / 2;
          marks.push(word(name, middle, height - 44, "middle", { "font-weight": 600 }),
            word(short(now.counts[l]), middle, height - 27, "middle", { style: `fill:${color}` }));
          if (l === last) {
            area.setAttribute("x", from);
            area.setAttribute("width", wide + right);
            line.setAttribute("d", `M${from},0h${wide + 14}`);
            knob.setAttribute("transform", `translate(${from + wide + 14} 0)`);
            grip.setAttribute("transform", `translate(0 ${to(water)})`);
            const pool = kinds[0].x, deep = water > pool + 0.25; // above the short evenings, or among them
            if (deep || water > 0.25)
              marks.push(named("water", from + each * kinds[0].s / 2, to((water + (deep ? pool : 0)) / 2) + 4, BLUE, "middle"));
          }
          from += wide + gap;
        });
        marks.push(named(`above water: at most ${short(h)} a member`, width - right, height - 6, WARM, "end"));
        drawing.replaceChildren(...marks);
        return this;
      },
    };
  }

  // One bar, in two parts: the squared error from the records and from the noise.
  function error(now, least, open, width) {
    const { svg } = explore, left = 10, right = 14, most = 900, y = 30, thick = 26;
    const wide = width - left - right, at = (v) => left + wide * Math.min(v, most) / most;
    const word = (text, x, v, anchor, color) =>
      svg("text", { x, y: v, "text-anchor": anchor, style: `fill:${color}` }, text);
    const marks = [
      svg("rect", { x: left, y, width: at(now.records) - left, height: thick, fill: BLUE }),
      svg("rect", { x: at(now.records), y, width: Math.max(at(now.variance) - at(now.records), 0), height: thick,
        fill: WARM }),
      word("squared error from records", left, y - 9, "start", BLUE),
      word("and from noise", width - right, y - 9, "end", WARM)];
    if (now.variance > most)
      marks.push(word(`${Math.round(now.variance).toLocaleString("en")} →`, width - right - 4, y + thick - 8, "end", "var(--fig-on)"));
    if (open) {
      const far = at(least) > width / 2, off = least > most;
      if (!off)
        marks.push(svg("path", { d: `M${at(least)},${y - 4}v${thick + 8}`, stroke: "currentColor", "stroke-width": 3 }));
      marks.push(word(`least possible${off ? `: ${Math.round(least).toLocaleString("en")} →` : ""}`,
        at(least) + (off ? 4 : far ? -6 : 6), y + thick + 19, far ? "end" : "start", "currentColor"));
    }
    return { stage: svg("svg", { width, height: 84, viewBox: `0 0 ${width} 84`, role: "img",
      "aria-label": "A bar with the squared error, from records and from noise. The sentence has the numbers." },
    ...marks) };
  }

  function view(data) {
    const { beside, guess, literal, press, ratios, short, slider, steps } = explore;
    const meters = { ...data, width: 1000 * data.width, sigma2: 1e6 * data.sigma2 };
    const last = data.members - 1, most = counts(data, last, 0), asked = best(data, data.epsilon);
    const least = Math.min(...own(data, last).map(({ x }) => x)); // hours of a short evening
    const guesses = data.guesses.map(([value, name]) => [value ?? asked.h, name]);
    const fewest = Math.min(...members(data).map((l) => counts(data, l, 0))); // below it only all scale
    const named = guesses.map(([value]) => Number(value.toPrecision(4)));
    const others = ratios(fewest, most, 300).filter((v) => !named.some((one) => short(one) === short(v)));
    const levels = [...new Set([...others.map((v) => Number(v.toPrecision(4))), ...named])]
      .sort((one, other) => one - other);
    const level = slider({ label: "Level h", values: () => levels, start: most, text: (v) => `h = ${short(v)}` });
    const set = (v) => {
      const gaps = levels.map((one) => Math.abs(Math.log(one / Math.max(v, levels[0]))));
      level.input.value = gaps.indexOf(Math.min(...gaps));
      level.input.dispatchEvent(new Event("input"));
    };
    let found = asked;
    const picture = tanks(data, set);
    const ask = guess({ label: "With the best weights they count:", options: guesses.map(([, name]) => name) });
    ask.input.addEventListener("input", () => set((guesses[ask.read()] ?? guesses[data.right])[0]));
    const answer = press("Go to the best level", () => set(found.h));
    ask.row.append(answer);
    return {
      title: "Tanks of evenings, and the error of the best weights for a level",
      controls: {
        ask,
        h: level,
        epsilon: slider({ label: "Privacy budget ε", values: () => steps(0.4, 10), start: data.epsilon,
          text: (v) => `ε = ${v}` }),
      },
      extreme: { h: String(most), epsilon: "0.4" },
      challenge: "Find a budget whose best level leaves Zoe's short evenings above water.",
      python: ({ epsilon }) => `import numpy as np
from pdpbook.gwa import gwa_weights

hours = ${literal(data.kinds.flatMap(({ s, x }) => Array(s).fill(x)))}
owner = ${literal(data.kinds.flatMap(({ who, s }) => Array(s).fill(who)))}
X = np.tile(hours, ${data.copies})[:, None]
users = np.tile(owner, ${data.copies}) + np.repeat(
    ${data.members} * np.arange(${data.copies}), len(owner))
best = gwa_weights(X, users, sigma2=${data.sigma2}, epsilon=${epsilon}, width=${data.width}, tol=1e-9)
print(1000 * best.objective**0.5)  # the least error, meters per hour`,
      show({ ask: given, h, epsilon }, width) {
        const open = given >= 0, now = pressed(meters, h, epsilon), factor = gain(data, epsilon);
        answer.hidden = !open;
        found = best(meters, epsilon);
        const root = (v) => short(Math.sqrt(v)), more = Math.sqrt(now.variance / found.variance) - 1;
        const slices = now.water.map((v) => factor * v), give = sum(slices);
        const flooded = data.names.map((name, l) => [name, now.water[l]]).filter(([, v]) => v > 0).reverse();
        const [first, second] = beside(width, 230), dry = least - now.water[last];
        const balance = explore.towers({ cost: h, slices, names: data.names,
          high: [4, 8, 20, 80].find((v) => v > 1.5 * found.h),
          words: ["bill of noise", `${short(factor)} × water`],
          label: `Two towers: the bill of the noise, ${short(h)} high, and ${short(factor)} times all water, ${short(give)}.`,
        }, second);
        return {
          charts: open ? [picture.draw(h, now, first), balance, error(now, found.variance, open, width)]
            : [picture.draw(h, now, width)],
          verdict: ask.verdict(data.right, `at the budget ${data.epsilon} water of ${short(asked.water[last])} hours ` +
            "in Zoe's tank is best, over her short evenings"),
          met: dry > 0 && found.h > counts(data, last, least) && more < 0.005,
          text: !open ? `No water yet: these are the weights of least squares, and Zoe's evenings count for ${short(most)}, ` +
            "Ana's for 1. How much should Zoe's twenty evenings of one hour count?" :
            `${flooded.length ? `Water: ${flooded.map(([name, v]) => `${name} ${short(v)}`).join(", ")}` : "No water"}. ` +
            `${dry > 0 ? `Each of Zoe's short evenings counts for ${short(dry)}` : "Zoe's short evenings count for nothing"}. ` +
            `Typical error ${root(now.variance)} meters per hour (records ${root(now.records)}, noise ${root(now.noise)}); ` +
            `the least possible is ${root(found.variance)}` +
            (more < 0.0005 ? ", and this is it, or almost. " : `. Yours is ${short(Number((100 * more).toPrecision(2)))} percent larger. `) +
            `The bill of the noise is ${short(h)}, and all water, times ${short(factor)}, is ${short(give)}: ` +
            `${Math.abs(h - give) < 0.05 * h ? "the towers are level, or almost" : h < give ? "raise the level" : "lower the level"}.`,
          table: {
            caption: `At the level ${short(h)}: water, what all evenings of a member count for, how far they can move ` +
              "the result (meters per hour)",
            head: ["member", "water", "counts for", "moves"],
            rows: data.names.map((name, l) =>
              [name, short(now.water[l]), short(now.counts[l]), short(now.moves[l])]),
          },
        };
      },
    };
  }

  return { best, flood, pressed, solve, view };
})();
explore.mount("gwa", explore.gwa.view);
