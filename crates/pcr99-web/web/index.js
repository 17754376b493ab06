
// The module, compiled once.
let compiled = null;

async function moduleBytes() {
  const place = new URL("./pcr99.wasm", import.meta.url);
  if (place.protocol === "file:" && typeof process === "object" && process.versions?.node) {
    const { readFile } = await import("node:fs/promises");
    return readFile(place);
  }
  const answer = await fetch(place);
  if (!answer.ok) throw new Pcr99Error(`cannot load ${place}: ${answer.status}`);
  return answer.arrayBuffer();
}

// Compiles the module; without a source, it is loaded from beside this file.
export async function load(source) {
  compiled ??= (async () => {
    const given = await source;
    const module = given instanceof WebAssembly.Module ? given : await WebAssembly.compile(given ?? await moduleBytes());
    return new Pcr99Core(module);
  })();
  try {
    return await compiled;
  } catch (error) {
    compiled = null;
    throw error;
  }
}

// Doubles, three for each point, or one for each number.
function doubles(values, name, width) {
  if (values instanceof Float64Array) return values;
  if (ArrayBuffer.isView(values) && !(values instanceof DataView)) return Float64Array.from(values);
  if (!Array.isArray(values)) throw new Pcr99Error(`\`${name}\`: expected an array of numbers`);
  const rows = Array.isArray(values[0]) || ArrayBuffer.isView(values[0]);
  if (rows) {
    const wrong = values.findIndex((row) => row?.length !== width);
    if (wrong >= 0) throw new Pcr99Error(`\`${name}[${wrong}]\`: expected ${width} numbers`);
  }
  const flat = rows ? values.flatMap((row) => Array.from(row)) : values;
  const wrong = flat.findIndex((value) => typeof value !== "number");
  if (wrong >= 0) throw new Pcr99Error(`\`${name}\`: number ${wrong} is ${JSON.stringify(flat[wrong])}`);
  return Float64Array.from(flat);
}

const isFile = (given) => typeof given?.name === "string" && given.bytes !== undefined;

// Options for the core: undefined ones are left out, and a scale of null is unknown.
function plain(options) {
  const known = Object.entries(options ?? {}).filter(([, value]) => value !== undefined);
  // JSON has no such numbers.
  const wrong = known.find(([, value]) => [value].flat(Infinity).some((x) => typeof x === "number" && !Number.isFinite(x)));
  if (wrong) throw new Pcr99Error(`\`${wrong[0]}\` is ${wrong[1]}: expected a finite number`);
  return Object.fromEntries(known.map(([name, value]) => [name, name === "scale" && value === null ? "unknown" : value]));
}

function cloud(given, name, buffers) {
  if (isFile(given)) {
    buffers.push(given.bytes);
    return { file: given.name };
  }
  const { points, normals } = given !== null && typeof given === "object" && given.points !== undefined ? given : { points: given };
  buffers.push(doubles(points, name, 3));
  if (normals === undefined) return {};
  buffers.push(doubles(normals, `normals of ${name}`, 3));
  return { normals: true };
}

async function ask(request, buffers) {
  const core = await load();
  const { parts } = core.call(request, buffers);
  return JSON.parse(new TextDecoder().decode(parts[0]));
}

export async function solve(source, target, options) {
  if (isFile(source)) return ask({ task: "solve", matches: { file: source.name }, options: plain(target) }, [source.bytes]);
  const { weights, standard_deviations, ...rest } = options ?? {};
  const buffers = [doubles(source, "source", 3), doubles(target, "target", 3)];
  if (weights !== undefined) buffers.push(doubles(weights, "weights", 1));
  if (standard_deviations !== undefined) buffers.push(doubles(standard_deviations, "standard_deviations", 1));
  const matches = { weights: weights !== undefined, standard_deviations: standard_deviations !== undefined };
  return ask({ task: "solve", matches, options: plain(rest) }, buffers);
}

export async function register(source, target, options) {
  const buffers = [];
  const clouds = { source: cloud(source, "source", buffers), target: cloud(target, "target", buffers) };
  return ask({ task: "register", ...clouds, options: plain(options) }, buffers);
}

export async function refine(source, target, initial, options) {
  const buffers = [];
  const clouds = { source: cloud(source, "source", buffers), target: cloud(target, "target", buffers) };
  return ask({ task: "register", ...clouds, options: plain({ ...options, initial }), local: true }, buffers);
}

// The transform of a result is exact as its parts.
const parts = ({ scale, rotation, translation }) => ({ scale, rotation, translation });

export async function moved(file, pose) {
  const core = await load();
  const transform = Array.isArray(pose) ? pose : parts(pose);
  const answer = core.call({ task: "move", file: file.name, transform }, [file.bytes]);
  return { name: answer.head.name, bytes: answer.parts[0], lost: answer.head.lost };
}

export { Pcr99Error };
