// Constant strings whose ids are known in every call.

import { Table } from "./abi";
import { elementsOf, headerAt, lengthOf, rowsOf, Slot } from "./columns";
import { encode, keepZero, utf8Length } from "./memory";
import { ABSENT, ID } from "./types";

/** A constant string, whose id is known in every call. Create it with `constant`, together with the plugin or in configure. */
@final
export class Const {
  private hash: u32;
  private at: usize; // in UTF-8
  private n: u32;

  /**
   * The string's id in this call; ABSENT if nothing in the snapshot, and not the pod, has the string.
   * Compare with care: ABSENT is also the id of a label that is not there, see `is`.
   */
  id: ID = ABSENT;

  /** The string. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
    this.n = utf8Length(text);
    this.at = heap.alloc(this.n);
    encode(text, this.at);
    this.hash = hashOf(this.at, this.n);
  }

  /** Reports whether an id is that of the constant. ABSENT never is. */
  @inline is(id: ID): bool {
    return id != ABSENT && id == this.id;
  }

  // Of the SDK.

  _matches(hash: u32, at: usize, n: u32): bool {
    return this.hash == hash && this.n == n && memory.compare(this.at, at, n) == 0;
  }

  _hash(): u32 {
    return this.hash;
  }

  _same(other: Const): bool {
    return this._matches(other.hash, other.at, other.n);
  }

  _length(): u32 {
    return this.n;
  }
}

/** FNV-1a. */
function hashOf(at: usize, n: u32): u32 {
  let h: u32 = 0x811c9dc5;
  for (const end = at + n; at < end; at++) h = (h ^ load<u8>(at)) * 0x01000193;
  return h;
}

const all: Const[] = [];
let places: usize = 0; // indices in all plus 1 by hash, u32 each, at most half full
let nPlaces: u32 = 0;  // a power of two
let lengths: u64 = 0;  // bit n: there is a constant of n bytes; bit 63: or more
let scanned: u32 = 0;
let epoch: u64 = 0;

/** Returns a constant string, whose id is known in every call. Create constants with the plugin or in configure. */
export function constant(text: string): Const {
  if ((<u32>all.length + 1) * 2 > nPlaces) {
    nPlaces = max<u32>(16, 2 * nPlaces);
    if (places != 0) heap.free(places);
    places = keepZero(nPlaces, 4);
    for (let i = 0; i < all.length; i++) {
      let p = all[i]._hash();
      while (load<u32>(placeAt(p)) != 0) p++;
      store<u32>(placeAt(p), i + 1);
    }
  }
  const made = new Const(text);
  let p = made._hash();
  for (; load<u32>(placeAt(p)) != 0; p++) {
    const known = all[load<u32>(placeAt(p)) - 1];
    if (known._same(made)) return known;
  }
  all.push(made);
  store<u32>(placeAt(p), all.length);
  lengths |= (<u64>1) << min<u32>(made._length(), 63);
  scanned = 0; // look at all strings again
  return made;
}

// @ts-ignore: decorator
@inline function placeAt(p: u32): usize {
  return places + ((p & (nPlaces - 1)) << 2);
}

/** Looks at the strings that are new. The dictionary only grows within an epoch (ABI-4.6). */
export function resolve(): void {
  const rows = rowsOf(Table.Strings), now = load<u64>(headerAt(), 8);
  if (all.length == 0 || rows == 0 || (rows == scanned && epoch == now)) return;
  if (epoch != now || rows < scanned) {
    for (let i = 0; i < all.length; i++) all[i].id = ABSENT;
    scanned = 0;
    epoch = now;
  }
  for (let id = max<u32>(scanned, 1); id < rows; id++) {
    const n = lengthOf(Slot.Strings, id, "strings", "the id");
    if (((lengths >> min<u32>(n, 63)) & 1) == 0) continue;
    const at = n == 0 ? <usize>0 : elementsOf(Slot.Strings, id, 1), hash = hashOf(at, n);
    for (let p = hash; load<u32>(placeAt(p)) != 0; p++) {
      const known = all[load<u32>(placeAt(p)) - 1];
      if (known._matches(hash, at, n)) known.id = id;
    }
  }
  scanned = rows;
}
