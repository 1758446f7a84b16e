// The columns of a snapshot (SPEC.md, section 4). They cover the whole capacity, overlay rows
// included, so they change with the layout only.

import * as declared from "berth-manifest";

import { ARENA, Column, MAGIC, MAJOR, Table, Type } from "./abi";
import { outside } from "./list";
import { decode, keepZero, scratch, stop } from "./memory";
import { ABSENT, ID } from "./types";

/** Places of columns, 8 bytes each: address and number of elements, 0 if it is not there. A column of spans is before its arena. */
export const enum Slot {
  Strings = 0,
  // Generated from abi/fields.
  NodeName = 2,
  NodeNonZeroRequested = 4,
  NodeLabels = 6,
  NodeTaints = 8,
  NodePorts = 10,
  NodeImages = 12,
  NodePods = 14,
  NodeNominated = 16,
  PlacedLabels = 18,
  PlacedUID = 20,
  PlacedName = 22,
  NamespaceLabels = 24,
  NodeFlags = 26,
  NodeGeneration = 27,
  NodeZone = 28,
  NodeCreatedAt = 29,
  PlacedNamespace = 30,
  PlacedPriority = 31,
  PlacedOwner = 32,
  PlacedFlags = 33,
  PlacedQOS = 34,
  PlacedAssignedAt = 35,
  PlacedCreatedAt = 36,
  PlacedState = 37,
  NamespaceName = 38,

  // Of declared keys, from Keyed on: the address of a place for each, by the number of the handle, of which that of
  // number 0 is never there.
  Keyed = 39,
  NodeAllocatable = 39,
  NodeRequested = 40,
  NodeAnnotation = 41,
  NodeCondition = 42,
  NodeLabel = 43,
  NodeCapacity = 44,
  NodeFeed = 45,
  NodeFeedState = 46,
  NodeRequestedSince = 47,
  NodeObjectNumbers = 48,
  NodeObjectNumbersArena = 49,
  NodeObjectTexts = 50,
  NodeObjectTextsArena = 51,
  PlacedRequests = 52,
  PlacedAnnotation = 53,
  PlacedLabel = 54,
  PlacedLimits = 55,
  NamespaceLabel = 56,
  NamespaceRequested = 57,
  NamespaceObjectNumbers = 58,
  NamespaceObjectNumbersArena = 59,
  NamespaceObjectTexts = 60,
  NamespaceObjectTextsArena = 61,

  Count = 62,
}

const slots: usize = memory.data(Slot.Count * 8, 8);
const tables: usize = memory.data(5 * 4, 8); // addresses of table entries, by id
let header: usize = 0;
let layout: u32 = 0;

/** Ends a plugin that reads a column that its manifest does not list. */
export function undeclared(list: string, name: string): void {
  stop("berth: manifest.json: reads." + list + " does not list " + name);
}

/** The element of a row. A column that the manifest does not declare has none. */
// @ts-ignore: decorator
@inline export function cell<T>(slot: i32, row: u32, list: string, name: string): T {
  if (row >= load<u32>(slots + slot * 8, 4)) undeclared(list, name);
  return load<T>(load<usize>(slots + slot * 8) + <usize>row * sizeof<T>());
}

/** The element of a row in the column of a key. */
// @ts-ignore: decorator
@inline export function keyed<T>(slot: i32, number: usize, row: u32, list: string, name: string): T {
  const place = load<usize>(slots + slot * 8) + (number << 3);
  if (row >= load<u32>(place, 4)) undeclared(list, name);
  return load<T>(load<usize>(place) + <usize>row * sizeof<T>());
}

/** The number of elements of a row. */
// @ts-ignore: decorator
@inline export function lengthOf(slot: i32, row: u32, list: string, name: string): u32 {
  if (row >= load<u32>(slots + slot * 8, 4)) undeclared(list, name);
  return load<u32>(load<usize>(slots + slot * 8) + (<usize>row << 3), 4);
}

/** Where the elements of a row are, which has some; size is that of one. */
// @ts-ignore: decorator
@inline export function elementsOf(slot: i32, row: u32, size: usize): usize {
  const span = load<usize>(slots + slot * 8) + (<usize>row << 3);
  const start = load<u32>(span);
  if (<u64>start + load<u32>(span, 4) > <u64>load<u32>(slots + slot * 8, 12)) outside("the host's snapshot has a span that is out of bounds");
  return load<usize>(slots + slot * 8, 8) + <usize>start * size;
}

/** The elements of a row in the column of a key: where they are, and how many, as the classes of lists have it. */
export function keyedList(slot: i32, number: usize, row: u32, size: usize, list: string, name: string): usize {
  const place = load<usize>(slots + slot * 8) + (number << 3), arena = load<usize>(slots + (slot + 1) * 8) + (number << 3);
  if (row >= load<u32>(place, 4)) undeclared(list, name);
  const span = load<usize>(place) + (<usize>row << 3), out = scratch(8);
  const start = load<u32>(span), n = load<u32>(span, 4);
  if (n > 0 && <u64>start + n > <u64>load<u32>(arena, 4)) outside("the host's snapshot has a span that is out of bounds");
  store<usize>(out, n == 0 ? 0 : load<usize>(arena) + <usize>start * size);
  store<u32>(out, n, 4);
  return out;
}

/** The text in a row of a column of bytes. */
export function textOf(slot: i32, row: u32, list: string, name: string): string {
  const n = lengthOf(slot, row, list, name);
  return n == 0 ? "" : decode(elementsOf(slot, row, 1), n);
}

/** The slot of a column, its type, and if it is of declared keys their number; all ones for an unknown column. */
function place(id: u32): u32 {
  switch (id) {
    // Generated from abi/fields.
    case Column.NodeName: return where(Slot.NodeName, Type.Span, 1);
    case Column.NodeName + ARENA: return where(Slot.NodeName + 1, Type.Bytes, 1);
    case Column.NodeFlags: return where(Slot.NodeFlags, Type.U8, 1);
    case Column.NodeAllocatable: return where(Slot.NodeAllocatable, Type.I64, declared.RESOURCES.length);
    case Column.NodeRequested: return where(Slot.NodeRequested, Type.I64, declared.RESOURCES.length);
    case Column.NodeNonZeroRequested: return where(Slot.NodeNonZeroRequested, Type.I64, 2);
    case Column.NodeLabels: return where(Slot.NodeLabels, Type.Span, 1);
    case Column.NodeLabels + ARENA: return where(Slot.NodeLabels + 1, Type.Pair, 1);
    case Column.NodeAnnotation: return where(Slot.NodeAnnotation, Type.U32, declared.NODE_ANNOTATIONS.length);
    case Column.NodeTaints: return where(Slot.NodeTaints, Type.Span, 1);
    case Column.NodeTaints + ARENA: return where(Slot.NodeTaints + 1, Type.Taint, 1);
    case Column.NodePorts: return where(Slot.NodePorts, Type.Span, 1);
    case Column.NodePorts + ARENA: return where(Slot.NodePorts + 1, Type.Port, 1);
    case Column.NodeImages: return where(Slot.NodeImages, Type.Span, 1);
    case Column.NodeImages + ARENA: return where(Slot.NodeImages + 1, Type.Image, 1);
    case Column.NodeCondition: return where(Slot.NodeCondition, Type.U8, declared.NODE_CONDITIONS.length);
    case Column.NodePods: return where(Slot.NodePods, Type.Span, 1);
    case Column.NodePods + ARENA: return where(Slot.NodePods + 1, Type.U32, 1);
    case Column.NodeGeneration: return where(Slot.NodeGeneration, Type.U64, 1);
    case Column.NodeLabel: return where(Slot.NodeLabel, Type.U32, declared.NODE_LABELS.length);
    case Column.NodeZone: return where(Slot.NodeZone, Type.U32, 1);
    case Column.NodeCapacity: return where(Slot.NodeCapacity, Type.I64, declared.RESOURCES.length);
    case Column.NodeCreatedAt: return where(Slot.NodeCreatedAt, Type.I64, 1);
    case Column.NodeNominated: return where(Slot.NodeNominated, Type.Span, 1);
    case Column.NodeNominated + ARENA: return where(Slot.NodeNominated + 1, Type.U32, 1);
    case Column.NodeFeed: return where(Slot.NodeFeed, Type.I64, declared.FEEDS.length);
    case Column.NodeFeedState: return where(Slot.NodeFeedState, Type.U8, declared.FEEDS.length);
    case Column.NodeRequestedSince: return where(Slot.NodeRequestedSince, Type.I64, declared.RESOURCES.length);
    case Column.NodeObjectNumbers: return where(Slot.NodeObjectNumbers, Type.Span, declared.OBJECT_COLUMNS.length);
    case Column.NodeObjectNumbers + ARENA: return where(Slot.NodeObjectNumbersArena, Type.I64, declared.OBJECT_COLUMNS.length);
    case Column.NodeObjectTexts: return where(Slot.NodeObjectTexts, Type.Span, declared.OBJECT_COLUMNS.length);
    case Column.NodeObjectTexts + ARENA: return where(Slot.NodeObjectTextsArena, Type.U32, declared.OBJECT_COLUMNS.length);
    case Column.PlacedNamespace: return where(Slot.PlacedNamespace, Type.U32, 1);
    case Column.PlacedPriority: return where(Slot.PlacedPriority, Type.I32, 1);
    case Column.PlacedRequests: return where(Slot.PlacedRequests, Type.I64, declared.RESOURCES.length);
    case Column.PlacedLabels: return where(Slot.PlacedLabels, Type.Span, 1);
    case Column.PlacedLabels + ARENA: return where(Slot.PlacedLabels + 1, Type.Pair, 1);
    case Column.PlacedAnnotation: return where(Slot.PlacedAnnotation, Type.U32, declared.POD_ANNOTATIONS.length);
    case Column.PlacedOwner: return where(Slot.PlacedOwner, Type.U32, 1);
    case Column.PlacedLabel: return where(Slot.PlacedLabel, Type.U32, declared.POD_LABELS.length);
    case Column.PlacedFlags: return where(Slot.PlacedFlags, Type.U8, 1);
    case Column.PlacedUID: return where(Slot.PlacedUID, Type.Span, 1);
    case Column.PlacedUID + ARENA: return where(Slot.PlacedUID + 1, Type.Bytes, 1);
    case Column.PlacedName: return where(Slot.PlacedName, Type.Span, 1);
    case Column.PlacedName + ARENA: return where(Slot.PlacedName + 1, Type.Bytes, 1);
    case Column.PlacedLimits: return where(Slot.PlacedLimits, Type.I64, declared.RESOURCES.length);
    case Column.PlacedQOS: return where(Slot.PlacedQOS, Type.U32, 1);
    case Column.PlacedAssignedAt: return where(Slot.PlacedAssignedAt, Type.I64, 1);
    case Column.PlacedCreatedAt: return where(Slot.PlacedCreatedAt, Type.I64, 1);
    case Column.PlacedState: return where(Slot.PlacedState, Type.U8, 1);
    case Column.NamespaceName: return where(Slot.NamespaceName, Type.U32, 1);
    case Column.NamespaceLabels: return where(Slot.NamespaceLabels, Type.Span, 1);
    case Column.NamespaceLabels + ARENA: return where(Slot.NamespaceLabels + 1, Type.Pair, 1);
    case Column.NamespaceLabel: return where(Slot.NamespaceLabel, Type.U32, declared.NAMESPACE_LABELS.length);
    case Column.NamespaceRequested: return where(Slot.NamespaceRequested, Type.I64, declared.RESOURCES.length);
    case Column.NamespaceObjectNumbers: return where(Slot.NamespaceObjectNumbers, Type.Span, declared.OBJECT_COLUMNS.length);
    case Column.NamespaceObjectNumbers + ARENA: return where(Slot.NamespaceObjectNumbersArena, Type.I64, declared.OBJECT_COLUMNS.length);
    case Column.NamespaceObjectTexts: return where(Slot.NamespaceObjectTexts, Type.Span, declared.OBJECT_COLUMNS.length);
    case Column.NamespaceObjectTexts + ARENA: return where(Slot.NamespaceObjectTextsArena, Type.U32, declared.OBJECT_COLUMNS.length);
    case Column.String: return where(Slot.Strings, Type.Span, 1);
    case Column.String + ARENA: return where(Slot.Strings + 1, Type.Bytes, 1);
    default: return ~0;
  }
}

// @ts-ignore: decorator
@inline function where(slot: i32, type: u32, length: i32): u32 {
  return <u32>slot | (type << 8) | (<u32>length << 16);
}

/** Reads a column. Unknown columns and types are skipped (ABI-4.5). */
function take(entry: usize): void {
  const p = place(load<u32>(entry)), arg = load<u32>(entry, 4);
  if (p == ~0 || load<u32>(entry, 8) != ((p >> 8) & 0xff) || arg >= p >> 16) return;
  const slot = <i32>(p & 0xff);
  const at = slot < Slot.Keyed ? slots + (slot + arg) * 8 : load<usize>(slots + slot * 8) + (arg + 1) * 8;
  store<usize>(at, load<usize>(entry, 12));
  store<u32>(at, load<u32>(entry, 16), 4);
}

/** Makes room for the columns of declared keys, once, and forgets them. */
function clear(): void {
  memory.fill(slots, 0, Slot.Keyed * 8);
  memory.fill(tables, 0, 5 * 4);
  const lengths: StaticArray<i32> = [
    // Generated from abi/fields.
    declared.RESOURCES.length,
    declared.RESOURCES.length,
    declared.NODE_ANNOTATIONS.length,
    declared.NODE_CONDITIONS.length,
    declared.NODE_LABELS.length,
    declared.RESOURCES.length,
    declared.FEEDS.length,
    declared.FEEDS.length,
    declared.RESOURCES.length,
    declared.OBJECT_COLUMNS.length,
    declared.OBJECT_COLUMNS.length,
    declared.OBJECT_COLUMNS.length,
    declared.OBJECT_COLUMNS.length,
    declared.RESOURCES.length,
    declared.POD_ANNOTATIONS.length,
    declared.POD_LABELS.length,
    declared.RESOURCES.length,
    declared.NAMESPACE_LABELS.length,
    declared.RESOURCES.length,
    declared.OBJECT_COLUMNS.length,
    declared.OBJECT_COLUMNS.length,
    declared.OBJECT_COLUMNS.length,
    declared.OBJECT_COLUMNS.length,
  ];
  for (let i = 0; i < lengths.length; i++) {
    const slot = slots + (Slot.Keyed + i) * 8, n = <usize>lengths[i] + 1;
    if (load<usize>(slot) == 0) store<usize>(slot, keepZero(n, 8));
    memory.fill(load<usize>(slot), 0, n * 8);
  }
}

clear();

/** Makes room again, for names that the configuration brought. */
export function resize(): void {
  for (let slot: i32 = Slot.Keyed; slot < Slot.Count; slot++) store<usize>(slots + slot * 8, 0);
  clear();
}

/** Rebuilds the columns if the layout changed. */
export function refresh(at: usize): void {
  if (at == header && load<u32>(at, 44) == layout) return;
  if (load<u32>(at) != MAGIC || load<u16>(at, 4) != MAJOR) stop("berth: the host's snapshot is of another ABI");
  clear();
  header = at;
  layout = load<u32>(at, 44);
  let table = load<usize>(at, 40);
  for (const end = table + (load<usize>(at, 36) << 5); table < end; table += 32) {
    const id = load<u32>(table);
    if (id > <u32>Table.Namespaces) continue; // unknown tables are skipped (ABI-4.5)
    store<usize>(tables + (id << 2), table);
    const columns = load<usize>(table, 24), n = load<u32>(table, 20);
    for (let i: u32 = 0; i < n; i++) take(columns + i * 24);
  }
}

/** Forgets the snapshot, for tests: the next one may be another at the same place. */
export function forget(): void {
  header = 0;
}

/** The snapshot's header. */
// @ts-ignore: decorator
@inline export function headerAt(): usize {
  return header;
}

/** The rows of a table; 0 if it is not there. */
export function rowsOf(table: i32): u32 {
  const entry = load<usize>(tables + (table << 2));
  return entry == 0 ? 0 : load<u32>(entry, 4);
}

/** The string of an id; the empty string for ABSENT. Each call of this function creates a new one. */
export function text(id: ID): string {
  return id == ABSENT ? "" : textOf(Slot.Strings, id, "strings", "the id");
}
