// Decimal numbers. Those with a fraction are rounded to the nearest double, ties to even (IEEE 754),
// exactly, by whole numbers of any length: slow, small, and as in the other SDKs.

/** What parseI64 and parseF64 have read. */
export namespace parsed {
  export let number: i64 = 0;
  export let double: f64 = 0;
}

/** Reads a whole decimal number of 64 bits, with an optional sign and nothing around it; it is in `parsed.number`. */
export function parseI64(text: string): bool {
  const negative = text.length > 0 && text.charCodeAt(0) == 45;
  let i = negative || (text.length > 0 && text.charCodeAt(0) == 43) ? 1 : 0;
  if (i == text.length) return false;
  const most: u64 = <u64>i64.MAX_VALUE + (negative ? 1 : 0);
  let n: u64 = 0;
  for (; i < text.length; i++) {
    const digit = <u32>text.charCodeAt(i) - 48;
    if (digit > 9 || n > (most - digit) / 10) return false;
    n = 10 * n + digit;
  }
  parsed.number = negative ? -(<i64>n) : <i64>n;
  return true;
}

// 4,096 bits: 10^1130, which what follows does not exceed, has 3,754.
const LIMBS = 128;
// A number half-way between two doubles has at most 767 digits.
const DIGITS = 800;

/** A whole number: limbs of 32 bits, the lowest first. */
@final
class Big {
  n: i32 = 0;
  limb: StaticArray<u32> = new StaticArray<u32>(LIMBS);

  constructor(n: u32) {
    if (n > 0) {
      this.limb[0] = n;
      this.n = 1;
    }
  }

  /** Multiplies by a small number, and adds one. */
  times(factor: u32, more: u32): void {
    let carry: u64 = more;
    for (let i = 0; i < this.n; i++) {
      carry += <u64>this.limb[i] * factor;
      this.limb[i] = <u32>carry;
      carry >>= 32;
    }
    if (carry > 0) this.limb[this.n++] = <u32>carry;
  }

  power(exponent: i32): void {
    for (; exponent >= 9; exponent -= 9) this.times(1000000000, 0);
    for (; exponent > 0; exponent--) this.times(10, 0);
  }

  bits(): i32 {
    return this.n == 0 ? 0 : 32 * this.n - clz<i32>(<i32>this.limb[this.n - 1]);
  }

  shift(bits: i32): void {
    for (; bits >= 16; bits -= 16) this.times(1 << 16, 0);
    this.times(<u32>1 << bits, 0);
  }

  /** Subtracts m if it is not more, and reports whether it did. */
  minus(m: Big): bool {
    if (this.n < m.n) return false;
    for (let i = this.n - 1; i >= 0; i--) {
      const other = i < m.n ? m.limb[i] : 0;
      if (this.limb[i] > other) break;
      if (this.limb[i] < other) return false;
    }
    let carry: i64 = 0;
    for (let i = 0; i < this.n; i++) {
      carry += <i64>this.limb[i] - <i64>(i < m.n ? m.limb[i] : 0);
      this.limb[i] = <u32>carry;
      carry >>= 32;
    }
    while (this.n > 0 && this.limb[this.n - 1] == 0) this.n--;
    return true;
  }
}

const INFINITE: u64 = 0x7ff << 52;

/** Returns the double nearest to over/under, as bits; those of infinity if it is too large. */
function ratio(over: Big, under: Big): u64 {
  // Shifted to the same length the ratio is between 1/2 and 2, so 64 steps give 63 bits at least.
  const shift = under.bits() - over.bits();
  if (shift > 0) over.shift(shift);
  else under.shift(-shift);
  let quotient: u64 = 0;
  for (let i = 0; i < 64; i++) {
    quotient = (quotient << 1) | (over.minus(under) ? 1 : 0);
    over.times(2, 0);
  }
  // The value is quotient · 2^(−63 − shift), and a bit more if over is not 0.
  const bits = 64 - <i32>clz<u64>(quotient), exponent = bits - 64 - shift;
  const precision = exponent >= -1022 ? 53 : 53 + 1022 + exponent; // less for subnormal numbers
  const drop = bits - precision;
  if (drop > 64) return 0;
  let mantissa: u64 = drop == 64 ? 0 : quotient >> drop;
  const half = (<u64>1) << (drop - 1), rest = quotient & (half | (half - 1));
  if (rest > half || (rest == half && (over.n > 0 || (mantissa & 1) != 0))) mantissa++;
  if (exponent < -1022) return mantissa;
  const double = (<u64>(exponent + 1022) << 52) + mantissa; // a carry goes to the exponent
  return min<u64>(double, INFINITE);
}

/** Reads n bytes that are a number of JSON; it is in `parsed.double`, or false is returned if it is beyond the finite doubles. */
export function parseF64(at: usize, n: u32): bool {
  const over = new Big(0), under = new Big(1), end = at + n;
  const negative = load<u8>(at) == 45;
  if (negative) at++;
  let point = false, more = false, digits = 0, exponent = 0;
  for (; at < end && (load<u8>(at) | 0x20) != 101; at++) {
    const c = load<u8>(at);
    if (c == 46) {
      point = true;
      continue;
    }
    if (digits == DIGITS) {
      if (c != 48) more = true;
      if (!point) exponent++;
      continue;
    }
    over.times(10, c - 48);
    if (over.n > 0) digits++; // zeros in front do not count
    if (point) exponent--;
  }
  if (at < end) {
    at++;
    const minus = load<u8>(at) == 45;
    if (minus || load<u8>(at) == 43) at++;
    let e = 0;
    for (; at < end; at++) if (e < 100000) e = 10 * e + <i32>load<u8>(at) - 48;
    exponent += minus ? -e : e;
  }
  if (more) { // what was left out is not 0: as one digit that is not
    over.times(10, 1);
    exponent--;
    digits++;
  }
  let bits: u64 = 0;
  if (over.n > 0 && digits + exponent > 310) return false;
  if (over.n > 0 && digits + exponent > -330) {
    if (exponent > 0) over.power(exponent);
    else under.power(-exponent);
    bits = ratio(over, under);
  }
  if (bits == INFINITE) return false;
  parsed.double = reinterpret<f64>(bits | ((negative ? <u64>1 : 0) << 63));
  return true;
}
