// Values of JSON: elements of lists and objects, strings, numbers.

BERTH__COLD BerthJson berth__json_item(BerthJson of, const char *s) {
  if (s == NULL || berth_json_failed(of)) return berth__json_absent(of);
  if (of.key == NULL) return (BerthJson){of.in, s, NULL};
  return (BerthJson){of.in, berth__value(s), s};
}

/// The first element of a list; absent if there is none.
BERTH__COLD BerthJson berth_json_elements(BerthJson list) {
  list.key = NULL;
  return berth__json_item(list, berth__json_expect(list, "[") ? berth__first(list.at) : NULL);
}

/// The first value of an object, which has a key; absent if there is none.
BERTH__COLD BerthJson berth_json_fields(BerthJson object) {
  object.key = object.at;
  return berth__json_item(object, berth__json_expect(object, "{") ? berth__first(object.at) : NULL);
}

/// What follows an element, or a value of an object; absent if it was the last.
BERTH__FN BerthJson berth_json_next(BerthJson item) { return berth__json_item(item, berth__next(berth__skip(item.at))); }

/// BERTH_JSON_ELEMENTS(pool, berth_json_get(config, "pools")) { … } goes through a list.
#define BERTH_JSON_ELEMENTS(item, list) \
  for (BerthJson item = berth_json_elements(list); item.at != NULL; item = berth_json_next(item))

/// BERTH_JSON_FIELDS(tenant, berth_json_get(config, "tenants")) { … } goes through an object;
/// berth_json_key(tenant) is the key.
#define BERTH_JSON_FIELDS(item, object) \
  for (BerthJson item = berth_json_fields(object); item.at != NULL; item = berth_json_next(item))

/// The key of a value that berth_json_fields returned; never freed.
BERTH__COLD BerthText berth_json_key(BerthJson field) { return berth__keep_text(berth__json_string(field.key)); }

/// A string, never freed; `otherwise` if it is absent.
#define berth_json_text(v, otherwise) berth__json_text(v, BERTH_TEXT(otherwise))

BERTH__COLD BerthText berth__json_text(BerthJson v, BerthText otherwise) {
  return berth__json_expect(v, "\"") ? berth__keep_text(berth__json_string(v.at)) : otherwise;
}

/// Reports whether a value is a string with a text.
#define berth_json_is(v, text) berth__json_is(v, BERTH_TEXT(text))

BERTH__COLD bool berth__json_is(BerthJson v, BerthText text) {
  return berth_json_is_there(v) && *v.at == '"' && berth__string_is(v.at, text);
}

/// The index of a string among a few texts, from 0 on; otherwise if it is absent.
#define berth_json_one_of(v, otherwise, ...) berth__json_one_of(v, otherwise, BERTH__TEXTS(__VA_ARGS__))

BERTH__COLD uint32_t berth__json_one_of(BerthJson v, uint32_t otherwise, const BerthText *texts, uint32_t n) {
  if (!berth_json_is_there(v)) return otherwise;
  uint32_t which = *v.at == '"' ? berth__json_which(v.at, texts, n) : n;
  if (which < n) return which;
  berth__json_error(v, berth__json_known("expected one of ", texts, n));
  return otherwise;
}

/// A value that is true or false; otherwise if it is absent.
BERTH__COLD bool berth_json_bool(BerthJson v, bool otherwise) { return berth__json_expect(v, "tf") ? *v.at == 't' : otherwise; }

// The text of a number; empty if it is absent.
BERTH__COLD BerthText berth__json_digits(BerthJson v) {
  if (!berth__json_expect(v, "0123456789-")) return (BerthText){"", 0};
  return (BerthText){v.at, (uint32_t)(berth__skip(v.at) - v.at)};
}

/// A whole number of 64 bits; otherwise if it is absent.
BERTH__COLD int64_t berth_json_i64(BerthJson v, int64_t otherwise) {
  BerthText digits = berth__json_digits(v);
  int64_t number = otherwise;
  if (digits.n > 0 && !berth__parse_i64(digits, &number)) {
    berth__json_error(v, berth_concat(digits, " is not a whole number of 64 bits"));
    return otherwise;
  }
  return number;
}

/// A number; otherwise if it is absent. It is the nearest that a double can hold, ties to even.
BERTH__COLD double berth_json_f64(BerthJson v, double otherwise) {
  BerthText digits = berth__json_digits(v);
  double number = otherwise;
  if (digits.n > 0 && !berth__parse_f64(digits, &number)) {
    berth__json_error(v, berth_concat(digits, " is beyond the numbers of 64 bits"));
    return otherwise;
  }
  return number;
}
