// Runs a program compiled for wasm32-wasip1 in Node: node --no-warnings --single-threaded-gc scripts/wasi.mjs PROGRAM.wasm [ARGUMENT..]
// It sees the files of the machine and its environment; its exit status is that of this process.

import { readFile } from "node:fs/promises";
import { WASI } from "node:wasi";

const args = process.argv.slice(2);
const wasi = new WASI({ version: "preview1", args, env: process.env, preopens: { "/": "/" }, returnOnExit: true });
const program = await WebAssembly.compile(await readFile(args[0]));
try {
    process.exitCode = wasi.start(await WebAssembly.instantiate(program, wasi.getImportObject()));
} catch (error) {
    // A panic has already said what happened, and ends in a trap.
    console.error(`${args[0]}: ${error.message}`);
    process.exitCode = 134;
}
