// Whether a text is JSON (RFC 8259).

enum { BERTH__DEPTH = 32 }; // objects and lists may be nested this deep

struct berth__check {
  const char *s, *end;
};

// The next byte; 0, which is nowhere in JSON, at the end.
BERTH__FN char berth__byte(const struct berth__check *c) { return c->s < c->end ? *c->s : 0; }

BERTH__COLD char berth__peek(struct berth__check *c) {
  while (c->s < c->end && (*c->s == ' ' || *c->s == '\n' || *c->s == '\r' || *c->s == '\t')) c->s++;
  return berth__byte(c);
}

BERTH__FN bool berth__take(struct berth__check *c, char b) {
  if (berth__peek(c) != b) return false;
  c->s++;
  return true;
}

BERTH__COLD bool berth__check_word(struct berth__check *c, BerthText word) {
  if ((size_t)(c->end - c->s) < word.n || !berth__equals((BerthText){c->s, word.n}, word)) return false;
  c->s += word.n;
  return true;
}

BERTH__COLD bool berth__check_string(struct berth__check *c) {
  if (!berth__take(c, '"')) return false;
  for (;;) {
    char b = berth__byte(c);
    if ((uint8_t)b < 0x20) return false;
    c->s++;
    if (b == '"') return true;
    if (b != '\\') continue;
    b = berth__byte(c);
    if (b != '"' && b != '\\' && b != '/' && b != 'b' && b != 'f' && b != 'n' && b != 'r' && b != 't' && b != 'u') return false;
    c->s++;
    for (uint32_t i = 0; b == 'u' && i < 4; i++, c->s++) {
      char d = berth__byte(c);
      if (!((d >= '0' && d <= '9') || ((d | 0x20) >= 'a' && (d | 0x20) <= 'f'))) return false;
    }
  }
}

BERTH__COLD bool berth__check_digits(struct berth__check *c) {
  const char *from = c->s;
  while (berth__byte(c) >= '0' && berth__byte(c) <= '9') c->s++;
  return c->s > from;
}

BERTH__COLD bool berth__check_number(struct berth__check *c) {
  if (berth__byte(c) == '-') c->s++;
  const char *from = c->s;
  if (!berth__check_digits(c) || (*from == '0' && c->s > from + 1)) return false;
  if (berth__byte(c) == '.') {
    c->s++;
    if (!berth__check_digits(c)) return false;
  }
  if (berth__byte(c) != 'e' && berth__byte(c) != 'E') return true;
  c->s++;
  if (berth__byte(c) == '+' || berth__byte(c) == '-') c->s++;
  return berth__check_digits(c);
}

BERTH__COLD bool berth__check_value(struct berth__check *c, uint32_t depth) {
  if (depth > BERTH__DEPTH) return false;
  char open = berth__peek(c), close = open == '{' ? '}' : ']';
  switch (open) {
  case '"': return berth__check_string(c);
  case 't': return berth__check_word(c, BERTH_TEXT("true"));
  case 'f': return berth__check_word(c, BERTH_TEXT("false"));
  case 'n': return berth__check_word(c, BERTH_TEXT("null"));
  case '{':
  case '[': break;
  default: return berth__check_number(c);
  }
  c->s++;
  if (berth__take(c, close)) return true;
  for (;;) {
    if (open == '{' && !(berth__check_string(c) && berth__take(c, ':'))) return false;
    if (!berth__check_value(c, depth + 1)) return false;
    if (berth__peek(c) != ',') return berth__take(c, close);
    c->s++;
  }
}

// Reports whether a text is one JSON value in UTF-8. Otherwise line is that of the first mistake;
// 0 if it is not UTF-8.
BERTH__COLD bool berth__json_check(BerthText text, uint32_t *line) {
  *line = 0;
  if (!berth__is_utf8(text)) return false;
  struct berth__check c = {text.at, text.at + text.n};
  if (berth__check_value(&c, 0) && berth__peek(&c) == 0 && c.s == c.end) return true;
  *line = 1;
  for (const char *s = text.at; s < c.s; s++) *line += *s == '\n';
  return false;
}
