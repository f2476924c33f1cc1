// Draws formulas as MathJax does in a browser: called once a build, by pdp_typeset.py.
//
// Reads {mathjax, formulas: [[tex, display], ...]} and writes {style, drawn}: the style sheet of all
// glyphs, and for each formula its HTML or, where it is wrong, {error}.
const { mathjax, formulas } = JSON.parse(require("fs").readFileSync(0, "utf8"));

const settings = {
  loader: {
    paths: { mathjax },
    load: ["input/tex-base", "[tex]/ams", "output/chtml", "adaptors/liteDOM", "a11y/assistive-mml"],
    versionWarnings: false,
  },
  tex: { packages: ["base", "ams"], formatError: (_, error) => { throw error; } },
  chtml: { adaptiveCSS: false },
  startup: { typeset: false },
};

require(`${mathjax}/node-main.js`).init(settings).then((MathJax) => {
  const { adaptor } = MathJax.startup;
  const draw = ([tex, display]) => {
    try {
      return adaptor.outerHTML(MathJax.tex2chtml(tex, { display }));
    } catch (error) {
      return { error: error.message };
    }
  };
  const drawn = formulas.map(draw), style = adaptor.textContent(MathJax.chtmlStylesheet());
  process.stdout.write(JSON.stringify({ style, drawn }));
});
