// Texts that are made in a call.

/// Returns texts one after the other, as one text that is valid until the call returns.
#define berth_concat(...) berth__concat(BERTH__TEXTS(__VA_ARGS__))

BERTH__COLD BerthText berth__concat(const BerthText *texts, uint32_t n) {
  uint32_t size = 0;
  for (uint32_t i = 0; i < n; i++) size += texts[i].n;
  char *at = berth_scratch(size), *end = at;
  for (uint32_t i = 0; i < n; i++) {
    berth__copy(end, texts[i].at, texts[i].n);
    end += texts[i].n;
  }
  return (BerthText){at, size};
}

/// Returns a number as a decimal text that is valid until the call returns.
BERTH__COLD BerthText berth_decimal(int64_t number) {
  char *end = (char *)berth_scratch(24) + 24, *at = end;
  uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
  do {
    *--at = (char)('0' + left % 10);
    left /= 10;
  } while (left > 0);
  if (number < 0) *--at = '-';
  return (BerthText){at, (uint32_t)(end - at)};
}

// Reads a whole decimal number of 64 bits with an optional sign, as strconv.ParseInt does.
BERTH__COLD bool berth__parse_i64(BerthText text, int64_t *number) {
  bool negative = text.n > 0 && text.at[0] == '-';
  uint32_t i = negative || (text.n > 0 && text.at[0] == '+');
  if (i == text.n) return false;
  uint64_t n = 0, most = (uint64_t)INT64_MAX + negative;
  for (; i < text.n; i++) {
    uint32_t digit = (uint32_t)(uint8_t)text.at[i] - '0';
    if (digit > 9 || n > (most - digit) / 10) return false;
    n = 10 * n + digit;
  }
  *number = (int64_t)(negative ? 0 - n : n);
  return true;
}

/// Reads a whole decimal number of 64 bits, with an optional sign and nothing around it.
#define berth_parse_i64(text, number) berth__parse_i64(BERTH_TEXT(text), number)

/// Returns a copy of a text that is never freed.
#define berth_keep_text(text) berth__keep_text(BERTH_TEXT(text))

BERTH__COLD BerthText berth__keep_text(BerthText text) {
  char *at = berth_keep(text.n);
  berth__copy(at, text.at, text.n);
  return (BerthText){at, text.n};
}

// Returns a text with question marks instead of bytes that are not UTF-8.
BERTH__COLD BerthText berth__utf8(BerthText text) {
  if (berth__is_utf8(text)) return text;
  char *at = berth_scratch(text.n);
  berth__copy(at, text.at, text.n);
  for (uint32_t i = 0, size; i < text.n; i += size) {
    size = berth__character(text, i);
    if (size > 0) continue;
    at[i] = '?';
    size = 1;
  }
  return (BerthText){at, text.n};
}
