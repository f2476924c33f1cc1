// The search of the book: what is called by the words of a question comes first, code last.
//
// The index is loaded with the first question. A word counts where it stands: in the title, among
// the other names, in the text; as a whole, or as the beginning of a longer word; rare words more.
(() => {
  const STOP = new Set(("a about an and are as at be by can could did do does for from get had has have "
    + "how i if in into is it its me mean means much my of on one or our should so that the their them "
    + "then there this to use using was we were what when where which who whose why will with would "
    + "you your").split(" "));
  const LETTERS = { "ε": "epsilon", "δ": "delta", "λ": "lambda", "θ": "theta", "η": "eta", "μ": "mu",
    "ρ": "rho", "σ": "sigma", "γ": "gamma", "α": "alpha", "β": "beta", "κ": "kappa", "ℓ": "l" };
  const SAME = { eps: "epsilon", lam: "lambda", subsampling: "sampling", regularization: "penalty" };
  const KINDS = { word: [0.95, "Glossary"], statement: [1.1, "Statement"], chapter: [1.2, "Chapter"],
    section: [0.75, "Section"], back: [0.3, "Reference"], code: [0.05, "Code"] };
  const FIELDS = [[12, 8], [8, 5], [1.2, 0.4]]; // title, names, text: the word, its beginning
  const SHOWN = 30;

  const stem = (word) => {
    let root = SAME[word] ?? word;
    root = root.replace(/our(s|ed|ing|hood)?$/, "or$1");
    for (const [end, instead] of [[/ies$/, "y"], [/sses$/, "ss"], [/([^su])s$/, "$1"],
      [/(ation|ator|ating|ated)$/, "at"], [/(ing|ed|er)$/, ""], [/ly$/, ""], [/(acy|ate)$/, "at"],
      [/([^aeiouls])\1$/, "$1"], [/e$/, ""]]) {
      const shorter = root.replace(end, instead);
      if (shorter.length >= 3) root = shorter;
    }
    return root;
  };
  const plain = (text) => text.replace(/[\u0370-\u03ffℓ]/g, (sign) => ` ${LETTERS[sign] ?? sign} `)
    .normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase()
    .replace(/\bdata sets?\b/g, "dataset");
  const tokens = (text) => (plain(text).match(/[a-z0-9]+/g) ?? []).map(stem);
  const asked = (query) => {
    const all = plain(query).match(/[a-z0-9]+/g) ?? [];
    const told = all.filter((word) => !STOP.has(word));
    return [...new Set((told.length ? told : all).map(stem))];
  };

  let index;
  const load = (root) => index ??= fetch(`${root}search.json`)
    .then((answer) => answer.json())
    .then((rows) => {
      const common = new Map();
      const records = rows.map(([kind, title, address, where, keys, text]) => {
        const called = [title.replace(/^\w+ [\d.]+: /, "").replace(/^\d+\. /, "")].map(tokens);
        if (kind === "chapter") called.push(tokens(address.match(/(\w+)\.html/)[1]));
        const fields = [called.flat(), ...[keys, text].map(tokens)];
        const counts = fields.map((field) => {
          const count = new Map();
          for (const word of field) count.set(word, (count.get(word) ?? 0) + 1);
          return count;
        });
        for (const word of new Set(fields.flat())) common.set(word, (common.get(word) ?? 0) + 1);
        return { kind, title, address, where, text, fields, counts, called };
      });
      return { records, common };
    });

  const score = (record, words, common, total) => {
    let sum = 0, met = 0, named = 0;
    for (const word of words) {
      let best = 0;
      record.counts.forEach((count, k) => {
        const whole = count.get(word) ?? 0;
        const begun = !whole && word.length > 2
          && record.fields[k].some((other) => other.startsWith(word));
        const often = k === 2 ? 1 + Math.log(1 + whole) : 1;
        const symbol = k === 1 && record.kind === "word" ? 2 : 1; // the symbol of a word is its name
        const here = symbol * (whole ? FIELDS[k][0] * often : begun ? FIELDS[k][1] : 0);
        if (k === 0 && here) named += 1;
        best = Math.max(best, here);
      });
      met += best > 0;
      sum += best * Math.log(1 + total / (1 + (common.get(word) ?? 0)));
    }
    const phrase = words.join(" ");
    const exact = record.called.some((name) => name.join(" ") === phrase);
    const whole = exact ? 2 : ` ${record.fields[0].join(" ")} `.includes(` ${phrase} `) ? 1.25 : 1;
    const share = exact ? 1 : Math.min(1, named / Math.max(1, record.called[0].length));
    return sum * (met / words.length) ** 2 * (1 + share) * whole * KINDS[record.kind][0];
  };

  const find = async (query, root) => {
    const { records, common } = await load(root);
    const words = asked(query);
    if (!words.length) return [];
    return records.map((record) => [score(record, words, common, records.length), record])
      .filter(([points]) => points > 0).sort(([a], [b]) => b - a).slice(0, SHOWN)
      .map(([, record]) => ({ ...record, words }));
  };

  // Some words of the text around the first that was asked for, which are marked.
  const excerpt = ({ text, words }) => {
    const line = document.createElement("p"), parts = text.split(/(\s+)/);
    const hit = (part) => tokens(part).some((word) => words.some((one) => word.startsWith(one)));
    const first = Math.max(0, parts.findIndex(hit));
    const start = first > 40 ? first - 16 : 0, end = start + 64;
    line.append(start ? "... " : "");
    for (const part of parts.slice(start, end)) {
      const mark = hit(part) ? document.createElement("mark") : null;
      mark?.append(part);
      line.append(mark ?? part);
    }
    line.append(end < parts.length ? " ..." : "");
    return line;
  };

  const show = (found, query, root, list) => {
    const status = document.createElement("p");
    status.setAttribute("role", "status");
    list.replaceChildren(status);
    status.textContent = found.length
      ? `${found.length === SHOWN ? `The first ${SHOWN} places` : `Found: ${found.length}`} for “${query}”`
      : `Nothing is found for “${query}”. Fewer words may help, or the glossary.`;
    const rows = document.createElement("ol");
    for (const one of found) {
      const row = document.createElement("li"), link = document.createElement("a");
      const kind = document.createElement("p");
      link.href = root + one.address;
      link.textContent = one.title;
      kind.className = "search-kind";
      const name = KINDS[one.kind][1];
      kind.textContent = one.where && one.where !== name ? `${name}, ${one.where}` : name;
      row.append(link, kind, excerpt(one));
      rows.append(row);
    }
    if (found.length) list.append(rows);
  };

  addEventListener("DOMContentLoaded", async () => {
    const list = document.getElementById("search-results");
    const query = new URLSearchParams(location.search).get("q")?.trim();
    if (!list || !query) return;
    for (const field of document.querySelectorAll("form.bd-search input")) field.value = query;
    const root = document.documentElement.dataset.content_root;
    show(await find(query, root), query, root, list);
  });
})();
