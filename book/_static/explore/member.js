// Was she in it? A random group, a total with Gaussian noise, and guesses against the best possible rate.
"use strict";

explore.member = (() => {
  const ROUNDS = 20, NODES = 8000;
  const total = (notes, group) => notes.reduce((sum, one, k) => sum + (group[k] ? one : 0), 0);

  // Totals of all groups without a member, and with.
  function totals({ notes }, who) {
    const found = [[], []];
    for (let code = 0; code < 2 ** notes.length; code += 1) {
      const group = notes.map((_, k) => (code >> k) & 1);
      found[group[who]].push(total(notes, group));
    }
    return found;
  }

  // How likely a published total is, over groups of equal chance (noise 0: the share of the groups).
  const likely = (at, x, noise) => at.reduce((sum, one) => sum + (noise ? Math.exp(-(((x - one) / noise) ** 2) / 2)
    : Number(x === one)), 0) / at.length / (noise ? noise * Math.sqrt(2 * Math.PI) : 1);

  // Success rate of the best guess between two sets of groups, each with a chance of one half.
  function better([without, within], noise) {
    const both = [...without, ...within], low = Math.min(...both), high = Math.max(...both);
    const step = noise ? (high - low + 18 * noise) / NODES : 1;
    const points = noise ? Array.from({ length: NODES + 1 }, (_, k) => low - 9 * noise + k * step) : [...new Set(both)];
    return points.reduce((sum, x) => sum + Math.max(likely(without, x, noise), likely(within, x, noise)), 0) * step / 2;
  }

  const kept = new Map(); // a game is shown anew after each guess
  function rates(data, who, noise) {
    const key = `${who} ${noise}`;
    if (!kept.has(key)) kept.set(key, { board: better(totals(data, who), noise), all: better([[0], [data.notes[who]]], noise) });
    return kept.get(key);
  }

  const bell = () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
  function round({ notes }, noise) {
    const group = notes.map(() => Number(Math.random() < 0.5));
    return { group, result: total(notes, group) + noise * bell() };
  }

  // What the best guesser says who knows the board: in it, not in it, or both equally likely.
  function advice(data, who, noise, x) {
    const [without, within] = totals(data, who).map((at) => likely(at, x, noise));
    return Math.sign(within - without);
  }

  // So many rounds of the best guesser; ties are decided by a coin.
  function machine(data, who, noise, count) {
    let right = 0;
    for (let k = 0; k < count; k += 1) {
      const { group, result } = round(data, noise), said = advice(data, who, noise, result);
      right += said ? Number(said > 0 === Boolean(group[who])) : Number(Math.random() < 0.5);
    }
    return right;
  }

  function board(past, rate, width) {
    const best = (100 * rate).toFixed(1);
    return explore.board(past, { rounds: ROUNDS, rate, label: `; the best possible rate is ${best} percent.`,
      words: [{ text: `best possible ${best} %`, share: 1, anchor: "end", color: "currentColor" }] }, width);
  }

  function view(data) {
    const { PUBLISHED, WITH, WITHOUT, chart, choice, guess, html, slider } = explore, games = new Map();
    const ask = guess({ label: "Right about Ana:", options: data.guesses });
    const who = choice({ label: "Guess about", options: data.names });
    const noise = slider({ label: "Size of the noise", values: () => data.levels, start: data.noise,
      text: (v) => (v ? `${v} notes` : "none") });
    let game;
    const press = (name, act) => {
      const one = html("button", { type: "button" }, name);
      one.addEventListener("click", () => { act(); play.dispatchEvent(new Event("input")); });
      return one;
    };
    const number = (x) => (game.noise ? x.toFixed(1).replace("-", "−") : String(x));
    const listed = (group) => {
      const names = data.names.filter((_, k) => group[k]);
      return names.length ? `the group was ${names.join(", ")}` : "nobody was in it";
    };
    const answer = (said) => press(said ? "In it" : "Not in it", () => {
      const { group } = game.now, inside = Boolean(group[game.who]);
      game.past.push(said === inside);
      const best = ["not in it", "either of the two", "in it"][1 + advice(data, game.who, game.noise, game.now.result)];
      game.told = `Round ${game.past.length}: ${said === inside ? "right" : "wrong"}, ${listed(group)}. The best guess was: ${best}. `;
      if (game.past.length < ROUNDS) game.now = round(data, game.noise);
    });
    const fresh = (person, level) => ({ who: person, noise: level, past: [], told: "", now: round(data, level) });
    const again = press("Play again", () => games.set(`${game.who} ${game.noise}`, fresh(game.who, game.noise)));
    const thousand = press("Best guesser plays 1,000 rounds", () => {
      game.told = `The best guesser was right in ${machine(data, game.who, game.noise, 1000)} of 1,000 rounds. `;
    });
    const buttons = [answer(true), answer(false)];
    const play = html("fieldset", { class: "explore-control explore-press explore-guess" },
      html("legend", {}, "Was the member in the group?"), ...buttons, again, thousand);
    return {
      title: "Was the member in the group? Guess twenty times",
      extreme: { who: "Zoe", noise: "32" },
      python: ({ who: person, noise: level }) => `from pdpbook.pac import gaussian_success_rate

step = ${data.notes[person]}  # notes of ${data.names[person]}
noise = ${level || 1e-9}  # standard deviation${level ? "" : ": next to none"}
print(100 * gaussian_success_rate(step / noise))  # percent at most`,
      controls: { ask, who, noise, play: { row: play, input: play, read: () => 0 } },
      show({ ask: given, who: person, noise: level }, width) {
        const key = `${person} ${level}`, name = data.names[person]; // each setting has a game of its own
        if (!games.has(key)) games.set(key, fresh(person, level));
        game = games.get(key);
        const { past, now } = game, over = past.length === ROUNDS, right = past.filter(Boolean).length;
        again.hidden = !past.length;
        if (over && buttons.includes(document.activeElement)) again.focus();
        for (const one of buttons) one.disabled = over;
        const low = -40, high = 92, [without, within] = totals(data, person), rate = rates(data, person, level);
        const axis = chart({ width, height: 190, left: 30,
          x: { low, high, ticks: [-40, -20, 0, 20, 40, 60, 80], name: level ? "published total (notes)" : "published total (notes), exact" },
          y: { low: 0, high: 1.35, ticks: [], name: "how likely" },
          label: `How likely each published total is without ${name}, dashed, and with ${name}. The sentence has the numbers.` });
        if (given >= 0) {
          const sets = [[without, { color: WITHOUT, dash: "5 4", fill: WITHOUT }, -0.27], [within, { color: WITH, fill: WITH }, 0.27]];
          if (level) {
            const grid = Array.from({ length: 397 }, (_, k) => low + (high - low) * k / 396);
            const curves = sets.map(([at]) => grid.map((x) => likely(at, x, level))), top = Math.max(...curves.flat());
            sets.forEach(([, key], k) => axis.line(grid.map((x, j) => [x, curves[k][j] / top]), key));
          } else {
            for (const [at, key, move] of sets)
              for (const x of new Set(at)) axis.bar(x + move, 0.22, 8 * likely(at, x, 0), key);
          }
          axis.name(`without ${name}`, low + 2, 1.2, { color: WITHOUT });
          axis.name(`with ${name}`, high - 2, 1.2, { color: WITH }, "end");
          axis.mark(now.result, 0.04, { shape: "triangle", color: PUBLISHED });
        } else { // what can be published at all
          for (const x of new Set([...without, ...within])) axis.bar(x, 0.22, 0.9, { color: PUBLISHED, fill: PUBLISHED });
        }
        const percent = (x) => (100 * x).toFixed(1), noisy = level ? `with noise of standard deviation ${level}` : "exactly";
        const best = `Nobody who knows the board only is right in more than ${percent(rate.board)} percent of rounds in the long run` +
          (level ? `, and nobody who knows all other participants in more than ${percent(rate.all)}.` : ".");
        return {
          charts: given < 0 ? [axis] : [axis, board(past, rate.board, width)],
          text: given < 0 ? "The total is published exactly. In the long run, in which share of rounds is the best guesser right about Ana?"
            : game.told + (over ? `You were right in ${right} of 20. ${best}` +
              (right / ROUNDS > rate.board ? " Your score above the best possible rate is luck: it is a rate for the long run." : "")
              : `Round ${past.length + 1}: the total, published ${noisy}, is ${number(now.result)}. Was ${name} in the group? ` +
                (past.length ? `${right} of ${past.length} right so far. ` : "") + (past.length || game.told ? best : "")),
          verdict: ask.verdict(data.right, data.answer),
          table: {
            caption: `Best possible rates in percent, the total published ${noisy}`,
            head: ["member", "notes", "knows the board", "and all others"],
            rows: data.names.map((one, k) => [one, String(data.notes[k]),
              ...["board", "all"].map((what) => percent(rates(data, k, level)[what]))]),
          },
        };
      },
    };
  }

  return { totals, rates, round, advice, machine, view };
})();
explore.mount("member", explore.member.view);
