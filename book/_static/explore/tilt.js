// A rubber band around everybody's step, held by its rim: the noise on two totals, its price, and who holds it open.
"use strict";

explore.tilt = (() => {
  // A step in units of the noise, squared: variances along an axis turned by so many degrees, and across.
  function exposure([u, v], along, across, degrees) {
    const t = degrees * Math.PI / 180, c = Math.cos(t), s = Math.sin(t);
    return (u * c + v * s) ** 2 / along + (v * c - u * s) ** 2 / across;
  }

  const { rate } = explore;

  // The cheapest variances for everybody along and across these axes: convex in the second one.
  function cheapest(moves, degrees) {
    const squares = moves.map((m) => [exposure(m, 1, Infinity, degrees), exposure(m, Infinity, 1, degrees)]);
    const along = (across) => Math.max(...squares.map(([p, q]) => p / (1 - q / across)));
    let low = Math.max(...squares.map(([, q]) => q)) + 1e-9, high = 1000;
    for (let turn = 0; turn < 200; turn += 1) {
      const one = low + (high - low) / 3, two = high - (high - low) / 3;
      if (along(one) + one < along(two) + two) high = two; else low = one;
    }
    return [along(high), high];
  }

  // The band, if a hand holds its first axis at this variance: the second one is as short as everybody's
  // step allows. Those who touch hold it against a tension of 1 along each axis, with the least help of
  // the hand (`hand`, 0 where the band rests); their shares are the weights of the mixture.
  function hold(moves, along, degrees) {
    const squares = moves.map((m) => [exposure(m, 1, Infinity, degrees), exposure(m, Infinity, 1, degrees)]);
    const needs = squares.map(([p, q]) => q / (1 - p / along)), across = Math.max(...needs);
    const touching = moves.map((_, k) => k).filter((k) => needs[k] > across * (1 - 1e-7));
    const lacks = touching.map((k) => 1 - (across / along) ** 2 * squares[k][0] / squares[k][1]);
    const low = Math.min(...lacks), high = Math.max(...lacks);
    const same = high - low < 1e-6, hand = same ? low : Math.min(Math.max(0, low), high);
    const force = lacks.map((v, j) => {
      const part = same ? 1 : v === high ? (hand - low) / (high - low) : v === low ? (high - hand) / (high - low) : 0;
      return part * across ** 2 / squares[touching[j]][1];
    });
    const all = force.reduce((sum, v) => sum + v), weights = Array(moves.length).fill(0);
    touching.forEach((k, j) => { weights[k] = force[j] / all; });
    const mean = (axis) => squares.reduce((sum, pair, k) => sum + weights[k] * pair[axis], 0);
    return { across, touching, hand, weights, least: (Math.sqrt(mean(0)) + Math.sqrt(mean(1))) ** 2 };
  }

  function ellipse(along, across, degrees) {
    const t = degrees * Math.PI / 180, c = Math.cos(t), s = Math.sin(t);
    return Array.from({ length: 121 }, (_, k) => {
      const p = Math.sqrt(along) * Math.cos(k * Math.PI / 60), q = Math.sqrt(across) * Math.sin(k * Math.PI / 60);
      return [p * c - q * s, p * s + q * c];
    });
  }

  const LIMIT = 12.5;

  // The plane of steps, with a grip on the rim that is made once: a finger must not lose what it touched.
  function plane(set, done) {
    const { drag, svg } = explore, drawing = svg("g");
    const grip = svg("g", { class: "explore-grip", style: "cursor:move" }, svg("circle", { r: 20, fill: "transparent" }),
      svg("circle", { r: 9, fill: explore.BLUE }), svg("path", { d: "M-4,0h8M0,-4v8", stroke: "var(--fig-on, #fff)", "stroke-width": 1.6 }));
    const stage = svg("svg", { role: "img" }, drawing, grip);
    let side = 1;
    drag(stage, (x, y) => set((x - 48) * 2 * LIMIT / side - LIMIT, LIMIT - (y - 10) * 2 * LIMIT / side), done);
    return {
      stage,
      draw(chart, wide, [u, v], open, label) {
        side = wide - 60;
        for (const [key, value] of Object.entries({ width: wide, height: wide - 8, viewBox: `0 0 ${wide} ${wide - 8}`, "aria-label": label }))
          stage.setAttribute(key, value);
        for (const name of ["role", "aria-label"]) chart.stage.removeAttribute(name); // one picture
        drawing.replaceChildren(chart.stage);
        const place = [u, v].map((one) => Math.min(Math.max(one, -LIMIT), LIMIT)); // the grip stays within reach
        grip.setAttribute("transform", `translate(${48 + side * (place[0] + LIMIT) / 2 / LIMIT} ${10 + side * (LIMIT - place[1]) / 2 / LIMIT})`);
        grip.setAttribute("visibility", open ? "visible" : "hidden");
        return this;
      },
    };
  }

  function view(data) {
    const { INK, beside, chart, guess, html, literal, short, slider, toggle } = explore;
    const both = [data.moves, [...data.moves, data.eva]], called = [...data.names, "Eva"], turns = Array.from({ length: 180 }, (_, t) => t);
    const tenth = (v) => String(Number(v.toFixed(1)));
    const memory = new Map(); // the cheapest of each tilt, computed once
    const best = (eva, t) => {
      const key = 180 * eva + t;
      if (!memory.has(key)) memory.set(key, cheapest(both[Number(eva)], t));
      return memory.get(key);
    };
    const ask = guess({ label: "The best shape needs:", options: data.guesses });
    const joins = toggle({ label: "Eva, (2, 8), joins the club" });
    const turn = slider({ label: "Tilt of the first axis", values: () => turns, start: 0, text: (v) => `${v}°` });
    const list = (eva, t) => { // whole numbers that hold everybody, and where the band rests
      const [rest] = best(eva, t), most = Math.max(...both[Number(eva)].map((m) => exposure(m, 1, Infinity, t)));
      const whole = Array.from({ length: 150 }, (_, k) => k + 1).filter((v) => v > most + 0.05 && Math.abs(v - rest) > 0.02);
      return [...whole, Math.abs(rest - Math.round(rest)) < 1e-5 ? Math.round(rest) : Number(rest.toPrecision(9))].sort((one, two) => one - two);
    };
    const along = slider({ label: "Variance along it", values: ({ eva, turn: t }) => list(eva, t), start: data.round, text: short });
    const now = () => [joins.read(), Number(turn.input.value)];
    const press = html("button", { type: "button" }, "Let go of the rim");
    const rest = html("div", { class: "explore-control explore-press" }, press);
    const nearest = (values, wanted) => values.reduce((at, v, k) => (Math.abs(v - wanted) < Math.abs(values[at] - wanted) ? k : at), 0);
    press.addEventListener("click", () => {
      along.input.value = nearest(list(...now()), best(...now())[0]);
      rest.dispatchEvent(new Event("input"));
    });
    const drawing = plane((u, v) => {
      const t = ((Math.round(Math.atan2(v, u) * 180 / Math.PI) % 180) + 180) % 180;
      turn.input.value = t;
      const size = u * u + v * v, [still] = best(joins.read(), t);
      along.read({ eva: joins.read(), turn: t }); // its values are of this tilt
      along.input.value = nearest(list(joins.read(), t), Math.abs(size - still) < 3 ? still : size);
      turn.input.dispatchEvent(new Event("input"));
    }, () => turn.input.dispatchEvent(new Event("change")));
    return {
      title: "A rubber band around everybody's step",
      controls: { ask, eva: joins, turn, along, rest: { row: rest, input: rest, read: () => 0 } },
      extreme: { eva: "no", turn: "45", along: "51" },
      challenge: "Let Eva join, and hide all six with a total below 101.",
      python: ({ eva, turn: t }) => `import numpy as np
from pdpbook.pac import joint_variances

t = np.deg2rad(${t})
axes = np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]])
steps = np.array([${both[Number(eva)].map(literal).join(", ")}])
print(joint_variances((steps @ axes)**2, 1.0).value)  # the least total variance`,
      show({ ask: given, eva, turn: t, along: a }, width) {
        const open = given >= 0, moves = both[Number(eva)], names = called.slice(0, moves.length), band = hold(moves, a, t);
        const b = band.across, sum = a + b, least = best(eva, t)[0] + best(eva, t)[1], resting = Math.abs(band.hand) < 1e-4;
        const [left, right] = beside(width, Math.max(width - 16 - Math.min(0.48 * width, 320), 200)), wide = Math.min(left, 320);
        const c = Math.cos(t * Math.PI / 180), s = Math.sin(t * Math.PI / 180), p = Math.sqrt(a), q = Math.sqrt(b);
        const picture = chart({ width: wide, height: wide - 8, left: 48, label: "",
          x: { low: -LIMIT, high: LIMIT, ticks: [-10, -5, 0, 5, 10], name: "mornings" },
          y: { low: -LIMIT, high: LIMIT, ticks: [-10, -5, 0, 5, 10], name: "evenings" } });
        const at = (u, v) => [u * c - v * s, u * s + v * c];
        if (open) { // a square on each half axis: both together are the price
          picture.area([at(0, 0), at(-p, 0), at(-p, -p), at(0, -p)], { color: INK.blue, opacity: 0.12 });
          picture.area([at(0, 0), at(-q, 0), at(-q, q), at(0, q)], { color: INK.blue, opacity: 0.28 });
          picture.name(short(a), ...at(-p / 2, -p / 2), { color: INK.blue }, "middle");
          picture.name(short(b), ...at(-q / 2, q / 2), { color: INK.blue }, "middle");
        }
        picture.line(ellipse(a, b, t), { color: INK.blue, width: 3 });
        names.forEach((name, k) => {
          const [u, v] = moves[k], [x, y, anchor] = [...data.places, [-0.4, 0.2, "end"]][k], weight = open ? band.weights[k] : 0;
          const color = weight > 5e-4 ? INK.warm : "currentColor";
          picture.line([[0, 0], moves[k]], { color: "currentColor", width: 1.3 });
          if (weight > 5e-4) { // the push of a tip stands at a right angle on the band
            const push = at((u * c + v * s) / a, (v * c - u * s) / b), long = Math.hypot(...push);
            const [du, dv] = push.map((one) => one / long), far = 0.6 + 2 * weight, thick = 0.3 + 0.4 * weight;
            picture.line([[u, v], [u + far * du, v + far * dv]], { color, width: 1 + 6 * weight });
            picture.area([[u + far * du - thick * dv, v + far * dv + thick * du], [u + (far + 0.9) * du, v + (far + 0.9) * dv],
              [u + far * du + thick * dv, v + far * dv - thick * du]], { color, opacity: 1 });
            picture.name(weight.toFixed(2), u + (far + 2.1) * du, v + (far + 1.9) * dv - 0.4, { color }, "middle");
          }
          picture.mark(u, v, { shape: "circle", color });
          picture.name(name, u + x, v + y, { color }, anchor);
        });
        const rates = moves.map((m) => exposure(m, a, b, t));
        const label = `Steps from the origin and a band around them, tilted by ${t} degrees. The sentence and the table have the numbers.`;
        const drawn = drawing.draw(picture, wide, at(p, 0), open, label);
        if (!open) return { charts: [drawn], text: `Round noise with variance ${data.round} in each direction, ${2 * data.round} together, hides everybody. ` +
          "How little can noise of another shape need?", table: { caption: "", head: [], rows: [] } };
        const low = 60, high = 160, curve = chart({ width: right, height: Math.min(wide - 8, 240), left: 48,
          x: { low: 0, high: 180, ticks: [0, 45, 90, 135, 180], name: "tilt of the first axis (degrees)" },
          y: { low, high, ticks: [60, 80, 100, 120, 140, 160], name: "price: total variance" },
          label: `The least total variance against the tilt, here ${short(least)}, and yours, ${short(sum)}.` });
        curve.line([...turns, 180].map((d) => [d, best(eva, d % 180).reduce((one, two) => one + two)]), { color: INK.soft });
        curve.name("where the band rests", 179, low + 2, { color: INK.soft }, "end");
        const yours = { shape: "circle", color: INK.blue };
        curve.mark(t, sum, yours);
        if (sum < high) curve.name("yours", t + (t > 90 ? -5 : 5), sum - 6, yours, t > 90 ? "end" : "start");
        const holders = names.flatMap((name, k) => (band.weights[k] > 5e-4 ? [`${name} ${band.weights[k].toFixed(2)}`] : []));
        return {
          charts: [drawn, curve],
          text: `Tilt ${t} degrees, total variance ${tenth(a)} + ${tenth(b)} = ${tenth(sum)}, and everybody is hidden. ` +
            `The band is held open by ${holders.join(" and ")}` +
            `${resting ? ", and rests: " : band.hand > 0 ? ", and a hand pulls its rim: " : ", and a hand pushes its rim in: "}` +
            `with this tilt, whoever hides this mixture needs ${tenth(band.least)}, and the least for all is ${tenth(least)}.`,
          verdict: ask.verdict(data.right, given === data.right || given === data.guesses.length ? data.answer
            : given < data.right ? "less is enough" : "more is needed"),
          met: eva && sum < 101,
          table: {
            caption: "Each member's step, squared in units of the noise, the best rate of whoever knows all others, and the weight in the mixture",
            head: ["member", "step", "squared", "rate", "weight"],
            rows: names.map((name, k) => [name, moves[k].join(", "), rates[k].toFixed(2), rate(rates[k]).toFixed(3), band.weights[k].toFixed(2)]),
          },
        };
      },
    };
  }

  return { exposure, rate, cheapest, hold, view };
})();
explore.mount("tilt", explore.tilt.view);
