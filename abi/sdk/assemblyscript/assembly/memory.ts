// Functions of the host, the way out of mistakes, and room that is valid until the call returns.

import { HOST_LOG } from "berth-manifest";

// Functions of the host (SPEC.md, section 7). A module imports those that its plugin uses.

// @ts-ignore: decorator
@external("berth", "log")
export declare function hostLog(level: i32, at: usize, n: usize): void;
// @ts-ignore: decorator
@external("berth", "state_get")
export declare function hostStateGet(key: usize, n: usize, to: usize, capacity: usize): i32;
// @ts-ignore: decorator
@external("berth", "state_set")
export declare function hostStateSet(key: usize, n: usize, value: usize, size: usize): i32;
// @ts-ignore: decorator
@external("berth", "published_get")
export declare function hostPublishedGet(index: u32, to: usize, capacity: usize): i32;
// @ts-ignore: decorator
@external("berth", "pod_object")
export declare function hostPodObject(index: u32, to: usize, capacity: usize): i32;
// @ts-ignore: decorator
@external("berth", "node_object")
export declare function hostNodeObject(row: u32, to: usize, capacity: usize): i32;

/** Ends the call: says why, if the manifest has `log`, and traps. */
export function stop(why: string): void {
  if (HOST_LOG) {
    const n = utf8Length(why), at = heap.alloc(n);
    encode(why, at);
    hostLog(3, at, n);
  }
  unreachable();
}

/** What the compiler calls where a program throws, or does what it must not. */
export function abort(message: string | null, file: string | null, line: u32, column: u32): void {
  if (HOST_LOG) {
    const what = message === null ? "aborted" : message;
    stop(file === null || line == 0
      ? what : what + " at " + file + ":" + line.toString() + ":" + column.toString());
  }
  unreachable();
}

// Scratch room: pieces keep their place until the next call, which uses the room again.
let scratchAt: usize = 0;
let scratchSize: usize = 0;
let scratchUsed: usize = 0;

/** Begins a call. */
// @ts-ignore: decorator
@inline export function scratchReset(): void {
  scratchUsed = 0;
}

function scratchGrow(size: usize): void {
  // What was returned before in this call stays where it is.
  scratchSize = max(size, max<usize>(2 * scratchSize, 1024));
  scratchAt = heap.alloc(scratchSize);
  scratchUsed = 0;
}

/** Returns room for size bytes, aligned to 8, until the call returns. */
export function scratch(size: usize): usize {
  const whole = (size + 7) & ~7;
  if (whole > scratchSize - scratchUsed || scratchAt == 0) scratchGrow(whole);
  const at = scratchAt + scratchUsed;
  scratchUsed += whole;
  return at;
}

/** Bytes that scratch can give without asking for more memory. */
// @ts-ignore: decorator
@inline export function scratchLeft(): usize {
  return scratchSize - scratchUsed;
}

/** A list in memory that the host can read. It grows by doubling. */
@final @unmanaged
export class Room {
  at: usize;
  n: u32;
  capacity: u32;
}

/** Returns the place of one more element, of size bytes. */
export function push(room: Room, size: usize): usize {
  if (room.n == room.capacity) {
    const capacity = max<u32>(8, 2 * room.capacity);
    const at = heap.alloc(<usize>capacity * size);
    memory.copy(at, room.at, <usize>room.n * size);
    if (room.at != 0) heap.free(room.at);
    room.at = at;
    room.capacity = capacity;
  }
  return room.at + (<usize>(room.n++)) * size;
}

/** Returns room, never freed, for n elements of size bytes that are zero. */
export function keepZero(n: usize, size: usize): usize {
  const at = heap.alloc(n * size);
  memory.fill(at, 0, n * size);
  return at;
}

/** The code point at an index of a text; a half of a surrogate pair is U+FFFD. */
function codePoint(text: string, i: i32): u32 {
  const c = <u32>text.charCodeAt(i);
  if ((c & 0xf800) != 0xd800) return c;
  if (c < 0xdc00 && i + 1 < text.length) {
    const low = <u32>text.charCodeAt(i + 1);
    if ((low & 0xfc00) == 0xdc00) return 0x10000 + ((c & 0x3ff) << 10) + (low & 0x3ff);
  }
  return 0xfffd;
}

// @ts-ignore: decorator
@inline function sizeOf(c: u32): u32 {
  return c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
}

/** The bytes that a text has in UTF-8. */
export function utf8Length(text: string): u32 {
  let n: u32 = 0;
  for (let i = 0; i < text.length; i++) {
    const size = sizeOf(codePoint(text, i));
    if (size == 4) i++;
    n += size;
  }
  return n;
}

/** Writes a character as UTF-8, and returns the position after it. */
export function encodeOne(c: u32, at: usize): usize {
  const tail = sizeOf(c) - 1;
  const lead: u32 = tail == 0 ? 0 : tail == 1 ? 0xc0 : tail == 2 ? 0xe0 : 0xf0;
  store<u8>(at, <u8>(lead | (c >> (6 * tail))));
  for (let i: u32 = 1; i <= tail; i++) store<u8>(at + i, <u8>(0x80 | ((c >> (6 * (tail - i))) & 0x3f)));
  return at + tail + 1;
}

/** Writes a text as UTF-8. */
export function encode(text: string, at: usize): void {
  for (let i = 0; i < text.length; i++) {
    const c = codePoint(text, i);
    if (c >= 0x10000) i++;
    at = encodeOne(c, at);
  }
}

/** Returns a text as a string. */
// @ts-ignore: decorator
@inline export function decode(at: usize, n: u32): string {
  return String.UTF8.decodeUnsafe(at, n);
}
