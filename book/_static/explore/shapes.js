// Three noises as mountains of log density, a stick that lies on each slope, and how the length grows.
"use strict";

explore.shapes = (() => {
  // Roots of the mean squared lengths; `sigma` is that of Gaussian noise at the budget and its delta.
  function lengths({ epsilon, sigma }, d) {
    return { laplace: Math.SQRT2 * d / epsilon, round: Math.sqrt(d * (d + 1)) / epsilon,
      gauss: sigma * Math.sqrt(d) };
  }

  // Two numbers: how deep the logarithm of each density is at a distance in a direction. The moves to
  // hide have length 1, so that Laplace noise on each number needs the root of 2 times the scale.
  const depth = {
    laplace: ({ epsilon }, r, t) => epsilon * r * (Math.cos(t) + Math.sin(t)) / Math.SQRT2,
    round: ({ epsilon }, r) => epsilon * r,
    gauss: ({ sigma }, r) => (r / sigma) ** 2 / 2,
  };

  // By how much a stick of length 1 drops that points outward from there: the largest drop is the budget.
  const drop = (data, kind, degrees, from) => {
    const t = degrees * Math.PI / 180;
    return depth[kind](data, from + 1, t) - depth[kind](data, from, t);
  };

  const { BLUE, VERMILION: WARM, GREEN, GRAY } = explore;
  const KINDS = [["laplace", "Laplace each", WARM], ["round", "round", BLUE], ["gauss", "Gaussian", GREEN]];
  const REACH = 20, MOST = 40; // of the slopes, and of the published numbers
  const SOLID = { laplace: "pyramid", round: "cone", gauss: "bowl" };

  // Each mountain from above, with lines of equal depth, and below it the slope under the stick.
  function mountains(data, degrees, from, width) {
    const { short, svg, named, word } = explore, gap = 12, side = Math.min((width - 2 * gap) / 3, 200);
    const top = 22, low = 104, height = top + side + low + 52, left = (width - 3 * side - 2 * gap) / 2;
    const t = degrees * Math.PI / 180, unit = side / (2 * REACH), parts = [];
    KINDS.forEach(([kind, name, color], k) => {
      const x = left + k * (side + gap), clip = svg("svg", { x, y: top, width: side, height: side });
      const at = (v) => side / 2 + v * unit, steps = kind === "gauss" ? [1, 3, 6, 10] : [4, 8, 12, 16];
      for (const deep of steps) { // how far a line of this depth is, in each direction
        const far = Array.from({ length: 73 }, (_, j) => {
          const a = j * Math.PI / 36, b = Math.abs(a % (Math.PI / 2));
          const r = kind === "gauss" ? data.sigma * Math.sqrt(2 * deep) : deep / depth[kind](data, 1, b);
          return `${j ? "L" : "M"}${at(r * Math.cos(a)).toFixed(1)},${at(-r * Math.sin(a)).toFixed(1)}`;
        });
        clip.append(svg("path", { d: far.join(""), fill: "none", stroke: color, "stroke-width": 1.2 }));
      }
      const tip = (r) => `${at(r * Math.cos(t)).toFixed(1)},${at(-r * Math.sin(t)).toFixed(1)}`;
      clip.append(svg("path", { d: `M${tip(0)}L${tip(from)}`, stroke: GRAY, "stroke-dasharray": "2 3" }),
        svg("path", { d: `M${tip(from)}L${tip(from + 1)}`, stroke: "currentColor", "stroke-width": 5 }));
      // The slope: distance to the right, depth downward, on one scale for all three.
      const base = top + side + 10, slope = svg("svg", { x, y: base, width: side, height: low });
      const to = (r) => side * r / REACH, down = (v) => 4 + (low - 8) * v / REACH;
      const ray = Array.from({ length: 97 }, (_, j) => REACH * j / 96);
      const [high, deep] = [from, from + 1].map((r) => depth[kind](data, r, t));
      slope.append(
        svg("path", { d: ray.map((r, j) => `${j ? "L" : "M"}${to(r).toFixed(1)},${down(depth[kind](data, r, t)).toFixed(1)}`).join(""),
          fill: "none", stroke: color, "stroke-width": 2 }),
        svg("path", { d: `M${to(from)},${down(high)}H${to(from + 1)}V${down(deep)}`, fill: "none", stroke: "currentColor" }),
        svg("path", { d: `M${to(from)},${down(high)}L${to(from + 1)},${down(deep)}`, stroke: "currentColor", "stroke-width": 5 }));
      parts.push(clip, slope,
        svg("rect", { x, y: top, width: side, height: side, fill: "none", stroke: GRAY }),
        svg("path", { d: `M${x},${base}v${low}h${side}`, class: "explore-axis" }),
        named(side > 130 ? `${name}: a ${SOLID[kind]}` : SOLID[kind], x + side / 2, 14, color),
        word(`drop ${short(deep - high)}`, x + side / 2, base + low + 18, "middle", { "font-weight": 600 }));
    });
    parts.push(word("distance from the true value; below, how much rarer (log)", width / 2, height - 3));
    return { stage: svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": "Three mountains from above, a pyramid, a cone and a bowl upside down, and the slope of each under a " +
        "stick of length 1. The sentence has the drops." }, ...parts) };
  }

  function view(data) {
    const { chart, guess, short, slider } = explore;
    const all = Array.from({ length: MOST }, (_, k) => k + 1);
    const ask = guess({ label: `With ${data.asked} numbers the typical length is:`, options: data.guesses });
    const count = slider({ label: "Published numbers, d", values: () => all, start: data.asked, text: (v) => `d = ${v}` });
    const turn = slider({ label: "Turn the stick", start: 0, text: (v) => `${v}°`,
      values: () => Array.from({ length: 10 }, (_, k) => 5 * k) });
    const out = slider({ label: "Slide it outward", start: 0, text: String,
      values: () => Array.from({ length: REACH }, (_, k) => k) });
    const right = lengths(data, data.asked).round;
    return {
      title: "A pyramid, a cone and a bowl: three noises, and how long they are",
      controls: { ask, turn, out, d: count },
      extreme: { turn: "45", out: "19", d: "40" },
      challenge: "Find a place on the bowl where the stick drops by more than the budget.",
      python: ({ d }) => `from pdpbook.noise import l2_laplace_radius

radius = l2_laplace_radius(${d}, ${data.epsilon})  # of round noise
print(radius.moment(2)**0.5)`,
      show({ ask: given, turn: degrees, out: from, d: chosen }, width) {
        const open = given >= 0, d = open ? chosen : data.start, now = lengths(data, d);
        const growth = chart({
          width, height: 170, left: 44,
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
        const drops = KINDS.map(([kind]) => short(drop(data, kind, degrees, from)));
        const [whole, each] = [three((v) => v), three((v) => v / Math.sqrt(d))];
        return {
          charts: [mountains(data, degrees, from, width), ...(open ? [growth] : [])],
          text: !open ? `With ${d} numbers the round noise has a typical length of ${short(now.round)}. Each noise is a mountain of log density, and the black stick has length 1: so far can one member move the result. ` +
            `How long is the noise with ${data.asked} numbers?` :
            `With d = ${d} and a budget of ${data.epsilon} the typical length of the noise is ${whole[0]} for Laplace noise on each number, ` +
            `${whole[1]} for round noise, and ${whole[2]} for Gaussian noise, which also needs a delta. ` +
            `A stick of length 1 drops by ${drops[0]} on the pyramid, ${drops[1]} on the cone and ${drops[2]} on the bowl; a budget ` +
            `of ${data.epsilon} allows ${data.epsilon}, wherever it lies` +
            (drop(data, "gauss", degrees, from) > data.epsilon ? ", and here the bowl is steeper: for that it has a delta. " : ". ") +
            `The typical error of a single number is ${each[0]}, ${each[1]} and ${each[2]}.`,
          verdict: ask.verdict(data.right, `with ${data.asked} numbers it is ${short(right)}`),
          met: drop(data, "gauss", degrees, from) > data.epsilon,
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

  return { lengths, drop, view };
})();
explore.mount("shapes", explore.shapes.view);
