// Draws the views before and after, synchronises their cameras, and shows the chosen candidate.
(function () {
  "use strict";
  const family = getComputedStyle(document.body).fontFamily;
  const config = { displaylogo: false, displayModeBar: false };

  class View {
    constructor(section) {
      this.section = section;
      const { rest, ...points } = JSON.parse(section.querySelector("script[type='application/json']").textContent);
      this.data = { ...rest, ...points };
      this.pose = 0;
      this.before = section.querySelector(".before");
      this.after = section.querySelector(".after");
      this.bars = section.querySelector(".histogram");
      this.scenes = [this.before, this.after].filter(Boolean);
      this.up = 2;
      this.home = this.firstCamera();
      this.sideways = this.aside();
      this.camera = this.home;
      this.listen();
      this.draw().then(() => {
        this.scenes.forEach((scene) => this.follow(scene));
        section.dataset.ready = "true";
      });
    }

    // Turns the other views when one is turned.
    follow(scene) {
      const follow = (change) => { if (change["scene.camera"]) this.turnOthers(scene, change["scene.camera"]); };
      scene.on("plotly_relayouting", follow);
      scene.on("plotly_relayout", follow);
    }

    // Adds a drawn view to those that turn together.
    join(scene) {
      this.scenes.push(scene);
      scene.addEventListener("keydown", (event) => this.press(event));
      this.follow(scene);
      this.set(scene, this.camera);
    }

    listen() {
      for (const box of this.section.querySelectorAll(".layers input")) box.addEventListener("change", () => this.draw());
      for (const radio of this.section.querySelectorAll(".poses input")) {
        radio.addEventListener("change", () => { this.pose = Number(radio.value); this.tell(); this.draw(); });
      }
      for (const button of this.section.querySelectorAll("button[data-row]")) {
        button.addEventListener("click", () => pcr99.copy(button, this.data.poses[this.pose].copy[button.dataset.row]));
      }
      for (const radio of this.section.querySelectorAll(".ups input")) {
        radio.addEventListener("change", () => {
          this.up = ["x", "y", "z"].indexOf(radio.value);
          this.home = this.firstCamera();
          this.turn(this.home);
        });
      }
      this.section.querySelector(".reset")?.addEventListener("click", () => this.turn(this.home));
      for (const scene of this.scenes) scene.addEventListener("keydown", (event) => this.press(event));
      pcr99.onChange(() => this.draw());
    }

    // Shows the transform of the chosen candidate as text.
    tell() {
      const { read } = this.data.poses[this.pose];
      for (const shown of this.section.querySelectorAll("pre[data-row]")) shown.textContent = read[shown.dataset.row];
    }

    // Source points before registration (without a pose) or after it.
    moved(points, pose) {
      const out = new Float64Array(points.length);
      const [bx, by, bz] = this.data.before;
      for (let i = 0; i < points.length; i += 3) {
        const [x, y, z] = [points[i], points[i + 1], points[i + 2]];
        if (!pose) {
          out[i] = x + bx; out[i + 1] = y + by; out[i + 2] = z + bz;
        } else {
          const m = pose.linear;
          for (let row = 0; row < 3; row++) {
            out[i + row] = m[row][0] * x + m[row][1] * y + m[row][2] * z + pose.shift[row];
          }
        }
      }
      return out;
    }

    // Shift that puts the source beside the target, as seen from the first camera.
    aside() {
      const { eye, up } = this.home;
      const right = cross(up, eye);
      const unit = scaled(right, 1 / Math.sqrt(dot(right, right)));
      const middle = (points, axis) => median(column(points, axis));
      const source = this.moved(this.data.source, null);
      const middles = ["x", "y", "z"].map((_, axis) => middle(this.data.target, axis) - middle(source, axis));
      const reach = (points) => {
        const places = column(points, 0).map((x, k) => x * unit.x + points[3 * k + 1] * unit.y + points[3 * k + 2] * unit.z).sort();
        return places.length ? 0.5 * (places[Math.floor(0.99 * places.length)] - places[Math.floor(0.01 * places.length)]) : 0;
      };
      const apart = 1.15 * (reach(source) + reach(this.data.target));
      return middles.map((shift, axis) => shift - apart * unit["xyz"[axis]]);
    }

    isOn(layer) {
      const box = this.section.querySelector(`.layers input[name=${layer}]`);
      return box ? box.checked : false;
    }

    // The first camera looks roughly along the thinner of the two horizontal axes, and down onto what is flat.
    firstCamera() {
      const points = this.moved(this.data.source, this.data.poses[0]);
      const spread = [0, 1, 2].map((axis) => {
        const values = Float64Array.from({ length: points.length / 3 }, (_, k) => points[3 * k + axis]).sort();
        return values.length ? values[Math.floor(0.9 * values.length)] - values[Math.floor(0.1 * values.length)] : 1;
      });
      const [one, other] = [0, 1, 2].filter((axis) => axis !== this.up);
      const axis = spread[one] < spread[other] ? one : other;
      const isFlat = spread[this.up] < 0.3 * spread[axis];
      const [along, aside, above] = isFlat ? [1.2, 0.6, 1.3] : [1.65, 0.8, 0.6];
      const eye = [0, 1, 2].map((k) => (k === axis ? along : k === this.up ? above : aside));
      // From the front: the other axes keep their order from left to right.
      eye[axis] *= (axis - this.up + 3) % 3 === 1 ? 1 : -1;
      const up = [0, 1, 2].map((k) => Number(k === this.up));
      const of = ([x, y, z]) => ({ x, y, z });
      return { eye: of(eye), up: of(up), center: of(up.map((u) => -0.14 * u)) };
    }

    traces(pose) {
      const { data } = this;
      const chosen = this.data.poses[this.pose];
      const shifted = (points) => {
        const moved = this.moved(points, pose);
        if (!pose && this.isOn("aside")) for (let i = 0; i < moved.length; i++) moved[i] += this.sideways[i % 3];
        return moved;
      };
      const source = shifted(data.source);
      // Targets of outliers are drawn faintly, so that the rest can be seen among them.
      const fogs = pose ? [0.08, 0.6, 1200] : [0.3, 1, 4000];
      const fog = data.are_matches ? Math.max(fogs[0], Math.min(fogs[1], fogs[2] / data.target.length)) : 1;
      const cloud = (layer, points, size, opacity) => ({
        type: "scatter3d", mode: "markers", name: layer, visible: this.isOn(layer), opacity,
        x: column(points, 0), y: column(points, 1), z: column(points, 2),
        marker: { size, symbol: this.pointSymbol(points.length), color: pcr99.color(layer), line: { width: 0 } },
        hovertemplate: `${layer}<br>%{x:.5~g}, %{y:.5~g}, %{z:.5~g}<extra></extra>`,
      });
      const size = (points) => this.pointSize(points.length);
      const from = shifted(data.from);
      const right = new Set(chosen ? chosen.inliers : []);
      const lines = (layer, wanted, width) => {
        const [x, y, z, text] = [[], [], [], []];
        data.index.forEach((match, k) => {
          if (right.has(k) !== wanted) return;
          for (const ends of [from, data.to]) {
            x.push(ends[3 * k]); y.push(ends[3 * k + 1]); z.push(ends[3 * k + 2]);
            text.push(`match ${match}`);
          }
          x.push(null); y.push(null); z.push(null); text.push("");
        });
        return {
          type: "scatter3d", mode: wanted && pose && data.are_matches ? "lines+markers" : "lines", name: layer, visible: this.isOn(layer), x, y, z, text, hoverinfo: "text",
          line: { width, color: pcr99.color(layer) }, opacity: wanted ? 1 : pose ? 0.2 : 0.35,
          marker: { size: data.source.length > 9000 ? 2.5 : 4, symbol: "circle", color: pcr99.color(layer), line: { width: 0 } },
        };
      };
      return [
        cloud("source", source, size(source), 1), cloud("target", data.target, size(data.target), fog),
        lines("outliers", false, 1), lines("inliers", true, 5),
        ...this.votes(pose),
      ];
    }

    // Size of the markers of a cloud with so many coordinates.
    pointSize(count) {
      return count > 30000 ? 1.4 : count > 9000 ? 1.8 : 2.4;
    }

    // A circle is dozens of triangles, a square two. Where there are so many points, they are too small to tell the two apart.
    pointSymbol(count) {
      return count > 45000 ? "square" : "circle";
    }

    // Range of an axis, for drawings in a plane.
    flatRange(axis) {
      return { range: this.ranges(this.traces(this.data.poses[this.pose]))[axis] };
    }

    // Votes of points of both clouds on the answer, where it is shown.
    votes(pose) {
      if (!pose || this.pose !== 0) return [];
      const symbols = { for: "circle", askew: "diamond", against: "x", silent: "circle-open" };
      return Object.entries(this.data.votes).map(([vote, [ofSource, ofTarget]]) => {
        const points = [...this.moved(ofSource, pose), ...ofTarget];
        const size = vote === "against" || vote === "askew" ? 4 : 3;
        return {
          type: "scatter3d", mode: "markers", name: vote, visible: this.isOn(vote),
          x: column(points, 0), y: column(points, 1), z: column(points, 2),
          marker: { size, symbol: symbols[vote], color: pcr99.color(vote), line: { width: 0 } },
          hovertemplate: `${vote}<br>%{x:.5~g}, %{y:.5~g}, %{z:.5~g}<extra></extra>`,
        };
      });
    }

    // An arrow to where most of the votes are that raised the doubt.
    arrows(pose) {
      const { place } = this.data;
      if (!place || !pose || this.pose !== 0) return [];
      const [x, y, z] = place;
      const color = pcr99.color("ink");
      return [{
        x, y, z, text: "most votes", ax: 34, ay: -34, arrowcolor: color, arrowsize: 1, arrowwidth: 1.5, arrowhead: 2,
        font: { color, size: 12, family }, bgcolor: pcr99.color("paper"), opacity: 0.9,
      }];
    }

    // Ranges of the axes that contain nearly all points. A few distant points must not shrink the rest to a dot.
    ranges(traces) {
      return ["x", "y", "z"].map((axis) => {
        const values = Float64Array.from([...traces[0][axis], ...traces[1][axis]]).sort();
        if (!values.length) return [-1, 1];
        const at = (part) => values[Math.round(part * (values.length - 1))];
        const [low, high] = [at(0.01), at(0.99)];
        const room = 0.5 * (high - low);
        const [first, last] = [Math.max(at(0), low - room), Math.min(at(1), high + room)];
        const edge = 0.03 * (last - first) || 1e-3 * Math.abs(last) || 0.5;
        return [first - edge, last + edge];
      });
    }

    // Size of the largest box of these proportions that the first camera sees completely, with room for the labels at its edges.
    largest(ratio, frame) {
      const { eye, up, center } = this.home;
      const away = minus(eye, center);
      const distance = Math.sqrt(dot(away, away));
      const [back, right] = [away, cross(up, away)].map((axis) => scaled(axis, 1 / Math.sqrt(dot(axis, axis))));
      const upwards = cross(back, right);
      // The library's vertical field of view is 45°.
      const half = Math.tan(Math.PI / 8);
      const wide = half * (frame.clientWidth / frame.clientHeight || 1);
      const corners = [0, 1, 2, 3, 4, 5, 6, 7].map((bits) => {
        const [x, y, z] = ratio.map((length, k) => (bits >> k & 1 ? 0.5 : -0.5) * length);
        return { x, y, z };
      });
      const fits = (size) => corners.every((corner) => {
        const seen = minus(scaled(corner, size), center);
        const depth = distance - dot(seen, back);
        const [x, y] = [dot(seen, right) / wide, dot(seen, upwards) / half];
        return depth > 0.1 && Math.abs(x) < 0.76 * depth && y < 0.94 * depth && y > -0.8 * depth;
      });
      let [low, high] = [0.1, 3];
      for (let step = 0; step < 20; step++) {
        const size = 0.5 * (low + high);
        if (fits(size)) low = size; else high = size;
      }
      return low;
    }

    layout(traces, frame, pose) {
      const ranges = this.ranges(traces);
      const longest = Math.max(...ranges.map(([low, high]) => high - low));
      const ratio = ranges.map(([low, high]) => Math.max((high - low) / longest, 0.02));
      const axis = (k) => ({
        title: { text: this.data.axes[k], font: { size: 11 } }, range: ranges[k], nticks: Math.max(2, Math.ceil(5 * ratio[k])), tickfont: { size: 10 },
        color: pcr99.color("soft"), gridcolor: pcr99.color("line"), zeroline: false, showspikes: false,
        showbackground: false, linecolor: pcr99.color("line"), exponentformat: "power",
      });
      const grow = this.largest(ratio, frame);
      return {
        margin: { l: 0, r: 0, t: 0, b: 0 }, showlegend: false, paper_bgcolor: "rgba(0,0,0,0)", uirevision: "same",
        font: { color: pcr99.color("ink"), family },
        hoverlabel: { bgcolor: pcr99.color("raised"), font: { color: pcr99.color("ink") } },
        scene: {
          xaxis: axis(0), yaxis: axis(1), zaxis: axis(2), camera: this.camera, aspectmode: "manual", annotations: this.arrows(pose),
          aspectratio: { x: grow * ratio[0], y: grow * ratio[1], z: grow * ratio[2] },
        },
      };
    }

    draw() {
      // A page may have replaced the section.
      if (!this.section.isConnected) return Promise.resolve();
      const chosen = this.data.poses[this.pose];
      const draw = (scene, pose) => {
        const traces = this.traces(pose);
        return pcr99.draw(scene, traces, this.layout(traces, scene, pose), config);
      };
      const drawn = [];
      if (this.before) drawn.push(draw(this.before, null));
      if (this.after) drawn.push(draw(this.after, chosen));
      if (this.bars) drawn.push(this.drawBars(chosen));
      return Promise.all(drawn);
    }

    drawBars(pose) {
      const { bins } = this.data;
      const place = (k) => bins.first + (k + 0.5) * bins.width;
      const low = pose.counts.map((_, k) => place(k) < bins.threshold);
      const most = Math.max(...pose.counts);
      const mostRight = Math.max(1, ...pose.counts.filter((_, k) => low[k]));
      const words = pose.counts.map((count, k) => {
        const [from, to] = [0, 1].map((end) => (10 ** (bins.first + (k + end) * bins.width)).toPrecision(3));
        return `${count} between ${from} and ${to}`;
      });
      // A few inliers beside very many outliers can be seen only on a logarithmic axis.
      const log = most > 20 * mostRight;
      const bars = {
        type: "bar", x: pose.counts.map((_, k) => place(k)), y: pose.counts, width: bins.width, text: words,
        textposition: "none", hoverinfo: "text",
        marker: {
          color: low.map((right) => pcr99.color(right ? "inliers" : "outliers")),
          line: { width: 0.5, color: pcr99.color("raised") },
        },
      };
      const axis = { color: pcr99.color("soft"), gridcolor: pcr99.color("line"), zeroline: false, fixedrange: true };
      const layout = {
        margin: { l: 52, r: 10, t: 24, b: 44 }, showlegend: false, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
        font: { color: pcr99.color("ink"), family, size: 12 }, bargap: 0,
        xaxis: { ...axis, title: { text: "residual, target units" }, tickvals: bins.places, ticktext: bins.labels, showgrid: false },
        yaxis: {
          ...axis, title: { text: log ? "matches (log)" : "matches" }, type: log ? "log" : "linear", dtick: log ? 1 : undefined,
          nticks: 5, range: log ? [-0.3, Math.log10(most) + 0.1] : [0, 1.05 * most],
        },
        shapes: [{
          type: "line", x0: bins.threshold, x1: bins.threshold, y0: 0, y1: 1, yref: "paper",
          line: { color: pcr99.color("ink"), width: 1.5, dash: "dash" },
        }],
        annotations: [{
          x: bins.threshold, y: 1, yref: "paper", yanchor: "bottom", text: `threshold ${bins.label}`, showarrow: false,
          font: { size: 11 },
        }],
        hoverlabel: { bgcolor: pcr99.color("raised"), font: { color: pcr99.color("ink") } },
      };
      return pcr99.draw(this.bars, [bars], layout, config);
    }

    turn(camera) {
      this.camera = camera;
      for (const scene of this.scenes) this.set(scene, camera);
    }

    turnOthers(scene, camera) {
      // The library stores a dragged camera in the layout of the first drawing only.
      scene.layout.scene.camera = structuredClone(camera);
      if (same(camera, this.camera)) return;
      this.camera = camera;
      for (const other of this.scenes) if (other !== scene) this.set(other, camera);
    }

    set(scene, camera) {
      if (!same(scene.layout.scene.camera, camera)) Plotly.relayout(scene, { "scene.camera": structuredClone(camera) });
    }

    press(event) {
      const turns = { ArrowLeft: [-0.15, 0], ArrowRight: [0.15, 0], ArrowUp: [0, 0.15], ArrowDown: [0, -0.15] };
      const zooms = { "+": 0.85, "=": 0.85, "-": 1 / 0.85 };
      let { eye, up, center } = this.camera;
      if (turns[event.key]) {
        const [sideways, upwards] = turns[event.key];
        eye = rotated(eye, up, sideways);
        const across = cross(up, eye);
        const next = rotated(eye, across, -upwards);
        // The camera stops before the pole.
        if (Math.abs(dot(next, up)) < 0.98 * Math.sqrt(dot(next, next) * dot(up, up))) eye = next;
      } else if (zooms[event.key]) {
        eye = scaled(eye, zooms[event.key]);
      } else {
        return;
      }
      event.preventDefault();
      this.turn({ eye, up, center });
    }
  }

  const column = (points, axis) => Float32Array.from({ length: points.length / 3 }, (_, k) => points[3 * k + axis]);
  const median = (values) => (values.length ? values.sort()[values.length >> 1] : 0);
  const same = (a, b) => ["eye", "up", "center"].every((part) => ["x", "y", "z"].every((axis) => a?.[part]?.[axis] === b?.[part]?.[axis]));
  const dot = (a, b) => a.x * b.x + a.y * b.y + a.z * b.z;
  const cross = (a, b) => ({ x: a.y * b.z - a.z * b.y, y: a.z * b.x - a.x * b.z, z: a.x * b.y - a.y * b.x });
  const minus = (a, b) => ({ x: a.x - b.x, y: a.y - b.y, z: a.z - b.z });
  const scaled = (a, s) => ({ x: s * a.x, y: s * a.y, z: s * a.z });
  // Rodrigues' formula.
  function rotated(v, axis, angle) {
    const k = scaled(axis, 1 / Math.sqrt(dot(axis, axis)));
    const [c, s, along, aside] = [Math.cos(angle), Math.sin(angle), dot(k, v), cross(k, v)];
    const part = (name) => c * v[name] + s * aside[name] + (1 - c) * along * k[name];
    return { x: part("x"), y: part("y"), z: part("z") };
  }


  // Draws all registrations in an element, with what is drawn beside them.
  pcr99.showViews = (place) => {
    for (const section of place.querySelectorAll("section.view")) pcr99.showReport(section, new View(section));
  };
})();
