// Filters and sorts long lists: every `ul.sift` and `table.sift` of a page, together.
//
// Above the first of them stand a field and a button for each word in a `.facet`; an item shows when
// it has all the words of the field and the facets that are pressed. Facets with the same classes are
// one choice: pressing one lets go of the other. What is folded is not searched.
// A head of a table sorts it: up, down, then as it was. Without scripts the lists are as they are.
(() => {
  const plain = (text) => text.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase()
    .replace(/\s+/g, " ");
  const order = new Intl.Collator("en", { numeric: true }).compare;
  const made = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  const read = (element) => {
    const copy = element.cloneNode(true);
    copy.querySelectorAll("details > :not(summary)").forEach((one) => one.remove());
    const facets = new Map([...copy.querySelectorAll(".facet")]
      .map((one) => [one.textContent, one.className]));
    return { element, facets, text: plain(copy.textContent) };
  };

  const filter = (bar, items) => {
    const field = made("input", { type: "search", id: "sift", autocomplete: "off" });
    const status = made("p", { className: "sift-status" });
    status.setAttribute("role", "status");
    const counts = new Map(), choices = new Map(items.flatMap(({ facets }) => [...facets]));
    for (const { facets } of items) {
      for (const facet of facets.keys()) counts.set(facet, (counts.get(facet) ?? 0) + 1);
    }
    const isPressed = (button) => button.getAttribute("aria-pressed") === "true";
    const set = (button, pressed) => button.setAttribute("aria-pressed", pressed);
    const show = () => {
      const words = plain(field.value).split(" ").filter(Boolean);
      const pressed = buttons.filter(isPressed);
      let shown = 0;
      for (const { element, facets, text } of items) {
        element.hidden = !(words.every((word) => text.includes(word))
          && pressed.every(({ value }) => facets.has(value)));
        shown += !element.hidden;
      }
      for (const section of document.querySelectorAll("article section:has(.sift)")) {
        const mine = items.filter(({ element }) => section.contains(element));
        section.hidden = mine.every(({ element }) => element.hidden) && !section.contains(bar);
      }
      status.textContent = `${shown === items.length ? "All" : `${shown} of`} ${items.length} shown`;
    };
    const press = (button) => {
      const pressed = !isPressed(button);
      for (const one of buttons) {
        if (choices.get(one.value) === choices.get(button.value)) set(one, false);
      }
      set(button, pressed);
      show();
    };
    const release = () => {
      for (const button of buttons) set(button, false);
      show();
    };
    const kinds = [...new Set(choices.values())];
    const names = [...counts.keys()].filter((name) => counts.get(name) < items.length)
      .sort((one, other) => kinds.indexOf(choices.get(one)) - kinds.indexOf(choices.get(other))
        || counts.get(other) - counts.get(one));
    const buttons = names.map((name) => made("button", { type: "button", value: name,
      onclick: (event) => press(event.currentTarget) }, `${name} ${counts.get(name)}`));
    field.addEventListener("input", show);
    // A link to what the filter hides shows all again.
    addEventListener("hashchange", () => {
      const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
      if (!target?.closest("[hidden]")) return;
      field.value = "";
      release();
      target.scrollIntoView();
    });
    bar.append(made("label", { htmlFor: "sift" }, "Filter"), field, ...buttons, status);
    release();
  };

  const sortable = (table) => {
    const rows = [...table.tBodies[0].rows], heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const key = (row) => row.cells[column].textContent.trim();
      const sort = () => {
        const turn = { none: "ascending", ascending: "descending" }[head.ariaSort] ?? "none";
        for (const one of heads) one.ariaSort = one === head ? turn : "none";
        const sign = turn === "descending" ? -1 : 1;
        const sorted = turn === "none" ? rows
          : [...rows].sort((one, other) => sign * order(key(one), key(other)));
        table.tBodies[0].append(...sorted);
      };
      const button = made("button", { type: "button", onclick: sort }, head.textContent.trim());
      head.ariaSort = "none";
      head.replaceChildren(button);
    });
  };

  addEventListener("DOMContentLoaded", () => {
    const lists = [...document.querySelectorAll("article .sift")];
    if (!lists.length) return;
    const items = lists.flatMap((list) => [...(list.tBodies?.[0].rows ?? list.children)].map(read));
    const bar = made("div", { className: "sift-bar" });
    const above = lists.length > 1 ? "section:has(> h2)" : ".pst-scrollable-table-container";
    (lists[0].closest(above) ?? lists[0]).before(bar);
    filter(bar, items);
    lists.filter((list) => list.tHead).forEach(sortable);
  });
})();
