// Draws the figures in the colours of the page, and switches what has a name.
(function () {
  "use strict";
  const family = getComputedStyle(document.body).fontFamily;
  const drawings = [...document.querySelectorAll(".drawing")];

  function dressed(plot) {
    const [ink, soft, line] = ["ink", "soft", "line"].map(pcr99.color);
    const narrow = pcr99.narrow.matches;
    const layout = structuredClone(plot.layout);
    Object.assign(layout, {
      font: { color: ink, family, size: narrow ? 10 : 12 },
      margin: { ...layout.margin, l: narrow ? 48 : 64 },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: soft, activecolor: ink },
      hoverlabel: { bgcolor: pcr99.color("raised"), font: { color: ink } },
    });
    for (const name of Object.keys(layout)) {
      if (/^[xy]axis\d*$/.test(name)) Object.assign(layout[name], { gridcolor: line, linecolor: line, zerolinecolor: line });
    }
    return layout;
  }

  function draw(drawing) {
    const figure = drawing.closest(".figure");
    const on = (name) => figure.querySelector(`.layers input[name="${CSS.escape(name)}"]`)?.checked !== false;
    const data = drawing.plot.data.map((trace) => ({ ...trace, visible: on(trace.legendgroup) }));
    return pcr99.draw(drawing, data, dressed(drawing.plot), { ...drawing.plot.config, displaylogo: false });
  }

  const drawAll = () => Promise.all(drawings.map(draw));
  for (const drawing of drawings) drawing.plot = JSON.parse(drawing.nextElementSibling.textContent);
  for (const figure of document.querySelectorAll(".figure")) {
    const own = drawings.filter((drawing) => figure.contains(drawing));
    const boxes = [...figure.querySelectorAll(".layers input")];
    for (const box of boxes) box.addEventListener("change", () => own.forEach(draw));
    for (const button of figure.querySelectorAll("[data-every]")) {
      button.addEventListener("click", () => {
        for (const box of boxes) box.checked = Boolean(button.dataset.every);
        own.forEach(draw);
      });
    }
  }
  pcr99.onChange(drawAll);
  drawAll().then(() => { document.body.dataset.ready = "true"; });
})();
