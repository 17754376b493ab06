// The page: takes files, lets a worker compute, shows and saves the result.
(function () {
  "use strict";
  const form = document.getElementById("input");
  const at = (id) => document.getElementById(id);
  const files = { source: null, target: null, matches: null };
  const stages = { reading: "Reading the files", preparing: "Preparing", search: "Searching", drawing: "Drawing" };
  let worker = null;
  let result = null;

  // A part of this page that is stored compressed.
  async function unpacked(id) {
    const bytes = Uint8Array.from(atob(at(id).textContent), (digit) => digit.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer();
  }

  let compiled = null;
  const module = () => (compiled ??= unpacked("module").then((bytes) => WebAssembly.compile(bytes)));

  let drawing = null;
  function library() {
    drawing ??= unpacked("library").then((bytes) => {
      const script = document.createElement("script");
      script.textContent = new TextDecoder().decode(bytes);
      document.head.append(script);
    });
    return drawing;
  }

  async function started() {
    if (worker) return worker;
    const code = await module();
    const address = URL.createObjectURL(new Blob([at("worker").textContent], { type: "text/javascript" }));
    worker = new Worker(address);
    URL.revokeObjectURL(address);
    worker.postMessage({ module: code });
    return worker;
  }

  function stopped() {
    worker?.terminate();
    worker = null;
  }

  // The answer of the worker to a request; rejected when it fails or is cancelled.
  async function ask(request, given) {
    const buffers = await Promise.all(given.map((file) => content(file)));
    const own = await started();
    return new Promise((done, failed) => {
      own.onmessage = ({ data }) => {
        if (data.stage) tell(stages[data.stage] ?? data.stage);
        else if (data.error !== undefined) failed(new Error(data.error));
        else done(data);
      };
      own.onerror = (event) => { stopped(); failed(new Error(event.message || "the worker ended")); };
      own.postMessage({ request, buffers }, buffers);
    });
  }

  class Cancelled extends Error {}

  async function content(file) {
    try {
      return await file.arrayBuffer();
    } catch (error) {
      throw new Error(`\`${file.name}\` cannot be read: ${error.message}; choose it again`);
    }
  }

  const kind = () => new FormData(form).get("kind");

  function put(slot, file) {
    files[slot] = file;
    const zone = form.querySelector(`.drop[data-slot=${slot}]`);
    zone.classList.toggle("full", Boolean(file));
    zone.querySelector(".file").textContent = file ? `${file.name}, ${size(file.size)}` : "Drop a file, or click";
    update();
  }

  function size(bytes) {
    if (bytes < 1000) return `${bytes} bytes`;
    return bytes < 1e6 ? `${(bytes / 1e3).toPrecision(3)} kB` : `${(bytes / 1e6).toPrecision(3)} MB`;
  }

  const slots = () => (kind() === "clouds" ? ["source", "target"] : ["matches"]);

  function update() {
    for (const part of form.querySelectorAll(".clouds")) part.hidden = kind() !== "clouds";
    for (const part of form.querySelectorAll(".matches")) part.hidden = kind() !== "matches";
    at("given-scale").hidden = form.scale.value !== "given";
    at("run").disabled = Boolean(running) || slots().some((slot) => !files[slot]);
    at("cancel").hidden = !running;
    at("swap").disabled = Boolean(running) || !(files.source || files.target);
  }

  // Puts dropped files into a zone, or into the next empty ones.
  function drop(list, slot) {
    const given = [...list];
    if (slot && given.length === 1) return put(slot, given[0]);
    const all = slots();
    const empty = all.filter((name) => !files[name]);
    const places = given.length < all.length && empty.length ? empty : all;
    places.slice(0, given.length).forEach((name, k) => put(name, given[k]));
  }

  for (const zone of form.querySelectorAll(".drop")) {
    const input = zone.querySelector("input");
    input.addEventListener("change", () => { if (input.files.length) put(zone.dataset.slot, input.files[0]); input.value = ""; });
  }
  const zoneOf = (event) => event.target.closest?.(".drop");
  const mark = (over) => { for (const zone of form.querySelectorAll(".drop")) zone.classList.toggle("over", zone === over); };
  document.addEventListener("dragover", (event) => { event.preventDefault(); mark(zoneOf(event)); });
  document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) mark(null); });
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    mark(null);
    if (!running) drop(event.dataTransfer.files, zoneOf(event)?.dataset.slot);
  });
  form.addEventListener("change", update);
  at("swap").addEventListener("click", () => {
    const { source, target } = files;
    put("source", target);
    put("target", source);
  });

  // The options as the core takes them, and as arguments of the program.
  function options() {
    const given = {};
    const words = [];
    const clouds = kind() === "clouds";
    const add = (name, value, flag) => { given[name] = value; words.push(flag, String(value)); };
    const scale = form.scale.value === "given" ? form.given_scale.value.trim() : form.scale.value;
    if (scale) add("scale", scale, "--scale");
    const numbers = { [clouds ? "voxel" : "threshold"]: 0, time_limit: 0, seed: 0 };
    for (const name of Object.keys(numbers)) {
      const text = form[name].value.trim();
      if (!text) continue;
      const value = Number(text);
      if (!Number.isFinite(value)) throw new Error(`\`${name}\` is \`${text}\`: expected a number`);
      add(name, value, `--${name.replace("_", "-")}`);
    }
    if (clouds && form.refine.value) add("refine", form.refine.value, "--refine");
    return { given, words };
  }

  const quoted = (word) => (/^[\w\-./:=,+@%]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
  let running = null;

  function tell(stage) {
    if (running) running.stage = stage;
    show();
  }

  function show() {
    const seconds = running && (performance.now() - running.start) / 1000;
    at("progress").textContent = running ? `${running.stage} … ${seconds < 1 ? "" : `${seconds.toFixed(0)} s`}` : "";
  }

  function complain(text) {
    const place = at("problem");
    place.hidden = !text;
    place.replaceChildren();
    if (!text) return;
    const head = document.createElement("b");
    head.textContent = "Error: ";
    place.append(head, text);
    place.scrollIntoView({ block: "nearest" });
  }

  function clear() {
    result = null;
    at("done").hidden = true;
    at("sections").replaceChildren();
    at("note").textContent = "";
    complain("");
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (running || at("run").disabled) return;
    clear();
    running = { start: performance.now(), stage: "Starting" };
    running.timer = setInterval(show, 250);
    update();
    show();
    try {
      await run();
    } catch (error) {
      if (!(error instanceof Cancelled)) complain(error.message);
    } finally {
      clearInterval(running.timer);
      running = null;
      show();
      update();
    }
  });

  async function run() {
    const own = running;
    const given = slots().map((slot) => files[slot]);
    const clouds = kind() === "clouds";
    const { given: chosen, words } = options();
    const names = given.map((file) => file.name);
    const request = clouds
      ? { task: "register", source: { file: names[0] }, target: { file: names[1] }, options: chosen, page: true }
      : { task: "solve", matches: { file: names[0] }, options: chosen, page: true };
    const cancelled = new Promise((_, failed) => { own.cancel = () => failed(new Cancelled()); });
    cancelled.catch(() => {});
    library();
    const { parts } = await Promise.race([ask(request, given), cancelled]);
    const [json, sections] = parts.map((part) => new TextDecoder().decode(part));
    result = { json, document: JSON.parse(json), file: clouds ? given[0] : null, name: names.map(stem).join("-") };
    await library();
    at("same").textContent = ["pcr99", clouds ? "register" : "solve", ...names.map(quoted), ...words].join(" ");
    at("sections").innerHTML = sections;
    const { status, transform } = result.document;
    at("aligned").hidden = !clouds || !transform;
    at("aligned").textContent = status === "registered" ? "Download the aligned cloud" : "Download the cloud moved by the best candidate";
    at("done").hidden = false;
    pcr99.showViews(at("sections"));
  }

  at("cancel").addEventListener("click", () => {
    running?.cancel?.();
    stopped();
  });

  const stem = (name) => name.replace(/\.[^.]*$/, "");

  function save(name, parts, type) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(parts, { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }

  at("json").addEventListener("click", () => save(`${result.name}.json`, [result.json], "application/json"));
  at("copy-same").addEventListener("click", () => pcr99.copy(at("copy-same"), at("same").textContent));

  at("aligned").addEventListener("click", async () => {
    const { file, document: { scale, rotation, translation } } = result;
    // The parts of the transform are exact.
    const transform = { scale, rotation, translation };
    const note = at("note");
    at("aligned").disabled = true;
    note.textContent = "Moving the points …";
    try {
      const { head, parts } = await ask({ task: "move", file: file.name, transform }, [file]);
      const [name, ending] = [stem(head.name), head.name.slice(stem(head.name).length)];
      save(`${name}-aligned${ending}`, parts, "application/octet-stream");
      note.textContent = head.lost.length ? `Not kept, because points moved: ${head.lost.join(", ")}` : "";
    } catch (error) {
      note.textContent = "";
      complain(error.message);
    } finally {
      at("aligned").disabled = false;
    }
  });

  update();
  if (typeof WebAssembly !== "object" || typeof DecompressionStream !== "function") {
    complain("this browser is too old: version 103 of Chrome or Edge, 113 of Firefox, or 16.4 of Safari is needed");
  } else {
    module().catch((error) => complain(`the module cannot be compiled (${error.message}): the browser may be too old, or forbid WebAssembly`));
  }
  document.body.dataset.ready = "true";
})();
