// Runs one cell in MicroPython, in a worker of its own: whoever started it can end it.
onmessage = async ({ data: { script, wasm, programs, asked } }) => {
  // A page that is opened as a file may fetch nothing, and a module may not come from it.
  self.fetch = async () =>
    new Response(wasm, { headers: { "Content-Type": "application/wasm" } });
  const plain = script
    .replaceAll("import.meta.url", '"micropython.mjs"')
    .replace("export default _createMicroPythonModule", "")
    .replace("export async function loadMicroPython", "async function loadMicroPython");
  try {
    const load = await (0, eval)(`(async () => {${plain}\nreturn loadMicroPython;})()`);
    const python = await load({
      url: "micropython.wasm",
      heapsize: 64 * 1024 * 1024,
      stdout: line => postMessage({ line }),
    });
    for (const [name, text] of Object.entries(programs)) {
      python.FS.writeFile(name, text);
      python.runPython(`exec(compile(open("${name}").read(), "${name}", "exec"))`);
    }
    postMessage({ started: true });
    const error = python.globals.get("run")(asked.context, asked.cell, asked.trial);
    postMessage({ done: true, error: error ? JSON.parse(error) : null });
  } catch (problem) {
    postMessage({ done: true, error: { line: 0, message: problem.message } });
  }
};
