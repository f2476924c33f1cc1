// An audit that counts one event: how likely it is to notice that a budget is larger than claimed.
"use strict";

explore.audit = (() => {
  // Logarithm of the Gamma function (Lanczos), for x of at least 1.
  const LANCZOS = [676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7];
  function lgamma(x) {
    let sum = 0.99999999999980993;
    LANCZOS.forEach((c, k) => { sum += c / (x + k); });
    const t = x + 6.5;
    return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
  }
  const choose = (n, k) => lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);

  // Probability of k hits in n runs.
  const pmf = (n, k, p) => Math.exp(choose(n, k) + k * Math.log(p) + (n - k) * Math.log1p(-p));

  // The smaller tail sum from k on (step 1) or down from k (step -1): terms until they vanish.
  function tail(n, k, p, step) {
    let term = 1, sum = 1;
    for (let j = k; step > 0 ? j < n : j > 0; j += step) {
      term *= step > 0 ? (n - j) / (j + 1) * p / (1 - p) : j / (n - j + 1) * (1 - p) / p;
      sum += term;
      if (term < 1e-16 * sum) break;
    }
    return sum * pmf(n, k, p);
  }

  // Bounds of Clopper and Pearson: the p at which the tail of this count has probability alpha. The
  // tail is below alpha at one end and above at the other; the first guess is that of a normal count.
  function bound(n, k, alpha, z, step) {
    if (step > 0 && k === 0) return 0;
    if (step < 0 && k === n) return 1;
    let low = step > 0 ? 0 : k / n, high = step > 0 ? k / n : 1;
    const m = k / n, wide = 1 + z * z / n;
    let p = (m + z * z / (2 * n) - step * z * Math.sqrt(m * (1 - m) / n + z * z / (4 * n * n))) / wide;
    for (let turn = 0; turn < 60; turn += 1) {
      if (!(p > low && p < high)) p = (low + high) / 2;
      const f = Math.log(tail(n, k, p, step) / alpha);
      if (f * step > 0) high = p; else low = p;
      // the tail changes at the rate of the count's own probability, times k / p or (n - k) / (1 - p)
      const slope = step * pmf(n, k, p) * (step > 0 ? k / p : (n - k) / (1 - p)) / (alpha * Math.exp(f));
      const next = p - f / slope;
      if (Math.abs(next - p) < 1e-13 * p) return next;
      p = next;
    }
    return p;
  }
  const lower = (n, k, alpha, z) => bound(n, k, alpha, z, 1);
  const upper = (n, k, alpha, z) => bound(n, k, alpha, z, -1);

  // The total of five answers with noise: how likely 11 or more is at the totals 11 and 6, if one
  // answer costs `spent`. Each step of the noise is e^(-spent / 5) times as likely.
  function chances(spent) {
    const p = 1 / (1 + Math.exp(-spent / 5));
    return [p, p * Math.exp(-spent)];
  }

  // Least budget that these counts allow, at a chance of alarm that this is wrong.
  function certified({ alarm, z }, n, hits, others) {
    const low = lower(n, hits, alarm / 2, z);
    return low > 0 ? Math.max(Math.log(low / upper(n, others, alarm / 2, z)), 0) : 0;
  }

  // Chance that an audit of n runs in either case finds more than was claimed: over all counts of
  // the likelier case, the chance that the other count stays below the one that would save the claim.
  function noticed({ alarm, z }, n, claimed, spent) {
    const [p, q] = chances(spent), reach = (mean) => 8 * Math.sqrt(mean) + 8;
    const first = Math.max(0, Math.floor(n * p - reach(n * p * (1 - p))));
    const last = Math.min(n, Math.ceil(n * p + reach(n * p * (1 - p))));
    const start = Math.max(0, Math.floor(n * q - reach(n * q * (1 - q))));
    const most = Math.min(n, Math.ceil(n * q + reach(n * q * (1 - q))));
    const limit = (b) => Math.exp(claimed) * upper(n, b, alarm / 2, z);
    let b = start, below = 0, total = 0, saved = limit(b);
    for (let a = first; a <= last; a += 1) {
      const low = lower(n, a, alarm / 2, z);
      while (b <= most && low > saved) {
        below += pmf(n, b, q);
        b += 1;
        saved = b <= n ? limit(b) : Infinity;
      }
      total += pmf(n, a, p) * below;
    }
    return Math.min(total, 1);
  }

  const RUNS = Array.from({ length: 25 }, (_, k) => Math.round(10 ** (1 + k / 6)));
  const kept = new Map(); // a curve is drawn again whenever the number of runs moves
  function curve(data, claimed, spent) {
    const key = `${claimed} ${spent}`;
    let last = 0; // once all audits notice, more runs change nothing
    if (!kept.has(key)) kept.set(key, RUNS.map((n) => {
      last = last > 1 - 1e-9 ? 1 : noticed(data, n, claimed, spent);
      return [n, last];
    }));
    return kept.get(key);
  }

  // The budgets on a line: claimed, actual, and what typical counts certify.
  function scale({ claimed, spent, least, open, most }, width) {
    const { svg, INK } = explore;
    const height = 106, left = 30, right = 22, y = 56, wide = width - left - right;
    const at = (e) => left + wide * Math.min(e / most, 1);
    const word = (text, x, v, color, bold = true) => svg("text", { x, y: v,
      "text-anchor": x < left + 70 ? "start" : x > width - right - 70 ? "end" : "middle",
      ...(color ? { style: `fill:${color}` } : {}), ...(bold ? { class: "explore-name" } : {}) }, text);
    const stage = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": "A line of budgets with the claimed one, and the range that typical counts leave. "
        + "The sentence has the numbers." });
    stage.append(svg("path", { d: `M${at(0)},${y}H${at(most)}`, class: "explore-axis" }));
    for (let k = 0; k <= 4; k += 1)
      stage.append(svg("path", { d: `M${at(most * k / 4)},${y}v5`, class: "explore-axis" }),
        svg("text", { x: at(most * k / 4), y: y + 20, "text-anchor": "middle" }, explore.short(most * k / 4)));
    if (open) stage.append(svg("rect", { x: at(least), y: y - 7, width: Math.max(at(most) - at(least), 1),
      height: 14, fill: INK.warm, "fill-opacity": 0.3 }), word("typical counts leave", at((least + most) / 2), 16, INK.warm));
    stage.append(svg("path", { d: `M${at(claimed)},${y - 12}v24`, stroke: INK.blue, "stroke-width": 3 }),
      word("claimed", at(claimed), y - 20, INK.blue));
    if (open) stage.append(svg("circle", { cx: at(spent), cy: y, r: 6, fill: INK.warm }));
    stage.append(svg("text", { x: left + wide / 2, y: height - 6, "text-anchor": "middle" }, "budget; the dot is the actual one"));
    return { stage };
  }

  function view(data) {
    const { chart, guess, short, slider, steps, INK } = explore;
    const runs = Array.from({ length: 41 }, (_, k) => Number((10 ** (1 + k / 10)).toPrecision(2)));
    const ask = guess({ label: "Runs in each case:", options: data.guesses });
    const number = slider({ label: "Runs in each case", values: () => runs, start: data.runs,
      text: (v) => v.toLocaleString("en-US") });
    const spent = slider({ label: "Actual budget", values: () => steps(0.1, 4), start: data.spent,
      text: (v) => `ε = ${v}` });
    const claimed = slider({ label: "Claimed budget", values: () => steps(0.1, 2), start: data.claimed,
      text: (v) => `ε = ${v}` });
    const percent = (p) => `${p < 0.0005 ? "less than 0.05" : short(100 * Math.min(p, p < 1 - 5e-4 ? 1 : 0.9995))} percent`;
    return {
      title: "How likely an audit notices that a budget is larger than claimed",
      controls: { ask, runs: number, spent, claimed },
      extreme: { spent: "4" },
      challenge: "Find the number of runs with which about every second audit notices 1 where 0.5 was claimed.",
      python: ({ runs: n, spent: e }) => `from fractions import Fraction
import numpy as np
from pdpbook.noise import WholeNumbers

noise = WholeNumbers((0,), (Fraction("${e}") / 5,), (Fraction(1),))
below = np.arange(1, 1000)[:, None]
print(${n} * (1 - np.exp(noise.logpmf(below)).sum()))  # times 11 or more`,
      show({ ask: given, runs: n, spent: e, claimed: c }, width) {
        const open = given >= 0, now = open ? { n, e, c } : { n: data.runs, e: data.spent, c: data.claimed };
        const lines = chart({ width, height: 230, left: 54,
          label: "A curve over the number of runs, from near 0 up: the chance that an audit notices.",
          x: { low: 10, high: 1e5, log: true, ticks: [10, 100, 1000, 1e4], name: "runs in each case" },
          y: { low: 0, high: 1, ticks: [0, 0.25, 0.5, 0.75, 1], name: "chance to notice" } });
        const found = noticed(data, now.n, now.c, now.e), [p, q] = chances(now.e);
        const hits = Math.round(now.n * p), others = Math.round(now.n * q);
        const least = certified(data, now.n, hits, others), many = now.n.toLocaleString("en-US");
        if (open) {
          lines.line(curve(data, now.c, now.e), { color: INK.warm });
          lines.mark(now.n, found, { color: INK.warm, shape: "circle" });
        }
        const most = [1, 2, 4].find((m) => m >= 1.05 * Math.max(now.c, now.e)) ?? 4;
        const truth = now.e > now.c ? `An audit notices with a probability of ${percent(found)}.`
          : `The claim is true, and is called refuted with a probability of ${percent(found)}; at most ${short(100 * data.alarm)} percent is allowed.`;
        return {
          charts: [...(open ? [lines] : []), scale({ claimed: now.c, spent: now.e, least, open, most }, width)],
          text: !open ? `A budget of ${data.claimed} is claimed, and the actual one is ${data.spent}. Of all audits of a true claim, ${short(100 * data.alarm)} percent at most may call it refuted.`
            : `With ${many} runs in each case, 11 or more typically occurs ${hits.toLocaleString("en-US")} and ${others.toLocaleString("en-US")} times, and `
            + `the audit says: a budget of at least ${short(least)}. Claimed was ${now.c}. ${truth}`,
          verdict: ask.verdict(data.right, `with ${data.answer} runs in each case ${percent(noticed(data, data.answer, data.claimed, data.spent))} of all audits notice`),
          met: now.e === 1 && now.c === 0.5 && Math.abs(found - 0.5) < 0.06,
          table: {
            caption: `Claimed ε = ${now.c}, actual ε = ${now.e}: chance that an audit says that the claim is refuted`,
            head: ["runs in each case", "chance in percent"],
            rows: RUNS.filter((_, k) => k % 3 === 0).map((m) => [m.toLocaleString("en-US"),
              short(100 * (curve(data, now.c, now.e).find(([one]) => one === m)[1]))]),
          },
        };
      },
    };
  }

  return { lower, upper, certified, noticed, chances, view };
})();
explore.mount("audit", explore.audit.view);
