// Answers through a coin fall through two sieves: the fair coin answers for some, and nobody knows for whom.
"use strict";

explore.coin = (() => {
  // One report at a budget: how often the coin falls on truth, how often the report is true,
  // and what part of an open answer it is worth; see lem-rr-debias and def-rr-worth.
  function solve(epsilon) {
    const truth = Math.tanh(epsilon / 2);
    return { truth, report: (1 + truth) / 2, worth: truth * truth };
  }

  // Always the same order in which dots are caught, and the same answers.
  function order(size) {
    let state = 11;
    const chance = () => (state = (state * 16807) % 2147483647) / 2147483647;
    const ranks = Array.from({ length: size }, (_, k) => k);
    for (let k = size - 1; k > 0; k -= 1) {
      const j = Math.floor(chance() * (k + 1));
      [ranks[k], ranks[j]] = [ranks[j], ranks[k]];
    }
    return { ranks, said: ranks.map(() => chance() < 0.5) };
  }

  const TRAY = 26; // above the dots of each tray, for its name

  // Three trays of dots with a sieve below the first and the second: its holes have the size t.
  function sieves(size, { ranks, said }, { told, worth, truth }, open, club, width) {
    const { INK, GREEN, named, short, svg } = explore;
    const columns = width > 560 ? 40 : 25, rows = Math.ceil(size / columns);
    const step = Math.min(width / columns, 17), wide = step * columns, tall = TRAY + step * rows + 8, sieve = 34;
    const height = 3 * tall + 2 * sieve, parts = [];
    const place = (k) => [step * (k % columns + 0.5), step * (Math.floor(k / columns) + 0.5)];
    const tray = (top, name, color, paint) => {
      parts.push(named(name, 0, top + 16, color, "start"));
      ranks.forEach((rank, k) => {
        const [x, y] = place(k), { fill = "none", stroke = INK.soft, r = 0.3 } = paint(rank, k);
        parts.push(svg("circle", { cx: x, cy: top + TRAY + y, r: step * r, fill, stroke, "stroke-width": 1 }));
      });
    };
    const plate = (top, text, shown) => {
      const hole = 30 * truth;
      parts.push(svg("path", { d: `M0,${top}H${wide}`, stroke: "currentColor", "stroke-width": 5,
        "stroke-dasharray": shown ? `${30 - hole} ${hole}` : "none", "stroke-opacity": shown ? 1 : 0.35 }),
      svg("text", { x: 0, y: top + 20 }, text));
    };
    const full = (color) => ({ fill: color, stroke: color }), hollow = { r: 0.12 };
    tray(0, club ? `what the club sees: ${size} times yes (full) or no` : `${size} answers come in`, "currentColor",
      (rank, k) => (club ? (said[k] ? full("currentColor") : { stroke: "currentColor" })
        : full(rank < told ? INK.blue : INK.warm)));
    plate(tall, `first sieve: the fair coin answers for ${size - told}`, true);
    tray(tall + sieve, `${told} are the truth on purpose`, INK.blue,
      (rank) => (rank < told ? full(INK.blue) : hollow));
    plate(2 * tall + sieve, open ? `second sieve, the same holes: nobody knows which ${told}` : "second sieve: nobody knows which", open);
    tray(2 * (tall + sieve), open ? `worth ${worth} open answers` : "worth ? open answers", GREEN,
      (rank) => (open && rank < worth ? full(GREEN) : hollow));
    return { stage: svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": `${size} dots fall through a sieve with holes of size ${short(truth)}: ${told} are left. ` +
        (open ? `Through a second sieve of the same holes fall ${worth}.` : "How many pass the second comes after your guess.") },
    ...parts) };
  }

  function view(data) {
    const { guess, short, slider, toggle } = explore;
    const { size } = data, dots = order(size);
    const budgets = Array.from({ length: 61 }, (_, k) => Number((k * 0.05).toFixed(2)));
    const ask = guess({ label: "As good as this many open answers:", options: data.guesses });
    const budget = slider({ label: "Budget of each", values: () => budgets, start: data.start,
      text: (v) => `ε = ${v}` });
    const club = toggle({ label: "Show what the club sees" });
    const asked = solve(data.start), many = (share) => Math.round(size * share);
    return {
      title: "Two sieves: what answers through a coin are worth",
      controls: { ask, epsilon: budget, club },
      extreme: { epsilon: "0.1" },
      challenge: `Find the budget at which half of the ${size} answers are left.`,
      python: ({ epsilon }) => `from pdpbook.guarantees import PureDP

coin = PureDP(${epsilon}, neighbors="replace-one")
print(${size} * coin.profile(0.0)**2)  # open answers`,
      show({ ask: given, epsilon, club: seen }, width) {
        const open = given >= 0, now = open ? solve(epsilon) : asked;
        const told = many(now.truth), worth = many(now.worth);
        return {
          charts: [sieves(size, dots, { told, worth, truth: now.truth }, open, seen, width)],
          text: !open ? `${size} members with ${data.name}'s budget answer through the coin. For ${size - told} the fair coin ` +
            `answers; ${told} are the truth on purpose. The club sees no colors, only yes or no. How many open answers is that worth?` :
            `With a budget of ${short(epsilon)} the coin falls on truth in ${short(100 * now.truth)} of 100 cases: the first ` +
            `sieve. The club does not know in which, and loses the same part once more: the second. ` +
            `So ${size} · ${short(now.truth)} · ${short(now.truth)}: ${size} reports are worth ${short(size * now.worth)} open answers.`,
          verdict: ask.verdict(data.right, `with ${data.name}'s budget it is about ${data.guesses[data.right]} open answers; ` +
            `${many(asked.report)} reports are true, ${many(asked.truth)} of them on purpose, and nobody knows which`),
          met: Math.abs(now.worth - 0.5) < 0.005,
          table: {
            caption: "Each member: budget; coin falls on truth, report is true, and worth, in percent",
            head: ["member", "budget", "truth", "true", "worth"],
            rows: [...data.names.map((name, k) => [name, data.budgets[k]]), ["here", epsilon]].map(([name, e]) => {
              const one = solve(e);
              return [name, String(e), ...[one.truth, one.report, one.worth].map((v) => short(100 * v))];
            }),
          },
        };
      },
    };
  }

  return { solve, view };
})();
explore.mount("coin", explore.coin.view);
