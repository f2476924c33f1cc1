// The search of the book: what is called by the words of a question comes first, code last.
//
// The index is loaded with the first question; `pdp_search.py` says what is in it. A word counts
// where it stands: in the title, among the other words for a thing, in the text; rare words more.
// What lacks the rarest word of the question that names anything comes late, a title or a place once,
// and the list ends where what is found is no longer near to what is asked. A question that people
// ask has the text of the section that answers it. A word that stands nowhere in the book is rarer
// than all others: then the page says so, and shows what is near.
// Words match whole; the last one, which may not be typed to its end, also as a beginning.
(() => {
  const STOP = new Set(("a about actually al all allowed also although am an and any anything are as at be "
    + "been between by can cannot could did do does et everything ever explain find for from get give had happen "
    + "happens has have having here how i if in into is it its just like look looks make may me much "
    + "must my need nothing of on one only or our out over please really should simply so some "
    + "something still such take tell than that the their them themselves then there they this to "
    + "too until use using versus very vs want was we were what when where which while who whose why "
    + "will with would you your")
    .split(" "));
  // The subject of the whole book: in a question about something else it says nothing.
  const OWN = new Set(["differential", "differentially"]), PRIVATE = /^(private(ly)?|privacy)$/;
  const LETTERS = { "ε": "epsilon", "δ": "delta", "λ": "lambda", "θ": "theta", "η": "eta",
    "μ": "mu", "ρ": "rho", "σ": "sigma", "γ": "gamma", "α": "alpha", "β": "beta", "κ": "kappa",
    "ℓ": "l" };
  const KINDS = { question: [1.2, "Question"], chapter: [1.2, "Chapter"], statement: [1.1, "Statement"], word: [0.95, "Glossary"],
    section: [0.75, "Section"], exercise: [0.4, "Exercise"], guide: [0.7, "Reference"], back: [0.35, "Reference"],
    work: [0.3, "Bibliography"], code: [0.05, "Code"] };
  const UNTOLD = new Set(["code", "work"]);
  const FIELDS = [12, 8, 1.2]; // what a word counts in the title, among other words, in the text
  const OTHER = 0.4, ONLY = 0.8; // what another word counts, if the book uses the one asked, and if not
  const RARE = 10; // places of a word that the book hardly uses
  const EXACT = 4; // a name that is the whole question
  const LACKS = 0.5; // without the rarest word
  const FEW = 5, SHOWN = 30, SHARE = 0.15; // places: so many, or more with this share of the best
  const LENGTH = 200; // words of a text; in a longer one a word says less
  const LONG = 128; // words of an excerpt, and the spaces between them

  // British endings are American, and the endings of numbers and tenses go.
  const shorten = (word) => {
    let root = word.replace(/is(e[drs]?|ing|ations?)$/, "iz$1")
      .replace(/(\w{3}o)ur(s|ed|ing|hood|al)?$/, "$1r$2");
    for (const [end, instead] of [[/ies$/, "y"], [/sses$/, "ss"], [/([^su])s$/, "$1"],
      [/ization$/, "iz"], [/(ation|ator|ating|ated)$/, "at"], [/(ing|ed)$/, ""], [/ly$/, ""],
      [/(acy|ate)$/, "at"], [/([^aeious])\1$/, "$1"], [/e$/, ""]]) {
      const shorter = root.replace(end, instead);
      if (shorter.length >= 3) root = shorter;
    }
    return root;
  };
  const stems = new Map(); // of every word in the index
  const stem = (word) => {
    if (!stems.has(word)) stems.set(word, shorten(word));
    return stems.get(word);
  };

  let index, spell, same, written; // written: how a name of two words looks; same: a stem and those of other words for it
  const plain = (text) => spell(text
    .replace(/[\u0370-\u03ffℓ]/g, (sign) => ` ${LETTERS[sign] ?? sign} `)
    .normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase()
    .replace(/[^a-z0-9.]+|\.(?!\d)/g, " ").trim());
  const listed = (text) => plain(text).split(" ").filter(Boolean);
  const tokens = (text) => listed(text).map(stem);
  const asked = (query) => {
    const all = listed(query.replace(/\b(?:what|how) (?:do|does) (.*) (?:mean|work)\b/i, "$1"));
    const told = all.filter((word) => !STOP.has(word)), rest = told.filter((word) => !OWN.has(word));
    if (rest.some((word) => !PRIVATE.test(word))) return rest;
    return told.length ? told : all;
  };
  const length = (count) => [...count.values()].reduce((sum, often) => sum + often, 1);
  const named = (text) => asked(text).map(stem).join(" ");

  // By a script, since a page that was opened as a file may not fetch.
  const indexed = (root) => new Promise((done, fail) => {
    const script = document.createElement("script");
    script.src = `${root}search_index.js`;
    script.onload = () => done(window.searchIndex);
    script.onerror = fail;
    document.head.append(script);
  });
  const load = (root) => index ??= indexed(root)
    .then((found) => {
      const first = new Map(Object.entries(found.spelled)
        .flatMap(([one, others]) => others.map((other) => [other, one])));
      written = new Map(Object.entries(found.spelled).map(([one, others]) => [one, others[0]]));
      const any = new RegExp(`\\b(?:${[...first.keys()].join("|")})\\b`, "g");
      spell = (text) => text.replace(any, (other) => first.get(other));
      same = new Map();
      const add = (word, others) =>
        same.set(stem(word), [...same.get(stem(word)) ?? [], ...others.map(stem)]);
      for (const group of found.same) for (const word of group) add(word, group);
      for (const [word, others] of Object.entries(found.asks)) add(word, others);
      // A subject of two words that only code or the title of another work names is not in the book.
      const subjects = new Set(Object.keys(found.spelled).filter((one) =>
        found.spelled[one].some((other) => other.includes(" "))).map(stem));
      const common = new Map(); // in how many records a stem is
      const said = new Map(found.records.map(([, , address, , , text, rest]) =>
        [address, `${text} ${rest}`]).reverse()); // a place before the questions that it answers
      const records = found.records.map(([kind, names, address, where, keys, text]) => {
        const title = names[kind === "statement" || kind === "chapter" ? 1 : 0] ?? names[0];
        const fields = [title, [...names, keys].join(" "), said.get(address)].map((field) => {
          const count = new Map();
          for (const word of tokens(field)) count.set(word, (count.get(word) ?? 0) + 1);
          return count;
        });
        for (const root of new Set(fields.flatMap((field) => [...field.keys()]))) {
          if (subjects.has(root) && UNTOLD.has(kind)) continue;
          common.set(root, (common.get(root) ?? 0) + 1);
        }
        // A section of the back matter has the name of a chapter, or a bare word: "Personalized".
        // A function has a name without its module, too.
        const whole = ["back", "guide", "exercise"].includes(kind) ? names.slice(1)
          : kind === "code" ? [...names, names[0].split(".").at(-1)] : names;
        return { kind, title: names[0], address, where, text, fields, names: whole.map(named),
          long: asked(title).length, room: Math.min(1, Math.sqrt(LENGTH / length(fields[2]))) };
      });
      return { records, common, elsewhere: new Set(found.elsewhere.map(shorten)) };
    });

  // What is looked for: for each word of the question its stem and others, with what they count.
  const terms = (words, { common }) => words.map((word, k) => {
    const root = stem(word), term = new Map();
    for (const other of same.get(root) ?? []) if (common.has(other)) term.set(other, (common.get(root) ?? 0) > RARE ? OTHER : ONLY);
    if (common.has(root)) return term.set(root, 1);
    if (k === words.length - 1 && word.length > 2) {
      for (const [whole, other] of stems) {
        if (common.has(other) && whole.startsWith(word)) term.set(other, OTHER);
      }
    }
    return term;
  });
  // What a word of the question counts in a record, and in its title; and whether a name has it.
  const weigh = ({ fields, kind, room }, term, { common, records }) => {
    let points = 0, title = 0, name = false;
    for (const [word, worth] of term) {
      const rare = Math.log(1 + records.length / (1 + (common.get(word) ?? 0)));
      fields.forEach((field, k) => {
        const often = field.get(word);
        if (!often) return;
        const here = FIELDS[k] * (k === 2 ? room * (1 + Math.log(1 + often)) : 1)
          * (k === 1 && kind === "word" ? 2 : 1); // the symbol of a word is its name
        points = Math.max(points, here * worth * rare);
        if (k === 0) title = Math.max(title, worth);
        name ||= k < 2;
      });
    }
    return { points, title, name };
  };

  // A name that stands in the question as a whole is as good as a title of which as much is asked.
  const score = ({ kind, long, met, exact, names }, rarest, roots) => {
    const sum = (what) => met.reduce((total, one) => total + one[what], 0);
    const called = names.map((name) => name.split(" "))
      .filter((name) => name.every((root) => roots.has(root)));
    const shares = [sum("title") / Math.max(1, long), ...called.map((name) => name.length / roots.size)];
    const share = exact ? 1 : Math.min(1, Math.max(...shares));
    return sum("points") * (met.filter((one) => one.points).length / met.length) ** 2
      * (1 + share) * KINDS[kind][0] * (met[rarest]?.points === 0 ? LACKS : 1);
  };

  const find = async (query, root) => {
    const all = await load(root), words = [...new Set(asked(query))];
    const wanted = terms(words, all), phrase = named(query), roots = new Set(words.map(stem));
    const hits = new Set(wanted.flatMap((term) => [...term.keys()]));
    const found = all.records.map((record) => ({ ...record, hits,
      exact: record.names.includes(phrase), met: wanted.map((term) => weigh(record, term, all)) }))
      .filter(({ met }) => met.some((one) => one.points));
    const many = (k) => found.filter(({ met }) => met[k].points).length;
    const [rarest] = [...wanted.keys()].filter((k) => found.some(({ met }) => met[k].name))
      .sort((one, other) => many(one) - many(other));
    for (const one of found) one.points = score(one, rarest, roots);
    const near = SHARE * Math.max(...found.map((one) => one.points));
    for (const one of found) one.points *= one.exact ? EXACT : 1;
    found.sort((one, other) => other.points - one.points);
    const places = new Map(), first = new Map(); // the best of each place, and of each title
    for (const one of found) if (!places.has(one.address)) places.set(one.address, one);
    const best = [...places.values()];
    for (const one of best) if (!first.has(one.title)) first.set(one.title, one);
    const shown = [...first.values(), ...best.filter((one) => first.get(one.title) !== one)]
      .filter((one, k) => k < FEW || one.points >= near).slice(0, SHOWN);
    const missing = words.filter((word, k) => !wanted[k].size && !all.elsewhere.has(shorten(word)));
    return { shown, missing };
  };

  // The text from the first of the sentences that say most of what is asked; its words are marked.
  const excerpt = ({ text, hits }) => {
    const line = document.createElement("p"), sentences = text.split(/(?<=[.!?…]) /);
    const said = sentences.map((one) => new Set(tokens(one).filter((word) => hits.has(word))).size);
    const start = said.indexOf(Math.max(...said));
    const parts = sentences.slice(start).join(" ").split(/(\s+)/);
    if (start) line.append("… ");
    for (const part of parts.slice(0, LONG)) {
      const mark = tokens(part).some((word) => hits.has(word)) && document.createElement("mark");
      if (mark) mark.append(part);
      line.append(mark || part);
    }
    if (parts.length > LONG && !/…\s*$/.test(line.textContent)) line.append(" …");
    return line;
  };

  const linked = (text, address) => {
    const link = document.createElement("a");
    link.href = document.documentElement.dataset.content_root + address;
    link.textContent = text;
    return link;
  };

  // The words as they were typed, in quotes.
  const quoted = (words, query) => words
    .map((word) => query.split(/\s+/).find((typed) => listed(typed).includes(word))
      ?? written.get(word) ?? word)
    .map((typed) => `“${typed.replace(/^\W+|[^\w)]+$/g, "")}”`)
    .join(" and ");

  const show = ({ shown: found, missing }, query, list) => {
    const status = document.createElement("p"), rows = document.createElement("ol");
    status.setAttribute("role", "status");
    rows.setAttribute("role", "list"); // without marks it is none to some readers of screens
    list.replaceChildren(status, ...(found.length ? [rows] : []));
    const absent = `${quoted(missing, query)} ${missing.length > 1 ? "are" : "is"} not in this book`;
    const many = `${found.length} ${found.length === 1 ? "place" : "places"}`;
    if (found.length && missing.length) {
      status.textContent = `${absent}. What is near: ${many} for the other words of “${query}”`;
    } else if (found.length) {
      status.textContent = `${found.length < FEW ? "" : "The best "}${many} for “${query}”`;
    } else {
      status.append(missing.length ? absent : `Nothing in the book matches “${query}”`,
        ". Try fewer words, or others. The words of the book are in the ", linked("glossary", "book/glossary.html"), ", its theorems in ",
        "the list of ", linked("statements", "book/back/statements.html"), ".");
    }
    for (const one of found) {
      const row = document.createElement("li"), heading = document.createElement("h2");
      const kind = document.createElement("p"), name = KINDS[one.kind][1];
      heading.append(linked(one.title, one.address));
      kind.className = "search-kind";
      kind.textContent = one.where && one.where !== name ? `${name}, ${one.where}` : name;
      row.append(heading, kind, ...(one.text ? [excerpt(one)] : []));
      rows.append(row);
    }
  };

  addEventListener("DOMContentLoaded", async () => {
    const list = document.getElementById("search-results");
    const query = new URLSearchParams(location.search).get("q")?.trim();
    if (!list || !query) return;
    for (const field of document.querySelectorAll("form.bd-search input")) field.value = query;
    show(await find(query, document.documentElement.dataset.content_root), query, list);
  });
})();
