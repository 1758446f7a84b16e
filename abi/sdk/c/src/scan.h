// Scanning JSON text: the manifest, when an instance starts, and a configuration.
//
// The functions take the position of a value in a text that berth__json_check has passed, so they
// need not look where it ends.

BERTH__FN const char *berth__space(const char *s) {
  while (*s == ' ' || *s == '\n' || *s == '\r' || *s == '\t') s++;
  return s;
}

// Returns the end of a string.
BERTH__COLD const char *berth__skip_string(const char *s) {
  for (s++; *s != '"'; s++) s += *s == '\\';
  return s + 1;
}

// Returns the end of a value.
BERTH__COLD const char *berth__skip(const char *s) {
  uint32_t depth = 0;
  for (;;) {
    char c = *s;
    if (c == '"') {
      s = berth__skip_string(s);
    } else if (c == '{' || c == '[') {
      depth++;
      s++;
    } else if (c == '}' || c == ']') {
      depth--;
      s++;
    } else if (depth > 0 && (c == ',' || c == ':')) {
      s++;
    } else {
      while ((*s >= 'a' && *s <= 'z') || (*s >= '0' && *s <= '9') || *s == '+' || *s == '-' || *s == '.' || *s == 'E') s++;
    }
    if (depth == 0) return s;
    s = berth__space(s);
  }
}

// Returns the first element of a list, or the first key of an object; NULL if it is empty.
BERTH__COLD const char *berth__first(const char *s) {
  s = berth__space(s + 1);
  return *s == ']' || *s == '}' ? NULL : s;
}

// Returns what follows the end of an element or of a member's value; NULL if it was the last.
BERTH__COLD const char *berth__next(const char *s) {
  s = berth__space(s);
  return *s == ',' ? berth__space(s + 1) : NULL;
}

// Returns the value of a key.
BERTH__COLD const char *berth__value(const char *key) {
  return berth__space(berth__space(berth__skip_string(key)) + 1);
}

BERTH__COLD uint32_t berth__hex(const char *s) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < 4; i++) {
    uint32_t c = (uint8_t)s[i];
    n = n << 4 | (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  return n;
}

// Reads a byte or an escape of a string and returns the position after it. Half of a
// surrogate pair becomes U+FFFD.
BERTH__COLD const char *berth__unescape(const char *s, char utf8[4], uint32_t *n) {
  uint32_t c = (uint8_t)*s++;
  *n = 1;
  utf8[0] = (char)c;
  if (c != '\\') return s;
  c = (uint8_t)*s++;
  utf8[0] = (char)(c == 'b' ? 8 : c == 'f' ? 12 : c == 'n' ? '\n' : c == 'r' ? '\r' : c == 't' ? '\t' : (char)c);
  if (c != 'u') return s;
  c = berth__hex(s);
  s += 4;
  if ((c & 0xFC00) == 0xD800 && s[0] == '\\' && s[1] == 'u') {
    uint32_t low = berth__hex(s + 2);
    if ((low & 0xFC00) == 0xDC00) {
      c = 0x10000 + ((c & 0x3FF) << 10) + (low & 0x3FF);
      s += 6;
    }
  }
  if (c >= 0xD800 && c < 0xE000) c = 0xFFFD;
  uint32_t tail = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  static const uint8_t lead[4] = {0, 0xC0, 0xE0, 0xF0};
  utf8[0] = (char)(lead[tail] | c >> 6 * tail);
  for (uint32_t i = 1; i <= tail; i++) utf8[i] = (char)(0x80 | (c >> 6 * (tail - i) & 0x3F));
  *n = tail + 1;
  return s;
}

// Reports whether a string has a text.
BERTH__COLD bool berth__string_is(const char *s, BerthText text) {
  uint32_t done = 0;
  for (s++; *s != '"';) {
    char utf8[4];
    uint32_t n;
    s = berth__unescape(s, utf8, &n);
    for (uint32_t i = 0; i < n; i++, done++) {
      if (done == text.n || text.at[done] != utf8[i]) return false;
    }
  }
  return done == text.n;
}

// Returns the value of a key of an object, the last of equal ones; NULL if it does not have it.
BERTH__COLD const char *berth__member(const char *object, BerthText key) {
  const char *found = NULL;
  for (const char *s = berth__first(object); s != NULL;) {
    const char *value = berth__value(s);
    if (berth__string_is(s, key)) found = value;
    s = berth__next(berth__skip(value));
  }
  return found;
}
