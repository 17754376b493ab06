// Draws what stands beside the two views: distances between the clouds in colour and as a histogram, and a section through both.
(function () {
  "use strict";
  const family = getComputedStyle(document.body).fontFamily;
  const config = { displaylogo: false, displayModeBar: false };
  const names = ["x", "y", "z"];
  // Largest number of points of a cloud in a section. It decides how thick the slice is.
  const SLICE = 2500;
  // Distance of the labels from their axis in pixels, so that those of both axes do not meet in the corner.
  const STANDOFF = 6;
  // From near to far. It can be read without colours: it becomes lighter on dark pages and darker on light ones.
  const scales = {
    light: [[0, "#0072b2"], [0.5, "#e69f00"], [1, "#b0273a"]],
    dark: [[0, "#56b4e9"], [0.5, "#f0b429"], [1, "#ff6b6b"]],
  };
  const scale = () => scales[window.matchMedia("screen and (prefers-color-scheme: dark)").matches ? "dark" : "light"];
  // Shortest text with three digits.
  const short = (x) => String(Number(x.toPrecision(3)));

  class Report {
    constructor(section, view) {
      this.section = section;
      this.view = view;
      this.scene = section.querySelector(".distances");
      this.bars = section.querySelector(".distance-bars");
      this.cut = section.querySelector(".cut");
      if (!this.cut) return;
      // A section across the longer horizontal axis shows walls and ground.
      const reach = [0, 1].map((axis) => this.span(axis));
      this.across = reach[0][1] - reach[0][0] >= reach[1][1] - reach[1][0] ? 0 : 1;
      for (const radio of section.querySelectorAll(".cuts input")) {
        radio.checked = names.indexOf(radio.value) === this.across;
        radio.addEventListener("change", () => { this.across = names.indexOf(radio.value); this.drawCut(); });
      }
      section.querySelector(".at input").addEventListener("input", () => this.drawCut());
      for (const radio of section.querySelectorAll(".poses input")) {
        radio.addEventListener("change", () => this.drawCut());
      }
      pcr99.onChange(() => this.draw());
      this.draw().then(() => { if (this.scene) view.join(this.scene); });
    }

    draw() {
      const drawn = [this.drawCut()];
      if (this.scene) drawn.push(this.drawDistances(), this.drawBars());
      return Promise.all(drawn);
    }

    // Range of most points of the target along an axis.
    span(axis) {
      const values = column(this.view.data.target, axis).sort();
      if (!values.length) return [0, 1];
      return [values[Math.floor(0.02 * (values.length - 1))], values[Math.ceil(0.98 * (values.length - 1))]];
    }

    drawDistances() {
      const { view, scene } = this;
      const { values, limit, top } = view.data.distances;
      const points = view.moved(view.data.source, view.data.poses[0]);
      const near = [...values.keys()].filter((k) => values[k] >= 0);
      const far = [...values.keys()].filter((k) => values[k] < 0);
      const of = (places, axis) => Float32Array.from(places, (k) => points[3 * k + axis]);
      const cloud = (places) => ({ type: "scatter3d", mode: "markers", x: of(places, 0), y: of(places, 1), z: of(places, 2) });
      const distance = Float32Array.from(near, (k) => values[k] / 1000 * limit);
      const size = view.pointSize(points.length);
      const traces = [
        {
          ...cloud(near), name: "near",
          marker: {
            size, symbol: view.pointSymbol(points.length), color: distance, cmin: 0, cmax: top, colorscale: scale(), line: { width: 0 },
            colorbar: {
              thickness: 12, len: 0.8, x: 1, xanchor: "right", outlinewidth: 0, tickfont: { size: 10, color: pcr99.color("ink") }, nticks: 5,
              title: { text: "distance", font: { size: 11, color: pcr99.color("ink") } },
            },
          },
          text: Array.from(distance, short), hovertemplate: "%{text} from the target<extra></extra>",
        },
        {
          ...cloud(far), name: "far", opacity: 0.35, hovertemplate: "no target point near<extra></extra>",
          marker: { size, symbol: view.pointSymbol(points.length), color: pcr99.color("soft"), line: { width: 0 } },
        },
      ];
      return pcr99.draw(scene, traces, view.layout(traces, scene), config);
    }

    drawBars() {
      const { counts, top } = this.view.data.distances;
      const width = top / counts.length;
      const place = (k) => (k + 0.5) * width;
      const axis = { color: pcr99.color("soft"), gridcolor: pcr99.color("line"), zeroline: false, fixedrange: true, ticklabelstandoff: STANDOFF };
      const bars = {
        type: "bar", x: counts.map((_, k) => place(k)), y: counts, width, hoverinfo: "text", textposition: "none",
        text: counts.map((count, k) => `${count} between ${short(k * width)} and ${short((k + 1) * width)}`),
        marker: { color: counts.map((_, k) => place(k)), cmin: 0, cmax: top, colorscale: scale(), line: { width: 0.5, color: pcr99.color("raised") } },
      };
      const layout = {
        margin: { l: 52, r: 10, t: 8, b: 44 }, showlegend: false, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
        font: { color: pcr99.color("ink"), family, size: 12 }, bargap: 0,
        xaxis: { ...axis, title: { text: "distance from the target, target units" }, showgrid: false, range: [0, top] },
        yaxis: { ...axis, title: { text: "source points" }, nticks: 4 },
        hoverlabel: { bgcolor: pcr99.color("raised"), font: { color: pcr99.color("ink") } },
      };
      return pcr99.draw(this.bars, [bars], layout, config);
    }

    drawCut() {
      const { view, across } = this;
      const pose = view.data.poses[view.pose];
      const clouds = { target: view.data.target, source: view.moved(view.data.source, pose) };
      const [low, high] = this.span(across);
      const at = low + (high - low) * Number(this.section.querySelector(".at input").value) / 1000;
      // The thinnest slice that has enough points of the sparser cloud, but no thicker than a twentieth of the cloud.
      const reach = Object.values(clouds).map((points) => {
        const away = column(points, across).map((x) => Math.abs(x - at)).sort();
        return away.length > SLICE ? away[SLICE] : Infinity;
      });
      const half = Math.min(...reach, 0.025 * (high - low)) || 1e-9;
      const [right, up] = across === 2 ? [0, 1] : [1 - across, 2];
      const traces = Object.entries(clouds).map(([layer, points]) => {
        const places = [];
        for (let k = 0; k < points.length / 3; k++) if (Math.abs(points[3 * k + across] - at) <= half) places.push(k);
        return {
          type: "scatter", mode: "markers", name: layer, x: places.map((k) => points[3 * k + right]), y: places.map((k) => points[3 * k + up]),
          marker: { size: 3, symbol: "circle", color: pcr99.color(layer), opacity: 0.75 }, hovertemplate: `${layer}<br>%{x:.5~g}, %{y:.5~g}<extra></extra>`,
        };
      });
      const axis = (k) => ({
        title: { text: view.data.axes[k], font: { size: 11 } }, color: pcr99.color("soft"), gridcolor: pcr99.color("line"), zeroline: false, tickfont: { size: 10 }, nticks: 6, ticklabelstandoff: STANDOFF,
      });
      const layout = {
        margin: { l: 56, r: 10, t: 6, b: 40 }, showlegend: false, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", dragmode: "pan",
        font: { color: pcr99.color("ink"), family, size: 12 },
        xaxis: { ...axis(right), ...view.flatRange(right) }, yaxis: { ...axis(up), ...view.flatRange(up), scaleanchor: "x" },
        hoverlabel: { bgcolor: pcr99.color("raised"), font: { color: pcr99.color("ink") } },
      };
      this.section.querySelector(".cut-caption").textContent =
        `Points whose ${names[across]} is within ${short(half)} of ${short(at)}${view.data.axes[across].includes("target") ? "" : ` (axis ${view.data.axes[across]})`}.`;
      return pcr99.draw(this.cut, traces, layout, { ...config, scrollZoom: true });
    }
  }

  const column = (points, axis) => Float64Array.from({ length: points.length / 3 }, (_, k) => points[3 * k + axis]);

  pcr99.showReport = (section, view) => new Report(section, view);
  pcr99.showViews(document);
})();
