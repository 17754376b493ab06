// Runs a program for WASI with its arguments. Usage: node wasi.js MODULE [ARGUMENT...]
const { readFileSync } = require("node:fs");
const { WASI } = require("node:wasi");

const wasi = new WASI({ version: "preview1", args: process.argv.slice(2), returnOnExit: true });
const module_ = new WebAssembly.Module(readFileSync(process.argv[2]));
// A Rust program that panics traps, which ends this script with an error.
process.exitCode = wasi.start(new WebAssembly.Instance(module_, wasi.getImportObject()));
