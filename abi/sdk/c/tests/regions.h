// A vector in the memory, called and compared.

enum { LOW = 65536 }; // bytes of memory that are the vectors'

static void zero(uint32_t address, uint32_t n) {
  if (address != 0) __builtin_memset(berth__view(address, n, 1), 0, n);
}

// Zeroes what the guest has answered, as a host does before a call (ABI-3.2).
static struct berth__call *forget(uint32_t at) {
  struct berth__call *record = berth__pointer(at);
  uint32_t n = record->n_rows;
  zero(at + 64, 64);
  if (record->point != 7) zero(record->codes, n); // of post_filter they are an input
  zero(record->reasons, 2 * n);
  zero(record->scores, 8 * n);
  zero(record->keys, 68 * n);
  return record;
}

static int32_t serve(uint32_t point, uint32_t at, uint32_t n) {
  switch (point) {
  case 0: return berth_pre_enqueue(at, 0, n);
  case 1: return berth_queue_key(at, 0, n);
  case 2: return berth_hint(at, 0, n);
  case 3: return berth_pre_filter(at);
  case 6: return berth_filter(at, 0, n);
  case 7: return berth_post_filter(at, 0, n);
  case 9: return berth_score(at, 0, n);
  case 11: return berth_reserve(at);
  case 13: return berth_permit(at);
  }
  fail(berth_concat("point ", berth_decimal(point), " is not replayed yet"));
  return -1;
}

static BerthText read(const struct berth__text *text) {
  return (BerthText){berth__view(text->address, text->length, 1), text->length};
}

static void check_tables(BerthJson want) {
  equal((int64_t)berth_snapshot_epoch(), whole(want, "epoch"), "epoch");
  equal((int64_t)berth_snapshot_generation(), whole(want, "generation"), "generation");
  equal((int64_t)berth_snapshot_seed(), whole(want, "seed"), "seed");
  BERTH_JSON_ELEMENTS(table, part(want, "tables")) {
    equal(berth__rows((uint32_t)whole(table, "id")), whole(table, "n_rows"), "n_rows");
    BERTH_JSON_FIELDS(row, part(table, "cells")) {
      int64_t n = -1;
      berth_parse_i64(berth__json_string(row.key), &n);
      BERTH_JSON_FIELDS(c, row) {
        BerthText name = berth__json_string(c.key);
        out.n = 0;
        cell((uint32_t)n, name);
        if (!berth__equals(printed(), text_of(c))) fail(berth_concat("row ", berth_decimal(n), " column ", name, " is ", printed(), ", want ", text_of(c)));
      }
    }
  }
}

static void check_sets(const struct berth__call *record, BerthJson want) {
  const struct berth__text *sets = berth__view(record->reason_sets, record->n_reason_sets, 8);
  equal(record->n_reason_sets, count(want), "n_reason_sets");
  uint32_t i = 0;
  BERTH_JSON_ELEMENTS(set, want) {
    const struct berth__text *texts = berth__view(sets[i].address, sets[i].length, 8);
    equal(sets[i].length, count(set), "number of texts");
    uint32_t k = 0;
    BERTH_JSON_ELEMENTS(text, set) same(read(&texts[k++]), text_of(text), "a reason");
    i++;
  }
}

static void check_directives(const struct berth__call *record, BerthJson want) {
  static const char *const kinds[] = {"", "annotate", "label", "nominate", "bind", "allow", "reject", "activate"};
  const struct berth__directive *d = berth__view(record->directives, record->n_directives, sizeof *d);
  equal(record->n_directives, count(want), "n_directives");
  BERTH_JSON_ELEMENTS(w, want) {
    same(BERTH_TEXT(kinds[d->kind]), text_of(part(w, "kind")), "kind");
    same(read(&d->first), text_of(part(w, "first")), "first");
    same(read(&d->second), text_of(part(w, "second")), "second");
    d++;
  }
}

static void check_answers(const struct berth__call *record, BerthJson want) {
  uint32_t n = record->n_rows, i = 0;
  const uint8_t *codes = berth__view(record->codes, n, 1);
  const uint16_t *reasons = berth__view(record->reasons, n, 2);
  const int64_t *scores = berth__view(record->scores, n, 8);
  const uint32_t *rows = berth__view(record->row_set, record->n_row_set, 4);
  BERTH_JSON_ELEMENTS(v, part(want, "codes")) equal(codes[i++], berth_json_i64(v, -1), "a code");
  i = 0;
  BERTH_JSON_ELEMENTS(v, part(want, "reasons")) equal(reasons[i++], berth_json_i64(v, -1), "a reason's number");
  i = 0;
  BERTH_JSON_ELEMENTS(v, part(want, "scores")) equal(scores[i++], berth_json_i64(v, -1), "a score");
  i = 0;
  BERTH_JSON_ELEMENTS(v, part(want, "row_set")) equal(rows[i++], berth_json_i64(v, -1), "a row of the set");
  equal(record->n_row_set, i, "n_row_set");
  equal(record->has_row_set, berth_json_is_there(part(want, "row_set")), "has_row_set");
  equal(record->status_reason, whole(want, "status_reason"), "status_reason");
  equal((int64_t)record->wait, whole(want, "wait"), "wait");
  equal((int64_t)record->retry_after, whole(want, "retry_after"), "retry_after");
  check_sets(record, part(want, "reason_sets"));
  check_directives(record, part(want, "directives"));
  const BerthKey *keys = record->keys == 0 ? NULL : berth__view(record->keys, n, sizeof *keys);
  BERTH_JSON_ELEMENTS(v, part(want, "queue")) {
    BerthBytes bytes = hex(part(v, "key"));
    same((BerthText){(const char *)keys->bytes, keys->length}, berth_bytes_text(bytes), "a key");
    keys++;
  }
}

// A vector of regions.json.
static void region(BerthJson vector) {
  BerthText name = berth_keep_text(berth_concat(text_of(part(vector, "name")), "\0"));
  where = name.at;
  if (whole(vector, "size") > LOW) fail(BERTH_TEXT("it needs more memory than the test has"));
  zero(8, LOW - 8);
  BERTH_JSON_ELEMENTS(piece, part(vector, "memory")) {
    BerthBytes bytes = hex(part(piece, "hex"));
    berth__copy(berth__pointer((uint32_t)whole(piece, "address")), bytes.at, bytes.n);
  }
  uint32_t at = (uint32_t)whole(vector, "call");
  BerthJson want = part(vector, "want");
  call = part(want, "call");
  asked = 0;
  berth__columns.header = NULL; // it is another snapshot, though at the same place
  struct berth__call *record = forget(at);
  serve(record->point, at, record->n_rows);
  check_tables(want);
  check_answers(record, call);
}

// A snapshot with strings as ids 1, 2, …; its address.
static uint32_t with_strings(BerthJson strings) {
  static uint64_t epoch = 1000;
  uint32_t n = count(strings) + 1, used = 0;
  struct berth__span *spans = berth__keep_zero(n, sizeof *spans);
  char *bytes = berth_keep(4096);
  BERTH_JSON_ELEMENTS(s, strings) {
    BerthText text = text_of(s);
    berth__copy(bytes + used, text.at, text.n);
    *++spans = (struct berth__span){used, text.n};
    used += text.n;
  }
  spans -= n - 1;
  struct berth__column_entry *columns = berth_keep(2 * sizeof *columns);
  columns[0] = (struct berth__column_entry){192, 0, 7, berth__address(spans), n, n};
  columns[1] = (struct berth__column_entry){192 + 256, 0, 12, berth__address(bytes), 4096, used};
  struct berth__table *table = berth_keep(sizeof *table);
  *table = (struct berth__table){3, n, n, 0, 0, 2, berth__address(columns), 0};
  struct berth__header *header = berth__keep_zero(1, sizeof *header);
  *header = (struct berth__header){.magic = 0x48545242, .major = 1, .epoch = epoch++, .n_tables = 1, .tables = berth__address(table)};
  return berth__address(header);
}

// A vector of json.json.
static void json(BerthJson v) {
  where = "json.json";
  BerthBytes bytes = hex(part(v, "text"));
  char *text = berth_keep(bytes.n + 1);
  berth__copy(text, bytes.at, bytes.n);
  text[bytes.n] = 0;
  BerthJsonText in;
  BerthJson parsed = berth_json_parse(&in, ((BerthText){text, bytes.n}));
  BerthText got = BERTH_TEXT("other");
  if (berth_json_failed(parsed)) {
    got = berth_concat("bad ", in.error);
    for (uint32_t i = 0; i < got.n; i++) got.n = got.at[i] == ':' ? i : got.n;
  }
  if (!berth_json_failed(parsed) && *parsed.at == '"') {
    got = BERTH_TEXT("string ");
    BerthText string = berth__json_string(parsed.at);
    same(berth__utf8(string), string, "a valid text");
    for (uint32_t i = 0; i < string.n; i++) {
      const char digits[] = "0123456789abcdef";
      uint8_t b = (uint8_t)string.at[i];
      got = berth_concat(got, ((BerthText){&digits[b >> 4], 1}), ((BerthText){&digits[b & 15], 1}));
    }
  }
  same(got, text_of(part(v, "want")), "JSON");
}

// A vector of pods.json.
static void record(BerthJson vector) {
  BerthText name = berth_keep_text(berth_concat(text_of(part(vector, "name")), "\0"));
  where = name.at;
  BerthBytes bytes = hex(part(vector, "hex"));
  uint8_t *at = berth_keep(bytes.n);
  berth__copy(at, bytes.at, bytes.n);
  berth__columns_refresh(&berth__columns, with_strings(part(vector, "strings")));
  berth__pod_read(&berth__calling.pod, berth__address(at), bytes.n, -1);
  check_pod(&berth__calling.pod, part(vector, "want"));
}

// A vector of names.json: the names that a configuration brings are where the host has them (ABI-9.15).
static void names(BerthJson v) {
  where = berth_keep_text(berth_concat(text_of(part(v, "name")), "\0")).at;
  BerthJson elements = part(v, "elements");
  BerthText list = {elements.at, (uint32_t)(berth__skip(elements.at) - elements.at)};
  struct berth__declared own = berth__declared;
  berth__declared = (struct berth__declared){0};
  berth__declared.manifest = berth_json_parse(&berth__declared.in, berth_concat("{\"reads\": {\"nodeLabels\": ", list, "}}"));
  BerthJsonText in;
  BerthJson config = berth_json_parse(&in, text_of(part(v, "config")));
  if (!berth_json_failed(config) && !berth__bring(config)) fail(BERTH_TEXT("the configuration may bring names"));
  equal(berth_find_node_label("never").number, 0, "a name that is nowhere");
  uint32_t n = 0;
  BERTH_JSON_ELEMENTS(name, part(v, "names")) equal(berth_find_node_label(text_of(name)).number, ++n, "the number of a name");
  if (!berth_json_is_there(part(v, "refused"))) equal(berth__reads_length(BERTH__NODE_LABEL_KEYS), n, "the length of the list");
  berth__declared = own;
}
