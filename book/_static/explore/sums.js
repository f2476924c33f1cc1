// A line through the origin with noise on the fit or on the two sums it is made of, beside a constant.
"use strict";

explore.sums = (() => {
  // Gauss-Legendre on [-1, 1], ten points.
  const NODES = [0.14887433898163122, 0.4333953941292472, 0.6794095682990244, 0.8650633666889845,
    0.9739065285171717];
  const SHARES = [0.29552422471475287, 0.26926671930999635, 0.21908636251598204, 0.1494513491505806,
    0.06667134430868814];

  // The mean of g(D), D = max(S + N, 0) + lambda, for Laplace noise N of scale beta: by panels that
  // keep away from D = 0.
  function mean(g, S, lam, beta) {
    let total = Math.exp(-S / beta) / 2 * g(lam);
    const panels = (end, at, width) => {
      for (let u = 0; u < end;) {
        const h = Math.min(1, end - u, width(u));
        NODES.forEach((node, k) => {
          for (const v of [u + h * (1 + node) / 2, u + h * (1 - node) / 2])
            total += h / 4 * SHARES[k] * Math.exp(-v) * g(at(v));
        });
        u += h;
      }
    };
    panels(Math.min(S / beta, 45), (v) => S + lam - beta * v, (u) => ((S + lam) / beta - u) / 2);
    panels(45, (v) => S + lam + beta * v, () => 1);
    return total;
  }

  // Mean length of the noise on the slope, and by how much the released line misses the true one,
  // as root mean square over x in [0, 1] and the noise.
  function solve(data, lam, members) {
    const { S, b, truth } = data, total = data.budget * members;
    const miss = (square) => Math.sqrt(square / 3), slope = b / (S + lam);
    const nearest = data.lams.map((v) => Math.abs(v - lam));
    const onFit = data.constants[nearest.indexOf(Math.min(...nearest))] / total;
    const beta = data.reach / total;
    const length = (D) => {
      const a = Math.abs(b - slope * D);
      return (a + beta * Math.exp(-a / beta)) / D;
    };
    const square = (D) => (b * b + 2 * beta * beta) / (D * D) - 2 * truth * b / D + truth * truth;
    const level = data.mean - truth / 2;
    return { slope, fit: { noise: onFit, miss: miss((slope - truth) ** 2 + 2 * onFit ** 2) },
      sums: { noise: mean(length, S, lam, beta), miss: miss(mean(square, S, lam, beta)), scale: beta },
      constant: { noise: 2 / total, miss: Math.sqrt(truth ** 2 / 12 + level ** 2 + 8 / total ** 2) } };
  }

  // The slope that the release from noisy sums stays below with a probability of p.
  function quantile(data, lam, members, p) {
    const beta = data.reach / (data.budget * members);
    const below = (v) => v < 0 ? Math.exp(v / beta) / 2 : 1 - Math.exp(-v / beta) / 2;
    let low = -50, high = 50;
    for (let k = 0; k < 40; k += 1) {
      const t = (low + high) / 2;
      if (mean((D) => below(t * D - data.b), data.S, lam, beta) < p) low = t; else high = t;
    }
    return (low + high) / 2;
  }

  const BLUE = "var(--fig-blue, #0072b2)", WARM = "var(--fig-warm, #b84a00)";
  const SOFT = "var(--fig-soft, #6b737d)";

  const { word } = explore;

  // Three releases on one scale, each within its color with a probability of 80 percent.
  function wedges(data, lam, members, now, width, open) {
    const { svg, short } = explore;
    const height = 206, top = 42, foot = 42, left = 48, right = 8, low = -0.6, up = 1.8;
    const high = height - top - foot, gap = width > 480 ? 30 : 22, step = (width - left - right + gap) / 3;
    const to = (v) => top + high * (up - v) / (up - low);
    const stage = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": open ? "Three areas in which the release lies. The sentence has the numbers."
        : "A wide wedge around a rising line, a constant, and axes that are filled after your guess." });
    for (const v of [0, 1])
      stage.append(svg("path", { d: `M${left - 5},${to(v)}h5`, class: "explore-axis" }),
        word(short(v), left - 8, to(v) + 4, "end"));
    stage.append(word("faster by (minutes)", -(top + high / 2), 14, "middle", { transform: "rotate(-90)" }),
      word("part of the training attended", (left + width - right) / 2, height - 4));
    const reach = Math.log(5), wide = step - gap; // Laplace noise of mean length 1 stays within it
    const ends = [[now.slope - reach * now.fit.noise, now.slope, now.slope + reach * now.fit.noise],
      open ? [0.1, 0.5, 0.9].map((p) => quantile(data, lam, members, p)) : []];
    const names = width > 480 ? ["noise on the fit", "noise on the sums", "a constant"]
      : ["on the fit", "on the sums", "constant"];
    [[now.fit, WARM], [now.sums, BLUE], [now.constant, SOFT]].forEach(([rule, color], k) => {
      const x = left + step * k, seen = open || k !== 1;
      const inner = svg("svg", { x, y: top, width: wide, height: high }); // clips
      const at = (v) => to(v) - top, band = reach * rule.noise;
      const area = k === 2
        ? `M0,${at(data.mean + band)}H${wide}V${at(data.mean - band)}H0z`
        : seen && `M0,${at(0)}L${wide},${at(ends[k][2])}V${at(ends[k][0])}z`;
      const line = k === 2 ? `M0,${at(data.mean)}H${wide}` : seen && `M0,${at(0)}L${wide},${at(ends[k][1])}`;
      if (seen) inner.append(svg("path", { d: area, fill: color, "fill-opacity": 0.3 }),
        svg("path", { d: line, stroke: color, "stroke-width": 2.5 }));
      stage.append(inner,
        svg("path", { d: `M${x},${top}V${top + high}M${x},${to(0)}h${wide}`, class: "explore-axis" }),
        word("0", x, top + high + 18, "start"), word("1", x + wide, top + high + 18, "end"),
        word(names[k], x + wide / 2, 16, "middle", { style: `fill:${color}`, class: "explore-name" }),
        word(seen ? `noise ${short(rule.noise)}` : "?", x + wide / 2, 34, "middle", { style: `fill:${color}` }));
    });
    return { stage };
  }

  // By how much each misses, over the penalty.
  function curves(data, lam, members, width) {
    const { chart } = explore;
    const fit = { color: WARM, text: "noise on the fit" }, sums = { color: BLUE, text: "noise on the sums", width: 3 };
    const flat = { color: SOFT, text: "a private constant", dash: "6 4" };
    const drawing = chart({ width, height: 290,
      x: { low: 0.01, high: 1.2, ticks: [0.01, 0.03, 0.1, 0.3, 1], log: true, name: "penalty" },
      y: { low: 0, high: 0.6, ticks: [0, 0.2, 0.4, 0.6], name: "miss (minutes)" }, keys: [fit, sums, flat],
      label: "Three curves over the penalty: by how much each release misses. The sentence has the numbers." });
    const all = data.lams.map((v) => [v, solve(data, v, members)]);
    drawing.level(all[0][1].constant.miss, flat);
    drawing.line(all.map(([v, one]) => [v, Math.min(one.fit.miss, 5)]), fit);
    drawing.line(all.map(([v, one]) => [v, Math.min(one.sums.miss, 5)]), sums);
    drawing.upright(lam, { color: SOFT, dash: "2 3", width: 1 });
    const now = solve(data, lam, members);
    for (const [key, rule, shape] of [[fit, now.fit, "square"], [sums, now.sums, "circle"]])
      drawing.mark(lam, rule.miss, { ...key, shape });
    return drawing;
  }

  function view(data) {
    const { guess, short, slider } = explore;
    const asked = solve(data, data.lam, data.members);
    const ask = guess({ label: "On the sums, the noise of the slope is:", options: data.guesses });
    return {
      title: "Noise on the fit, noise on the sums, and a constant",
      controls: {
        ask,
        lam: slider({ label: "Penalty", values: () => data.lams, start: data.lam, text: short }),
        members: slider({ label: "Members", values: () => data.sizes, start: data.members, text: String }),
      },
      extreme: { members: String(data.sizes.at(-1)) },
      python: ({ lam, members }) => `from pdpbook.sensitivity import ridge_constant

budgets = ${data.budget} * ${members}  # their sum
print(ridge_constant(${lam}, 1) / budgets)  # noise on the fit`,
      show({ ask: given, lam, members }, width) {
        const open = given >= 0, now = solve(data, lam, members);
        const charts = [wedges(data, lam, members, now, width, open)];
        if (open) charts.push(curves(data, lam, members, width));
        const rows = [["on the fit", now.fit], ["on the sums", now.sums], ["constant", now.constant]];
        return {
          charts,
          text: !open
            ? `With noise on the fit, the slope has a noise of mean length ${short(now.fit.noise)}.`
            : `With ${members} members and the penalty ${short(lam)} the released line misses by ` +
              `${short(now.fit.miss)} minutes with noise on the fit, by ${short(now.sums.miss)} with noise on ` +
              `the sums, and the constant by ${short(now.constant.miss)}.`,
          verdict: ask.verdict(data.right, `with ${data.members} members and the penalty ${short(data.lam)} it is ` +
            `${short(asked.sums.noise)} instead of ${short(asked.fit.noise)}`),
          table: {
            caption: "Mean length of the noise on the slope (of the constant: on its height), and by how " +
              "much the release misses, in minutes",
            head: ["release", "noise", "miss"],
            rows: rows.map(([name, rule]) => [name, short(rule.noise), short(rule.miss)]),
          },
        };
      },
    };
  }

  return { solve, quantile, view };
})();
explore.mount("sums", explore.sums.view);
