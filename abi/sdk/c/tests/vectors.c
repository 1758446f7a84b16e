// Reads the vectors that all SDKs pass (abi/vectors), and gives the answers that they have. It is a
// plugin whose configuration is `{"regions": …, "pods": …, "json": …, "names": …}`: to configure it is to run the
// test. So it runs in any host, and natively with vectors_test.c. Its first 64 KiB of memory are the vectors':
// a module has its stack of 128 KiB there, of which it needs less than the upper half.

#include "../berth.h"

#include "printer.h"

static BerthJson call; // want.call of the vector
static uint32_t asked; // rows or pods that were asked about

static BerthJson part(BerthJson of, const char *key) {
  BerthJson found = berth_json_get(of, key);
  if (berth_json_failed(of)) fail(of.in->error);
  return found;
}

static uint32_t count(BerthJson list) {
  uint32_t n = 0;
  BERTH_JSON_ELEMENTS(e, list) n++;
  return n;
}

static BerthJson nth(BerthJson list, uint32_t i) {
  BERTH_JSON_ELEMENTS(e, list) {
    if (i-- == 0) return e;
  }
  fail(BERTH_TEXT("the vector has too few elements"));
  return list;
}

static int64_t whole(BerthJson of, const char *key) { return berth_json_i64(part(of, key), 0); }

static BerthText text_of(BerthJson v) { return berth_json_is_there(v) ? berth__json_string(v.at) : BERTH_TEXT(""); }

static void same(BerthText got, BerthText want, const char *what) {
  if (!berth__equals(got, want)) fail(berth_concat(what, " is ", got, ", want ", want));
}

static void equal(int64_t got, int64_t want, const char *what) {
  if (got != want) fail(berth_concat(what, " is ", berth_decimal(got), ", want ", berth_decimal(want)));
}

static BerthBytes hex(BerthJson v) {
  BerthText digits = text_of(v);
  uint8_t *bytes = berth_scratch(digits.n / 2);
  for (uint32_t i = 0; i < digits.n / 2; i++) {
    char pair[4] = {'0', '0', digits.at[2 * i], digits.at[2 * i + 1]};
    bytes[i] = (uint8_t)berth__hex(pair);
  }
  return (BerthBytes){bytes, digits.n / 2};
}

static void check_pod(BerthPod pod, BerthJson want) {
  bool affinity = false;
  BERTH_JSON_FIELDS(f, want) {
    BerthText name = berth__json_string(f.key);
    out.n = 0;
    field(pod, name);
    if (!berth__equals(printed(), text_of(f))) fail(berth_concat("field ", name, " is ", printed(), ", want ", text_of(f)));
    affinity |= berth_text_equals(name, "146.0");
  }
  BerthTerms terms; // field 146 is absent if there is no required affinity (ABI-6.2)
  equal(berth_pod_required_terms(pod, &terms), affinity, "whether there is required affinity");
}

// Makes the reason sets of the vector, whose numbers follow from their order; returns the i-th.
static BerthReason reason(int64_t i) {
  BerthReason all[64] = {BERTH_NO_REASON};
  uint32_t n = 1;
  BERTH_JSON_ELEMENTS(set, part(call, "reason_sets")) {
    BerthText texts[16];
    uint32_t k = 0;
    BERTH_JSON_ELEMENTS(t, set) texts[k++] = text_of(t);
    all[n++] = berth_reason_of(texts, k);
  }
  return all[i];
}

// The answer for the next row or pod.
static BerthStatus next(void) {
  BerthReason why = reason(berth_json_i64(nth(part(call, "reasons"), asked), 0));
  return berth__status((BerthCode)berth_json_i64(nth(part(call, "codes"), asked++), 0), why);
}

static void check_asked(BerthPod pod) {
  BerthJson want = part(call, "pod");
  if (berth_json_is_there(want)) check_pod(pod, want);
}

static void check_listed(BerthPod pod) { check_pod(pod, nth(part(call, "pods"), asked)); }

// Asks for the directives of the vector, and returns the result of the call.
static BerthStatus direct(void) {
  BERTH_JSON_ELEMENTS(d, part(call, "directives")) {
    BerthText kind = text_of(part(d, "kind")), first = text_of(part(d, "first")), second = text_of(part(d, "second"));
    bool done = berth_text_equals(kind, "annotate")   ? berth_annotate(first, second)
                : berth_text_equals(kind, "nominate") ? berth_nominate(first)
                : berth_text_equals(kind, "allow")    ? berth_allow(first)
                : berth_text_equals(kind, "reject")   ? berth_reject(first, second)
                : berth_text_equals(kind, "activate") ? berth_activate(first)
                                                      : false;
    if (!done) fail(berth_concat("directive ", kind, " is not replayed yet"));
  }
  return berth__status(BERTH_CODE_SUCCESS, reason(whole(call, "status_reason")));
}

static BerthStatus pre_enqueue(BerthPod pod) {
  check_listed(pod);
  berth_retry_after((uint64_t)berth_json_i64(nth(part(call, "scores"), asked), -1));
  return next();
}

static void queue_key(BerthPod pod, BerthQueued queued, BerthKey *key) {
  check_listed(pod);
  BerthJson want = nth(part(call, "queue"), asked++);
  equal(queued.time, whole(want, "time"), "time");
  equal(queued.attempts, whole(want, "attempts"), "attempts");
  berth_key_append_bytes(key, hex(part(want, "key")));
}

static BerthHintResult hint(BerthEvent event, BerthPod pod) {
  check_listed(pod);
  BerthJson want = part(call, "event");
  equal((int64_t)berth_event_resource(event), whole(want, "resource"), "resource");
  equal(berth_event_actions(event), whole(want, "actions"), "actions");
  BerthPod of;
  BerthNode node;
  equal(berth_event_old_pod(event, &of), berth_json_is_there(part(want, "old_pod")), "whether there is an old pod");
  if (berth_event_old_pod(event, &of)) check_pod(of, part(want, "old_pod"));
  equal(berth_event_new_pod(event, &of), berth_json_is_there(part(want, "new_pod")), "whether there is a new pod");
  if (berth_event_new_pod(event, &of)) check_pod(of, part(want, "new_pod"));
  equal(berth_event_old_node(event, &node) ? node.row : UINT32_MAX, whole(want, "old_node"), "old_node");
  equal(berth_event_new_node(event, &node) ? node.row : UINT32_MAX, whole(want, "new_node"), "new_node");
  same(berth_event_namespace(event), text_of(part(want, "namespace")), "namespace");
  same(berth_event_name(event), text_of(part(want, "name")), "name");
  return next() == BERTH_SUCCESS ? BERTH_QUEUE : BERTH_QUEUE_SKIP;
}

static BerthStatus pre_filter(BerthPod pod, BerthNodes nodes, BerthRows *rows) {
  check_asked(pod);
  BERTH_JSON_ELEMENTS(row, part(call, "row_set")) berth_rows_add(rows, berth_nodes_at(nodes, (uint32_t)berth_json_i64(row, 0)));
  return direct();
}

static BerthStatus filter(BerthPod pod, BerthNode node) {
  (void)node;
  check_asked(pod);
  return next();
}

static BerthStatus post_filter(BerthPod pod, BerthJudged judged) {
  check_asked(pod);
  for (uint32_t i = 0; i < judged.nodes.n; i++) equal((int64_t)berth_judged_code(judged, i), berth_json_i64(nth(part(call, "codes"), i), 0), "a verdict");
  return direct();
}

static int64_t score(BerthPod pod, BerthNode node) {
  (void)pod;
  equal(node.row, berth_json_i64(nth(part(call, "rows"), asked), 0), "a row");
  return berth_json_i64(nth(part(call, "scores"), asked++), 0);
}

static BerthStatus reserve(BerthPod pod, BerthNode node) {
  (void)node;
  check_asked(pod);
  return direct();
}

static BerthStatus permit(BerthPod pod, BerthNode node, uint64_t *wait) {
  reserve(pod, node);
  *wait = (uint64_t)whole(call, "wait");
  berth_retry_after((uint64_t)whole(call, "retry_after"));
  return BERTH_WAIT;
}

static void setup(void) {}

static void run(BerthJson config);

BERTH_PLUGIN("vectors.json", setup);
BERTH_CONFIGURE(run);
BERTH_PRE_ENQUEUE(pre_enqueue);
BERTH_QUEUE_KEY(queue_key);
BERTH_HINT(hint);
BERTH_PRE_FILTER(pre_filter);
BERTH_FILTER(filter);
BERTH_POST_FILTER(post_filter);
BERTH_SCORE(score);
BERTH_RESERVE(reserve);
BERTH_PERMIT(permit);

#include "regions.h"

static void run(BerthJson config) {
  // Calls begin with empty scratch room, in which a configuration is.
  uint32_t n = config.in->text.n;
  char *copy = berth_keep(n + 1);
  berth__copy(copy, config.in->text.at, n + 1);
  BerthJsonText in;
  BerthJson all = berth__json_value(&in, (BerthText){copy, n});
  where = "vectors";
  uint32_t regions = count(part(all, "regions")), pods = count(part(all, "pods"));
  if (regions == 0 || pods == 0) fail(BERTH_TEXT("there are none"));
  BERTH_JSON_ELEMENTS(vector, part(all, "regions")) region(vector);
  BERTH_JSON_ELEMENTS(vector, part(all, "pods")) record(vector);
  BERTH_JSON_ELEMENTS(vector, part(all, "json")) json(vector);
  BERTH_JSON_ELEMENTS(vector, part(all, "names")) names(vector);
}
