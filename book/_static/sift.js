// Filters and sorts long lists: every `ul.sift` and `table.sift` of a page, together.
//
// The build has put a field above the first of them, and a button for each word in a `.facet`; an item
// shows when it has all the words of the field and the facets that are pressed. Facets of the heading
// above it are an item's, too. Facets of one kind are one choice: pressing one lets go of the other.
// What is folded is not searched. Of a formula its TeX counts, too. A head of a table sorts it: up,
// down, then as it was. Without scripts the lists are as they are.
(() => {
  const plain = (text) => text.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase()
    .replace(/\s+/g, " ");
  const order = new Intl.Collator("en", { numeric: true }).compare;
  const read = (element) => {
    const copy = element.cloneNode(true);
    copy.querySelectorAll("details > :not(summary)").forEach((one) => one.remove());
    const above = element.closest("section").querySelectorAll(":scope > h2 .facet");
    const facets = [...above, ...copy.querySelectorAll(".facet")].map((one) => one.textContent);
    const tex = [...copy.querySelectorAll("[data-tex]")].map((one) => one.dataset.tex);
    return { element, facets, text: plain([...facets, copy.textContent, ...tex].join(" ")) };
  };

  const filter = (bar, items) => {
    const field = bar.querySelector("input"), status = bar.querySelector("output");
    const buttons = [...bar.querySelectorAll("button")];
    const isPressed = (button) => button.getAttribute("aria-pressed") === "true";
    const set = (button, pressed) => button.setAttribute("aria-pressed", pressed);
    const show = () => {
      const words = plain(field.value).split(" ").filter(Boolean);
      const pressed = buttons.filter(isPressed);
      let shown = 0;
      for (const { element, facets, text } of items) {
        element.hidden = !(words.every((word) => text.includes(word))
          && pressed.every((button) => facets.includes(button.value)));
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
      for (const one of buttons) if (one.dataset.kind === button.dataset.kind) set(one, false);
      set(button, pressed);
      show();
    };
    const release = () => {
      for (const button of buttons) set(button, false);
      show();
    };
    for (const button of buttons) button.addEventListener("click", () => press(button));
    field.addEventListener("input", show);
    // A link to what the filter hides shows all again.
    addEventListener("hashchange", () => {
      const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
      if (!target?.closest("[hidden]")) return;
      field.value = "";
      release();
      target.scrollIntoView();
    });
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
      const button = document.createElement("button");
      Object.assign(button, { type: "button", onclick: sort, textContent: head.textContent.trim() });
      head.ariaSort = "none";
      head.replaceChildren(button);
    });
  };

  addEventListener("DOMContentLoaded", () => {
    const lists = [...document.querySelectorAll("article .sift")];
    const bar = document.querySelector(".sift-bar");
    if (!bar) return;
    const items = lists.flatMap((list) => [...(list.tBodies?.[0].rows ?? list.children)].map(read));
    filter(bar, items);
    lists.filter((list) => list.tHead).forEach(sortable);
  });
})();
