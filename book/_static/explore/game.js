// Am I in it? Twenty rounds of guessing from a published average, beside the ceiling.
"use strict";

explore.game = (() => {
  const ROUNDS = 20;

  // All others answer 0, and you 5: where the averages lie, and how often a guess can be right.
  function rates({ epsilon, copies, width }, own) {
    const scale = width / (copies * (epsilon.reduce((a, b) => a + b, 0) + own));
    return { scale, shift: own * scale, best: 1 - Math.exp(-own / 2) / 2, ceiling: 1 / (1 + Math.exp(-own)) };
  }

  // Laplace noise from a uniform number between 0 and 1.
  const noise = (u, scale) => (u < 0.5 ? scale * Math.log(2 * u) : -scale * Math.log(2 * (1 - u)));

  function round(now) {
    const inside = Math.random() < 0.5, u = 1 - Math.random();
    return { inside, result: (inside ? now.shift : 0) + noise(u === 1 ? 0.5 : u, now.scale) };
  }

  // Twenty boxes, one a round: full where the guess was right; below, the score and both rates.
  function board(past, now, width) {
    const { INK, svg } = explore, height = 118;
    const left = 2, each = (width - 4) / ROUNDS, box = Math.min(each - 3, 24), parts = [];
    for (let k = 0; k < ROUNDS; k += 1) {
      const done = k < past.length, right = done && past[k];
      parts.push(svg("rect", { x: left + k * each, y: 4, width: box, height: box, rx: 2,
        fill: right ? INK.blue : "none", stroke: right ? INK.blue : INK.soft }));
      if (done && !right) parts.push(svg("path", { stroke: INK.soft, "stroke-width": 2,
        d: `M${left + k * each + 3},7l${box - 6},${box - 6}m0,${6 - box}l${6 - box},${box - 6}` }));
    }
    const to = (share) => left + share * (width - 4), y = 62, right = past.filter(Boolean).length;
    const word = (text, share, at, anchor, color) =>
      svg("text", { x: to(share), y: at, "text-anchor": anchor, class: "explore-name", style: `fill:${color}` }, text);
    parts.push(svg("text", { x: left, y: 46 }, "full: right, crossed: wrong, empty: to come"),
      svg("rect", { x: left, y, width: width - 4, height: 20, fill: "none", stroke: INK.soft }),
      svg("rect", { x: left, y, width: past.length ? (right / past.length) * (width - 4) : 0, height: 20, fill: INK.blue }),
      svg("path", { d: `M${to(now.ceiling)},${y - 6}v32`, stroke: "currentColor", "stroke-width": 3 }),
      svg("path", { d: `M${to(0.5)},${y - 3}v26`, stroke: INK.soft, "stroke-width": 2, "stroke-dasharray": "3 2" }),
      word(`ceiling ${(100 * now.ceiling).toFixed(1)} %`, Math.min(now.ceiling, 0.9), y + 42, now.ceiling > 0.8 ? "end" : "start", "currentColor"),
      word("your score", 0, y + 42, "start", INK.blue),
      word("coin 50 %", 0.49, y + 42, "end", INK.soft));
    const of = `${right} of ${past.length} right, the ceiling is at ${(100 * now.ceiling).toFixed(1)} percent.`;
    return { stage: svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": of }, ...parts) };
  }

  function view(data) {
    const { INK, bell, chart, guess, html, short, slider, steps } = explore;
    const own = slider({ label: "Your budget", values: () => steps(0.05, 2), start: data.own, text: (v) => `ε = ${v}`, share: "own" });
    const ask = guess({ label: "Right, of twenty:", options: ["10", "about 12", "about 16", "all 20"] });
    let budget = 0, past = [], told = "", now, current;
    const press = (name, act) => {
      const one = html("button", { type: "button" }, name);
      one.addEventListener("click", () => { act(); play.dispatchEvent(new Event("input")); });
      return one;
    };
    const answer = (said) => press(said ? "In it" : "Not in it", () => {
      past.push(said === current.inside);
      told = `Round ${past.length}: ${past.at(-1) ? "right" : "wrong"}, you were ${current.inside ? "in it" : "not in it"}. `;
      if (past.length < ROUNDS) current = round(now);
    });
    const again = press("Play again", () => { budget = 0; });
    const buttons = [answer(true), answer(false)];
    const play = html("fieldset", { class: "explore-control explore-press explore-guess" },
      html("legend", {}, "Are you in it?"), ...buttons, again);
    return {
      title: "Am I in it? Guess twenty times",
      controls: { ask, own, play: { row: play, input: play, read: () => past.length } },
      show({ ask: given, own: mine }, width) {
        if (mine !== budget) { // another budget is another game
          [budget, past, told] = [mine, [], ""];
          now = rates(data, mine);
          current = round(now);
        }
        const over = past.length === ROUNDS, right = past.filter(Boolean).length;
        again.hidden = !past.length;
        if (over && buttons.includes(document.activeElement)) again.focus();
        for (const one of buttons) one.disabled = over;
        const axis = chart({
          width, height: 170, x: { low: -0.12, high: 0.14, ticks: [-0.1, -0.05, 0, 0.05, 0.1], name: "published average (days a week)" },
          y: { low: 0, high: 46, ticks: [], name: "how likely" },
          label: given < 0 ? "Two hills that overlap: the results to expect without you and with you."
            : `A published average of ${current.result.toFixed(3)} days, on two hills: around 0 without you, around ${now.shift.toFixed(3)} with you.`,
        });
        const hill = (middle, key) => axis.line(bell(middle, now.scale, -0.12, 0.14), key);
        hill(0, { color: INK.soft, dash: "5 4" });
        hill(now.shift, { color: INK.warm });
        axis.name("without you", -0.115, 38, { color: INK.soft });
        axis.name("with you", 0.135, 38, { color: INK.warm }, "end");
        if (given >= 0) axis.mark(Math.min(Math.max(current.result, -0.119), 0.139), 2, { shape: "triangle", color: INK.blue });
        const rate = `The best guesser is right in ${(100 * now.best).toFixed(1)} percent of the rounds in the long run; ` +
          `at a budget of ${mine} nobody can exceed ${(100 * now.ceiling).toFixed(1)} percent.`;
        const hoped = given >= 0 && given < 4 ? ` You had expected ${["10", "about 12", "about 16", "all 20"][given]}.` : "";
        return {
          charts: given < 0 ? [axis] : [axis, board(past, now, width)],
          text: given < 0 ? `With your budget of ${mine}, how many of twenty rounds will you get right?`
            : over ? `${told}You were right in ${right} of 20.${hoped} ${rate}` +
            (right / ROUNDS > now.ceiling ? " Your score above the ceiling is luck: it is a ceiling for the long run." : "")
            : `${told}${right} of ${past.length} right. Round ${past.length + 1}: the page published ` +
              `${current.result.toFixed(3)} days${current.result < 0 ? " (below 0 because of the noise)" : ""}. Were you in it?`,
          table: {
            caption: "How often a guess can be right, in the long run, in percent",
            head: ["budget", "best guess here", "ceiling"],
            rows: [0.1, 0.2, 0.5, 1, 2].map((e) => [String(e), ...["best", "ceiling"].map((key) => (100 * rates(data, e)[key]).toFixed(1))]),
          },
        };
      },
    };
  }

  return { rates, noise, round, view };
})();
explore.mount("game", explore.game.view);
