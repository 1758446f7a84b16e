// What tests expect. A test that finds something else ends with a text that says what.

import * as berth from "@berth-scheduler/sdk";

export function check(ok: bool, what: string): void {
  if (!ok) berth.stop(what);
}

export function equal<T>(got: T, want: T, what: string): void {
  if (got != want) berth.stop(what + " is " + got.toString() + ", want " + want.toString());
}

/** A string of n characters, for the test to write. */
export function room(n: i32): string {
  return changetype<string>(__new(<usize>n << 1, idof<string>()));
}
