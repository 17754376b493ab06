// Draws the chosen map in 3-D, coloured by scan, and sorts the tables.
(function () {
  "use strict";
  const data = JSON.parse(document.getElementById("points").textContent);
  const frame = document.getElementById("map");
  const layers = document.getElementById("layers");
  const choice = document.getElementById("component");
  // Hues far apart for neighbours in the list (the golden angle).
  const colorOf = (place) => `hsl(${Math.round((place * 137.508) % 360)} 70% 50%)`;
  let hidden = new Set();

  const chosen = () => Number(choice?.value ?? 0);
  const shown = () => data.scans.filter((scan) => scan.component === chosen());

  function column(points, axis) {
    const values = new Float64Array(points.length / 3);
    for (let i = 0; i < values.length; i++) values[i] = points[3 * i + axis];
    return values;
  }

  function switches() {
    layers.replaceChildren();
    const legend = document.createElement("legend");
    legend.textContent = "Scans";
    layers.append(legend);
    for (const scan of shown()) {
      const label = document.createElement("label");
      const box = document.createElement("input");
      box.type = "checkbox";
      box.checked = !hidden.has(scan.place);
      box.addEventListener("change", () => {
        if (box.checked) hidden.delete(scan.place); else hidden.add(scan.place);
        draw();
      });
      const swatch = document.createElement("span");
      swatch.className = "swatch";
      swatch.style.background = colorOf(scan.place);
      label.append(box, swatch, ` ${scan.place}`);
      label.title = scan.name;
      layers.append(label);
    }
  }

  function draw() {
    const scans = shown();
    const total = scans.reduce((sum, scan) => sum + scan.points.length, 0);
    const traces = scans.map((scan) => ({
      type: "scatter3d", mode: "markers", name: scan.name, visible: !hidden.has(scan.place),
      x: column(scan.points, 0), y: column(scan.points, 1), z: column(scan.points, 2),
      marker: { size: total > 60000 ? 1 : 1.6, symbol: "square", color: colorOf(scan.place), line: { width: 0 } },
      hovertemplate: `${scan.place}<br>%{x:.5~g}, %{y:.5~g}, %{z:.5~g}<extra></extra>`,
    }));
    // What was subtracted from large coordinates, which single precision does not show.
    const origin = data.origins[chosen()] ?? [0, 0, 0];
    const axis = (name, place) => ({
      title: { text: origin[place] === 0 ? name : `${name} ${origin[place] > 0 ? "−" : "+"} ${Math.abs(origin[place])}`, font: { size: 11 } }, tickfont: { size: 10 }, nticks: 5, color: pcr99.color("soft"), gridcolor: pcr99.color("line"),
      zeroline: false, showspikes: false, showbackground: false, linecolor: pcr99.color("line"), exponentformat: "power",
    });
    const layout = {
      margin: { l: 0, r: 0, t: 0, b: 0 }, showlegend: false, paper_bgcolor: "rgba(0,0,0,0)", uirevision: chosen(),
      scene: { aspectmode: "data", xaxis: axis("x", 0), yaxis: axis("y", 1), zaxis: axis("z", 2) },
    };
    return pcr99.draw(frame, traces, layout, { displaylogo: false, displayModeBar: false });
  }

  if (frame) {
    choice?.addEventListener("change", () => { hidden = new Set(); switches(); draw(); });
    document.getElementById("all").addEventListener("click", () => { hidden = new Set(); switches(); draw(); });
    document.getElementById("none").addEventListener("click", () => { hidden = new Set(shown().map((scan) => scan.place)); switches(); draw(); });
    pcr99.onChange(draw);
    switches();
    draw().then(() => { frame.dataset.ready = "true"; });
  }

  const compare = new Intl.Collator(undefined, { numeric: true }).compare;
  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.querySelectorAll("button")].forEach((button, place) => {
      button.addEventListener("click", () => {
        const head = button.closest("th");
        const down = head.getAttribute("aria-sort") === "ascending";
        for (const other of table.tHead.rows[0].cells) other.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const text = (row) => row.cells[place].textContent.replace("−", "-");
        const rows = [...table.tBodies[0].rows].sort((a, b) => (down ? -1 : 1) * compare(text(a), text(b)));
        table.tBodies[0].append(...rows);
      });
    });
  }
})();
