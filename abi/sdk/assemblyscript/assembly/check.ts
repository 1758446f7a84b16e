// Whether a text is JSON (RFC 8259) in UTF-8.

/** Objects and lists may be nested this deep. */
const DEPTH = 32;

let s: usize = 0;
let end: usize = 0;

// The next byte; 0, which is nowhere in JSON, at the end.
function byte(): u8 {
  return s < end ? load<u8>(s) : 0;
}

function peek(): u8 {
  while (s < end && (load<u8>(s) == 32 || load<u8>(s) == 10 || load<u8>(s) == 13 || load<u8>(s) == 9)) s++;
  return byte();
}

function take(b: u8): bool {
  if (peek() != b) return false;
  s++;
  return true;
}

function word(text: string): bool {
  for (let i = 0; i < text.length; i++, s++) if (byte() != text.charCodeAt(i)) return false;
  return true;
}

function isString(): bool {
  if (!take(34)) return false;
  while (true) {
    let b = byte();
    if (b < 0x20) return false;
    s++;
    if (b == 34) return true;
    if (b != 92) continue;
    b = byte();
    if (b != 34 && b != 92 && b != 47 && b != 98 && b != 102 && b != 110 && b != 114 && b != 116 && b != 117) return false;
    s++;
    for (let i = 0; b == 117 && i < 4; i++, s++) {
      const d = byte(), lower = d | 0x20;
      if (!((d >= 48 && d <= 57) || (lower >= 97 && lower <= 102))) return false;
    }
  }
}

function digits(): bool {
  const from = s;
  while (byte() >= 48 && byte() <= 57) s++;
  return s > from;
}

function isNumber(): bool {
  if (byte() == 45) s++;
  const from = s;
  if (!digits() || (load<u8>(from) == 48 && s > from + 1)) return false;
  if (byte() == 46) {
    s++;
    if (!digits()) return false;
  }
  if ((byte() | 0x20) != 101) return true;
  s++;
  if (byte() == 43 || byte() == 45) s++;
  return digits();
}

function value(depth: i32): bool {
  if (depth > DEPTH) return false;
  const open = peek(), close: u8 = open == 123 ? 125 : 93;
  switch (open) {
    case 34: return isString();
    case 116: return word("true");
    case 102: return word("false");
    case 110: return word("null");
    case 123:
    case 91: break;
    default: return isNumber();
  }
  s++;
  if (take(close)) return true;
  while (true) {
    if (open == 123 && !(isString() && take(58))) return false;
    if (!value(depth + 1)) return false;
    if (peek() != 44) return take(close);
    s++;
  }
}

/** Returns how many bytes the character at an address has in UTF-8; 0 if it is none (RFC 3629). */
function character(at: usize, left: usize): usize {
  const b = load<u8>(at);
  if (b < 0x80) return 1;
  const size: usize = b < 0xc2 ? 0 : b < 0xe0 ? 2 : b < 0xf0 ? 3 : b < 0xf5 ? 4 : 0;
  if (size == 0 || size > left) return 0;
  // The second byte: neither too long, nor a surrogate, nor beyond U+10FFFF.
  const low: u8 = b == 0xe0 ? 0xa0 : b == 0xf0 ? 0x90 : 0x80, high: u8 = b == 0xed ? 0x9f : b == 0xf4 ? 0x8f : 0xbf;
  if (load<u8>(at, 1) < low || load<u8>(at, 1) > high) return 0;
  for (let k: usize = 2; k < size; k++) if ((load<u8>(at + k) & 0xc0) != 0x80) return 0;
  return size;
}

function isUTF8(at: usize, n: u32): bool {
  for (const end = at + n; at < end; ) {
    const size = character(at, end - at);
    if (size == 0) return false;
    at += size;
  }
  return true;
}

/** Returns what is wrong with a text; the empty string if it is one JSON value in UTF-8. */
export function mistake(at: usize, n: u32): string {
  if (!isUTF8(at, n)) return "the configuration is not UTF-8";
  s = at;
  end = at + n;
  if (value(0) && peek() == 0 && s == end) return "";
  let line = 1;
  for (let i = at; i < s; i++) if (load<u8>(i) == 10) line++;
  return "line " + line.toString() + ": this is not JSON";
}
