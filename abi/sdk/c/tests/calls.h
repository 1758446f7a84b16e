// Calls of the points of rules_test.c.

// A region with a call record for n rows, and a snapshot with n nodes that have no columns.
static struct {
  struct berth__call *record;
  uint32_t at;
  uint8_t *codes;
  uint16_t *reasons;
  int64_t *scores;
} r;

static int32_t get(const char *what, uint32_t size, uint8_t *to, uint32_t capacity) {
  if (size <= capacity) memset(to, what[0], size);
  return (int32_t)size;
}

static int32_t state_get(BerthText key, uint8_t *to, uint32_t capacity) {
  return berth_text_equals(key, "none") ? -1 : berth_text_equals(key, "empty") ? 0 : get("s", key.n, to, capacity);
}

static int32_t state_set(BerthText key, BerthBytes value) { return berth_text_equals(key, "k") && value.n == 3 ? 0 : -1; }
static int32_t published_get(uint32_t index, uint8_t *to, uint32_t capacity) { return index == 0 ? get("p", 9, to, capacity) : -1; }
static int32_t pod_object(uint32_t index, uint8_t *to, uint32_t capacity) { return index == 0 ? get("P", 5000, to, capacity) : -1; }
static int32_t node_object(uint32_t row, uint8_t *to, uint32_t capacity) { return row < 2 ? get("N", 20000, to, capacity) : -1; }

static void fresh(void) {
  start(64, (BerthHost){.state_get = state_get, .state_set = state_set, .published_get = published_get, .pod_object = pod_object,
                        .node_object = node_object});
  CHECK(berth_abi() == BERTH_ABI_VERSION);
  prepared = BERTH_SUCCESS;
}

static void region(uint32_t point, uint32_t n) {
  struct berth__header *header = berth__keep_zero(1, sizeof *header);
  struct berth__table *table = berth__keep_zero(1, sizeof *table);
  *table = (struct berth__table){.id = BERTH__NODES, .n_rows = n};
  *header = (struct berth__header){.magic = BERTH__MAGIC, .major = 1, .n_tables = 1, .tables = berth__address(table)};
  r.codes = berth__keep_zero(n, 1);
  r.reasons = berth__keep_zero(n, 2);
  r.scores = berth__keep_zero(n, 8);
  r.record = berth__keep_zero(1, sizeof *r.record);
  *r.record = (struct berth__call){.header = berth__address(header), .point = point, .n_rows = n, .codes = berth__address(r.codes),
                                   .reasons = berth__address(r.reasons), .scores = berth__address(r.scores)};
  r.at = berth__address(r.record);
}

static BerthText set_text(uint32_t set, uint32_t i) {
  const struct berth__text *sets = berth__view(r.record->reason_sets, r.record->n_reason_sets, 8);
  const struct berth__text *texts = berth__view(sets[set - 1].address, sets[set - 1].length, 8);
  return (BerthText){berth__view(texts[i].address, texts[i].length, 1), texts[i].length};
}

static int32_t configured(const char *text) {
  BerthText kept = berth_keep_text(text);
  return berth_configure(berth__address(kept.at), kept.n);
}

static void configurations(void) {
  CHECK(configured("{}") == 0 && configured("{\"limit\": 3}") == 0);
  CHECK(configured("{\"limit\": -3}") == 1);
  CHECK_TEXT(logged, "3 limit: it is negative");
  CHECK(configured("{\"limits\": 3}") == 1);
  CHECK_TEXT(logged, "3 limits: there is no such field; there are limit");
  CHECK(configured("[") == 1);
  CHECK_TEXT(logged, "3 line 1: this is not JSON");
}

static BerthStatus by_row(BerthPod pod, BerthNode node) {
  (void)pod;
  return node.row == 1 ? berth_unschedulable(one) : node.row == 2 ? berth_pending(BERTH_NO_REASON) : BERTH_SUCCESS;
}

static void answers(void) {
  now = by_row;
  region(6, 4);
  CHECK(berth_filter(r.at, 0, 4) == 0);
  CHECK(memcmp(r.codes, "\0\2\6\0", 4) == 0 && r.reasons[1] == one && r.reasons[2] == 0 && r.record->n_reason_sets > 0);
  CHECK_TEXT(set_text(one, 0), "a");
  region(6, 1);
  CHECK(berth_filter(r.at, 2, 3) == 0 && r.codes[0] == 6 && r.record->n_reason_sets == 0); // no reason, no table
  uint32_t *rows = berth_keep(8);
  rows[0] = 1, rows[1] = 3;
  region(6, 2);
  r.record->rows = berth__address(rows);
  CHECK(berth_filter(r.at, 1, 4) == 0 && r.codes[0] == 2 && r.codes[1] == 0);
  region(9, 2);
  r.record->rows = berth__address(rows);
  CHECK(berth_score(r.at, 1, 4) == 0 && r.scores[0] == 10 && r.scores[1] == 30);
  region(10, 2);
  r.record->rows = berth__address(rows);
  CHECK(berth_normalize(r.at, 1, 4) == 1 && r.scores[0] == 1 && r.scores[1] == 3 && r.record->status_reason == one);
  prepared = BERTH_SKIP;
  region(6, 4);
  CHECK(berth_filter(r.at, 0, 4) == 0 && memcmp(r.codes, "\0\0\0\0", 4) == 0);
  region(9, 2);
  CHECK(berth_score(r.at, 0, 2) == 0 && r.scores[1] == 0);
  prepared = berth_unschedulable_and_unresolvable(two);
  region(6, 2);
  CHECK(berth_filter(r.at, 0, 2) == 0 && r.codes[0] == 3 && r.codes[1] == 3 && r.reasons[1] == two && r.record->status_reason == 0);
  CHECK_TEXT(set_text(two, 1), "b");
  region(9, 2);
  CHECK(berth_score(r.at, 0, 2) == 1 && r.record->status_reason == two);
  prepared = berth_error(one);
  region(6, 2);
  CHECK(berth_filter(r.at, 0, 2) == 1 && r.codes[0] == 0 && r.record->status_reason == one);
}

static BerthStatus reads_taints(BerthPod pod, BerthNode node) { return (void)pod, berth_node_taints(node).n; }
static BerthStatus reads_namespace(BerthPod pod, BerthNode node) { return (void)node, berth_pod_namespace(pod); }
static BerthStatus reads_label(BerthPod pod, BerthNode node) { return (void)pod, berth_node_label(node, (BerthNodeLabel){0}); }
static BerthStatus asks_for_handle(BerthPod pod, BerthNode node) { return (void)pod, (void)node, berth_node_label_handle("zone").number; }
static BerthStatus finds_namespace(BerthPod pod, BerthNode node) { return (void)pod, berth_namespace_name((BerthNamespace){node.row}); }

static void mistakes(void) {
  static const struct { BerthStatus (*does)(BerthPod, BerthNode); const char *want; } cases[] = {
      {reads_taints, "berth: manifest.json: reads.node does not list taints"},
      {reads_namespace, "berth: manifest.json: reads.pod does not list namespace"},
      {reads_label, "berth: manifest.json: reads.nodeLabels does not list the key"},
      {asks_for_handle, "berth: manifest.json: reads.nodeLabels does not list zone"},
      {finds_namespace, "berth: manifest.json: reads.namespaces does not list name"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    now = cases[i].does;
    region(6, 1);
    CHECK_TEXT(STOPS(berth_filter(r.at, 0, 1)), cases[i].want);
  }
  region(6, 1);
  struct berth__header *header = berth__pointer(r.record->header);
  header->major = 2;
  CHECK_TEXT(STOPS(berth_filter(r.at, 0, 1)), "berth: the host's snapshot is of another ABI");
  region(6, 1);
  r.record->codes = ROOM - 1;
  r.record->n_rows = 2;
  now = by_row;
  CHECK_TEXT(STOPS(berth_filter(r.at, 0, 2)), "berth: the host gave an address that is out of bounds");
}

static int made;

static BerthStatus makes_reasons(BerthPod pod, BerthNode node) {
  (void)pod, (void)node;
  for (int i = 0; i < 2000; i++) made += berth_reason(berth_decimal(i)) != BERTH_NO_REASON;
  return berth_unschedulable(berth_reason("77"));
}

static BerthStatus makes_long_ones(BerthPod pod, BerthNode node) {
  (void)pod;
  char *at = berth_scratch(1200);
  for (int i = 0; i < 1200; i += 2) memcpy(at + i, "é", 2);
  at[1] = (char)('!' + (int)node.row);
  BerthReason reason = berth_reason(((BerthText){at + 1, 1199}), "b");
  made += reason != BERTH_NO_REASON;
  return berth_unschedulable(reason);
}

// Within the limits there are reasons, and beyond them none (ABI-3.8, ABI-10); they end with the call.
static void reasons(void) {
  uint32_t lasting = berth__reasons.lasting;
  for (int call = 0; call < 3; call++) {
    made = 0;
    now = makes_reasons;
    region(6, 1);
    CHECK(berth_filter(r.at, 0, 1) == 0 && made == 1024 - (int)lasting && r.record->n_reason_sets == 1024);
    CHECK_TEXT(set_text(r.reasons[0], 0), "77");
  }
  made = 0;
  now = makes_long_ones;
  region(6, 80);
  CHECK(berth_filter(r.at, 0, 80) == 0);
  CHECK(set_text(r.reasons[0], 0).n == 1023 && made == (65536 - (int)berth__reasons.lasting_bytes) / 1024);
}

static BerthStatus directs(BerthPod pod, BerthNode node) {
  (void)pod;
  made = 0;
  if (node.row != 0) return BERTH_SUCCESS;
  for (int i = 0; i < 300; i++) made += berth_annotate("example.com/a", berth_decimal(i));
  return BERTH_SUCCESS;
}

static BerthStatus directs_much(BerthPod pod, BerthNode node) {
  (void)pod, (void)node;
  char *at = berth_scratch(30000);
  memset(at, 'x', 30000);
  BerthText big = {at, 30000};
  CHECK(berth_annotate("example.com/a", big) && berth_annotate("example.com/b", big) && !berth_annotate("example.com/c", big));
  CHECK(berth_bind_pod() && !berth_annotate("example.com/a", "\xFF") && !berth_reject("\xC2", "no"));
  CHECK(berth_label("example.com/l", "") && berth_label("example.com/l", "a-b_c.D9") && !berth_label("example.com/l", "-a"));
  CHECK(!berth_label("example.com/l", "a b") && !berth_label("example.com/l", "a-") && !berth_label("example.com/l", "é"));
  return BERTH_SUCCESS;
}

static void directives(void) {
  now = directs;
  region(11, 0);
  CHECK(berth_reserve(r.at) == 0 && made == 256 && r.record->n_directives == 256);
  struct berth__directive *d = berth__pointer(r.record->directives);
  CHECK(d[255].kind == 1 && d[255].second.length == 3 && memcmp(berth__pointer(d[255].second.address), "255", 3) == 0);
  now = directs_much;
  region(11, 0);
  CHECK(berth_reserve(r.at) == 0 && r.record->n_directives == 5);
  now = by_row;
  region(11, 0);
  CHECK(berth_reserve(r.at) == 0 && r.record->n_directives == 0 && r.record->directives == 0);
}

static BerthStatus asks_host(BerthPod pod, BerthNode node) {
  BerthBytes a, b, c;
  CHECK(berth_state_get("key", &a) && a.n == 3 && memcmp(a.at, "sss", 3) == 0);
  CHECK(berth_state_get("empty", &b) && b.n == 0 && !berth_state_get("none", &b));
  CHECK(berth_state_set("k", a) && !berth_state_set("other", a));
  CHECK(berth_published_get(berth_published_handle("other/plan"), &b) && b.n == 9 && b.at[8] == 'p');
  CHECK(berth_pod_object(pod, &b) && b.n == 5000 && b.at[4999] == 'P');
  CHECK(berth_node_object(node, &c) && c.n == 20000 && c.at[19999] == 'N' && !berth_node_object((BerthNode){2}, &c));
  CHECK(memcmp(a.at, "sss", 3) == 0 && b.at[0] == 'P'); // what was given out before stays
  berth_log(BERTH_WARNING, berth_concat("node ", berth_decimal(node.row)));
  return BERTH_SUCCESS;
}

static void host_functions(void) {
  now = asks_host;
  region(11, 0);
  CHECK(berth_reserve(r.at) == 0);
  CHECK_TEXT(logged, "2 node 0");
}

static void row_sets(void) {
  region(3, 5);
  CHECK(berth_pre_filter(r.at) == 0 && r.record->has_row_set == 1 && r.record->n_row_set == 3);
  CHECK(memcmp(berth__pointer(r.record->row_set), (uint32_t[]){0, 2, 4}, 12) == 0);
  region(3, 0);
  CHECK(berth_pre_filter(r.at) == 0 && r.record->has_row_set == 1 && r.record->n_row_set == 0 && r.record->row_set == 0);
  prepared = BERTH_WAIT;
  region(3, 5);
  CHECK_TEXT(STOPS(berth_pre_filter(r.at)), "berth: rows must be added in the order of nodes, each once");
  prepared = BERTH_SKIP;
  CHECK_TEXT(STOPS(berth_pre_filter(r.at)), "berth: no such node");
}

// A pod list of n records without fields.
static uint32_t list(uint32_t n) {
  struct berth__pod_entry *entries = berth__keep_zero(n, sizeof *entries);
  uint64_t *record = berth_keep(8);
  *record = (uint64_t)8 << 32;
  for (uint32_t i = 0; i < n; i++) entries[i] = (struct berth__pod_entry){berth__address(record), 8};
  return berth__address(entries);
}

static void queue_keys(void) {
  BerthQueued *queued = berth__keep_zero(2, sizeof *queued);
  BerthKey *keys = berth__keep_zero(2, sizeof *keys);
  queued[0] = (BerthQueued){-1, 1, 0};
  region(1, 2);
  r.record->pods = list(2);
  r.record->queue = berth__address(queued);
  r.record->keys = berth__address(keys);
  CHECK(berth_queue_key(r.at, 0, 2) == 0 && keys[0].length == 16 && keys[1].length == 8);
  CHECK(memcmp(keys[0].bytes, "prefix\0\1\x7F\xFF", 10) == 0);
  __builtin_memset(keys, 0, 2 * sizeof *keys);
  queued[1].attempts = 8;
  CHECK(berth_queue_key(r.at, 0, 2) == 1 && keys[0].length == 0);
  CHECK_TEXT(set_text(r.record->status_reason, 0), "the queue key has 72 bytes, at most 64 are allowed");
}

static void other_points(void) {
  region(4, 1);
  r.record->pods = list(1);
  CHECK(berth_add_pod(r.at, 3, 4) == 0 && berth_remove_pod(r.at, 3, 4) == 0);
  region(13, 0);
  CHECK(berth_permit(r.at) == 0 && r.record->wait == 0);
  prepared = BERTH_WAIT;
  CHECK(berth_permit(r.at) == 4 && r.record->wait == 1500);
}
