// A vector in the memory, called and compared.
//
// The collector runs at the beginning of a call and does not look at the stack, and here the calls are
// within another one. So what is needed after a call is in global variables.

import * as declared from "berth-manifest";

import * as berth from "@berth-scheduler/sdk";
import { call } from "@berth-scheduler/sdk/assembly/call";
import { forget, refresh, rowsOf } from "@berth-scheduler/sdk/assembly/columns";
import { decode, encode, keepZero, utf8Length } from "@berth-scheduler/sdk/assembly/memory";
import { readPod } from "@berth-scheduler/sdk/assembly/pod";
import * as serve from "@berth-scheduler/sdk/assembly/serve";

import { checkPod, plugin } from "./index";
import { cell } from "./printer";
import { equal, fail, hex, nth, part, same, textOf, vector, whole } from "./want";

/** Bytes of memory that are the vectors'. */
const LOW = 65536;

let config: berth.Json = berth.Json.parse("null");
let regions: berth.Json[] = [];
let pods: berth.Json[] = [];
let texts: berth.Json[] = [];
let want: berth.Json = berth.Json.parse("null");

/** Runs the vectors of a configuration. */
export function run(all: berth.Json): void {
  config = all;
  regions = part(all, "regions").elements();
  pods = part(all, "pods").elements();
  if (regions.length == 0 || pods.length == 0) fail("there are none");
  for (let i = 0; i < regions.length; i++) region(i);
  for (let i = 0; i < pods.length; i++) record(pods[i]);
  texts = part(all, "json").elements();
  for (let i = 0; i < texts.length; i++) json(texts[i]);
  const lists = part(all, "names").elements();
  for (let i = 0; i < lists.length; i++) names(lists[i]);
}

function copy(bytes: Uint8Array, to: usize): void {
  memory.copy(to, bytes.dataStart, bytes.length);
}

function zero(at: usize, n: usize): void {
  if (at != 0) memory.fill(at, 0, n);
}

/** Zeroes what the guest has answered, as a host does before a call (ABI-3.2), and returns the point. */
function clear(at: usize): i32 {
  const n = <usize>load<u32>(at, 20), point = load<i32>(at, 12);
  zero(at + 64, 64);
  if (point != 7) zero(load<usize>(at, 24), n); // of postFilter they are an input
  zero(load<usize>(at, 28), 2 * n);
  zero(load<usize>(at, 32), 8 * n);
  zero(load<usize>(at, 52), 68 * n);
  return point;
}

function ask(point: i32, at: usize): void {
  switch (point) {
    case 0: serve.preEnqueue(plugin, at); break;
    case 1: serve.queueKey(plugin, at); break;
    case 2: serve.hint(plugin, at); break;
    case 3: serve.preFilter(plugin, at); break;
    case 6: serve.filter(plugin, at, 0); break;
    case 7: serve.postFilter(plugin, at, 0); break;
    case 9: serve.score(plugin, at, 0); break;
    case 11: serve.reserve(plugin, at); break;
    case 13: serve.permit(plugin, at); break;
    default: fail("point " + point.toString() + " is not replayed yet");
  }
}

/** Puts a vector of regions.json into the memory; returns the address of its call. */
function place(v: berth.Json): usize {
  vector.name = textOf(v, "name");
  if (whole(v, "size") > LOW) fail("it needs more memory than the test has");
  zero(8, LOW - 8);
  const pieces = part(v, "memory").elements();
  for (let i = 0; i < pieces.length; i++) copy(hex(textOf(pieces[i], "hex")), <usize>whole(pieces[i], "address"));
  want = part(v, "want");
  vector.call = part(want, "call");
  vector.asked = 0;
  return <usize>whole(v, "call");
}

function region(i: i32): void {
  const at = place(regions[i]);
  forget(); // it is another snapshot, though at the same place
  ask(clear(at), at);
  checkTables();
  checkAnswers(at);
}

function checkTables(): void {
  equal(<i64>berth.snapshot.epoch(), whole(want, "epoch"), "epoch");
  equal(<i64>berth.snapshot.generation(), whole(want, "generation"), "generation");
  equal(<i64>berth.snapshot.seed(), whole(want, "seed"), "seed");
  const tables = part(want, "tables").elements();
  for (let i = 0; i < tables.length; i++) {
    equal(rowsOf(<i32>whole(tables[i], "id")), whole(tables[i], "n_rows"), "n_rows");
    const rows = part(tables[i], "cells").fields();
    for (let r = 0; r < rows.length; r++) {
      const cells = rows[r].fields();
      for (let c = 0; c < cells.length; c++) {
        same(cell(<u32>parseInt(rows[r].key), cells[c].key), cells[c].text(""), "row " + rows[r].key + " column " + cells[c].key);
      }
    }
  }
}

function read(at: usize): string {
  return decode(load<usize>(at), load<u32>(at, 4));
}

function checkSets(at: usize): void {
  const sets = part(vector.call, "reason_sets").elements();
  equal(load<u32>(at, 68), sets.length, "n_reason_sets");
  for (let i = 0; i < sets.length; i++) {
    const set = load<usize>(at, 64) + 8 * i, texts = sets[i].elements();
    equal(load<u32>(set, 4), texts.length, "number of texts");
    for (let k = 0; k < texts.length; k++) same(read(load<usize>(set) + 8 * k), texts[k].text(""), "a reason");
  }
}

const KINDS = ["", "annotate", "label", "nominate", "bind", "allow", "reject", "activate"];

function checkDirectives(at: usize): void {
  const all = part(vector.call, "directives").elements();
  equal(load<u32>(at, 92), all.length, "n_directives");
  for (let i = 0; i < all.length; i++) {
    const d = load<usize>(at, 88) + 24 * i;
    same(KINDS[load<u32>(d)], textOf(all[i], "kind"), "kind");
    same(read(d + 8), textOf(all[i], "first"), "first");
    same(read(d + 16), textOf(all[i], "second"), "second");
  }
}

function checkAnswers(at: usize): void {
  const codes = part(vector.call, "codes").elements();
  for (let i = 0; i < codes.length; i++) equal(load<u8>(load<usize>(at, 24) + i), codes[i].i64(-1), "a code");
  const reasons = part(vector.call, "reasons").elements();
  for (let i = 0; i < reasons.length; i++) equal(load<u16>(load<usize>(at, 28) + 2 * i), reasons[i].i64(-1), "a reason's number");
  const scores = part(vector.call, "scores").elements();
  for (let i = 0; i < scores.length; i++) equal(load<i64>(load<usize>(at, 32) + 8 * i), scores[i].i64(-1), "a score");
  const rows = part(vector.call, "row_set").elements();
  for (let i = 0; i < rows.length; i++) equal(load<u32>(load<usize>(at, 72) + 4 * i), rows[i].i64(-1), "a row of the set");
  equal(load<u32>(at, 76), rows.length, "n_row_set");
  equal(load<u32>(at, 80), part(vector.call, "row_set").isThere() ? 1 : 0, "has_row_set");
  equal(load<u32>(at, 84), whole(vector.call, "status_reason"), "status_reason");
  equal(load<i64>(at, 96), whole(vector.call, "wait"), "wait");
  equal(load<i64>(at, 104), whole(vector.call, "retry_after"), "retry_after");
  checkSets(at);
  checkDirectives(at);
  const queue = part(vector.call, "queue").elements();
  for (let i = 0; i < queue.length; i++) {
    const key = load<usize>(at, 52) + 68 * i, bytes = hex(textOf(nth(part(vector.call, "queue"), i), "key"));
    equal(load<u32>(key), bytes.length, "the length of a key");
    for (let k = 0; k < bytes.length; k++) equal(load<u8>(key + 4 + k), bytes[k], "a byte of a key");
  }
}

let epoch: u64 = 1000;

/** A snapshot with strings as ids 1, 2, …; its address. */
function withStrings(strings: berth.Json[]): usize {
  const n = strings.length + 1, spans = keepZero(n, 8), bytes = keepZero(4096, 1), columns = keepZero(2, 24);
  let used: u32 = 0;
  for (let i = 1; i < n; i++) {
    const text = strings[i - 1].text(""), size = utf8Length(text);
    encode(text, bytes + used);
    store<u32>(spans + 8 * i, used);
    store<u32>(spans + 8 * i, size, 4);
    used += size;
  }
  const entry = (at: usize, id: u32, type: u32, data: usize, rows: u32): void => {
    store<u32>(at, id);
    store<u32>(at, type, 8);
    store<usize>(at, data, 12);
    store<u32>(at, rows, 16);
    store<u32>(at, rows, 20);
  };
  entry(columns, 192, 7, spans, n);
  entry(columns + 24, 192 + 256, 12, bytes, 4096);
  const table = keepZero(1, 32), header = keepZero(1, 64);
  store<u32>(table, 3);
  store<u32>(table, n, 4);
  store<u32>(table, 2, 20);
  store<usize>(table, columns, 24);
  store<u32>(header, 0x48545242);
  store<u16>(header, 1, 4);
  store<u64>(header, epoch++, 8);
  store<u32>(header, 1, 36);
  store<usize>(header, table, 40);
  return header;
}

/** A vector of pods.json. */
function record(v: berth.Json): void {
  vector.name = textOf(v, "name");
  const bytes = hex(textOf(v, "hex")), at = keepZero(bytes.length, 1);
  copy(bytes, at);
  forget();
  refresh(withStrings(part(v, "strings").elements()));
  readPod(call.pod, at, bytes.length, -1);
  checkPod(call.pod, part(v, "want"));
}

/** A vector of json.json. */
function json(v: berth.Json): void {
  vector.name = "json.json";
  const bytes = hex(textOf(v, "text")), at = keepZero(bytes.length + 1, 1);
  copy(bytes, at);
  const parsed = berth.Json._parse(at, bytes.length);
  let got = parsed.mistake() == "" ? "other" : "bad " + parsed.mistake().split(":")[0];
  if (got == "other" && load<u8>(at) == 34) {
    const text = parsed.text(""), n = utf8Length(text), utf8 = keepZero(n + 1, 1);
    encode(text, utf8);
    got = "string ";
    for (let i: u32 = 0; i < n; i++) got += (load<u8>(utf8 + i) >> 4).toString(16) + (load<u8>(utf8 + i) & 15).toString(16);
  }
  same(got, textOf(v, "want"), "JSON");
}

/**
 * A vector of names.json: the names that a configuration brings are where the host has them (ABI-9.15). The manifest has three
 * places for node labels, which become those of the vector.
 */
function names(v: berth.Json): void {
  vector.name = textOf(v, "name");
  const elements = part(v, "elements").elements(), fixed: string[] = [], places = declared.PLACES;
  for (let i = 0; i < places.length; i++) places[i] = "";
  for (let i = 0; i < elements.length; i++) {
    if (elements[i]._kind() == 34) {
      fixed.push(elements[i].text(""));
      continue;
    }
    places[2 * (i - fixed.length)] = "nodeLabels";
    places[2 * (i - fixed.length) + 1] = textOf(elements[i], "fromConfig");
  }
  declared.setNames("nodeLabels", StaticArray.fromArray(fixed));
  const brings = berth.Json.parse(textOf(v, "config"));
  if (brings.mistake() == "") serve.bring(brings);
  if (berth.findNodeLabel("never") !== null) fail("a name is found that is nowhere");
  const wanted = part(v, "names").elements();
  for (let i = 0; i < wanted.length; i++) {
    const label = berth.findNodeLabel(wanted[i].text(""));
    equal(changetype<usize>(label), i + 1, "the number of a name");
  }
  if (!part(v, "refused").isThere()) equal(declared.namesOf("nodeLabels").length, wanted.length, "the length of the list");
}
