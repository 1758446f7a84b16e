// Reading a configuration: typed access to JSON.
//
// A value is a place in the text. The first mistake is noted with its path, and from then on every
// method returns what it returns for an absent value. So a plugin reads its configuration without looking
// for mistakes, and berth_configure refuses it in the end. Looking a field up walks through its object, so
// it is for configure, once an instance.

import { mistake } from "./check";
import { decode, encode, utf8Length } from "./memory";
import { parsed, parseF64, parseI64 } from "./number";
import { first, next, skip, skipString, space, unescape, valueOf } from "./scan";

/** A text of JSON, and the first mistake in it; empty if there is none. */
@final
class Source {
  error: string = "";
  bytes: StaticArray<u8>;
  root: usize = 0;

  constructor(at: usize, n: u32) {
    this.bytes = new StaticArray<u8>(n + 1); // a zero byte after the text ends its last value
    memory.copy(changetype<usize>(this.bytes), at, n);
    this.error = mistake(changetype<usize>(this.bytes), n);
    if (this.error == "") this.root = space(changetype<usize>(this.bytes));
  }
}

/** A string at an address, decoded. */
function stringAt(at: usize): string {
  const room = new StaticArray<u8>(<i32>(skipString(at) - at)); // decoded it is shorter
  const start = changetype<usize>(room);
  return decode(start, <u32>(unescape(at, start) - start));
}

function kindOf(c: u8): string {
  switch (c) {
    case 123: return "an object";
    case 91: return "a list";
    case 34: return "a string";
    case 116:
    case 102: return "true or false";
    default: return "a number";
  }
}

/** A value of JSON. */
@final
export class Json {
  private in: Source;
  private at: usize; // 0 if it is absent, or null
  /** The key of a value that fields returned. */
  readonly key: string;

  private constructor(source: Source, at: usize, key: string) {
    this.in = source;
    this.at = at != 0 && load<u8>(at) == 110 ? 0 : at;
    this.key = key;
  }

  /** Checks a text and returns its value. A text that is not JSON is the first mistake, and its value is absent. */
  static parse(text: string): Json {
    const n = utf8Length(text), at = heap.alloc(n);
    encode(text, at);
    const value = Json._parse(at, n);
    heap.free(at);
    return value;
  }

  // Of the SDK: the same of a text in UTF-8.
  static _parse(at: usize, n: u32): Json {
    const source = new Source(at, n);
    return new Json(source, source.root, "");
  }

  private absent(): Json {
    return new Json(this.in, 0, "");
  }

  /** The first mistake in the text; empty if there is none. */
  mistake(): string {
    return this.in.error;
  }

  /** Reports whether the value exists. */
  isThere(): bool {
    return this.at != 0 && this.in.error == "";
  }

  // Of the SDK: the first byte of the value, which says what it is; 0 if it does not exist.
  _kind(): u8 {
    return this.isThere() ? load<u8>(this.at) : 0;
  }

  /** Refuses the value. The text is for people; the value's path is put before it. The first mistake counts. */
  error(text: string): void {
    this.refuse(this.at, text);
  }

  private refuse(at: usize, text: string): void {
    if (this.in.error != "") return;
    const path = at == 0 ? "" : this.pathTo(at);
    this.in.error = (path == "" ? "the configuration" : path) + ": " + text;
  }

  /** The path to the value at an address, or to a key. */
  private pathTo(to: usize): string {
    let from = this.in.root, path = "";
    while (from != to && (load<u8>(from) == 123 || load<u8>(from) == 91)) {
      const list = load<u8>(from) == 91;
      let i = 0, s = first(from), value = s;
      for (; s != 0; s = next(skip(value)), i++) {
        value = list ? s : valueOf(s);
        if (s == to || (value <= to && to < skip(value))) break;
      }
      if (s == 0) return path;
      path += list ? "[" + i.toString() + "]" : (path == "" ? "" : ".") + stringAt(s);
      if (s == to) return path;
      from = value;
    }
    return path;
  }

  /** Reports whether the value exists and is of the kind that a first byte stands for. */
  private expect(c: u8): bool {
    if (!this.isThere()) return false;
    const want = kindOf(c), got = kindOf(load<u8>(this.at));
    if (want == got) return true;
    this.error("expected " + want + ", found " + got);
    return false;
  }

  /** The value of a key of this object, the last of equal ones; absent if it does not have it. */
  get(key: string): Json {
    if (!this.expect(123)) return this.absent();
    let found: usize = 0;
    for (let s = first(this.at); s != 0; s = next(skip(valueOf(s)))) if (stringAt(s) == key) found = valueOf(s);
    return new Json(this.in, found, "");
  }

  /** The value of a key of this object, which must be there. */
  need(key: string): Json {
    const value = this.get(key);
    if (!value.isThere()) this.error("the field " + key + " is missing");
    return value;
  }

  /** Refuses keys of this object other than those named. */
  only(keys: string[]): void {
    if (!this.expect(123)) return;
    for (let s = first(this.at); s != 0; s = next(skip(valueOf(s)))) {
      if (keys.includes(stringAt(s))) continue;
      this.refuse(s, "there is no such field; there are " + keys.join(", "));
      return;
    }
  }

  /** The elements of this list; none if it is absent. */
  elements(): Json[] {
    const all: Json[] = [];
    if (!this.expect(91)) return all;
    for (let s = first(this.at); s != 0; s = next(skip(s))) all.push(new Json(this.in, s, ""));
    return all;
  }

  /** The values of this object, with their keys; none if it is absent. */
  fields(): Json[] {
    const all: Json[] = [];
    if (!this.expect(123)) return all;
    for (let s = first(this.at); s != 0; s = next(skip(valueOf(s)))) all.push(new Json(this.in, valueOf(s), stringAt(s)));
    return all;
  }

  /** This string; otherwise if it is absent. */
  text(otherwise: string): string {
    return this.expect(34) ? stringAt(this.at) : otherwise;
  }

  /** Reports whether this is a string with a text. */
  is(text: string): bool {
    return this.isThere() && load<u8>(this.at) == 34 && stringAt(this.at) == text;
  }

  /** The index of this string among a few texts, from 0 on; otherwise if it is absent. */
  oneOf(texts: string[], otherwise: i32): i32 {
    if (!this.isThere()) return otherwise;
    for (let i = 0; i < texts.length; i++) if (this.is(texts[i])) return i;
    this.error("expected one of " + texts.join(", "));
    return otherwise;
  }

  /** This value as true or false; otherwise if it is absent. */
  bool(otherwise: bool): bool {
    return this.expect(116) ? load<u8>(this.at) == 116 : otherwise;
  }

  /** This whole number of 64 bits; otherwise if it is absent. */
  i64(otherwise: i64): i64 {
    if (!this.expect(48)) return otherwise;
    const digits = this.digits();
    if (parseI64(digits)) return parsed.number;
    this.error(digits + " is not a whole number of 64 bits");
    return otherwise;
  }

  /** This number; otherwise if it is absent. It is the nearest that a double can hold, ties to even. */
  f64(otherwise: f64): f64 {
    if (!this.expect(48)) return otherwise;
    if (parseF64(this.at, <u32>(skip(this.at) - this.at))) return parsed.double;
    this.error(this.digits() + " is beyond the numbers of 64 bits");
    return otherwise;
  }

  private digits(): string {
    return decode(this.at, <u32>(skip(this.at) - this.at));
  }
}
