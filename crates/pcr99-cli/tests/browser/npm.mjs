// Uses the npm package for a test. Usage: node npm.mjs INDEX REQUEST
import { readFile, writeFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";

const [index, request] = process.argv.slice(2);
const { solve, register, moved, Pcr99Error } = await import(pathToFileURL(index).href);
const given = JSON.parse(request);
const file = async (name) => ({ name, bytes: await readFile(name) });
const print = (value) => process.stdout.write(JSON.stringify(value));

if (given.register) {
  const [source, target] = await Promise.all(given.register.map(file));
  const found = await register(source, target, given.options);
  const there = await moved(source, found);
  await writeFile(`npm-${there.name}`, there.bytes);
  print(found);
} else if (given.solve) {
  print(await solve(await file(given.solve), given.options));
} else if (given.arrays) {
  const text = await readFile(given.arrays, "utf8");
  const rows = text.trim().split("\n").slice(1).map((line) => line.split(",").map(Number));
  print(await solve(rows.map((row) => row.slice(0, 3)), Float64Array.from(rows.flatMap((row) => row.slice(3, 6))), given.options));
} else {
  const points = [[0, 0, 0], [1, 0, 0]];
  const wrong = [
    () => solve([[0, 0, 0], [1, 0]], points),
    () => solve(points, points, { threshold: -1 }),
    () => solve(points, points, { treshold: 1 }),
    () => solve(points, [[0, 0, 0]]),
    () => solve(points, points, { threshold: NaN }),
  ];
  const said = [];
  for (const call of wrong) {
    try {
      await call();
      said.push("no error");
    } catch (error) {
      said.push(error instanceof Pcr99Error ? error.message.split(/[,:] expected one|[,:] expected a|; give/)[0] : `not ours: ${error.stack}`);
    }
  }
  print(said);
}
