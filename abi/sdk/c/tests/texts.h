// Texts, keys, constants and memory.

static void utf8(void) {
  static const struct { const char *text; bool is; } cases[] = {
      {"", true}, {"a", true}, {"é", true}, {"\xC2\x80", true}, {"\xC1\xBF", false}, {"\xC2", false}, {"\x80", false}, {"€", true},
      {"\xE0\x9F\xBF", false}, {"\xE0\xA0\x80", true}, {"\xED\x9F\xBF", true}, {"\xED\xA0\x80", false}, {"\xEE\x80\x80", true},
      {"\xE2\x82", false}, {"😀", true}, {"\xF0\x8F\xBF\xBF", false}, {"\xF4\x8F\xBF\xBF", true}, {"\xF4\x90\x80\x80", false},
      {"\xF5\x80\x80\x80", false}, {"a\xFF", false}, {"\xF0\x9F\x98", false}, {"\xE2\x28\xA1", false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) CHECK(berth__is_utf8(berth__c_string(cases[i].text)) == cases[i].is);
  CHECK_TEXT(berth__utf8(berth__c_string("a\xFFé\xC2")), "a?é?");
  CHECK_TEXT(berth__cut(BERTH_TEXT("aé"), 2), "a");
  CHECK_TEXT(berth__cut(BERTH_TEXT("aé"), 3), "aé");
  CHECK_TEXT(berth__cut(BERTH_TEXT("é"), 0), "");
}

static void numbers(void) {
  static const struct { const char *text; bool is; int64_t n; } cases[] = {
      {"0", true, 0}, {"-0", true, 0}, {"+7", true, 7}, {"007", true, 7}, {"9223372036854775807", true, INT64_MAX},
      {"-9223372036854775808", true, INT64_MIN}, {"9223372036854775808", false, 0}, {"-9223372036854775809", false, 0},
      {"99999999999999999999", false, 0}, {"", false, 0}, {"-", false, 0}, {"1a", false, 0}, {" 1", false, 0}, {"1_0", false, 0}, {"--1", false, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int64_t n = 0;
    CHECK(berth_parse_i64(cases[i].text, &n) == cases[i].is && n == cases[i].n);
  }
  CHECK_TEXT(berth_concat("", berth_decimal(INT64_MIN), " ", berth_decimal(0), " ", berth_decimal(INT64_MAX)),
             "-9223372036854775808 0 9223372036854775807");
  BerthText made = BERTH_TEXT("made");
  CHECK_TEXT(berth_concat("1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", made), "123456789101112131415made");
}

static int compare(const BerthKey *a, const BerthKey *b) {
  int c = memcmp(a->bytes, b->bytes, a->length < b->length ? a->length : b->length);
  return c != 0 ? c : (int)a->length - (int)b->length;
}

static int sign(int n) { return (n > 0) - (n < 0); }

// The order of keys is that of their parts, and the reverse for descending ones.
static void keys(void) {
  static const int64_t n[] = {INT64_MIN, -2, -1, 0, 1, 2, INT64_MAX};
  static const BerthText t[] = {{"", 0}, {"\0", 1}, {"\0\0", 2}, {"\0a", 2}, {"a", 1}, {"a\0", 2}, {"a\0b", 3}, {"aa", 2}, {"b", 1}, {"é", 2}};
  for (int i = 0; i < 7; i++) {
    for (int j = 0; j < 7; j++) {
      BerthKey a = {0}, b = {0}, c = {0}, d = {0}, e = {0}, f = {0};
      berth_key_append_i64(&a, n[i]), berth_key_append_i64(&b, n[j]);
      CHECK(sign(compare(&a, &b)) == sign(i - j));
      berth_key_append_i64_descending(&c, n[i]), berth_key_append_i64_descending(&d, n[j]);
      CHECK(sign(compare(&c, &d)) == sign(j - i));
      berth_key_append_u64_descending(&e, (uint64_t)n[i]), berth_key_append_u64_descending(&f, (uint64_t)n[j]);
      CHECK(sign(compare(&e, &f)) == ((uint64_t)n[j] > (uint64_t)n[i]) - ((uint64_t)n[j] < (uint64_t)n[i]));
    }
  }
  for (int i = 0; i < 10; i++) {
    for (int j = 0; j < 10; j++) { // what follows a text does not mix with it
      BerthKey a = {0}, b = {0}, c = {0}, d = {0};
      berth_key_append_text(&a, t[i]), berth_key_append_bytes(&a, berth_text_bytes("\xFF"));
      berth_key_append_text(&b, t[j]), berth_key_append_bytes(&b, berth_text_bytes("\x01"));
      CHECK(sign(compare(&a, &b)) == (i == j ? 1 : sign(i - j)));
      berth_key_append_text_descending(&c, t[i]), berth_key_append_bytes_descending(&c, berth_text_bytes("\xFF"));
      berth_key_append_text_descending(&d, t[j]), berth_key_append_bytes_descending(&d, berth_text_bytes("\x01"));
      CHECK(sign(compare(&c, &d)) == (i == j ? -1 : sign(j - i)));
    }
  }
  BerthKey key = {0};
  CHECK(berth_key_room(&key) == 64);
  for (int i = 0; i < 15; i++) berth_key_append_bytes(&key, berth_text_bytes("1234"));
  CHECK(berth_key_room(&key) == 4);
  berth_key_append_u64(&key, 1);
  CHECK(berth_key_room(&key) == 0 && key.length == 68);
}

// Pieces are aligned, do not overlap, and end where the memory does.
static void memory(void) {
  static const uint32_t sizes[][2] = {{1, 1}, {100, 64}, {8, 8}, {0, 16}, {3, 1}, {64, 64}, {5, 0}};
  uint32_t end = berth__memory.next;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    uint32_t at = berth_alloc(sizes[i][0], sizes[i][1]);
    CHECK(at >= end && (sizes[i][1] == 0 || at % sizes[i][1] == 0));
    end = at + sizes[i][0];
  }
  CHECK(berth_alloc(ROOM, 1) == 0 && berth_alloc(UINT32_MAX, 64) == 0);
  CHECK_TEXT(STOPS(berth_keep(ROOM)), "berth: out of memory");
  CHECK_TEXT(STOPS(berth__view(ROOM - 8, 2, 8)), "berth: the host gave an address that is out of bounds");
  for (int call = 0; call < 50; call++) { // what was taken in a call stays; the next one uses the room again
    uint8_t *pieces[60];
    berth__scratch.used = 0;
    for (uint32_t n = 1; n < 60; n++) {
      pieces[n] = berth_scratch(n);
      CHECK((uintptr_t)pieces[n] % 8 == 0);
      memset(pieces[n], (int)n, n);
    }
    for (uint32_t n = 1; n < 60; n++) {
      for (uint32_t i = 0; i < n; i++) CHECK(pieces[n][i] == n);
    }
  }
  uint32_t before = berth__memory.next;
  berth__scratch.used = 0;
  berth_scratch(berth__scratch.size);
  CHECK(berth__memory.next == before);
  struct berth__room list = {NULL, 0, 0};
  for (uint32_t i = 0; i < 1000; i++) *(uint32_t *)berth__room_push(&list, 4) = i;
  for (uint32_t i = 0; i < 1000; i++) CHECK(((uint32_t *)(void *)list.at)[i] == i);
}

// Shows the constants a snapshot with strings as ids 1, 2, …
static void resolve(uint64_t epoch, const BerthText *texts, uint32_t n) {
  struct berth__span *spans = berth__keep_zero(n + 1, sizeof *spans);
  char *bytes = berth_keep(1 << 16);
  uint32_t used = 0;
  for (uint32_t i = 0; i < n; i++) {
    berth__copy(bytes + used, texts[i].at, texts[i].n);
    spans[i + 1] = (struct berth__span){used, texts[i].n};
    used += texts[i].n;
  }
  struct berth__header *header = berth__keep_zero(1, sizeof *header);
  struct berth__table *table = berth__keep_zero(1, sizeof *table);
  header->epoch = epoch;
  table->n_rows = n + 1;
  berth__columns.header = header;
  berth__columns.tables[BERTH__STRINGS] = table;
  berth__columns.strings.spans = (struct berth__column){spans, n + 1};
  berth__columns.strings.arena = (struct berth__column){bytes, 1 << 16};
  berth__constants_resolve();
}

static void constants(void) {
  char hundred[101];
  memset(hundred, 'x', 100);
  hundred[100] = 0;
  BerthConst a = berth_const("a"), empty = berth_const(""), many = berth_const(hundred);
  CHECK(berth_const("a") == a);
  CHECK_TEXT(berth_const_text(many), hundred);
  BerthText texts[] = {BERTH_TEXT("b"), BERTH_TEXT("a"), BERTH_TEXT(""), {hundred, 99}, {hundred, 100}, BERTH_TEXT("c")};
  resolve(1, texts, 2);
  CHECK(berth_const_id(a) == 2 && berth_const_id(empty) == 0 && berth_const_id(many) == 0);
  CHECK(berth_const_is(a, 2) && !berth_const_is(a, 1) && !berth_const_is(empty, 0));
  resolve(1, texts, 4);
  CHECK(berth_const_id(a) == 2 && berth_const_id(empty) == 3 && berth_const_id(many) == 0);
  resolve(1, texts, 5);
  CHECK(berth_const_id(a) == 2 && berth_const_id(empty) == 3 && berth_const_id(many) == 5);
  resolve(2, texts + 1, 1);
  CHECK(berth_const_id(a) == 1 && berth_const_id(empty) == 0 && berth_const_id(many) == 0);
  resolve(2, texts, 6);
  BerthConst late = berth_const("c");
  resolve(2, texts, 6);
  CHECK(berth_const_id(late) == 6);
  BerthText names[2000]; // as of a long list in a configuration
  for (int i = 0; i < 2000; i++) names[i] = berth_keep_text(berth_concat("tenant-", berth_decimal(i)));
  for (int i = 0; i < 2000; i++) berth_const(names[i]);
  resolve(3, names, 2000);
  for (uint32_t i = 0; i < 2000; i++) CHECK(berth_const_id(berth_const(names[i])) == i + 1);
}
