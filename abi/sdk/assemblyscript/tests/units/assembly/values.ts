// Reading JSON and numbers, and the order of queue keys.

import * as berth from "@berth-scheduler/sdk";
import { keepZero } from "@berth-scheduler/sdk/assembly/memory";

import { check, equal } from "./check";

export function parse(text: string): f64 {
  return berth.Json.parse(text).f64(NaN);
}

/** The mistake in a text; for a value that is an object, of reading what is in it in a way. */
export function mistakeIn(text: string, how: i32): string {
  const v = berth.Json.parse(text);
  if (v.mistake() != "") return v.mistake();
  const a = v.get("a"), list = a.get("b.c");
  switch (how) {
    case 1: list.elements()[1].i64(0); break;
    case 2: list.elements()[0].bool(false); break;
    case 3: list.elements()[2].text(""); break;
    case 4: list.elements()[2].need("d"); break;
    case 5: list.get("x"); break;
    case 6: a.get("b"); break;
    case 7: a.elements(); break;
    case 8: v.get("n").i64(0); break;
    case 9: v.get("huge").i64(0); break;
    case 10: v.get("e").f64(0); break;
    case 11: v.need("x"); break;
    case 12: v.only(["a", "n", "e"]); break;
    case 13: v.bool(false); break;
    case 14: list.elements()[1].oneOf(["y", "z"], 0); break;
    case 15: list.elements()[2].error("no"); break;
    case 16: { // the first mistake counts, and after it everything is absent
      const all = list.elements();
      all[1].i64(0);
      check(all[0].i64(9) == 9 && !v.get("a").isThere() && list.elements().length == 0, "there is something after a mistake");
      v.error("late");
      break;
    }
  }
  return v.mistake();
}

export function testJson(): void {
  const v = berth.Json.parse(
    '{"n": -12, "big": 9223372036854775807, "least": -9223372036854775808, "x": 0.25, "t": true, "f": false,' +
    '"s": "a\\"\\u00e9\\ud83d\\ude00\\ud83dé\\n", "none": null, "l": [1, 2, 3], "twice": 1, "twice": 2, "k\\u0065y": 5}');
  equal<i64>(v.get("n").i64(0), -12, "n");
  check(v.get("big").i64(0) == i64.MAX_VALUE && v.get("least").i64(0) == i64.MIN_VALUE, "the extremes");
  check(v.get("x").f64(0) == 0.25 && v.get("absent").f64(7) == 7, "x");
  check(v.get("t").bool(false) && !v.get("f").bool(true), "t and f");
  equal(v.get("s").text(""), 'a"é😀\ufffdé\n', "s");
  check(v.get("s").is('a"é😀\ufffdé\n') && !v.get("s").is("a"), "is");
  check(!v.get("none").isThere() && !v.get("absent").isThere(), "what is absent");
  equal<i64>(v.get("twice").i64(0), 2, "the last of equal keys"); // as encoding/json has it
  equal<i64>(v.get("key").i64(0), 5, "key");
  const list = v.get("l").elements();
  check(list.length == 3 && list[2].i64(0) == 3 && v.get("none").elements().length == 0, "elements");
  check(v.fields().length == 12 && v.fields()[0].key == "n", "fields");
  equal(berth.Json.parse('"b"').oneOf(["a", "b"], 9), 1, "oneOf");
  check(berth.Json.parse("[]").elements().length == 0 && berth.Json.parse("{}").fields().length == 0, "what is empty");
  equal(v.mistake(), "", "the mistake");
}

export function testNumbers(): void {
  const good = ["0", "-0", "+7", "007", "9223372036854775807", "-9223372036854775808"];
  const want: i64[] = [0, 0, 7, 7, i64.MAX_VALUE, i64.MIN_VALUE];
  for (let i = 0; i < good.length; i++) check(berth.parseI64(good[i]) && berth.parsed.number == want[i], good[i]);
  const bad = ["9223372036854775808", "-9223372036854775809", "99999999999999999999", "", "-", "1a", " 1", "1_0", "--1"];
  for (let i = 0; i < bad.length; i++) check(!berth.parseI64(bad[i]), bad[i]);
}

function key(): berth.Key {
  return changetype<berth.Key>(keepZero(1, 68));
}

function sign(n: i32): i32 {
  return (n > 0 ? 1 : 0) - (n < 0 ? 1 : 0);
}

function compare(a: berth.Key, b: berth.Key): i32 {
  const n = min(a._length, b._length), c = memory.compare(changetype<usize>(a) + 4, changetype<usize>(b) + 4, n);
  return sign(c != 0 ? c : <i32>a._length - <i32>b._length);
}

function bytes(b: u8): Uint8Array {
  const all = new Uint8Array(1);
  all[0] = b;
  return all;
}

// The order of keys is that of their parts, and the reverse for descending ones.
export function testKeys(): void {
  const n: i64[] = [i64.MIN_VALUE, -2, -1, 0, 1, 2, i64.MAX_VALUE];
  for (let i = 0; i < n.length; i++) {
    for (let j = 0; j < n.length; j++) {
      const a = key(), b = key(), c = key(), d = key(), e = key(), f = key();
      a.appendI64(n[i]);
      b.appendI64(n[j]);
      equal(compare(a, b), sign(i - j), "appendI64");
      c.appendI64Descending(n[i]);
      d.appendI64Descending(n[j]);
      equal(compare(c, d), sign(j - i), "appendI64Descending");
      e.appendU64Descending(n[i]);
      f.appendU64Descending(n[j]);
      equal(compare(e, f), (<u64>n[j] > <u64>n[i] ? 1 : 0) - (<u64>n[j] < <u64>n[i] ? 1 : 0), "appendU64Descending");
    }
  }
  const t = ["", "\0", "\0\0", "\0a", "a", "a\0", "a\0b", "aa", "b", "é"];
  for (let i = 0; i < t.length; i++) {
    for (let j = 0; j < t.length; j++) { // what follows a text does not mix with it
      const a = key(), b = key(), c = key(), d = key();
      a.appendText(t[i]);
      a.appendBytes(bytes(0xff));
      b.appendText(t[j]);
      b.appendBytes(bytes(1));
      equal(compare(a, b), i == j ? 1 : sign(i - j), "appendText");
      c.appendTextDescending(t[i]);
      c.appendBytesDescending(bytes(0xff));
      d.appendTextDescending(t[j]);
      d.appendBytesDescending(bytes(1));
      equal(compare(c, d), i == j ? -1 : sign(j - i), "appendTextDescending");
    }
  }
  const k = key();
  for (let i = 0; i < 60; i++) k.appendBytes(bytes(49));
  equal(k.room(), 4, "room");
  k.appendU64(1);
  check(k.room() == 0 && k._length == 68, "a key that is too long");
}
