// Tests of the SDK. Those of the views and rules are written in AssemblyScript, in the folder units: functions that
// begin with `test` must return, those with `stops` must end with the text that is expected here.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";

import { build, BuildError } from "../bin/build.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));

/** A module with the host's functions, and the texts that it logged. */
async function instance(bytes) {
  const logged = [];
  let exports;
  const view = (at, n) => new Uint8Array(exports.memory.buffer, at >>> 0, n >>> 0);
  const text = (at, n) => Buffer.from(view(at, n)).toString();
  const give = (byte, n, to, capacity) => {
    if (n <= capacity >>> 0) view(to, n).fill(byte.charCodeAt(0));
    return n;
  };
  const host = {
    log: (level, at, n) => void logged.push({ level, text: text(at, n) }),
    state_get: (at, n, to, capacity) => {
      const key = text(at, n);
      return key === "none" ? -1 : key === "empty" ? 0 : give("s", n, to, capacity);
    },
    state_set: (at, n, value, size) => (text(at, n) === "k" && size === 3 ? 0 : -1),
    published_get: (index, to, capacity) => (index === 0 ? give("p", 9, to, capacity) : -1),
    pod_object: (index, to, capacity) => (index === 0 ? give("P", 5000, to, capacity) : -1),
    node_object: (row, to, capacity) => (row >>> 0 < 2 ? give("N", 20000, to, capacity) : -1),
  };
  const made = await WebAssembly.instantiate(bytes, { berth: host });
  exports = made.instance.exports;
  exports._initialize();
  /** A string as an object of the module. */
  const string = (s) => {
    const at = exports.room(s.length) >>> 0;
    new Uint16Array(exports.memory.buffer, at, s.length).set([...Array(s.length).keys()].map((i) => s.charCodeAt(i)));
    return at;
  };
  const read = (at) => {
    const n = new Uint32Array(exports.memory.buffer, (at >>> 0) - 4, 1)[0];
    return Buffer.from(new Uint8Array(exports.memory.buffer, at >>> 0, n)).toString("utf16le");
  };
  return { exports, logged, string, read };
}

/** What make returns, kept in the folder BERTH_TEST_CACHE, if there is one, until a source file changes. */
async function kept(texts, make) {
  const cache = process.env.BERTH_TEST_CACHE;
  if (!cache) return make();
  const sum = createHash("sha256").update(JSON.stringify([...texts, process.version]));
  for (const folder of ["assembly", "bin", "tests", "index.ts", "package-lock.json"]) {
    const at = path.join(here, "..", folder), isFolder = (await stat(at)).isDirectory();
    const files = isFolder ? (await readdir(at, { recursive: true, withFileTypes: true })).filter((e) => e.isFile()).map((e) => path.join(e.parentPath ?? e.path, e.name)) : [at];
    for (const file of files.sort()) sum.update(file).update(await readFile(file));
  }
  const file = path.join(cache, `${sum.digest("hex")}.wasm`);
  try {
    return await readFile(file);
  } catch {
    const bytes = await make(), unfinished = `${file}.${process.pid}`;
    await writeFile(unfinished, bytes);
    await rename(unfinished, file);
    return bytes;
  }
}

/** The module of a file in units. Its manifest is that of the C SDK's test of the same, with the log. */
async function unit(name) {
  const theirs = JSON.parse(await readFile(path.join(here, "..", "..", "c", "tests", `${name}.json`), "utf8"));
  const dir = await mkdtemp(path.join(os.tmpdir(), "berth-sdk-")), manifest = path.join(dir, "manifest.json");
  try {
    await writeFile(manifest, JSON.stringify({ ...theirs, host: theirs.host ?? ["log"] }));
    const entry = `export * from "./assembly/${name}";\nexport { room } from "./assembly/check";\n`;
    return await kept([name, entry, await readFile(manifest, "utf8")], () => build(path.join(here, "units"), { manifest, entry }));
  } finally {
    await rm(dir, { recursive: true });
  }
}

/** Runs the functions of a file; stops has what those that end must say. */
function units(name, stops, more = () => {}) {
  describe(name, async () => {
    const bytes = await unit(name);
    const names = WebAssembly.Module.exports(new WebAssembly.Module(bytes)).map((e) => e.name);
    for (const name of names.filter((n) => n.startsWith("test"))) {
      test(name, async () => {
        const m = await instance(bytes);
        try {
          m.exports[name]();
        } catch (e) {
          assert.fail(`${m.logged.map((l) => l.text).join("; ")} (${e.message})`);
        }
        if (name === "testHostFunctions") assert.deepEqual(m.logged, [{ level: 2, text: "node 0 é😀" }]);
      });
    }
    const wanted = names.filter((n) => n.startsWith("stops"));
    test("all mistakes are looked at", () => assert.deepEqual(wanted.sort(), Object.keys(stops).sort()));
    for (const name of wanted) {
      test(name, async () => {
        const m = await instance(bytes);
        assert.throws(() => m.exports[name](), WebAssembly.RuntimeError);
        assert.match(m.logged.at(-1).text, stops[name]);
      });
    }
    more(bytes);
  });
}

units("views", {
  stopsLabel: /^berth: manifest.json: reads.nodeLabels does not list the key$/,
  stopsLabels: /^berth: manifest.json: reads.node does not list labels$/,
  stopsNonZero: /^berth: manifest.json: reads.node does not list nonZeroRequested$/,
  stopsElement: /^berth: no such element$/,
  stopsNamespace: /^berth: no such namespace$/,
  stopsRow: /^berth: manifest.json: reads.node does not list zone$/,
  stopsValues: /^berth: the host's pod has values that are out of bounds$/,
});

const OBJECT = '{"a": {"b.c": [1, "x", {"d": null}]}, "n": 1.5, "huge": 9223372036854775808, "e": 1e999}';
const MISTAKES = {
  1: "a.b.c[1]: expected a number, found a string",
  2: "a.b.c[0]: expected true or false, found a number",
  3: "a.b.c[2]: expected a string, found an object",
  4: "a.b.c[2]: the field d is missing",
  5: "a.b.c: expected an object, found a list",
  6: "",
  7: "a: expected a list, found an object",
  8: "n: 1.5 is not a whole number of 64 bits",
  9: "huge: 9223372036854775808 is not a whole number of 64 bits",
  10: "e: 1e999 is beyond the numbers of 64 bits",
  11: "the configuration: the field x is missing",
  12: "huge: there is no such field; there are a, n, e",
  13: "the configuration: expected true or false, found an object",
  14: "a.b.c[1]: expected one of y, z",
  15: "a.b.c[2]: no",
  16: "a.b.c[1]: expected a number, found a string",
};

/** Doubles that are hard to read. */
const HARD = [
  "0", "-0", "0.0e999", "1", "0.1", "0.5", "1e22", "1e23", "8.5e22", "123456789012345678", "9007199254740993", "9007199254740992.5",
  "9007199254740993.00000000000000000000000000000000000000001", "2.2250738585072011e-308", "2.2250738585072014e-308", "4.9406564584124654e-324",
  "2.4703282292062327e-324", "2.4703282292062328e-324", "1e-400", "1e-324", "1.7976931348623157e308", "1.7976931348623158e308",
  "1.7976931348623159e308", "1e308", "1e309", "-1e309", "1.00000000000000011102230246251565404236316680908203125",
  "1.00000000000000011102230246251565404236316680908203124", "1.00000000000000011102230246251565404236316680908203126",
  "6.631236871469758276785396630275967242e-309", `9007199254740993.${"0".repeat(1500)}1`, `9007199254740993.${"0".repeat(1500)}`,
];

units("rules", {
  stopsTaints: /^berth: manifest.json: reads.node does not list taints$/,
  stopsPodNamespace: /^berth: manifest.json: reads.pod does not list namespace$/,
  stopsNoKey: /^berth: manifest.json: reads.nodeLabels does not list the key$/,
  stopsHandle: /^berth: manifest.json: reads.nodeLabels does not list zone$/,
  stopsNamespaces: /^berth: manifest.json: reads.namespaces does not list name$/,
  stopsThrow: /^no luck at assembly\/rules.ts:\d+:\d+$/,
  stopsUnknownRow: /^berth: no such node$/,
  stopsABI: /^berth: the host's snapshot is of another ABI$/,
  stopsRows: /^berth: rows must be added in the order of nodes, each once$/,
  stopsMemory: /^berth: out of memory$/,
}, (bytes) => {
  let m;
  before(async () => {
    m = await instance(bytes);
  });
  const mistake = (text, how) => m.read(m.exports.mistakeIn(m.string(text), how));

  test("mistakes in a configuration have their path", () => {
    for (const [how, want] of Object.entries(MISTAKES)) assert.equal(mistake(OBJECT, Number(how)), want);
  });

  test("texts that are JSON", () => {
    for (const text of [" [ ] ", '""', "0", "-0", "1.5e-3", "10E+2", "true", "false", "null", '{"a": [1, {"b": "c\\u00e9\\/"}], "": null}',
      "\n[\t1\r,\n2 ]\n", '"é😀"', "[".repeat(30) + "]".repeat(30)]) {
      assert.doesNotMatch(mistake(text, 0), /JSON/, text);
    }
    for (const text of ["", " ", "{", "}", "[1", "[1,]", "[,1]", '{"a"}', '{"a":}', '{"a" 1}', '{"a": 1,}', "{a: 1}", "{1: 1}", "01", "-", "1.", ".5",
      "1e", "+1", "tru", "nul", "truefalse", '"', '"\\x"', '"\\u12g4"', '"\n"', "{} {}", "[1 2]", "'a'", "NaN", '"\\', "[1}",
      "[".repeat(40) + "]".repeat(40)]) {
      assert.equal(mistake(text, 0), "line 1: this is not JSON", text);
    }
    assert.equal(mistake('{\n\n"a": x}', 0), "line 3: this is not JSON");
  });

  test("numbers are the nearest doubles", () => {
    const look = (text) => {
      const want = Number(text), got = m.exports.parse(m.string(text));
      assert.ok(Object.is(got, Number.isFinite(want) ? want : NaN), `${text} is read as ${got}`);
    };
    HARD.forEach(look);
    let seed = 7n;
    const d = new DataView(new ArrayBuffer(8));
    for (let i = 0; i < 3000; i++) {
      seed = BigInt.asUintN(64, seed * 6364136223846793005n + 1442695040888963407n);
      d.setBigUint64(0, seed);
      const x = d.getFloat64(0);
      if (!Number.isFinite(x)) continue;
      look(x.toExponential(Number(seed >> 40n) % 25));
      look((Number(seed) / 1e9).toFixed(Number(seed >> 50n) % 20));
    }
  });
});

describe("build", () => {
  let dir;
  before(async () => {
    dir = await mkdtemp(path.join(os.tmpdir(), "berth-sdk-"));
  });
  after(() => rm(dir, { recursive: true }));

  const FILTER = `import * as berth from "@berth-scheduler/sdk";
class P {
  filter(_pod: berth.Pod, _node: berth.Node): berth.Status { return BODY; }
}
export const plugin = new P();
`;
  let n = 0;
  const folder = async (manifest, source = FILTER.replace("BODY", "berth.SUCCESS")) => {
    const at = path.join(dir, String(n++));
    await mkdir(path.join(at, "assembly"), { recursive: true });
    if (manifest !== undefined) await writeFile(path.join(at, "manifest.json"), typeof manifest === "string" ? manifest : JSON.stringify(manifest));
    await writeFile(path.join(at, "assembly", "index.ts"), source);
    return at;
  };
  const filter = { name: "p", version: "1.0.0", abi: "1.0", points: { filter: {} } };

  test("the same sources give the same bytes, wherever they are", async () => {
    const one = await build(await folder(filter)), two = await build(await folder(filter));
    assert.ok(one.equals(two));
    assert.ok(!one.includes(dir));
    const m = new WebAssembly.Module(one);
    assert.equal(Buffer.from(WebAssembly.Module.customSections(m, "berth.manifest")[0]).toString(), JSON.stringify(filter));
    assert.deepEqual(WebAssembly.Module.exports(m).map((e) => e.name).sort(), ["_initialize", "berth_abi", "berth_alloc", "berth_filter", "memory"]);
  });

  test("a module imports what its plugin uses", async () => {
    const imports = async (body) =>
      WebAssembly.Module.imports(new WebAssembly.Module(await build(await folder(filter, FILTER.replace("BODY", body))))).map((i) => `${i.module}.${i.name}`);
    assert.deepEqual(await imports("berth.SUCCESS"), []);
    assert.deepEqual(await imports('berth.stateGet("k") === null ? berth.SKIP : berth.SUCCESS'), ["berth.state_get"]);
  });

  test("mistakes are told", async () => {
    const cases = [
      [undefined, undefined, /there is no manifest: write one/],
      ["{", undefined, /manifest.json: .*JSON/],
      [{ ...filter, points: { filtre: {} } }, undefined, /points.filtre is no extension point/],
      [{ ...filter, reads: { nodeLabels: "zone" } }, undefined, /reads.nodeLabels is not a list of strings/],
      [{ ...filter, points: { score: {} } }, undefined, /the plugin has the method filter, and manifest.json's points do not have filter/],
      [{ ...filter, points: { filter: {}, score: {} } }, undefined, /Property 'score' does not exist[^\n]*\n[^\n]*the plugin has no method score: write score\(pod: Pod, node: Node\): i64/],
      [{ ...filter, config: {} }, undefined, /Property 'configure' does not exist/],
      [filter, FILTER.replace("BODY", "true"), /^assembly\/index.ts\(3\): true is no Status/],
      [filter, FILTER.replace("BODY", "true").replace("berth.Status", "bool"), /^assembly\/index.ts\(3\): the method filter returns bool: write filter\(/],
      [filter, FILTER.replace("_pod: berth.Pod, ", ""), /^ERROR[^\n]*\n[^\n]*in assembly\/index.ts\(3\): the method must be filter\(pod: Pod, node: Node\): Status\n\n(?!ERROR)/],
      [filter, FILTER.replace("BODY", "nothing"), /Cannot find name 'nothing'[^]*assembly\/index.ts\(3,/],
    ];
    for (const [manifest, source, want] of cases) {
      await assert.rejects(build(await folder(manifest, source)), (e) => {
        assert.ok(e instanceof BuildError, e.stack);
        assert.match(e.message, want);
        return true;
      });
    }
  });
});
