// Every method of a view reads its own column, and that of its own key. A cell of column id with arg a
// has in row r the number 100·id + 10·a + r; a list of row r has r elements, whose words are
// 1000·id + 10·r + i for the i-th; bytes are letters that stand for them.

import * as berth from "@berth-scheduler/sdk";
import { call } from "@berth-scheduler/sdk/assembly/call";
import { forget, refresh } from "@berth-scheduler/sdk/assembly/columns";
import { keepZero } from "@berth-scheduler/sdk/assembly/memory";

import { check, equal } from "./check";

const ROWS: u32 = 4;

/** Bytes of an element, by its type. */
const SIZES: StaticArray<u32> = [0, 1, 2, 4, 8, 4, 8, 8, 8, 12, 8, 16, 1];

const entries = keepZero(5 * 80, 24);
const counts: StaticArray<u32> = [0, 0, 0, 0, 0];

function entry(table: u32, id: u32, arg: u32, type: u32, at: usize, n: u32): void {
  const e = entries + (80 * table + counts[table]++) * 24;
  store<u32>(e, id);
  store<u32>(e, arg, 4);
  store<u32>(e, type, 8);
  store<usize>(e, at, 12);
  store<u32>(e, n, 16);
  store<u32>(e, n, 20);
}

function column(table: u32, id: u32, args: u32, type: u32): void {
  const size = SIZES[type];
  for (let arg: u32 = 0; arg < args; arg++) {
    const at = keepZero(ROWS, size);
    for (let row: u32 = 0; row < ROWS; row++) {
      const value: u64 = 100 * id + 10 * arg + row;
      if (size == 8) store<u64>(at + row * 8, value);
      else if (size == 4) store<u32>(at + row * 4, <u32>value);
      else store<u8>(at + row, <u8>value);
    }
    entry(table, id, arg, type, at, ROWS);
  }
}

function letter(word: u32): u8 {
  return <u8>(32 + word % 90);
}

function lists(table: u32, id: u32, type: u32): void {
  const size = SIZES[type], spans = keepZero(ROWS, 8), arena = keepZero(ROWS * ROWS, size);
  store<u32>(spans, u32.MAX_VALUE); // an empty list may begin anywhere
  for (let row: u32 = 1; row < ROWS; row++) {
    store<u32>(spans + row * 8, row * ROWS);
    store<u32>(spans + row * 8, row, 4);
    for (let i: u32 = 0; i < row; i++) {
      const word = 1000 * id + 10 * row + i, at = arena + (row * ROWS + i) * size;
      if (size < 4) store<u8>(at, letter(word));
      for (let k: u32 = 0; size >= 4 && k < size; k += 4) store<u32>(at + k, word);
    }
  }
  // Arenas may come first.
  entry(table, id + 256, 0, type, arena, ROWS * ROWS);
  entry(table, id, 0, 7, spans, ROWS);
}

/** A column that must be skipped: its id, its arg or its type is not known. */
function unknown(table: u32, id: u32, arg: u32, type: u32): void {
  entry(table, id, arg, type, keepZero(ROWS, 16), ROWS);
}

function snapshot(): usize {
  lists(1, 1, 12); column(1, 2, 1, 1); column(1, 3, 2, 6); column(1, 4, 2, 6); column(1, 5, 2, 6); lists(1, 6, 8); column(1, 7, 2, 3);
  lists(1, 8, 9); lists(1, 9, 10); lists(1, 10, 11); column(1, 11, 2, 1); lists(1, 12, 3); column(1, 13, 1, 4); column(1, 14, 2, 3);
  column(1, 16, 1, 3); column(2, 64, 1, 3); column(2, 65, 1, 5); column(2, 66, 2, 6); lists(2, 67, 8); column(2, 68, 2, 3);
  column(2, 69, 1, 3); column(2, 70, 2, 3); column(2, 71, 1, 1); lists(2, 73, 12); lists(2, 74, 12); lists(3, 192, 12);
  column(4, 224, 1, 3); lists(4, 225, 8); column(4, 226, 2, 3);
  unknown(1, 99, 0, 3); unknown(1, 14, 2, 3); unknown(1, 14, 0, 6); unknown(1, 3, 0, 77); unknown(1, 5, 2, 6); unknown(1, 2, 0, 3);
  unknown(2, 70, u32.MAX_VALUE, 3);
  const tables = keepZero(5, 32), header = keepZero(1, 64);
  store<u32>(tables, 77); // unknown, and not to be looked into
  for (let table: u32 = 1; table < 5; table++) {
    store<u32>(tables + table * 32, table);
    store<u32>(tables + table * 32, ROWS, 4);
    store<u32>(tables + table * 32, counts[table], 20);
    store<usize>(tables + table * 32, entries + 80 * table * 24, 24);
  }
  store<u32>(header, 0x48545242);
  store<u16>(header, 1, 4);
  store<u64>(header, 5, 8);
  store<u64>(header, 6, 16);
  store<u64>(header, 7, 24);
  store<u32>(header, 5, 36);
  store<usize>(header, tables, 40);
  return header;
}

const header = snapshot();

function word(id: u32, row: u32): u32 {
  return 1000 * id + 10 * row + row - 1; // of a list's last element
}

function cell(id: u32, arg: u32, row: u32): u32 {
  return 100 * id + 10 * arg + row;
}

/** A text of row r has r letters, of its words. */
function text(got: string, id: u32, row: u32, what: string): void {
  equal<u32>(got.length, row, "the length of " + what);
  if (row > 0) equal<i32>(got.charCodeAt(row - 1), letter(word(id, row)), what);
}

function nodes(row: u32): void {
  const n = berth.snapshot.nodes().at(row), last = <i32>row - 1;
  text(n.name(), 1, row, "name");
  equal(n.unschedulable(), (cell(2, 0, row) & 1) != 0, "unschedulable");
  equal(n.row(), row, "row");
  equal<i64>(n.allocatable(berth.resource("cpu")), cell(3, 0, row), "allocatable");
  equal<i64>(n.allocatable(berth.resource("memory")), cell(3, 1, row), "allocatable");
  equal<i64>(n.requested(berth.resource("memory")), cell(4, 1, row), "requested");
  equal<i64>(n.nonZeroRequested().cpu, cell(5, 0, row), "nonZeroRequested.cpu");
  equal<i64>(n.nonZeroRequested().memory, cell(5, 1, row), "nonZeroRequested.memory");
  for (let i = 0; i < 6; i++) {
    const length = i == 0 ? n.labels().length : i == 1 ? n.taints().length : i == 2 ? n.ports().length : i == 3 ? n.images().length : n.pods().length;
    equal<u32>(length, row, "the length of a list");
  }
  if (row > 0) {
    equal(n.labels().at(last).value, word(6, row), "labels");
    equal(n.labelByKey(word(6, row)), word(6, row), "labelByKey");
    equal(n.taints().at(last).effect, word(8, row), "taints");
    equal(n.ports().at(last).ip, word(9, row), "ports");
    equal(n.images().at(last).name, word(10, row), "images");
    equal(n.pods().at(last)._slot(), word(12, row), "pods");
  }
  equal(n.labelByKey(1), berth.ABSENT, "labelByKey");
  equal(n.annotation(berth.nodeAnnotation("a")), cell(7, 0, row), "annotation");
  equal(n.annotation(berth.nodeAnnotation("b")), cell(7, 1, row), "annotation");
  equal(n.condition(berth.nodeCondition("B")), <u8>cell(11, 1, row), "condition");
  equal<u64>(n.generation(), cell(13, 0, row), "generation");
  equal(n.label(berth.nodeLabel("a")), cell(14, 0, row), "label");
  equal(n.label(berth.nodeLabel("b")), cell(14, 1, row), "label");
  equal(n.zone(), cell(16, 0, row), "zone");
}

function pods(row: u32): void {
  const p = changetype<berth.PlacedPod>(row + 1), last = <i32>row - 1;
  equal(p.namespace(), cell(64, 0, row), "namespace");
  equal<u32>(p.priority(), cell(65, 0, row), "priority");
  equal<i64>(p.request(berth.resource("memory")), cell(66, 1, row), "request");
  equal<u32>(p.labels().length, row, "labels");
  if (row > 0) {
    equal(p.labels().at(last).key, word(67, row), "labels");
    equal(p.labelByKey(word(67, row)), word(67, row), "labelByKey");
  }
  equal(p.annotation(berth.podAnnotation("b")), cell(68, 1, row), "annotation");
  equal(p.owner(), cell(69, 0, row), "owner");
  equal(p.label(berth.podLabel("b")), cell(70, 1, row), "label");
  equal(p.terminating(), (cell(71, 0, row) & 1) != 0, "terminating");
  text(p.uid(), 73, row, "uid");
  text(p.name(), 74, row, "name");
}

function namespaces(row: u32): void {
  const n = berth.snapshot.namespace(row), last = <i32>row - 1;
  equal(n.name(), cell(224, 0, row), "name");
  check(berth.snapshot.findNamespace(cell(224, 0, row)) == n, "findNamespace");
  equal<u32>(n.labels().length, row, "labels");
  if (row > 0) {
    equal(n.labels().at(last).value, word(225, row), "labels");
    equal(n.labelByKey(word(225, row)), word(225, row), "labelByKey");
  }
  equal(n.label(berth.namespaceLabel("b")), cell(226, 1, row), "label");
}

export function testColumns(): void {
  forget();
  refresh(header);
  check(berth.snapshot.epoch() == 5 && berth.snapshot.generation() == 6 && berth.snapshot.seed() == 7, "the header");
  check(berth.snapshot.nodes().length == 4 && berth.snapshot.namespaces() == 4, "the rows");
  for (let row: u32 = 0; row < ROWS; row++) {
    nodes(row);
    pods(row);
    namespaces(row);
    if (row > 0) text(berth.text(row), 192, row, "text");
  }
  equal(berth.text(berth.ABSENT), "", "text");
  check(berth.snapshot.findNamespace(berth.ABSENT) === null && berth.snapshot.findNamespace(1) === null, "findNamespace");
}

function requirement(operator: u32, first: u32, count: u32, number: i64): berth.Requirement {
  const r = changetype<berth.Requirement>(keepZero(1, offsetof<berth.Requirement>()));
  r.key = 1;
  r.operator = operator;
  r.first = first;
  r.count = count;
  r.number = number;
  return r;
}

/** Puts a list into the call's pod: the place of a field is as in pod.ts. */
function field(id: i32, at: usize, n: u32): void {
  const offset = 8 + ((id < 140 ? id - 128 : id - 140 + 7) << 3);
  store<usize>(changetype<usize>(call.pod) + offset, at);
  store<u32>(changetype<usize>(call.pod) + offset, n, 4);
}

export function testRequirements(): void {
  forget();
  refresh(header);
  const values = keepZero(2, 4);
  store<u32>(values, 1);
  store<u32>(values, 3, 4);
  field(149, values, 2);
  const pod = call.pod;
  // Operator, first, count, value, whether it holds.
  const cases: StaticArray<u32> = [
    berth.Operator.In, 0, 2, 3, 1, berth.Operator.In, 1, 1, 1, 0, berth.Operator.In, 0, 2, 0, 0, berth.Operator.NotIn, 0, 2, 0, 1,
    berth.Operator.NotIn, 0, 1, 1, 0, berth.Operator.NotIn, 0, 1, 3, 1, berth.Operator.Exists, 9, 0, 3, 1, berth.Operator.Exists, 0, 0, 0, 0,
    berth.Operator.DoesNotExist, 0, 0, 0, 1, berth.Operator.DoesNotExist, 0, 0, 3, 0, 77, 0, 0, 3, 0,
  ];
  for (let i = 0; i < cases.length; i += 5) {
    const r = requirement(cases[i], cases[i + 1], cases[i + 2], 0);
    equal(pod.holds(r, cases[i + 3]), cases[i + 4] == 1, "requirement " + (i / 5).toString());
  }
  // The string of id 2 is no number, that of id 0 is none.
  check(!pod.holds(requirement(berth.Operator.Gt, 0, 0, -5), 2) && !pod.holds(requirement(berth.Operator.Lt, 0, 0, 5), 0), "no numbers");
}

function toleration(key: u32, value: u32, operator: u32, effect: u32): berth.Toleration {
  const t = changetype<berth.Toleration>(keepZero(1, offsetof<berth.Toleration>()));
  t.key = key;
  t.value = value;
  t.operator = operator;
  t.effect = effect;
  return t;
}

function taint(key: u32, value: u32, effect: u32): berth.Taint {
  const t = changetype<berth.Taint>(keepZero(1, offsetof<berth.Taint>()));
  t.key = key;
  t.value = value;
  t.effect = effect;
  return t;
}

function tolerated(t: berth.Toleration, taint: berth.Taint, want: bool): void {
  equal(t.tolerates(taint), want, "tolerates");
  field(131, changetype<usize>(t), 1);
  equal(call.pod.tolerates(taint), want, "pod.tolerates");
}

export function testTolerations(): void {
  const equalTo = berth.TolerationOperator.Equal, exists = berth.TolerationOperator.Exists;
  const schedule = berth.Effect.NoSchedule, execute = berth.Effect.NoExecute, any = berth.Effect.Any;
  tolerated(toleration(5, 6, equalTo, schedule), taint(5, 6, schedule), true);
  tolerated(toleration(5, 6, equalTo, schedule), taint(5, 6, execute), false);
  tolerated(toleration(5, 6, equalTo, any), taint(5, 6, execute), true);
  tolerated(toleration(5, 6, equalTo, any), taint(5, 7, execute), false);
  tolerated(toleration(5, 0, exists, any), taint(5, 7, execute), true);
  tolerated(toleration(5, 0, exists, any), taint(4, 7, execute), false);
  tolerated(toleration(0, 0, exists, execute), taint(4, 7, execute), true);
  tolerated(toleration(0, 7, equalTo, any), taint(4, 7, execute), false);
}

// Of another layout without columns nothing of the old one is left.
function relaid(): void {
  forget();
  refresh(header);
  store<u32>(header, load<u32>(header, 44) + 1, 44);
  store<u32>(header, 0, 36);
  refresh(header);
  store<u32>(header, 5, 36);
}

export function stopsLabel(): void {
  relaid();
  check(berth.snapshot.nodes().length == 0 && berth.snapshot.namespaces() == 0, "rows are left");
  changetype<berth.Node>(1).label(berth.nodeLabel("b"));
}

export function stopsLabels(): void {
  relaid();
  changetype<berth.Node>(2).labels().length;
}

export function stopsNonZero(): void {
  relaid();
  changetype<berth.Node>(1).nonZeroRequested();
}

export function stopsElement(): void {
  forget();
  refresh(header);
  berth.snapshot.nodes().at(2).pods().at(2);
}

export function stopsNamespace(): void {
  forget();
  refresh(header);
  berth.snapshot.namespace(ROWS);
}

export function stopsRow(): void {
  forget();
  refresh(header);
  changetype<berth.Node>(ROWS + 1).zone();
}

export function stopsValues(): void {
  forget();
  refresh(header);
  field(149, keepZero(2, 4), 2);
  call.pod.holds(requirement(berth.Operator.In, 1, 2, 0), 1);
}
