// Statuses, and reason sets (ABI-3.6) within the limits of section 10: what does not fit has no
// reason, so that it is not a fault (ABI-3.8).

import { Code, MAX_REASON_SETS, MAX_REASON_TEXTS, MAX_TEXT, MAX_TEXTS } from "./abi";
import { encode, push, Room, scratch, utf8Length } from "./memory";

/** A reason that people read, made by `reason`; NO_REASON is none. */
export type Reason = u32;

/** No reason. */
export const NO_REASON: Reason = 0;

/** The answer to a call, or for one node of a call: a code, and a reason. */
export type Status = u32;

/** The plugin has no objection. */
export const SUCCESS: Status = Code.Success;
/** Of preFilter, preScore and prepare: nothing to do here for this pod; and of bind: let the next plugin bind it. */
export const SKIP: Status = Code.Skip;
/** Of permit: bind the pod when the plugin allows it; see waitFor. */
export const WAIT: Status = Code.Wait;

/** The pod does not fit, and removing other pods could help: preemption considers the node. */
// @ts-ignore: decorator
@inline export function unschedulable(reason: Reason): Status {
  return Code.Unschedulable | (reason << 8);
}

/** The pod does not fit, and removing pods cannot help: preemption leaves the node alone. */
// @ts-ignore: decorator
@inline export function unschedulableAndUnresolvable(reason: Reason): Status {
  return Code.UnschedulableAndUnresolvable | (reason << 8);
}

/** The pod has to wait for an event that the plugin registered. */
// @ts-ignore: decorator
@inline export function pending(reason: Reason): Status {
  return Code.Pending | (reason << 8);
}

/** The plugin failed. */
// @ts-ignore: decorator
@inline export function error(reason: Reason): Status {
  return Code.Error | (reason << 8);
}

/** The status's code, a Code. */
// @ts-ignore: decorator
@inline export function codeOf(status: Status): u32 {
  return status & 0xff;
}

/** The status's reason; NO_REASON for none. */
// @ts-ignore: decorator
@inline export function reasonOf(status: Status): Reason {
  return status >> 8;
}

// Sets as the host reads them, and a hash of each, to find it again.
const sets = changetype<Room>(memory.data(offsetof<Room>(), 8));
const hashes = changetype<Room>(memory.data(offsetof<Room>(), 8));
let lasting: u32 = 0; // sets that were not made in a call
let told: u32 = 0; // sets that a call told the host of
let bytes: u32 = 0;
let lastingBytes: u32 = 0;
let inCall = false;

/**
 * Returns a reason of one or more texts, up to 16, which people read in events; kube-scheduler's
 * words are best where it has them ("node(s) had …").
 *
 * A reason created with the plugin or in configure is permanent, and using it costs nothing. One
 * created in a call is valid for that call. A call, of all nodes or of a block of them, has room for 1,024
 * reasons of 65,536 bytes in all; further ones are NO_REASON. So a reason that differs for every
 * node does not scale.
 */
export function reason(texts: string[]): Reason {
  const n = min(texts.length, MAX_REASON_TEXTS);
  if (n == 0) return NO_REASON;
  let size = <usize>n * 8;
  for (let i = 0; i < n; i++) size += utf8Length(texts[i]);
  // The set as it would be: texts, then their bytes.
  const set = inCall ? scratch(size) : heap.alloc(size);
  let at = set + <usize>n * 8, hash: u32 = 0x811c9dc5, used: u32 = 0;
  for (let i = 0; i < n; i++) {
    encode(texts[i], at);
    const length = cut(at, utf8Length(texts[i]));
    store<usize>(set + i * 8, at);
    store<u32>(set + i * 8, length, 4);
    for (const end = at + length; at < end; at++) hash = (hash ^ load<u8>(at)) * 0x01000193;
    hash++; // "ab", "c" is not "a", "bc"
    used += length;
  }
  for (let i: u32 = 0; i < sets.n; i++) {
    const known = sets.at + (i << 3);
    if (load<u32>(hashes.at + (i << 2)) == hash && same(load<usize>(known), load<u32>(known, 4), set, n)) {
      if (!inCall) heap.free(set);
      return i + 1;
    }
  }
  if (sets.n == MAX_REASON_SETS || bytes + used > MAX_TEXTS) {
    if (!inCall) heap.free(set);
    return NO_REASON;
  }
  const entry = push(sets, 8);
  store<usize>(entry, set);
  store<u32>(entry, n, 4);
  store<u32>(push(hashes, 4), hash);
  bytes += used;
  if (!inCall) {
    lasting = sets.n;
    lastingBytes = bytes;
  }
  return sets.n;
}

/** The bytes of a text that the host takes, cut between characters. */
function cut(at: usize, n: u32): u32 {
  if (n <= MAX_TEXT) return n;
  n = MAX_TEXT;
  while ((load<u8>(at + n) & 0xc0) == 0x80) n--;
  return n;
}

/** Reports whether two sets have the same texts. */
function same(a: usize, n: u32, b: usize, m: u32): bool {
  if (n != m) return false;
  for (let i: usize = 0; i < n; i++) {
    const length = load<u32>(a + i * 8, 4);
    if (length != load<u32>(b + i * 8, 4) || memory.compare(load<usize>(a + i * 8), load<usize>(b + i * 8), length) != 0) return false;
  }
  return true;
}

/** Forgets the reasons of the last call. */
export function reasonsBegin(): void {
  sets.n = lasting;
  hashes.n = lasting;
  bytes = lastingBytes;
  inCall = true;
}

/**
 * Writes the table of sets into a call record, and ends the call. Each set is told once even if nothing has it, so that the
 * conformance kit can name those that never come up.
 */
export function reasonsEnd(record: usize, used: bool): void {
  inCall = false;
  if (!used && told >= sets.n) return;
  told = sets.n;
  store<usize>(record, sets.at, 64);
  store<u32>(record, sets.n, 68);
}
