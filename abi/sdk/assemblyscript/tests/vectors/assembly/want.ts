// What a vector wants, and comparing with it.

import * as berth from "@berth-scheduler/sdk";

/** The vector, for messages. */
export namespace vector {
  export let name: string = "vectors";
  /** want.call of the vector. */
  export let call: berth.Json = berth.Json.parse("null");
  /** Rows or pods that were asked about. */
  export let asked: i32 = 0;
}

export function fail(what: string): void {
  berth.stop(vector.name + ": " + what);
}

export function part(from: berth.Json, key: string): berth.Json {
  const found = from.get(key);
  if (from.mistake() != "") fail(from.mistake());
  return found;
}

export function whole(from: berth.Json, key: string): i64 {
  return part(from, key).i64(0);
}

export function textOf(from: berth.Json, key: string): string {
  return part(from, key).text("");
}

export function nth(list: berth.Json, i: i32): berth.Json {
  const all = list.elements();
  if (i >= all.length) fail("the vector has too few elements");
  return all[i];
}

export function same(got: string, want: string, what: string): void {
  if (got != want) fail(what + " is " + got + ", want " + want);
}

export function equal(got: i64, want: i64, what: string): void {
  if (got != want) fail(what + " is " + got.toString() + ", want " + want.toString());
}

export function hex(digits: string): Uint8Array {
  const bytes = new Uint8Array(digits.length / 2);
  for (let i = 0; i < bytes.length; i++) bytes[i] = <u8>parseInt(digits.substr(2 * i, 2), 16);
  return bytes;
}
