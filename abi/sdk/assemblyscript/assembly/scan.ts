// Scanning JSON text. The functions take the address of a value in a text that `isJSON` has
// passed, so they need not look where it ends.

import { encodeOne } from "./memory";

/** Returns the position after white space. */
export function space(s: usize): usize {
  while (load<u8>(s) == 32 || load<u8>(s) == 10 || load<u8>(s) == 13 || load<u8>(s) == 9) s++;
  return s;
}

/** Returns the end of a string. */
export function skipString(s: usize): usize {
  for (s++; load<u8>(s) != 34; s++) if (load<u8>(s) == 92) s++;
  return s + 1;
}

/** Returns the end of a value. */
export function skip(s: usize): usize {
  let depth = 0;
  while (true) {
    const c = load<u8>(s);
    if (c == 34) {
      s = skipString(s);
    } else if (c == 123 || c == 91) {
      depth++;
      s++;
    } else if (c == 125 || c == 93) {
      depth--;
      s++;
    } else if (depth > 0 && (c == 44 || c == 58)) {
      s++;
    } else {
      while (isWord(load<u8>(s))) s++;
    }
    if (depth == 0) return s;
    s = space(s);
  }
}

/** Reports whether a byte may be of a number, or of true, false and null. */
function isWord(c: u8): bool {
  return (c >= 97 && c <= 122) || (c >= 48 && c <= 57) || c == 43 || c == 45 || c == 46 || c == 69;
}

/** Returns the first element of a list, or the first key of an object; 0 if it is empty. */
export function first(s: usize): usize {
  s = space(s + 1);
  return load<u8>(s) == 93 || load<u8>(s) == 125 ? 0 : s;
}

/** Returns what follows the end of an element or of a member's value; 0 if it was the last. */
export function next(s: usize): usize {
  s = space(s);
  return load<u8>(s) == 44 ? space(s + 1) : 0;
}

/** Returns the value of a key. */
export function valueOf(key: usize): usize {
  return space(space(skipString(key)) + 1);
}

function hex(s: usize): u32 {
  let n: u32 = 0;
  for (let i = 0; i < 4; i++) {
    const c = <u32>load<u8>(s + i);
    n = (n << 4) | (c <= 57 ? c - 48 : (c | 0x20) - 97 + 10);
  }
  return n;
}

/** Decodes a string to UTF-8, and returns where that ends. A half of a surrogate pair becomes U+FFFD. */
export function unescape(s: usize, to: usize): usize {
  for (s++; load<u8>(s) != 34; ) {
    let c = <u32>load<u8>(s++);
    if (c != 92) {
      store<u8>(to++, c);
      continue;
    }
    c = load<u8>(s++);
    if (c != 117) {
      store<u8>(to++, c == 98 ? 8 : c == 102 ? 12 : c == 110 ? 10 : c == 114 ? 13 : c == 116 ? 9 : c);
      continue;
    }
    c = hex(s);
    s += 4;
    if ((c & 0xfc00) == 0xd800 && load<u8>(s) == 92 && load<u8>(s, 1) == 117) {
      const low = hex(s + 2);
      if ((low & 0xfc00) == 0xdc00) {
        c = 0x10000 + ((c & 0x3ff) << 10) + (low & 0x3ff);
        s += 6;
      }
    }
    to = encodeOne(c >= 0xd800 && c < 0xe000 ? 0xfffd : c, to);
  }
  return to;
}
