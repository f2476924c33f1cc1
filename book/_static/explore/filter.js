// How many weeks a member stays: by the cost of their own answer, and by that of the worst one.
"use strict";

explore.filter = (() => {
  // Weeks that fit into a budget mu, if an answer moves a total with this noise: squares add up.
  function solve(hours, mu, noise) {
    const cost = (hours / noise) ** 2;
    return { cost, weeks: hours ? Math.floor(mu ** 2 / cost * (1 + 1e-12)) : Infinity };
  }

  const SHOWN = 40; // blocks that are drawn one by one
  const many = (weeks) => (weeks === Infinity ? "every week" : weeks === 1 ? "1 week" : `${weeks} weeks`);

  const span = (hours) => `${hours} hour${hours === 1 ? "" : "s"}`;

  // A budget as a box with a block for each week; a block that does not fit is drawn beyond it.
  function box(top, title, { cost, weeks }, budget, color, wide) {
    const { named, svg } = explore, high = 30, y = top + 22, each = wide * cost / budget;
    const parts = [named(title, 2, top + 14, color, "start")];
    if (weeks > SHOWN && weeks < Infinity)
      parts.push(svg("rect", { x: 2, y, width: each * weeks, height: high, fill: color }));
    for (let k = 0; k < weeks && weeks <= SHOWN; k += 1)
      parts.push(svg("rect", { x: 2 + k * each, y, width: Math.max(each - 1.5, 0.5), height: high, fill: color }));
    if (weeks < Infinity && weeks <= SHOWN)
      parts.push(svg("rect", { x: 2 + weeks * each, y: y + 2, width: each - 1.5, height: high - 4, fill: "none",
        stroke: color, "stroke-dasharray": "4 3" }));
    parts.push(svg("rect", { x: 2, y, width: wide, height: high, fill: "none", stroke: "currentColor", "stroke-width": 2 }));
    return parts;
  }

  function boxes(name, own, worst, budget, width, open) {
    const { BLUE, VERMILION: WARM, svg, word } = explore, height = 146;
    const wide = (width - 4) / Math.max(1, 1.02 * (worst.weeks + 1) * worst.cost / budget);
    const stage = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": `The budget of ${name} as a box. ${open ? `By the own answer ${many(own.weeks)} fit, by` : "By"} the worst answer ${many(worst.weeks)}.` });
    const mine = open ? box(0, `own answer: ${many(own.weeks)}`, own, budget, BLUE, wide)
      : box(0, "own answer: your guess", { cost: 0, weeks: Infinity }, budget, BLUE, wide);
    stage.append(...mine,
      ...box(66, `worst answer: ${many(worst.weeks)}`, worst, budget, WARM, wide),
      word(`box: the budget of ${name}; dashed: does not fit`, 2, height - 6, "start"));
    return { stage };
  }

  function view(data) {
    const { choice, guess, short, slider } = explore;
    const ask = guess({ label: `${data.names[data.who]} can take part in`, options: data.guesses });
    const who = choice({ label: "Member", options: data.names });
    who.input.selectedIndex = data.who;
    const list = Array.from({ length: 2 * data.worst + 1 }, (_, k) => k / 2);
    const hours = slider({ label: "Answer (hours)", values: () => list, start: data.hours[data.who], text: String });
    who.input.addEventListener("input", () => { // before the figure reads it
      hours.input.value = list.indexOf(data.hours[who.input.selectedIndex]);
    });
    const noise = slider({ label: "Noise (hours)", values: () => data.noises, start: data.noise, text: String });
    return {
      title: "How many weeks fit into a budget",
      controls: { ask, who, hours, noise },
      extreme: { who: "Zoe", hours: "5" },
      challenge: "Let Ben take part in 100 weeks or more, with an answer above 0.",
      python: ({ who: k, hours: own, noise: sigma }) => `from pdpbook.guarantees import BudgetAccount, GaussianDP

account = BudgetAccount([${data.budgets[k]}], neighbors="zero-out", kind=GaussianDP)
weeks = 0
while weeks < 7000 and account.admit(${own} / ${sigma})[0]:
    weeks += 1
print(weeks)`,
      show({ ask: given, who: k, hours: own, noise: sigma }, width) {
        const open = given >= 0, mu = data.budgets[k], name = data.names[k], asked = data.who;
        const mine = solve(own, mu, sigma), worst = solve(data.worst, mu, sigma);
        return {
          charts: [boxes(name, mine, worst, mu ** 2, width, open)],
          text: !open ? `${data.names[asked]} has a budget of ${data.budgets[asked]} and answers ${span(data.hours[asked])} ` +
            `every week. The noise has a standard deviation of ${data.noise} hours.` :
            `With ${span(own)} ${name} moves the total by ${short(own / sigma)} standard deviations. The square is ` +
            `${short(mine.cost)}, the square of the budget ${short(mu ** 2)}: ${many(mine.weeks)}. ` +
            `The worst answer costs ${short(worst.cost)}: ${many(worst.weeks)}.`,
          verdict: ask.verdict(data.right, `${data.guesses[data.right]} weeks`),
          met: data.names[k] === "Ben" && own > 0 && mine.weeks >= 100,
          table: {
            caption: `Weeks of each member, with noise of ${sigma} hours`,
            head: ["member", "budget", "hours", "own answer", "worst answer"],
            rows: data.names.map((one, j) => [one, String(data.budgets[j]), String(data.hours[j]),
              many(solve(data.hours[j], data.budgets[j], sigma).weeks),
              many(solve(data.worst, data.budgets[j], sigma).weeks)]),
          },
        };
      },
    };
  }

  return { solve, view };
})();
explore.mount("filter", explore.filter.view);
