// A call: what it is about, and what the host does in it and after it.

import * as declared from "berth-manifest";

import { MAX_DIRECTIVES, MAX_DIRECTIVE_TEXTS } from "./abi";
import { undeclared } from "./columns";
import {
  encode, hostLog, hostNodeObject, hostPodObject, hostPublishedGet, hostStateGet, hostStateSet, push, Room, scratch, scratchLeft, utf8Length,
} from "./memory";
import { Node } from "./node";
import { newPod, Pod } from "./pod";
import { Status, WAIT } from "./reasons";
import {
  Feed, NamespaceLabel, NodeAnnotation, NodeCondition, NodeLabel, ObjectColumn, PodAnnotation, PodLabel, Published, Resource,
} from "./types";

/** The number of a handle: its place in the list, from 1 on; 0 if the name is not there. */
function find(names: StaticArray<string>, name: string): usize {
  for (let i = 0; i < names.length; i++) {
    if (names[i] == name) return i + 1;
  }
  return 0;
}

function handle(list: string, names: StaticArray<string>, name: string): usize {
  const number = find(names, name);
  if (number == 0) undeclared(list, name);
  return number;
}

/** The handle of a resource, such as `cpu`. Like the other handles it must be listed in the manifest, or the plugin ends with a text that says so. */
export function resource(name: string): Resource {
  return changetype<Resource>(handle("resources", declared.RESOURCES, name));
}

/** The handle of a label key of nodes. */
export function nodeLabel(key: string): NodeLabel {
  return changetype<NodeLabel>(handle("nodeLabels", declared.NODE_LABELS, key));
}

/** The handle of an annotation key of nodes. */
export function nodeAnnotation(key: string): NodeAnnotation {
  return changetype<NodeAnnotation>(handle("nodeAnnotations", declared.NODE_ANNOTATIONS, key));
}

/** The handle of a type of node condition. */
export function nodeCondition(type: string): NodeCondition {
  return changetype<NodeCondition>(handle("nodeConditions", declared.NODE_CONDITIONS, type));
}

/** The handle of a feed, with its unit as the manifest has it, such as `node.cpu.usage:milli`. */
export function feed(name: string): Feed {
  return changetype<Feed>(handle("feeds", declared.FEEDS, name));
}

/** The handle of a column of objects, as the manifest has it, such as `zones.status.zones[*].free:quantity`. */
export function objectColumn(column: string): ObjectColumn {
  return changetype<ObjectColumn>(handle("objectColumns", declared.OBJECT_COLUMNS, column));
}

/** The handle of a label key of pods on nodes. */
export function podLabel(key: string): PodLabel {
  return changetype<PodLabel>(handle("podLabels", declared.POD_LABELS, key));
}

/** The handle of an annotation key of pods, the incoming one and those on nodes. */
export function podAnnotation(key: string): PodAnnotation {
  return changetype<PodAnnotation>(handle("podAnnotations", declared.POD_ANNOTATIONS, key));
}

/** The handle of a label key of namespaces. */
export function namespaceLabel(key: string): NamespaceLabel {
  return changetype<NamespaceLabel>(handle("namespaceLabels", declared.NAMESPACE_LABELS, key));
}

/** The handle of a key that another plugin publishes, as `plugin/key`. */
export function published(name: string): Published {
  return changetype<Published>(handle("published", declared.PUBLISHED, name));
}

/** The handle of a resource, in configure: the manifest's or one that the configuration brings; null if it is not declared. */
export function findResource(name: string): Resource | null {
  return changetype<Resource | null>(find(declared.RESOURCES, name));
}

/** The same for a label key of nodes. */
export function findNodeLabel(key: string): NodeLabel | null {
  return changetype<NodeLabel | null>(find(declared.NODE_LABELS, key));
}

/** The same for an annotation key of nodes. */
export function findNodeAnnotation(key: string): NodeAnnotation | null {
  return changetype<NodeAnnotation | null>(find(declared.NODE_ANNOTATIONS, key));
}

/** The same for a feed. */
export function findFeed(name: string): Feed | null {
  return changetype<Feed | null>(find(declared.FEEDS, name));
}

/** The same for a label key of pods on nodes. */
export function findPodLabel(key: string): PodLabel | null {
  return changetype<PodLabel | null>(find(declared.POD_LABELS, key));
}

/** The same for an annotation key of pods. */
export function findPodAnnotation(key: string): PodAnnotation | null {
  return changetype<PodAnnotation | null>(find(declared.POD_ANNOTATIONS, key));
}

/** How important a text of a log is. */
export const enum Level {
  Debug = 0,
  Info = 1,
  Warning = 2,
  Failure = 3,
}

// A text in UTF-8, until the call returns.
let textAt: usize = 0;
let textN: u32 = 0;

function utf8(text: string): void {
  textN = utf8Length(text);
  textAt = scratch(textN);
  encode(text, textAt);
}

/** Writes to the plugin's log. It needs `log` in the manifest's list `host`. */
export function log(level: Level, text: string): void {
  utf8(text);
  hostLog(level, textAt, textN);
}

/** A copy of the bytes that a host function returned. */
function taken(at: usize, n: i32): Uint8Array | null {
  if (n < 0) return null;
  const bytes = new Uint8Array(n);
  memory.copy(bytes.dataStart, at, n);
  return bytes;
}

/** The value of a key of the plugin's state of this pod's cycle; null if there is none, as before preFilter. It needs `state_get` in the list `host`. */
export function stateGet(key: string): Uint8Array | null {
  utf8(key);
  while (true) {
    const at = scratch(0), n = hostStateGet(textAt, textN, at, scratchLeft());
    if (n < 0 || <usize>n <= scratchLeft()) return taken(at, n);
    scratch(n);
  }
}

/**
 * Sets the value of a key, and reports whether the limits allow it. State outlives instances and must
 * not hold ids or row numbers. In a plugin of scope node only preFilter may set state. It needs
 * `state_set` in the list `host`.
 */
export function stateSet(key: string, value: Uint8Array): bool {
  utf8(key);
  return hostStateSet(textAt, textN, value.dataStart, value.byteLength) == 0;
}

/** The value that another plugin published in this pod's cycle; null if there is none, as in calls of scope node. It needs `published_get` in the list `host`. */
export function publishedGet(key: Published): Uint8Array | null {
  if (changetype<usize>(key) == 0) undeclared("published", "the key");
  while (true) {
    const at = scratch(0), n = hostPublishedGet(changetype<u32>(key) - 1, at, scratchLeft());
    if (n < 0 || <usize>n <= scratchLeft()) return taken(at, n);
    scratch(n);
  }
}

/**
 * The whole Pod as Kubernetes protobuf (k8s.io/api/core/v1, without the envelope and without
 * managedFields). Use it for what no field has: the host encodes the object for each call. null for a pod
 * that is not the call's own: a pod of an event, and in addPod and removePod the pod to be placed. It
 * needs `pod_object` in the list `host`.
 */
export function podObject(pod: Pod): Uint8Array | null {
  if (pod._index < 0) return null;
  while (true) {
    const at = scratch(0), n = hostPodObject(pod._index, at, scratchLeft());
    if (n < 0 || <usize>n <= scratchLeft()) return taken(at, n);
    scratch(n);
  }
}

/** The whole Node, as podObject is the Pod. It needs `node_object` in the list `host`. */
export function nodeObject(node: Node): Uint8Array | null {
  while (true) {
    const at = scratch(0), n = hostNodeObject(node.row(), at, scratchLeft());
    if (n < 0 || <usize>n <= scratchLeft()) return taken(at, n);
    scratch(n);
  }
}

/** The call under way, of the SDK. */
export namespace call {
  /** The address of the call record. */
  export let record: usize = 0;
  /** The pod to be placed, or the one of the pod list that is asked about. */
  export const pod: Pod = newPod();
  /** addPod's and removePod's, or the old one of an event. */
  export const other: Pod = newPod();
  /** The new one of an event. */
  export const newer: Pod = newPod();
}

// Directives are requests to the host, made with the functions below (SPEC.md, section 13). The
// host does it after the call, if the call answers SUCCESS, or WAIT from permit. The manifest lists what
// a plugin asks for in `directives`, and the user grants it. Asking for anything else, or at a point that
// does not have the directive, is a fault of the plugin, and nothing of the call is carried out. The host
// may discard directives: a plugin may be run to see what it would do.
//
// The functions return false, and request nothing, where the host would refuse: more than 256
// directives or 65,536 bytes of their texts in a call, a value that no label may have. A plugin that
// needs the directive then answers with an error.

const directives = changetype<Room>(memory.data(offsetof<Room>(), 8));
let directiveTexts: u32 = 0;

function direct(kind: u32, first: string, second: string): bool {
  const size = utf8Length(first) + utf8Length(second);
  if (directives.n == MAX_DIRECTIVES || directiveTexts + size > MAX_DIRECTIVE_TEXTS) return false;
  directiveTexts += size;
  const d = push(directives, 24);
  store<u64>(d, kind);
  utf8(first);
  store<usize>(d, textAt, 8);
  store<u32>(d, textN, 12);
  utf8(second);
  store<usize>(d, textAt, 16);
  store<u32>(d, textN, 20);
  return true;
}

/** Forgets what the last call asked for. */
export function directivesBegin(): void {
  directives.n = 0;
  directiveTexts = 0;
}

/** Writes what was asked for into a call record. */
export function directivesEnd(record: usize): void {
  if (directives.n == 0) return;
  store<usize>(record, directives.at, 88);
  store<u32>(record, directives.n, 92);
}

/** Reports whether a text is a value of a label: empty, or at most 63 letters, digits, dashes, dots and underscores, a letter or digit at both ends. */
function isLabelValue(text: string): bool {
  if (text.length > 63) return false;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i), lower = c | 0x20;
    const alphanumeric = (lower >= 97 && lower <= 122 && c < 128) || (c >= 48 && c <= 57);
    const inner = i > 0 && i < text.length - 1 && (c == 45 || c == 46 || c == 95);
    if (!alphanumeric && !inner) return false;
  }
  return true;
}

/** Writes an annotation of the pod at reserve, where the next pods see it at once, preBind or bind. The last value of a key counts. */
export function annotate(key: string, value: string): bool {
  return direct(1, key, value);
}

/** Writes a label of the pod, as annotate does. */
export function label(key: string, value: string): bool {
  return isLabelValue(value) && direct(2, key, value);
}

/** Nominates a node for the pod, at postFilter; an empty name clears the nomination. */
export function nominate(node: string): bool {
  return direct(3, node, "");
}

/** Binds the pod to the node, at bind, with what was written on it. */
export function bindPod(): bool {
  return direct(4, "", "");
}

/** Ends this plugin's wait for a pod, at postFilter and from reserve on. A UID that is not that of a waiting pod does nothing. */
export function allow(uid: string): bool {
  return direct(5, uid, "");
}

/** Sends a waiting pod back to the queue, where allow can be asked for. The reason is for people. */
export function reject(uid: string, reason: string): bool {
  return direct(6, uid, reason);
}

/** Moves a parked pod to the active queue at once, if the call's own pod is placed, from reserve on. */
export function activate(uid: string): bool {
  return direct(7, uid, "");
}

/** Asks for another attempt for the pod after so many milliseconds, 1,000 to 3,600,000, if this one fails and no event has it tried before: at preEnqueue for a pod that it holds back, at preFilter, reserve and permit whatever they answer. The last call counts. The manifest must have ABI 1.1 or later. */
export function retryAfter(milliseconds: u64): void {
  const at = load<u32>(call.record, 12) == 0 ? load<usize>(call.record, 32) + (<usize>call.pod._index << 3) : call.record + 104;
  store<u64>(at, milliseconds);
}

/** The answer of permit to hold the pod back until allow names it in a call for another pod, at most so many milliseconds and at most 15 minutes; then the pod is rejected. */
export function waitFor(milliseconds: u64): Status {
  store<u64>(call.record, milliseconds, 96);
  return WAIT;
}
