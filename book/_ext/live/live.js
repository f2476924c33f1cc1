// Cells that one can change and run in the page. `pdp_live.py` puts `self.liveSources` before this
// text: the programs in Python, the text of worker.js, and what belongs to each cell.
(() => {
  const { programs, worker: workerText, cells } = self.liveSources;
  const own = document.currentScript.src;
  const live = (self.pdpLive = { limit: 20 }); // seconds, from the start of the cell
  const words = text => document.createTextNode(text);
  const make = (tag, attributes, ...inside) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...inside);
    return made;
  };

  const unpacked = async text => {
    const bytes = Uint8Array.from(atob(text), sign => sign.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  };
  // The interpreter comes as a script, which a page that is opened as a file may load, too.
  const interpreter = new Promise((done, failed) => {
    const script = make("script", { src: own.replace("live.js", "micropython.js") });
    script.onload = async () => {
      try {
        const { script: packed, wasm } = self.microPython;
        const text = new TextDecoder().decode(await unpacked(packed));
        done({ script: text, wasm: await unpacked(wasm) });
      } catch (problem) {
        failed(problem);
      }
    };
    script.onerror = () => failed(new Error("the interpreter was not found"));
    document.head.append(script);
  });
  interpreter.catch(() => {}); // each run says so itself

  document.head.append(make("style", {}, words(self.liveSources.style)));

  live.open = button => {
    const box = button.closest("div.cell");
    const shown = box.querySelector("div.cell_input");
    const before = box.querySelector("div.cell_output");
    const { context, trial, stub } = cells[button.dataset.live];
    const original = stub || shown.querySelector("pre").textContent.replace(/\n$/, "");
    const code = make("textarea", {
      "aria-label": "Code of this cell",
      spellcheck: "false",
      autocapitalize: "off",
      autocomplete: "off",
      wrap: "off",
      class: "live-code",
    });
    const bar = button.parentElement;
    const reset = make("button", { type: "button" }, words("Reset"));
    const status = make("output", { class: "live-status" });
    const printed = make("pre", { class: "live-printed", tabindex: "0", "aria-live": "polite" });
    printed.setAttribute("aria-label", "What the cell prints");
    printed.hidden = true;
    code.value = original;
    const fit = () => (code.rows = code.value.split("\n").length + 1);
    fit();
    shown.after(code);
    shown.hidden = true;
    button.replaceChildren("Run");
    button.after(words(" "), reset, words(" "), status);
    bar.after(printed);
    if (trial) {
      const after = make("pre", { tabindex: "0" }, words(trial));
      const fold = make("details", { class: "live-trial" }, make("summary", {}, "What runs after your cell"));
      fold.append(after);
      printed.after(fold);
    }

    let worker = null, timer = 0;
    const say = text => (status.textContent = text);
    const stop = () => {
      clearTimeout(timer);
      worker?.terminate();
      worker = null;
      button.textContent = "Run";
    };
    const mark = line => code.style.setProperty("--line", line || -9);
    const show = text => {
      printed.hidden = false;
      printed.textContent += text;
      if (before) before.hidden = true;
    };
    const finish = error => {
      stop();
      mark(error?.line);
      if (!error) return say("Done.");
      say(error.line ? `Error in line ${error.line} of the cell.` : "Error after the cell.");
      show((error.line ? `Line ${error.line}: ` : "") + error.message + "\n");
    };
    const run = async () => {
      stop();
      mark(0);
      printed.textContent = "";
      say("Starting …");
      button.textContent = "Stop";
      let made;
      try {
        const ready = await interpreter;
        const address = URL.createObjectURL(new Blob([workerText], { type: "text/javascript" }));
        made = worker = new Worker(address);
        URL.revokeObjectURL(address);
        made.onmessage = ({ data }) => {
          if (made !== worker) return;
          if (data.started) {
            say("Running …");
            timer = setTimeout(() => {
              stop();
              show(`Stopped after ${live.limit} seconds: does a loop never end?\n`);
              say("Stopped.");
            }, 1000 * live.limit);
          } else if (data.done) finish(data.error);
          else show(data.line + "\n");
        };
        made.onerror = event => finish({ line: 0, message: event.message });
        made.postMessage({ ...ready, programs, asked: { context, cell: code.value, trial } });
      } catch (problem) {
        finish({ line: 0, message: `The cell cannot run here: ${problem.message}` });
      }
    };
    button.onclick = () => {
      if (button.textContent === "Run") return run();
      stop();
      say("Stopped.");
    };
    reset.onclick = () => {
      stop();
      code.value = original;
      fit();
      mark(0);
      printed.hidden = true;
      printed.textContent = "";
      if (before) before.hidden = false;
      say("As in the book.");
    };
    code.oninput = fit;
    code.onkeydown = event => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey || event.shiftKey)) {
        event.preventDefault();
        run();
      } else if (event.key === "Enter") {
        // as far in as this line, and further after a colon
        const line = code.value.slice(0, code.selectionStart).split("\n").pop();
        const indent = line.match(/^ */)[0] + (/:\s*$/.test(line) ? "    " : "");
        event.preventDefault();
        code.setRangeText("\n" + indent, code.selectionStart, code.selectionEnd, "end");
        fit();
      }
    };
    bar.append(make("small", { class: "live-note" }, words(self.liveSources.note)));
    code.setSelectionRange(0, 0);
    code.focus({ preventScroll: true });
    if (stub) say("Not written yet.");
    else run();
  };
})();
