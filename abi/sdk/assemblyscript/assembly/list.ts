// Lists in the pod record, as views of what the host wrote.

import { stop } from "./memory";
import { ABSENT, ID, Pair } from "./types";

/** Ends a call that reads an element that does not exist. */
export function outside(what: string): void {
  stop("berth: " + what);
}

/** Elements of a pod, in no order. */
@final @unmanaged
export class List<T> {
  start: usize;
  /** The number of elements. */
  length: i32;

  /** The i-th element. */
  @inline at(i: i32): T {
    if (<u32>i >= <u32>this.length) outside("no such element");
    return changetype<T>(this.start + <usize>i * offsetof<T>());
  }
}

/** Ids of strings. */
@final @unmanaged
export class IDs {
  start: usize;
  /** The number of ids. */
  length: i32;

  /** The i-th id. */
  @inline at(i: i32): ID {
    if (<u32>i >= <u32>this.length) outside("no such element");
    return load<ID>(this.start + (<usize>i << 2));
  }

  /** Reports whether an id is one of them. */
  @inline includes(id: ID): bool {
    let at = this.start;
    for (const end = at + (<usize>this.length << 2); at < end; at += 4) {
      if (load<ID>(at) == id) return true;
    }
    return false;
  }
}

/** Numbers. */
@final @unmanaged
export class Numbers {
  start: usize;
  /** The number of numbers. */
  length: i32;

  /** The i-th number. */
  @inline at(i: i32): i64 {
    if (<u32>i >= <u32>this.length) outside("no such element");
    return load<i64>(this.start + (<usize>i << 3));
  }
}

/** Labels. */
@final @unmanaged
export class Pairs {
  start: usize;
  /** The number of labels. */
  length: i32;

  /** The i-th label. */
  @inline at(i: i32): Pair {
    if (<u32>i >= <u32>this.length) outside("no such element");
    return changetype<Pair>(this.start + (<usize>i << 3));
  }

  /** The value of a key; ABSENT if it is not there. */
  @inline find(key: ID): ID {
    return findIn(this.start, this.length, key);
  }
}

/** The value of a key among n labels. */
// @ts-ignore: decorator
@inline export function findIn(at: usize, n: u32, key: ID): ID {
  for (const end = at + (<usize>n << 3); at < end; at += 8) {
    if (load<ID>(at) == key) return load<ID>(at, 4);
  }
  return ABSENT;
}
