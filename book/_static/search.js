// The search of the book: what is called by the words of a question comes first, code last.
//
// The index is loaded with the first question; `pdp_search.py` says what is in it. A word counts
// where it stands: in the title, among the other words for a thing, in the text; rare words more.
// What lacks the rarest word of the question that names anything comes late, a title once, and the
// list ends where what is found is no longer near to what is asked.
// Words match whole; the last one, which may not be typed to its end, also as a beginning.
(() => {
  const STOP = new Set(("a about al an and any are as at be been between by can could did do does "
    + "et explain for from get give had has have here how i if in into is it its me much my need of "
    + "on one or our please should so tell than that the their them then there this to use using "
    + "versus vs was we were what when where which who whose why will with would you your")
    .split(" "));
  const LETTERS = { "ε": "epsilon", "δ": "delta", "λ": "lambda", "θ": "theta", "η": "eta",
    "μ": "mu", "ρ": "rho", "σ": "sigma", "γ": "gamma", "α": "alpha", "β": "beta", "κ": "kappa",
    "ℓ": "l" };
  const KINDS = { chapter: [1.2, "Chapter"], statement: [1.1, "Statement"], word: [0.95, "Glossary"],
    section: [0.75, "Section"], exercise: [0.4, "Exercise"], back: [0.35, "Reference"],
    work: [0.3, "Bibliography"], code: [0.05, "Code"] };
  const FIELDS = [12, 8, 1.2]; // what a word counts in the title, among other words, in the text
  const OTHER = 0.6; // another word for what is asked counts so much less
  const EXACT = 4; // a name that is the whole question
  const LACKS = 0.25; // without the rarest word
  const FEW = 5, SHOWN = 30, SHARE = 0.1; // places: so many, or more with this share of the best
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

  let index, spell, same; // same: a stem and those of other words for it
  const plain = (text) => spell(text
    .replace(/[\u0370-\u03ffℓ]/g, (sign) => ` ${LETTERS[sign] ?? sign} `)
    .normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase()
    .replace(/[^a-z0-9.]+|\.(?!\d)/g, " ").trim());
  const listed = (text) => plain(text).split(" ").filter(Boolean);
  const tokens = (text) => listed(text).map(stem);
  const asked = (query) => {
    const all = listed(query.replace(/\bwhat (?:do|does) (.*) mean\b/i, "$1"));
    const told = all.filter((word) => !STOP.has(word));
    return told.length ? told : all;
  };
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
      const any = new RegExp(`\\b(?:${[...first.keys()].join("|")})\\b`, "g");
      spell = (text) => text.replace(any, (other) => first.get(other));
      same = new Map();
      for (const group of found.same) {
        for (const word of group) same.set(stem(word), group.map(stem));
      }
      const common = new Map(); // in how many records a stem is
      const records = found.records.map(([kind, names, address, where, keys, text, rest]) => {
        const title = names[kind === "statement" || kind === "chapter" ? 1 : 0] ?? names[0];
        const fields = [title, [...names, keys].join(" "), `${text} ${rest}`].map((field) => {
          const count = new Map();
          for (const word of tokens(field)) count.set(word, (count.get(word) ?? 0) + 1);
          return count;
        });
        for (const root of new Set(fields.flatMap((field) => [...field.keys()]))) {
          common.set(root, (common.get(root) ?? 0) + 1);
        }
        // A section of the back matter has the name of a chapter, or a bare word: "Personalized".
        // A function has a name without its module, too.
        const whole = kind === "back" || kind === "exercise" ? names.slice(1)
          : kind === "code" ? [...names, names[0].split(".").at(-1)] : names;
        return { kind, title: names[0], address, where, text, fields, names: whole.map(named),
          long: tokens(title).length };
      });
      return { records, common };
    });

  // What is looked for: for each word of the question its stem and others, with what they count.
  const terms = (words, { common }) => words.map((word, k) => {
    const root = stem(word), term = new Map();
    for (const other of same.get(root) ?? []) term.set(other, OTHER);
    if (common.has(root)) return term.set(root, 1);
    if (k === words.length - 1 && word.length > 2) {
      for (const [whole, other] of stems) if (whole.startsWith(word)) term.set(other, OTHER);
    }
    return term;
  });
  // What a word of the question counts in a record, and in its title; and whether a name has it.
  const weigh = ({ fields, kind }, term, { common, records }) => {
    let points = 0, title = 0, name = false;
    for (const [word, worth] of term) {
      const rare = Math.log(1 + records.length / (1 + (common.get(word) ?? 0)));
      fields.forEach((field, k) => {
        const often = field.get(word);
        if (!often) return;
        const here = FIELDS[k] * (k === 2 ? 1 + Math.log(1 + often) : 1)
          * (k === 1 && kind === "word" ? 2 : 1); // the symbol of a word is its name
        points = Math.max(points, here * worth * rare);
        if (k === 0) title = Math.max(title, worth);
        name ||= k < 2;
      });
    }
    return { points, title, name };
  };

  const score = ({ kind, long, met, exact }, rarest) => {
    const sum = (what) => met.reduce((total, one) => total + one[what], 0);
    const share = exact ? 1 : Math.min(1, sum("title") / Math.max(1, long));
    return sum("points") * (met.filter((one) => one.points).length / met.length) ** 2
      * (1 + share) * KINDS[kind][0] * (met[rarest]?.points === 0 ? LACKS : 1);
  };

  const find = async (query, root) => {
    const all = await load(root), words = [...new Set(asked(query))];
    const wanted = terms(words, all), phrase = named(query);
    const hits = new Set(wanted.flatMap((term) => [...term.keys()]));
    const found = all.records.map((record) => ({ ...record, hits,
      exact: record.names.includes(phrase), met: wanted.map((term) => weigh(record, term, all)) }))
      .filter(({ met }) => met.some((one) => one.points));
    const many = (k) => found.filter(({ met }) => met[k].points).length;
    const [rarest] = [...wanted.keys()].filter((k) => found.some(({ met }) => met[k].name))
      .sort((one, other) => many(one) - many(other));
    for (const one of found) one.points = score(one, rarest);
    const near = SHARE * Math.max(...found.map((one) => one.points));
    for (const one of found) one.points *= one.exact ? EXACT : 1;
    found.sort((one, other) => other.points - one.points);
    const first = new Map(); // of each title
    for (const one of found) if (!first.has(one.title)) first.set(one.title, one);
    return [...first.values(), ...found.filter((one) => first.get(one.title) !== one)]
      .filter((one, k) => k < FEW || one.points >= near).slice(0, SHOWN);
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

  const show = (found, query, list) => {
    const status = document.createElement("p"), rows = document.createElement("ol");
    status.setAttribute("role", "status");
    rows.setAttribute("role", "list"); // without marks it is none to some readers of screens
    list.replaceChildren(status, ...(found.length ? [rows] : []));
    if (found.length) {
      status.textContent = `${found.length < FEW ? "" : "The best "}${found.length} `
        + `${found.length === 1 ? "place" : "places"} for “${query}”`;
    } else {
      status.append(`Nothing in the book matches “${query}”. Try fewer words, or others. The words `
        + "of the book are in the ", linked("glossary", "book/glossary.html"), ", its theorems in ",
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
