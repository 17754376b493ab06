// Colours of the figures follow those of the page, and small screens get small margins.
(function () {
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const narrow = window.matchMedia("(max-width: 600px)");
  function adapt() {
    const root = getComputedStyle(document.documentElement);
    const ink = root.getPropertyValue("--ink").trim();
    const soft = root.getPropertyValue("--soft").trim();
    const line = root.getPropertyValue("--line").trim();
    for (const plot of document.querySelectorAll(".plotly-graph-div")) {
      const change = { "font.color": ink, "font.size": narrow.matches ? 10 : 12, "margin.l": narrow.matches ? 48 : 64,
        "modebar.bgcolor": "rgba(0,0,0,0)", "modebar.color": soft, "modebar.activecolor": ink };
      for (const name of Object.keys(plot.layout)) {
        if (/^[xy]axis\d*$/.test(name)) {
          change[name + ".gridcolor"] = line;
          change[name + ".linecolor"] = line;
          change[name + ".zerolinecolor"] = line;
        }
      }
      // The first were drawn before those beside them took their share of the width.
      Plotly.relayout(plot, change).then(() => Plotly.Plots.resize(plot));
    }
  }
  dark.addEventListener("change", adapt);
  narrow.addEventListener("change", adapt);
  adapt();
})();
