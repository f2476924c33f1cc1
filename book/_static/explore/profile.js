// Your leverage and residual: your exact privacy curve under one posterior sample.
"use strict";

explore.profile = (() => {
  // Nodes and weights of Gauss and Legendre on (0, 1).
  const [NODES, WEIGHTS] = (() => {
    const n = 20, nodes = [], weights = [];
    for (let k = 0; k < n; k += 1) {
      let x = Math.cos(Math.PI * (k + 0.75) / (n + 0.5)), slope = 1;
      for (let step = 0; step < 8; step += 1) {
        let p = 1, before = 0;
        for (let j = 1; j <= n; j += 1) [p, before] = [((2 * j - 1) * x * p - (j - 1) * before) / j, p];
        slope = n * (x * p - before) / (x * x - 1);
        x -= p / slope;
      }
      nodes.push((1 - x) / 2);
      weights.push(1 / ((1 - x * x) * slope * slope));
    }
    return [nodes, weights];
  })();
  const PARTS = 8;
  const phi = (x) => Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);

  function integral(f, from, to) {
    let total = 0;
    const step = (to - from) / PARTS;
    for (let part = 0; part < PARTS; part += 1)
      for (let k = 0; k < NODES.length; k += 1)
        total += WEIGHTS[k] * f(from + step * (part + NODES[k]));
    return total * step;
  }

  // Where phi(a + t), t > 0, is above 1e-18 of its largest value there.
  function reach(a) {
    const above = Math.max(a, 0);
    return [Math.max(0, -a - 9.2), 84 / (Math.sqrt(above * above + 84) + above) + Math.max(-a, 0)];
  }

  // Both directions at epsilon. Each is the integral of a positive function, the density times
  // 1 - exp(epsilon - loss), over the places where the loss is above epsilon: nothing cancels.
  function delta(epsilon, leverage, residual) {
    const root = Math.sqrt(leverage), log = Math.log1p(leverage), within = residual / (1 + leverage);
    const more = Math.sqrt(log + residual * within + 2 * epsilon);
    const gain = (t) => -Math.expm1(-root * t * (more + root * t / 2));
    const near = (2 * epsilon + log - residual * within * leverage) / ((more + residual) * root);
    let add = 0;
    for (const a of [near, (more + residual) / root])
      add += integral((t) => phi(a + t) * gain(t), ...reach(a));
    const square = log + residual * within - 2 * epsilon;
    if (square <= 0) return { add, remove: 0 };
    const less = Math.sqrt(square), inner = root / Math.sqrt(1 + leverage);
    const c = (log - 2 * epsilon + within * within * leverage) / ((less + within) * inner);
    const lost = (t) => -Math.expm1(-inner * t * (less - inner * t / 2));
    const [from, to] = reach(-c), end = Math.min(to, 2 * less / inner);
    const remove = from < end ? integral((t) => phi(c - t) * lost(t), from, end) : 0;
    return { add, remove };
  }

  // Smallest epsilon at which the direction `add`, the larger one, is at most the target.
  function epsilon(target, leverage, residual) {
    if (delta(0, leverage, residual).add <= target) return 0;
    const tail = 2 * Math.log(2 / target); // of the closed bound, which is never too small
    let low = 0;
    let high = (residual ** 2 * leverage / (1 + leverage) - Math.log1p(leverage) + tail * leverage) / 2
      + residual * Math.sqrt(tail * leverage);
    for (let step = 0; step < 60; step += 1) {
      const middle = (low + high) / 2;
      if (delta(middle, leverage, residual).add > target) low = middle;
      else high = middle;
    }
    return high;
  }

  const pure = (leverage, residual) => (Math.log1p(leverage) + residual ** 2 / (1 + leverage)) / 2;

  function view(data) {
    const { BLUE, VERMILION, GRAY, chart, ratios, short, slider, steps } = explore;
    const add = { text: "against presence (add)", color: BLUE, shape: "circle" };
    const remove = { text: "for presence (remove)", color: VERMILION, dash: "7 4",
      shape: "square" };
    const target = { text: `delta of ${short(data.delta)}`, color: GRAY, dash: "2 4" };
    const grid = ratios(0.01, 100, 160);
    const residuals = Array.from({ length: 61 }, (_, k) => k / 10);
    return {
      title: "Your leverage and residual",
      controls: {
        leverage: slider({ label: "Your leverage", values: () => steps(0.001, 3),
          start: data.leverage, text: String }),
        residual: slider({ label: "Your scaled residual", values: () => residuals,
          start: data.scaled_residual, text: String }),
      },
      extreme: { leverage: "3", residual: "6" },
      challenge: "Keep a scaled residual of 6 and get an epsilon below 1.",
      python: ({ leverage, residual }) => `from pdpbook.per_instance import ops_epsilon

print(ops_epsilon(${data.delta}, ${leverage}, ${residual}))`,
      show({ leverage, residual }, width) {
        const own = epsilon(data.delta, leverage, residual), floor = epsilon(data.delta, leverage, 0);
        const end = pure(leverage, residual), both = grid.map((e) => [e, delta(e, leverage, residual)]);
        const low = 1e-10, drawn = both.filter(([, one]) => one.remove > low);
        const lines = chart({
          width, height: 340,
          label: "Two falling curves, delta against epsilon. The sentence has the numbers.",
          x: { low: 0.01, high: 100, ticks: [0.01, 0.1, 1, 10, 100], name: "epsilon (nats)", log: true },
          y: { low, high: 1, ticks: [1e-9, 1e-6, 1e-3, 1], name: "delta", log: true },
          keys: [add, remove, target],
        });
        lines.level(data.delta, target);
        // SVG has no logarithm of 0: below the frame a curve is cut off
        lines.line(both.map(([e, one]) => [e, Math.max(one.add, low / 1e3)]), add);
        const last = end > 0.01 ? [[Math.min(end, 100), low / 1e3]] : [];
        lines.line([...drawn.map(([e, one]) => [e, one.remove]), ...last], remove);
        lines.mark(own, data.delta, add, true);
        return {
          charts: [lines],
          met: residual === 6 && own < 1,
          text: `With leverage ${short(leverage)} and scaled residual ${short(residual)}, your exact ` +
            `epsilon at delta ${short(data.delta)} is ${short(own)}. Your row alone accounts for ` +
            `${short(floor)}: so much is left when your label is exactly what the others predict. ` +
            `The direction remove is 0 from ${short(end)} on; the direction add never is.`,
          table: {
            caption: "Smallest delta at each epsilon, in the two directions",
            head: ["epsilon", "add", "remove"],
            rows: [0, 0.1, 0.3, 1, 3, 10, 30].map((e) => {
              const one = delta(e, leverage, residual);
              return [short(e), short(one.add), short(one.remove)];
            }),
          },
        };
      },
    };
  }

  return { delta, epsilon, view };
})();
explore.mount("profile", explore.profile.view);
