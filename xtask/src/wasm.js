// Runs the `main` of a WebAssembly module that imports nothing. Usage: node wasm.js MODULE
const { readFileSync } = require("node:fs");

WebAssembly.instantiate(readFileSync(process.argv[2]), {}).then(
  // A Rust program that panics traps, which rejects the promise; one that returns an error returns a number other than 0.
  ({ instance }) => process.exit(instance.exports.main(0, 0)),
).catch((error) => {
  console.error(error);
  process.exit(1);
});
