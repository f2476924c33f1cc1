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

  function board(past, now, width) {
    const ceiling = (100 * now.ceiling).toFixed(1), end = now.ceiling > 0.8;
    return explore.board(past, { rounds: ROUNDS, rate: now.ceiling, label: `, the ceiling is at ${ceiling} percent.`,
      words: [{ text: `ceiling ${ceiling} %`, share: Math.min(now.ceiling, 0.9), anchor: end ? "end" : "start",
        color: "currentColor" }, { text: "coin 50 %", share: 0.49, anchor: "end", color: explore.INK.soft }] }, width);
  }

  function view(data) {
    const { PUBLISHED, WITH, WITHOUT, bell, chart, guess, html, short, slider, steps } = explore;
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
      extreme: { own: "2" },
      python: ({ own: mine }) => `from pdpbook.pac import epsilon_to_success_rate

print(100 * epsilon_to_success_rate(${mine}, 0.0))  # percent at most`,
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
        hill(0, { color: WITHOUT, dash: "5 4" });
        hill(now.shift, { color: WITH });
        axis.name("without you", -0.115, 38, { color: WITHOUT });
        axis.name("with you", 0.135, 38, { color: WITH }, "end");
        if (given >= 0) axis.mark(current.result, 2, { shape: "triangle", color: PUBLISHED });
        const rate = `The best guesser is right in ${(100 * now.best).toFixed(1)} percent of the rounds in the long run; ` +
          `at a budget of ${mine} nobody can exceed ${(100 * now.ceiling).toFixed(1)} percent.`;
        const hoped = given >= 0 && given < 4 ? ` You had expected ${["10", "about 12", "about 16", "all 20"][given]}.` : "";
        return {
          charts: given < 0 ? [axis] : [axis, board(past, now, width)],
          text: given < 0 ? `With your budget of ${mine}, how many of twenty rounds will you get right?`
            : over ? `${told}You were right in ${right} of 20.${hoped} ${rate}` +
            (right / ROUNDS > now.ceiling ? " Your score above the ceiling is luck: it is a ceiling for the long run." : "")
            : `${told}${right} of ${past.length} right. Round ${past.length + 1}: the page published ` +
              `${current.result.toFixed(4)} days${current.result < 0 ? " (below 0 because of the noise)" : ""}. Were you in it?`,
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
