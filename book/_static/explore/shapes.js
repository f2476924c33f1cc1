// Three noises with one budget: clouds of two of d numbers, and how the length grows with d.
"use strict";

explore.shapes = (() => {
  // Roots of the mean squared lengths; `sigma` is that of Gaussian noise at the budget and its delta.
  function lengths({ epsilon, sigma }, d) {
    return { laplace: Math.SQRT2 * d / epsilon, round: Math.sqrt(d * (d + 1)) / epsilon,
      gauss: sigma * Math.sqrt(d) };
  }

  // Always the same numbers between 0 and 1: a page that is opened again looks the same.
  function chances(seed) {
    let state = seed >>> 0;
    return () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let t = Math.imul(state ^ (state >>> 15), state | 1);
      t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
      return (((t ^ (t >>> 14)) >>> 0) + 0.5) / 4294967296;
    };
  }

  // What each dot is made of: a length is a sum of d waiting times, a direction is d normal numbers.
  const COUNT = 240, MOST = 40;
  let made = null;
  function dots() {
    if (made) return made;
    const chance = chances(7), wait = () => -Math.log(chance());
    const normal = () => Math.sqrt(2 * wait()) * Math.cos(2 * Math.PI * chance());
    const signed = () => (chance() < 0.5 ? -1 : 1) * wait();
    made = Array.from({ length: COUNT }, () => ({
      waits: Array.from({ length: MOST }, wait), normals: Array.from({ length: MOST }, normal),
      two: [signed(), signed()], gauss: [normal(), normal()] }));
    return made;
  }

  // The first two of the d numbers of each noise; with one number the second is 0.
  function draws({ epsilon, sigma }, d) {
    const pair = (one, two, scale) => [one * scale, d > 1 ? two * scale : 0];
    const sum = (list, f) => list.slice(0, d).reduce((total, v) => total + f(v), 0);
    return {
      laplace: dots().map(({ two }) => pair(...two, Math.sqrt(d) / epsilon)),
      round: dots().map(({ waits, normals }) =>
        pair(normals[0], normals[1], sum(waits, (v) => v) / epsilon / Math.sqrt(sum(normals, (v) => v * v)))),
      gauss: dots().map(({ gauss }) => pair(...gauss, sigma)),
    };
  }

  const { BLUE, VERMILION: WARM, GREEN, GRAY } = explore;
  const KINDS = [["laplace", "Laplace each", WARM], ["round", "round", BLUE], ["gauss", "Gaussian", GREEN]];
  const REACH = 16; // of the axes of the clouds

  function clouds(data, d, width) {
    const { svg } = explore, gap = 10, top = 24, side = Math.min((width - 2 * gap) / 3, 190), height = top + side + 30;
    const stage = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": `Three clouds of ${COUNT} dots: the first two of ${d} numbers of noise. Laplace noise on each ` +
        "number has arms along the axes, round and Gaussian noise are round. The sentence has the lengths." });
    const found = draws(data, d), middle = (width - 3 * side - 2 * gap) / 2, scale = side / (2 * REACH);
    KINDS.forEach(([kind, name, color], k) => {
      const left = middle + k * (side + gap), plot = svg("svg", { x: left, y: top, width: side, height: side });
      const at = (v) => side / 2 + v * scale;
      plot.append(svg("path", { d: `M0,${side / 2}H${side}M${side / 2},0V${side}`, class: "explore-axis", "stroke-opacity": 0.35 }));
      for (const [u, v] of found[kind])
        plot.append(svg("circle", { cx: at(u), cy: at(-v), r: side > 140 ? 2.2 : 1.5, fill: color, "fill-opacity": 0.6 }));
      plot.append(svg("path", { d: `M${at(0)},${at(0)}h${scale}`, stroke: "currentColor", "stroke-width": 4 }));
      stage.append(plot,
        svg("rect", { x: left, y: top, width: side, height: side, fill: "none", stroke: GRAY }),
        svg("text", { x: left + side / 2, y: 15, "text-anchor": "middle", style: `fill:${color}`, class: "explore-name" }, name));
    });
    stage.append(svg("text", { x: width / 2, y: height - 8, "text-anchor": "middle" },
      `${d === 1 ? "one number" : "two of the numbers"}, from −${REACH} to ${REACH}`));
    return { stage };
  }

  function view(data) {
    const { chart, guess, short, slider } = explore;
    const all = Array.from({ length: MOST }, (_, k) => k + 1);
    const ask = guess({ label: `With ${data.asked} numbers the typical length is:`, options: data.guesses });
    const count = slider({ label: "Published numbers, d", values: () => all, start: data.asked, text: (v) => `d = ${v}` });
    const right = lengths(data, data.asked).round;
    return {
      title: "Three noises, and how their length grows with the published numbers",
      controls: { ask, d: count },
      extreme: { d: "40" },
      challenge: "Find the number of numbers from which on Gaussian noise is the shortest.",
      python: ({ d }) => `from pdpbook.noise import l2_laplace_radius

radius = l2_laplace_radius(${d}, ${data.epsilon})  # of round noise
print(radius.moment(2)**0.5)`,
      show({ ask: given, d: chosen }, width) {
        const open = given >= 0, d = open ? chosen : data.start, now = lengths(data, d);
        const growth = chart({
          width, height: 190, left: 44,
          label: "Three curves over the number of published numbers: the typical length of Laplace noise on each number, "
            + "of round noise below it, and of Gaussian noise, which starts highest and ends lowest.",
          x: { low: 0, high: 54, ticks: [1, 10, 20, 30, 40], name: "published numbers, d" },
          y: { low: 0, high: 60, ticks: [0, 20, 40, 60], name: "typical length" },
        });
        if (open) {
          growth.upright(d, { color: GRAY, width: 1 });
          for (const [kind, name, color] of KINDS) {
            growth.line(all.map((k) => [k, lengths(data, k)[kind]]), { color, width: 2.5 });
            growth.name(name.split(" ")[0], 40.8, lengths(data, MOST)[kind] - 1.5, { color });
            growth.mark(d, now[kind], { color, shape: "circle" });
          }
        }
        const three = (f) => KINDS.map(([kind]) => short(f(now[kind])));
        const [whole, each] = [three((v) => v), three((v) => v / Math.sqrt(d))];
        return {
          charts: [clouds(data, d, width), ...(open ? [growth] : [])],
          text: !open ? `With ${d} numbers the round noise has a typical length of ${short(now.round)}. The short black strokes have length 1: so far can one member move the result.` :
            `With d = ${d} and a budget of ${data.epsilon} the typical length of the noise is ${whole[0]} for Laplace noise on each number, ` +
            `${whole[1]} for round noise, and ${whole[2]} for Gaussian noise, which also needs a delta. ` +
            `The typical error of a single number is ${each[0]}, ${each[1]} and ${each[2]}.`,
          verdict: ask.verdict(data.right, `with ${data.asked} numbers it is ${short(right)}`),
          met: now.gauss < Math.min(now.round, now.laplace) && lengths(data, d - 1).gauss >= lengths(data, d - 1).round,
          table: {
            caption: `Typical length of three noises with a budget of ${data.epsilon}; the Gaussian one with a delta`,
            head: ["d", "Laplace each", "round", "Gaussian"],
            rows: [1, 2, 5, 10, 20, 40].map((k) => {
              const one = lengths(data, k);
              return [String(k), ...KINDS.map(([kind]) => short(one[kind]))];
            }),
          },
        };
      },
    };
  }

  return { lengths, draws, view };
})();
explore.mount("shapes", explore.shapes.view);
