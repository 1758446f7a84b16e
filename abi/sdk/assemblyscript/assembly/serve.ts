// What the functions of a module do around the methods of its plugin (SPEC.md, sections 3 and 5). The
// entry file that bin/entry.mjs makes calls them, plugins do not.

import * as declared from "berth-manifest";

import { Code, MAX_QUEUE_KEY } from "./abi";
import { call, directivesBegin, directivesEnd, Level, log } from "./call";
import { refresh, resize } from "./columns";
import { resolve } from "./constants";
import { Event } from "./event";
import { Json } from "./json";
import { scratchReset } from "./memory";
import { Node } from "./node";
import { Pod, readPod } from "./pod";
import { Key, Queued } from "./queue";
import { codeOf, error, NO_REASON, reason, reasonOf, reasonsBegin, reasonsEnd, SKIP, Status, SUCCESS } from "./reasons";
import { rowSet } from "./rows";
import { Judged, Nodes, snapshot } from "./snapshot";

/** Adds the names of a configuration, as the host does (ABI-9.15). It adds nothing of a configuration that the host refuses. */
export function bring(config: Json): void {
  const places = declared.PLACES;
  for (let i = 0; i < places.length; i += 2) {
    let value = config;
    const tokens = places[i + 1].split("/");
    let k = 1;
    for (; k < tokens.length && value._kind() == 123; k++) value = value.get(tokens[k].replaceAll("~1", "/").replaceAll("~0", "~"));
    if (k < tokens.length) continue; // there is no such place
    if (value._kind() == 34) {
      bringName(places[i], value.text(""));
    } else if (value._kind() == 91) {
      const all = value.elements();
      for (let e = 0; e < all.length; e++) if (all[e]._kind() == 34) bringName(places[i], all[e].text(""));
    }
  }
  if (places.length > 0) resize();
}

/** Adds a name to a list, unless it is there. */
function bringName(list: string, name: string): void {
  const names = declared.namesOf(list);
  if (names.includes(name)) return;
  const more = new StaticArray<string>(names.length + 1);
  for (let i = 0; i < names.length; i++) more[i] = names[i];
  more[names.length] = name;
  declared.setNames(list, more);
}

/** berth_configure. What is wrong goes to the log, so a module with a configuration has one. */
export function configure<P>(plugin: P, address: usize, length: u32): i32 {
  const config = Json._parse(address, length);
  if (config.mistake() == "") bring(config);
  if (config.mistake() == "") plugin.configure(config);
  if (config.mistake() == "") return 0;
  log(Level.Failure, config.mistake());
  return 1;
}

/** Makes the views of a call. */
function begin(record: usize): void {
  // @ts-ignore: of runtime.ts
  __berth_collect(); // nothing is on the stack now
  call.record = record;
  scratchReset();
  refresh(load<usize>(record));
  readPod(call.pod, load<usize>(record, 4), load<u32>(record, 8), 0);
  resolve();
  reasonsBegin();
  directivesBegin();
}

/** Writes the answer of the whole call. used tells that rows have reasons. */
function finish(status: Status, used: bool): i32 {
  const why = reasonOf(status);
  store<u32>(call.record, why, 84);
  reasonsEnd(call.record, used || why != NO_REASON);
  directivesEnd(call.record);
  return codeOf(status);
}

/** A node, of its row. */
// @ts-ignore: decorator
@inline function node(row: u32): Node {
  return changetype<Node>(row + 1);
}

const nodesAsked = changetype<Nodes>(memory.data(offsetof<Nodes>(), 8));

/** The rows asked. */
function asked(record: usize, lo: u32): Nodes {
  nodesAsked._rows = load<usize>(record, 16);
  nodesAsked._lo = lo;
  nodesAsked.length = load<i32>(record, 20);
  return nodesAsked;
}

/** Calls the plugin's prepare, if it has one. */
// @ts-ignore: decorator
@inline function prepare<P>(plugin: P): Status {
  if (isDefined(plugin.prepare)) return plugin.prepare(call.pod);
  return SUCCESS;
}

/** Writes a verdict, and returns whether it has a reason; the default is success (ABI-3.2). */
// @ts-ignore: decorator
@inline function answer(codes: usize, reasons: usize, i: usize, status: Status): Status {
  if (status == SUCCESS) return 0;
  store<u8>(codes + i, codeOf(status));
  store<u16>(reasons + (i << 1), reasonOf(status));
  return reasonOf(status);
}

/** berth_filter. */
export function filter<P>(plugin: P, record: usize, lo: u32): i32 {
  begin(record);
  const prepared = prepare(plugin);
  if (prepared == SKIP) return finish(SUCCESS, false);
  if (codeOf(prepared) == Code.Error) return finish(prepared, false);
  const n = load<u32>(record, 20), rows = load<usize>(record, 16), codes = load<usize>(record, 24), reasons = load<usize>(record, 28);
  let used: u32 = 0;
  if (prepared != SUCCESS) {
    for (let i: u32 = 0; i < n; i++) used |= answer(codes, reasons, i, prepared);
  } else if (rows == 0) {
    for (let i: u32 = 0; i < n; i++) used |= answer(codes, reasons, i, plugin.filter(call.pod, node(lo + i)));
  } else {
    for (let i: u32 = 0; i < n; i++) used |= answer(codes, reasons, i, plugin.filter(call.pod, node(load<u32>(rows + (i << 2)))));
  }
  return finish(SUCCESS, used != 0);
}

/** berth_score. */
export function score<P>(plugin: P, record: usize, lo: u32): i32 {
  begin(record);
  const prepared = prepare(plugin);
  if (prepared == SKIP) return finish(SUCCESS, false);
  if (prepared != SUCCESS) return finish(error(reasonOf(prepared)), false);
  const nodes = asked(record, lo), scores = load<usize>(record, 32);
  for (let i = 0, n = nodes.length; i < n; i++) store<i64>(scores + (<usize>i << 3), plugin.score(call.pod, nodes.at(i)));
  return finish(SUCCESS, false);
}

/** The scores of a call. */
@final @unmanaged
export class Scores {
  // Of the SDK.
  _at: usize;
  /** The number of scores. */
  length: i32;

  /** The i-th score. */
  @inline at(i: i32): i64 {
    assert(<u32>i < <u32>this.length, "berth: no such score");
    return load<i64>(this._at + (<usize>i << 3));
  }

  /** Changes the i-th score. */
  @inline set(i: i32, score: i64): void {
    assert(<u32>i < <u32>this.length, "berth: no such score");
    store<i64>(this._at + (<usize>i << 3), score);
  }
}

const scoresAsked = changetype<Scores>(memory.data(offsetof<Scores>(), 8));

/** berth_normalize. */
export function normalize<P>(plugin: P, record: usize, lo: u32): i32 {
  begin(record);
  scoresAsked._at = load<usize>(record, 32);
  scoresAsked.length = load<i32>(record, 20);
  return finish(plugin.normalize(call.pod, asked(record, lo), scoresAsked), false);
}

/** berth_pre_filter. */
export function preFilter<P>(plugin: P, record: usize): i32 {
  begin(record);
  rowSet._room.n = 0;
  rowSet._counts = false;
  const status = plugin.preFilter(call.pod, snapshot.nodes(), rowSet);
  if (rowSet._counts && status == SUCCESS) {
    store<usize>(record, rowSet._room.at, 72);
    store<u32>(record, rowSet._room.n, 76);
    store<u32>(record, 1, 80);
  }
  return finish(status, false);
}

/** Reads the i-th pod of the list. */
function listed(record: usize, i: u32, to: Pod): Pod {
  const entry = load<usize>(record, 40) + (i << 3);
  readPod(to, load<usize>(entry), load<u32>(entry, 4), i);
  return to;
}

/** berth_pre_enqueue. */
export function preEnqueue<P>(plugin: P, record: usize): i32 {
  begin(record);
  const n = load<u32>(record, 20), codes = load<usize>(record, 24), reasons = load<usize>(record, 28);
  let used: u32 = 0;
  for (let i: u32 = 0; i < n; i++) used |= answer(codes, reasons, i, plugin.preEnqueue(listed(record, i, call.pod)));
  return finish(SUCCESS, used != 0);
}

/** berth_queue_key. */
export function queueKey<P>(plugin: P, record: usize): i32 {
  begin(record);
  const n = load<u32>(record, 20), queued = load<usize>(record, 48), keys = load<usize>(record, 52);
  for (let i: u32 = 0; i < n; i++) {
    const key = changetype<Key>(keys + i * 68);
    plugin.queueKey(listed(record, i, call.pod), changetype<Queued>(queued + (i << 4)), key);
    if (key._length > MAX_QUEUE_KEY) {
      const why = reason(["the queue key has " + key._length.toString() + " bytes, at most 64 are allowed"]);
      memory.fill(keys, 0, n * 68);
      return finish(error(why), false);
    }
  }
  return finish(SUCCESS, false);
}

/** berth_hint. */
export function hint<P>(plugin: P, record: usize): i32 {
  begin(record);
  const event = changetype<Event>(load<usize>(record, 44)), n = load<u32>(record, 20), codes = load<usize>(record, 24);
  readPod(call.other, event._oldPod, event._oldPodSize, -1);
  readPod(call.newer, event._newPod, event._newPodSize, -1);
  for (let i: u32 = 0; i < n; i++) store<u8>(codes + i, plugin.hint(event, listed(record, i, call.pod)));
  return finish(SUCCESS, false);
}

/** berth_add_pod. */
export function addPod<P>(plugin: P, record: usize, lo: u32): i32 {
  begin(record);
  call.pod._index = -1; // the list has the other one
  return finish(plugin.addPod(call.pod, listed(record, 0, call.other), node(lo)), false);
}

/** berth_remove_pod. */
export function removePod<P>(plugin: P, record: usize, lo: u32): i32 {
  begin(record);
  call.pod._index = -1;
  return finish(plugin.removePod(call.pod, listed(record, 0, call.other), node(lo)), false);
}

const judged = changetype<Judged>(memory.data(offsetof<Judged>(), 8));

/** berth_post_filter. */
export function postFilter<P>(plugin: P, record: usize, lo: u32): i32 {
  begin(record);
  judged.nodes = asked(record, lo);
  judged._codes = load<usize>(record, 24);
  return finish(plugin.postFilter(call.pod, judged), false);
}

/** berth_pre_score. */
export function preScore<P>(plugin: P, record: usize, lo: u32): i32 {
  begin(record);
  return finish(plugin.preScore(call.pod, asked(record, lo)), false);
}

// The points about a pod and the node that was chosen, which is row 0.

/** berth_reserve. */
export function reserve<P>(plugin: P, record: usize): i32 {
  begin(record);
  return finish(plugin.reserve(call.pod, node(0)), false);
}

/** berth_unreserve. */
export function unreserve<P>(plugin: P, record: usize): i32 {
  begin(record);
  return finish(plugin.unreserve(call.pod, node(0)), false);
}

/** berth_permit. */
export function permit<P>(plugin: P, record: usize): i32 {
  begin(record);
  return finish(plugin.permit(call.pod, node(0)), false);
}

/** berth_pre_bind. */
export function preBind<P>(plugin: P, record: usize): i32 {
  begin(record);
  return finish(plugin.preBind(call.pod, node(0)), false);
}

/** berth_bind. */
export function bind<P>(plugin: P, record: usize): i32 {
  begin(record);
  return finish(plugin.bind(call.pod, node(0)), false);
}

/** berth_post_bind. */
export function postBind<P>(plugin: P, record: usize): i32 {
  begin(record);
  return finish(plugin.postBind(call.pod, node(0)), false);
}
