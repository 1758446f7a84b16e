// Building a plugin: the AssemblyScript compiler, with files that are made from the manifest and with the
// SDK's runtime, and the manifest as a section of the module.

import { readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";

import asc from "assemblyscript/asc";

import { entrySource } from "./entry.mjs";
import { manifestSource } from "./manifest.mjs";
import { explained, statusMistakes } from "./told.mjs";

const sdkFolder = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
export const SDK = "@berth-scheduler/sdk";
export const version = asc.version;
const ENTRY = "berth-entry.ts";

/** A mistake of the author, reported without a stack. */
export class BuildError extends Error {}

/** Returns the bytes of a custom section. */
function section(name, contents) {
  const leb = (n) => {
    const bytes = [];
    do {
      bytes.push((n & 0x7f) | (n > 0x7f ? 0x80 : 0));
      n >>>= 7;
    } while (n > 0);
    return bytes;
  };
  const head = [...leb(name.length), ...Buffer.from(name)];
  return Buffer.concat([Buffer.from([0, ...leb(head.length + contents.length), ...head]), contents]);
}

/** Returns the text of the manifest that a folder has, and where it is. */
async function readManifest(folder, named) {
  const candidates = named === undefined ? [path.join(folder, "manifest.json"), path.join(folder, "..", "manifest.json")] : [named];
  for (const file of candidates) {
    try {
      return { file, bytes: await readFile(file) };
    } catch (e) {
      if (e.code !== "ENOENT") throw e;
    }
  }
  throw new BuildError(`${candidates[0]}: there is no manifest: write one (abi/SPEC.md, section 9)`);
}

/**
 * Builds the plugin in a folder, whose assembly/index.ts exports `plugin`, and returns the module's bytes, with
 * the manifest in it. options: manifest names the manifest's file; entry is the text of an entry file
 * instead of the one that is made; flags are more of asc's.
 *
 * It throws a BuildError with what the compiler said.
 */
export async function build(folder, options = {}) {
  const { file, bytes } = await readManifest(folder, options.manifest);
  let sources;
  try {
    const manifest = JSON.parse(bytes.toString("utf8"));
    sources = new Map([
      [ENTRY, options.entry ?? entrySource(manifest, SDK, "./assembly/index")],
      ["berth-manifest/index.ts", manifestSource(manifest)],
    ]);
  } catch (e) {
    throw new BuildError(`${file}: ${e.message}`);
  }
  const runtime = await readFile(path.join(sdkFolder, "assembly", "runtime.ts"), "utf8");
  const made = new Map(), own = new Map();
  const read = async (name, base) => {
    const whole = path.resolve(base, name).split(path.sep).join("/");
    if (name === ENTRY) return sources.get(ENTRY);
    const [, module] = /\/node_modules\/(.*)$/.exec(whole) ?? [];
    if (sources.has(module)) return sources.get(module);
    // Imports of the SDK lead to this one, wherever the plugin has it installed.
    const file = module?.startsWith(`${SDK}/`) ? path.join(sdkFolder, module.slice(SDK.length + 1)) : whole;
    const text = await readFile(file, "utf8").catch(() => null);
    if (text !== null && module === undefined) own.set(path.relative(folder, file).split(path.sep).join("/"), text);
    return text;
  };
  const stderr = asc.createMemoryStream();
  const args = [
    ENTRY, "--baseDir", folder, "--outFile", "plugin.wasm", "--runtime", "minimal", "--exportStart", "_initialize", "--noColors",
    "-O3", "--converge", "--use", `abort=~lib/${SDK}/assembly/memory/abort`, ...(options.flags ?? []),
  ];
  // The compiler has its runtimes as files of its library; `minimal` is the one without a stack to follow.
  const key = "rt/index-minimal", theirs = asc.libraryFiles[key];
  asc.libraryFiles[key] = runtime;
  try {
    const { error } = await asc.main(args, {
      stderr,
      readFile: read,
      writeFile: async (name, contents) => void made.set(name, contents),
      listFiles: async () => [],
    });
    const told = [...own].flatMap(([file, text]) => statusMistakes(file, text));
    if (told.length > 0) throw new BuildError(told.join("\n"));
    if (error) throw new BuildError(explained(stderr.toString().trim(), own) || error.message);
  } finally {
    asc.libraryFiles[key] = theirs;
  }
  return Buffer.concat([made.get("plugin.wasm"), section("berth.manifest", bytes)]);
}
