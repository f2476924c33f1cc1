// A cell whose values one can choose, from settings that Python ran before. `pdp_live.py` puts
// `self.gridData` before this text: names with their values, the code around them, what it printed.
(() => {
  const { names, parts, printed, start } = self.gridData;
  const make = (tag, attributes, ...inside) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...inside);
    return made;
  };
  document.head.append(
    make(
      "style",
      {},
      ".live-bar label { display: inline-block; margin: 0 1rem 0.4rem 0 }" +
        ".live-bar select { min-height: 2.25rem; max-width: 100% }" +
        ".live-bar small { color: var(--pst-color-text-muted); display: block }"
    )
  );
  self.pdpLive = {
    open: button => {
      const box = button.closest("div.cell");
      const code = box.querySelector("div.cell_input pre");
      const output = box.querySelector("div.cell_output pre");
      const colored = [...code.childNodes];
      output.setAttribute("aria-live", "polite");
      const selects = Object.entries(names).map(([name, values], k) => {
        const select = make("select", { name });
        values.forEach((value, j) => select.add(new Option(value, j)));
        select.selectedIndex = start[k];
        return select;
      });
      const show = () => {
        const chosen = selects.map(one => one.selectedIndex);
        const counts = Object.values(names).map(values => values.length);
        const place = chosen.reduce((at, one, k) => at * counts[k] + one, 0);
        output.textContent = printed[place];
        if (chosen.every((one, k) => one === start[k])) return code.replaceChildren(...colored);
        code.textContent = parts
          .map((part, k) => (k % 2 ? selects[(k - 1) / 2].selectedOptions[0].text : part))
          .join("");
      };
      const reset = make("button", { type: "button" }, "Reset");
      reset.onclick = () => {
        selects.forEach((one, k) => (one.selectedIndex = start[k]));
        show();
      };
      for (const one of selects) one.onchange = show;
      button.replaceWith(
        ...selects.map(one => make("label", {}, make("code", {}, one.name), " ", one)),
        reset,
        make("small", {}, `Python ran these ${printed.length} settings when the page was written.`)
      );
      selects[0].focus({ preventScroll: true });
    },
  };
})();
