#!/usr/bin/env node
// Builds a plugin in AssemblyScript: berth-asc FOLDER -o FILE [--manifest FILE] [-- flags of asc].
// berth-asc --version prints that of the compiler, and fails if it is not installed.

import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";

const USAGE = "usage: berth-asc FOLDER -o FILE [--manifest FILE] [-- FLAGS]";

const fail = (text) => {
  console.error(text);
  process.exit(1);
};

const separator = process.argv.indexOf("--");
const own = separator < 0 ? process.argv.slice(2) : process.argv.slice(2, separator);
const options = { output: { type: "string", short: "o" }, manifest: { type: "string" }, version: { type: "boolean" } };
let parsed;
try {
  parsed = parseArgs({ args: own, allowPositionals: true, options });
} catch (e) {
  fail(`berth-asc: ${e.message}\n${USAGE}`);
}
const { values, positionals } = parsed;
if (!values.version && (positionals.length !== 1 || values.output === undefined)) fail(USAGE);

const { build, BuildError, version } = await import("./build.mjs").catch((e) => {
  if (e.code !== "ERR_MODULE_NOT_FOUND") throw e;
  fail("berth-asc: the AssemblyScript compiler is not installed: run npm ci, or npm install, where the SDK is");
});
if (values.version) {
  console.log(version);
  process.exit(0);
}
try {
  const flags = separator < 0 ? [] : process.argv.slice(separator + 1);
  await writeFile(values.output, await build(positionals[0], { manifest: values.manifest, flags }));
} catch (e) {
  if (!(e instanceof BuildError)) throw e;
  fail(e.message);
}
