// Decimal numbers as doubles, rounded to the nearest, ties to even (IEEE 754). It is exact by whole
// numbers of any length: slow, small, and the same on every machine.

enum {
  BERTH__LIMBS = 128,  // 4,096 bits: 10^1130, which what follows does not exceed, has 3,754
  BERTH__DIGITS = 800, // a number half-way between two doubles has at most 767 digits
};

struct berth__big {
  uint32_t n; // limbs in use
  uint32_t limb[BERTH__LIMBS];
};

// Multiplies by a small number, and adds one.
BERTH__FN void berth__big_times(struct berth__big *b, uint32_t factor, uint32_t more) {
  uint64_t carry = more;
  for (uint32_t i = 0; i < b->n; i++) {
    carry += (uint64_t)b->limb[i] * factor;
    b->limb[i] = (uint32_t)carry;
    carry >>= 32;
  }
  if (carry > 0) b->limb[b->n++] = (uint32_t)carry;
}

BERTH__FN void berth__big_power(struct berth__big *b, int32_t exponent) {
  for (; exponent >= 9; exponent -= 9) berth__big_times(b, 1000000000, 0);
  for (; exponent > 0; exponent--) berth__big_times(b, 10, 0);
}

BERTH__FN int32_t berth__big_bits(const struct berth__big *b) {
  return b->n == 0 ? 0 : (int32_t)(32 * b->n) - __builtin_clz(b->limb[b->n - 1]);
}

BERTH__FN void berth__big_shift(struct berth__big *b, int32_t bits) {
  for (; bits >= 16; bits -= 16) berth__big_times(b, 1 << 16, 0);
  berth__big_times(b, 1u << bits, 0);
}

// Subtracts m if it is not more than b, and reports whether it did.
BERTH__FN bool berth__big_minus(struct berth__big *b, const struct berth__big *m) {
  if (b->n < m->n) return false;
  for (uint32_t i = b->n; i-- > 0;) {
    uint32_t other = i < m->n ? m->limb[i] : 0;
    if (b->limb[i] > other) break;
    if (b->limb[i] < other) return false;
  }
  int64_t carry = 0;
  for (uint32_t i = 0; i < b->n; i++) {
    carry += (int64_t)b->limb[i] - (i < m->n ? m->limb[i] : 0);
    b->limb[i] = (uint32_t)carry;
    carry >>= 32;
  }
  while (b->n > 0 && b->limb[b->n - 1] == 0) b->n--;
  return true;
}

// Returns the double nearest to over/under, as bits; those of infinity if it is too large.
BERTH__COLD uint64_t berth__big_ratio(struct berth__big *over, struct berth__big *under) {
  // Shifted to the same length the ratio is between 1/2 and 2, so 64 steps give 63 bits at least.
  int32_t shift = berth__big_bits(under) - berth__big_bits(over);
  berth__big_shift(shift > 0 ? over : under, shift > 0 ? shift : -shift);
  uint64_t quotient = 0;
  for (uint32_t i = 0; i < 64; i++) {
    quotient = quotient << 1 | berth__big_minus(over, under);
    berth__big_times(over, 2, 0);
  }
  // The value is quotient · 2^(−63 − shift), and a bit more if over is not 0.
  int32_t bits = 64 - __builtin_clzll(quotient), exponent = bits - 64 - shift;
  int32_t precision = exponent >= -1022 ? 53 : 53 + 1022 + exponent; // less for subnormal numbers
  int32_t drop = bits - precision;
  if (drop > 64) return 0;
  uint64_t mantissa = drop == 64 ? 0 : quotient >> drop;
  uint64_t half = (uint64_t)1 << (drop - 1), rest = quotient & (half | (half - 1));
  if (rest > half || (rest == half && (over->n > 0 || (mantissa & 1) != 0))) mantissa++;
  if (exponent < -1022) return mantissa;
  uint64_t double_bits = ((uint64_t)(exponent + 1022) << 52) + mantissa; // a carry goes to the exponent
  return double_bits < (uint64_t)0x7FF << 52 ? double_bits : (uint64_t)0x7FF << 52;
}

// Reads a number of JSON; false if it is beyond the finite doubles.
BERTH__COLD bool berth__parse_f64(BerthText text, double *number) {
  struct berth__big over = {0, {0}}, under = {1, {1}};
  const char *s = text.at, *end = s + text.n;
  bool negative = *s == '-', point = false, more = false;
  int32_t digits = 0, exponent = 0;
  for (s += negative; s < end && *s != 'e' && *s != 'E'; s++) {
    if (*s == '.') {
      point = true;
      continue;
    }
    if (digits == BERTH__DIGITS) {
      more |= *s != '0';
      exponent += !point;
      continue;
    }
    berth__big_times(&over, 10, (uint32_t)(*s - '0'));
    digits += over.n > 0; // zeros in front do not count
    exponent -= point;
  }
  if (s < end) {
    bool minus = *++s == '-';
    s += *s == '-' || *s == '+';
    int32_t n = 0;
    for (; s < end; s++) n = n < 100000 ? 10 * n + (*s - '0') : n;
    exponent += minus ? -n : n;
  }
  if (more) { // what was left out is not 0: as one digit that is not
    berth__big_times(&over, 10, 1);
    exponent--;
    digits++;
  }
  uint64_t bits = 0;
  if (over.n > 0 && digits + exponent > 310) return false;
  if (over.n > 0 && digits + exponent > -330) {
    berth__big_power(exponent > 0 ? &over : &under, exponent > 0 ? exponent : -exponent);
    bits = berth__big_ratio(&over, &under);
  }
  if (bits == (uint64_t)0x7FF << 52) return false;
  bits |= (uint64_t)negative << 63;
  __builtin_memcpy(number, &bits, sizeof bits);
  return true;
}
