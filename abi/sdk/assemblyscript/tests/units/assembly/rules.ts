// Limits hold, and mistakes end the call with a text that says what is wrong. The plugin does what the test
// says.

import * as berth from "@berth-scheduler/sdk";
import { keepZero, utf8Length } from "@berth-scheduler/sdk/assembly/memory";
import * as serve from "@berth-scheduler/sdk/assembly/serve";

import { check, equal } from "./check";

export { testJson, testKeys, testNumbers, parse, mistakeIn } from "./values";

const enum Does {
  ByRow, Reasons, LongReasons, Directs, DirectsMuch, AsksHost, Garbage, ReadsTaints, ReadsNamespace, ReadsNoKey, AsksForHandle, FindsNamespace,
  Throws, UnknownRow,
}

const one = berth.reason(["a"]);
const two = berth.reason(["a", "b"]);
let made = 0;
let kept: string[] = [];

class Rules {
  does: Does = Does.ByRow;
  prepared: berth.Status = berth.SUCCESS;

  prepare(_pod: berth.Pod): berth.Status {
    return this.prepared;
  }

  filter(pod: berth.Pod, node: berth.Node): berth.Status {
    switch (this.does) {
      case Does.ByRow: return node.row() == 1 ? berth.unschedulable(one) : node.row() == 2 ? berth.pending(berth.NO_REASON) : berth.SUCCESS;
      case Does.Reasons: return reasons();
      case Does.LongReasons: return longReasons(node);
      case Does.Directs: return directs();
      case Does.DirectsMuch: return directsMuch();
      case Does.AsksHost: return asksHost(pod, node);
      case Does.Garbage: return garbage();
      case Does.ReadsTaints: return node.taints().length;
      case Does.ReadsNamespace: return pod.namespace();
      case Does.ReadsNoKey: return node.label(changetype<berth.NodeLabel>(0));
      case Does.AsksForHandle: return changetype<u32>(berth.nodeLabel("zone"));
      case Does.FindsNamespace: return changetype<berth.Namespace>(node.row() + 1).name();
      case Does.Throws: throw new Error("no luck");
      case Does.UnknownRow: return berth.snapshot.nodes().at(99).row();
    }
    return berth.SUCCESS;
  }

  score(_pod: berth.Pod, node: berth.Node): i64 {
    return 10 * <i64>node.row();
  }

  preFilter(_pod: berth.Pod, nodes: berth.Nodes, rows: berth.Rows): berth.Status {
    rows.reset();
    for (let i = 0; i < nodes.length; i += 2) rows.add(nodes.at(i));
    equal(rows.length, (nodes.length + 1) / 2, "rows");
    if (this.prepared != berth.SUCCESS) rows.add(nodes.at(0));
    return berth.SUCCESS;
  }

  addPod(pod: berth.Pod, other: berth.Pod, node: berth.Node): berth.Status {
    const object = berth.podObject(other);
    check(berth.podObject(pod) === null && object !== null && object.length == 5000 && node.row() == 3, "the pods of addPod");
    return berth.SUCCESS;
  }

  queueKey(_pod: berth.Pod, queued: berth.Queued, key: berth.Key): void {
    key.appendText("prefix");
    for (let i: u32 = 0; i < queued.attempts; i++) key.appendI64(queued.time);
  }

  normalize(_pod: berth.Pod, nodes: berth.Nodes, scores: berth.Scores): berth.Status {
    for (let i = 0; i < nodes.length; i++) scores.set(i, scores.at(i) + nodes.at(i).row());
    return berth.error(one);
  }

  reserve(pod: berth.Pod, node: berth.Node): berth.Status {
    return this.filter(pod, node);
  }

  permit(_pod: berth.Pod, _node: berth.Node): berth.Status {
    return this.prepared == berth.SUCCESS ? berth.SUCCESS : berth.waitFor(1500);
  }
}

const plugin = new Rules();

// A call record for n rows, and a snapshot with n nodes that have no columns.
let record: usize = 0;

function region(n: u32): usize {
  const header = keepZero(1, 64), table = keepZero(1, 32);
  store<u32>(table, 1);
  store<u32>(table, n, 4);
  store<u32>(header, 0x48545242);
  store<u16>(header, 1, 4);
  store<u32>(header, 1, 36);
  store<usize>(header, table, 40);
  record = keepZero(1, 128);
  store<usize>(record, header);
  store<u32>(record, n, 20);
  store<usize>(record, keepZero(n, 1), 24);
  store<usize>(record, keepZero(n, 2), 28);
  store<usize>(record, keepZero(n, 8), 32);
  return record;
}

function does(what: Does, prepared: berth.Status = berth.SUCCESS): void {
  plugin.does = what;
  plugin.prepared = prepared;
}

function code(i: u32): u32 {
  return load<u8>(load<usize>(record, 24) + i);
}

function reasonOf(i: u32): u32 {
  return load<u16>(load<usize>(record, 28) + 2 * i);
}

function scoreOf(i: u32): i64 {
  return load<i64>(load<usize>(record, 32) + 8 * i);
}

function statusReason(): u32 {
  return load<u32>(record, 84);
}

/** A text of a set. */
function textIn(set: u32, i: u32): string {
  const texts = load<usize>(load<usize>(record, 64) + 8 * (set - 1));
  return String.UTF8.decodeUnsafe(load<usize>(texts + 8 * i), load<u32>(texts + 8 * i, 4));
}

export function testReasonsOfSetup(): void {
  check(one == 1 && two == 2 && berth.reason(["a"]) == one && berth.reason(["a", "b"]) == two, "equal sets are one");
  check(berth.reason(["ab"]) != two && berth.reason(["a", "bc"]) != berth.reason(["ab", "c"]), "sets that are not equal are two");
  equal(berth.reason([]), berth.NO_REASON, "the reason without texts");
  check(changetype<u32>(berth.nodeLabel("a/b")) == 1 && changetype<u32>(berth.nodeLabel("é😀")) == 2, "handles");
}

export function testAnswers(): void {
  does(Does.ByRow);
  equal(serve.filter(plugin, region(4), 0), 0, "filter");
  check(code(0) == 0 && code(1) == 2 && code(2) == 6 && code(3) == 0 && reasonOf(1) == one && reasonOf(2) == 0, "verdicts");
  equal(textIn(one, 0), "a", "the reason");
  equal(serve.filter(plugin, region(1), 2), 0, "filter");
  check(code(0) == 6 && load<u32>(record, 68) == 0, "no reason, no table");
  const rows = keepZero(2, 4);
  store<u32>(rows, 1);
  store<u32>(rows, 3, 4);
  store<usize>(region(2), rows, 16);
  check(serve.filter(plugin, record, 1) == 0 && code(0) == 2 && code(1) == 0, "verdicts of a row set");
  store<usize>(region(2), rows, 16);
  check(serve.score(plugin, record, 1) == 0 && scoreOf(0) == 10 && scoreOf(1) == 30, "scores of a row set");
  store<usize>(region(2), rows, 16);
  check(serve.normalize(plugin, record, 1) == 1 && scoreOf(0) == 1 && scoreOf(1) == 3 && statusReason() == one, "normalize");
}

export function testPrepare(): void {
  does(Does.ByRow, berth.SKIP);
  check(serve.filter(plugin, region(4), 0) == 0 && code(1) == 0, "filter after Skip");
  check(serve.score(plugin, region(2), 0) == 0 && scoreOf(1) == 0, "score after Skip");
  does(Does.ByRow, berth.unschedulableAndUnresolvable(two));
  check(serve.filter(plugin, region(2), 0) == 0 && code(0) == 3 && code(1) == 3 && reasonOf(1) == two && statusReason() == 0, "a verdict for all");
  equal(textIn(two, 1), "b", "the reason");
  check(serve.score(plugin, region(2), 0) == 1 && statusReason() == two, "score cannot reject");
  does(Does.ByRow, berth.error(one));
  check(serve.filter(plugin, region(2), 0) == 1 && code(0) == 0 && statusReason() == one, "filter after Error");
}

function reasons(): berth.Status {
  for (let i = 0; i < 2000; i++) made += berth.reason([i.toString()]) != berth.NO_REASON ? 1 : 0;
  return berth.unschedulable(berth.reason(["77"]));
}

function longReasons(node: berth.Node): berth.Status {
  const why = berth.reason([String.fromCharCode(33 + node.row()) + "é".repeat(600), "b"]);
  made += why != berth.NO_REASON ? 1 : 0;
  return berth.unschedulable(why);
}

// Within the limits there are reasons, and beyond them none (ABI-3.8, ABI-10); they end with the call.
export function testReasonLimits(): void {
  let first = -1;
  for (let i = 0; i < 3; i++) {
    made = 0;
    does(Does.Reasons);
    check(serve.filter(plugin, region(1), 0) == 0 && load<u32>(record, 68) == 1024, "1024 sets");
    check(made < 1024 && made > 1000 && (first < 0 || made == first), "as many in each call");
    first = made;
    equal(textIn(reasonOf(0), 0), "77", "the reason");
  }
  made = 0;
  does(Does.LongReasons);
  check(serve.filter(plugin, region(80), 0) == 0 && made == 63, "65,536 bytes of texts, of 1,024 each: " + made.toString());
  check(code(79) == 2 && reasonOf(79) == 0, "a verdict stands without its reason");
  equal(utf8Length(textIn(reasonOf(0), 0)), 1023, "a text is cut between characters");
}

function directs(): berth.Status {
  made = 0;
  for (let i = 0; i < 300; i++) made += berth.annotate("example.com/a", i.toString()) ? 1 : 0;
  return berth.SUCCESS;
}

function directsMuch(): berth.Status {
  const big = "x".repeat(30000);
  check(berth.annotate("example.com/a", big) && berth.annotate("example.com/b", big) && !berth.annotate("example.com/c", big), "annotate");
  check(berth.bindPod(), "bindPod");
  check(berth.label("example.com/l", "") && berth.label("example.com/l", "a-b_c.D9") && !berth.label("example.com/l", "-a"), "label");
  check(!berth.label("example.com/l", "a b") && !berth.label("example.com/l", "a-") && !berth.label("example.com/l", "é"), "label");
  check(!berth.label("example.com/l", "x".repeat(64)), "label");
  return berth.SUCCESS;
}

export function testDirectives(): void {
  does(Does.Directs);
  check(serve.reserve(plugin, region(0)) == 0 && made == 256 && load<u32>(record, 92) == 256, "256 directives");
  const last = load<usize>(record, 88) + 255 * 24;
  equal(String.UTF8.decodeUnsafe(load<usize>(last, 16), load<u32>(last, 20)), "255", "the last one");
  does(Does.DirectsMuch);
  check(serve.reserve(plugin, region(0)) == 0 && load<u32>(record, 92) == 5, "directives");
  does(Does.ByRow);
  check(serve.reserve(plugin, region(0)) == 0 && load<u32>(record, 92) == 0 && load<u32>(record, 88) == 0, "no directives");
}

function asksHost(pod: berth.Pod, node: berth.Node): berth.Status {
  const state = berth.stateGet("key"), empty = berth.stateGet("empty");
  check(state !== null && state.length == 3 && state[2] == 115 && empty !== null && empty.length == 0 && berth.stateGet("none") === null, "stateGet");
  check(berth.stateSet("k", state!) && !berth.stateSet("other", state!), "stateSet");
  const published = berth.publishedGet(berth.published("other/plan"));
  check(published !== null && published.length == 9 && published[8] == 112, "publishedGet");
  const object = berth.podObject(pod), whole = berth.nodeObject(node);
  check(object !== null && object.length == 5000 && object[4999] == 80, "podObject");
  check(whole !== null && whole.length == 20000 && whole[19999] == 78 && berth.nodeObject(changetype<berth.Node>(3)) === null, "nodeObject");
  check(state![0] == 115 && object![0] == 80, "what was given out before stays");
  berth.log(berth.Level.Warning, "node " + node.row().toString() + " é😀");
  return berth.SUCCESS;
}

export function testHostFunctions(): void {
  does(Does.AsksHost);
  equal(serve.reserve(plugin, region(0)), 0, "reserve");
}

export function testRowSets(): void {
  does(Does.ByRow);
  check(serve.preFilter(plugin, region(5)) == 0 && load<u32>(record, 80) == 1 && load<u32>(record, 76) == 3, "rows");
  const set = load<usize>(record, 72);
  check(load<u32>(set) == 0 && load<u32>(set, 4) == 2 && load<u32>(set, 8) == 4, "every other row");
  check(serve.preFilter(plugin, region(0)) == 0 && load<u32>(record, 80) == 1 && load<u32>(record, 76) == 0, "no row");
}

// A pod list of n records without fields.
function list(n: u32): usize {
  const entries = keepZero(n, 8), pod = keepZero(1, 8);
  store<u32>(pod, 8, 4);
  for (let i: u32 = 0; i < n; i++) {
    store<usize>(entries + 8 * i, pod);
    store<u32>(entries + 8 * i, 8, 4);
  }
  return entries;
}

export function testQueueKeys(): void {
  const queued = keepZero(2, 16), keys = keepZero(2, 68);
  store<i64>(queued, -1);
  store<u32>(queued, 1, 8);
  region(2);
  store<usize>(record, list(2), 40);
  store<usize>(record, queued, 48);
  store<usize>(record, keys, 52);
  check(serve.queueKey(plugin, record) == 0 && load<u32>(keys) == 16 && load<u32>(keys, 68) == 8, "lengths of keys");
  check(load<u8>(keys, 4) == 112 && load<u8>(keys, 11) == 1 && load<u8>(keys, 12) == 0x7f && load<u8>(keys, 13) == 0xff, "bytes of a key");
  memory.fill(keys, 0, 2 * 68);
  store<u32>(queued, 8, 24);
  check(serve.queueKey(plugin, record) == 1 && load<u32>(keys) == 0, "a key that is too long");
  equal(textIn(statusReason(), 0), "the queue key has 72 bytes, at most 64 are allowed", "the reason");
}

export function testOtherPoints(): void {
  store<usize>(region(1), list(1), 40);
  equal(serve.addPod(plugin, record, 3), 0, "addPod");
  does(Does.ByRow);
  check(serve.permit(plugin, region(0)) == 0 && load<u64>(record, 96) == 0, "permit");
  does(Does.ByRow, berth.WAIT);
  check(serve.permit(plugin, region(0)) == 4 && load<u64>(record, 96) == 1500, "permit that waits");
}

function garbage(): berth.Status {
  for (let i = 0; i < 100; i++) kept[i & 7] = "x".repeat(1000 + i);
  return berth.SUCCESS;
}

// Garbage of calls is collected, and what fields hold stays.
export function testGarbage(): void {
  does(Does.Garbage);
  kept = ["", "", "", "", "", "", "", ""];
  const at = region(1);
  for (let i = 0; i < 20; i++) serve.filter(plugin, at, 0);
  const pages = memory.size();
  for (let i = 0; i < 500; i++) serve.filter(plugin, at, 0);
  equal(memory.size(), pages, "the memory after 100 MB of garbage");
  for (let i = 0; i < 8; i++) check(kept[(99 - i) & 7] == "x".repeat(1099 - i), "what is kept");
}

// Nothing is allocated for nodes: a call costs the same memory for one and for 100,000.
export function testNoAllocation(): void {
  does(Does.ByRow);
  const at = region(100000);
  serve.filter(plugin, at, 0);
  const before = heap.alloc(16);
  heap.free(before);
  for (let i = 0; i < 10; i++) {
    serve.filter(plugin, at, 0);
    serve.score(plugin, at, 0);
  }
  const after = heap.alloc(16);
  heap.free(after);
  equal(after, before, "the next free cell");
}

function stops(what: Does): void {
  does(what);
  serve.filter(plugin, region(1), 0);
}

export function stopsTaints(): void { stops(Does.ReadsTaints); }
export function stopsPodNamespace(): void { stops(Does.ReadsNamespace); }
export function stopsNoKey(): void { stops(Does.ReadsNoKey); }
export function stopsHandle(): void { stops(Does.AsksForHandle); }
export function stopsNamespaces(): void { stops(Does.FindsNamespace); }
export function stopsThrow(): void { stops(Does.Throws); }
export function stopsUnknownRow(): void { stops(Does.UnknownRow); }

export function stopsABI(): void {
  does(Does.ByRow);
  store<u16>(load<usize>(region(1)), 2, 4);
  serve.filter(plugin, record, 0);
}

export function stopsRows(): void {
  does(Does.ByRow, berth.WAIT);
  serve.preFilter(plugin, region(5));
}

export function stopsMemory(): void {
  keepZero(1 << 30, 2);
}
