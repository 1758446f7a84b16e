// Reading a configuration: typed access to JSON.
//
// A value is a place in the text. The first mistake is noted with
// its path, and from then on every function returns what it returns for an absent value. So a
// plugin reads its configuration without looking for mistakes, and berth_configure refuses it in
// the end. Looking a field up walks through its object, so it is for configure, once an instance.

/// A text of JSON, and the first mistake in it.
typedef struct {
  BerthText text;
  BerthText error; // empty if there is none
} BerthJsonText;

/// A value in a JSON text. One that is absent, or null, is nowhere: at is NULL.
typedef struct {
  BerthJsonText *in;
  const char *at, *key; // of a member, its key
} BerthJson;

// Checks a text that has a byte behind it which is nowhere in JSON, and returns its value.
BERTH__COLD BerthJson berth__json_value(BerthJsonText *in, BerthText text) {
  *in = (BerthJsonText){text, {"", 0}};
  uint32_t line;
  if (berth__json_check(text, &line)) return (BerthJson){in, berth__space(text.at), NULL};
  in->error = line == 0 ? BERTH_TEXT("the configuration is not UTF-8") : berth_concat("line ", berth_decimal(line), ": this is not JSON");
  return (BerthJson){in, NULL, NULL};
}

/// Checks a text and returns its value, which is valid until the call returns; in must stay where
/// it is. A text that is not JSON is the first mistake, and its value is absent.
#define berth_json_parse(in, text) berth__json_parse(in, BERTH_TEXT(text))

BERTH__COLD BerthJson berth__json_parse(BerthJsonText *in, BerthText text) {
  char *copy = berth_scratch(text.n + 1);
  berth__copy(copy, text.at, text.n);
  copy[text.n] = 0;
  return berth__json_value(in, (BerthText){copy, text.n});
}

/// Reports whether there was a mistake. It is in->error.
BERTH__FN bool berth_json_failed(BerthJson v) { return v.in->error.n > 0; }

/// Reports whether a value exists.
BERTH__COLD bool berth_json_is_there(BerthJson v) { return v.at != NULL && *v.at != 'n' && !berth_json_failed(v); }

BERTH__FN BerthJson berth__json_absent(BerthJson v) { return (BerthJson){v.in, NULL, NULL}; }

// Returns a string, decoded, until the call returns.
BERTH__COLD BerthText berth__json_string(const char *s) {
  char *at = berth_scratch((uint32_t)(berth__skip_string(s) - s)), *end = at; // decoded it is shorter
  for (s++; *s != '"';) {
    char utf8[4];
    uint32_t n;
    s = berth__unescape(s, utf8, &n);
    for (uint32_t i = 0; i < n; i++) *end++ = utf8[i];
  }
  return (BerthText){at, (uint32_t)(end - at)};
}

// Returns the path from a value to the one at a position, or to a key.
BERTH__COLD BerthText berth__json_path(const char *from, const char *to) {
  BerthText path = {"", 0};
  while (from != to && (*from == '{' || *from == '[')) {
    const char *s = berth__first(from), *value = s;
    bool list = *from == '[';
    uint32_t i = 0;
    for (; s != NULL; s = berth__next(berth__skip(value)), i++) {
      value = list ? s : berth__value(s);
      if (s == to || (value <= to && to < berth__skip(value))) break;
    }
    if (s == NULL) return path;
    path = list ? berth_concat(path, "[", berth_decimal(i), "]") : berth_concat(path, path.n == 0 ? "" : ".", berth__json_string(s));
    if (s == to) return path;
    from = value;
  }
  return path;
}

/// Refuses a value. The text is for people; the value's path is put before it. The first mistake
/// counts.
#define berth_json_error(v, text) berth__json_error(v, BERTH_TEXT(text))

BERTH__COLD void berth__json_error(BerthJson v, BerthText text) {
  if (berth_json_failed(v)) return;
  BerthText path = v.at == NULL ? BERTH_TEXT("") : berth__json_path(berth__space(v.in->text.at), v.at);
  v.in->error = berth_concat(path.n == 0 ? BERTH_TEXT("the configuration") : path, ": ", text);
}

BERTH__COLD const char *berth__json_kind(char first) {
  switch (first) {
  case '{': return "an object";
  case '[': return "a list";
  case '"': return "a string";
  case 't':
  case 'f': return "true or false";
  default: return "a number";
  }
}

// Reports whether a value exists and begins with one of some bytes.
BERTH__COLD bool berth__json_expect(BerthJson v, const char *firsts) {
  if (!berth_json_is_there(v)) return false;
  for (const char *first = firsts; *first != 0; first++) {
    if (*v.at == *first) return true;
  }
  berth__json_error(v, berth_concat("expected ", berth__json_kind(*firsts), ", found ", berth__json_kind(*v.at)));
  return false;
}

/// The value of a key of an object, the last of equal ones; absent if the object does not have it.
#define berth_json_get(object, key) berth__json_get(object, BERTH_TEXT(key))

BERTH__COLD BerthJson berth__json_get(BerthJson object, BerthText key) {
  if (!berth__json_expect(object, "{")) return berth__json_absent(object);
  const char *at = berth__member(object.at, key);
  return (BerthJson){object.in, at != NULL && *at == 'n' ? NULL : at, NULL};
}

/// The value of a key of an object, which must be there.
#define berth_json_need(object, key) berth__json_need(object, BERTH_TEXT(key))

BERTH__COLD BerthJson berth__json_need(BerthJson object, BerthText key) {
  BerthJson v = berth__json_get(object, key);
  if (!berth_json_is_there(v)) berth__json_error(object, berth_concat("the field ", key, " is missing"));
  return v;
}

/// Refuses keys of an object other than those named.
#define berth_json_only(object, ...) berth__json_only(object, BERTH__TEXTS(__VA_ARGS__))

// Returns the texts, separated by commas.
BERTH__COLD BerthText berth__json_known(const char *before, const BerthText *texts, uint32_t n) {
  BerthText known = BERTH_TEXT(before);
  for (uint32_t i = 0; i < n; i++) known = berth_concat(known, i == 0 ? "" : ", ", texts[i]);
  return known;
}

// Returns which of some texts a string is; n if it is none.
BERTH__COLD uint32_t berth__json_which(const char *string, const BerthText *texts, uint32_t n) {
  uint32_t i = 0;
  while (i < n && !berth__string_is(string, texts[i])) i++;
  return i;
}

BERTH__COLD void berth__json_only(BerthJson object, const BerthText *keys, uint32_t n) {
  if (!berth__json_expect(object, "{")) return;
  for (const char *key = berth__first(object.at); key != NULL; key = berth__next(berth__skip(berth__value(key)))) {
    if (berth__json_which(key, keys, n) == n) {
      berth__json_error((BerthJson){object.in, key, NULL}, berth__json_known("there is no such field; there are ", keys, n));
      return;
    }
  }
}
