// Limits hold, and mistakes end the call with a text that says what is wrong.

#include "../berth.h"

#include <math.h>

#include "native.h"

#include "json.h"
#include "texts.h"

static BerthNodeLabel label;
static BerthReason one, two;

static void setup(void) {
  CHECK(berth_node_label_handle("a/b").number == 1 && berth_node_label_handle("é😀").number == 2);
  label = berth_node_label_handle("rack");
  CHECK(label.number == 3);
  one = berth_reason("a");
  two = berth_reason("a", "b");
  CHECK(one == 1 && two == 2 && berth_reason("a") == one && berth_reason("a", "b") == two);
  CHECK(berth_reason("ab") != two && berth_reason("a", "bc") != berth_reason("ab", "c"));
  CHECK(berth_reason_of(NULL, 0) == BERTH_NO_REASON);
}

// What the points do, by test.
static BerthStatus (*now)(BerthPod, BerthNode);

static BerthStatus filter(BerthPod pod, BerthNode node) { return now(pod, node); }

static BerthStatus prepared = BERTH_SUCCESS;

static BerthStatus prepare(BerthPod pod) {
  (void)pod;
  return prepared;
}

static int64_t score(BerthPod pod, BerthNode node) {
  (void)pod;
  return (int64_t)node.row * 10;
}

static BerthStatus pre_filter(BerthPod pod, BerthNodes nodes, BerthRows *rows) {
  (void)pod;
  if (prepared == BERTH_SKIP) berth_nodes_at(nodes, nodes.n);
  berth_rows_reset(rows);
  for (uint32_t i = 0; i < nodes.n; i += 2) berth_rows_add(rows, berth_nodes_at(nodes, i));
  CHECK(berth_rows_len(rows) == (nodes.n + 1) / 2);
  if (prepared != BERTH_SUCCESS) berth_rows_add(rows, berth_nodes_at(nodes, 0));
  return BERTH_SUCCESS;
}

static BerthStatus change(BerthPod pod, BerthPod other, BerthNode node) {
  BerthBytes object;
  CHECK(!berth_pod_object(pod, &object) && berth_pod_object(other, &object) && object.n == 5000 && node.row == 3);
  return BERTH_SUCCESS;
}

static void queue_key(BerthPod pod, BerthQueued queued, BerthKey *key) {
  (void)pod;
  berth_key_append_text(key, "prefix");
  for (uint32_t i = 0; i < queued.attempts; i++) berth_key_append_i64(key, queued.time);
}

static BerthStatus normalize(BerthPod pod, BerthNodes nodes, int64_t *scores) {
  (void)pod;
  for (uint32_t i = 0; i < nodes.n; i++) scores[i] += (int64_t)berth_nodes_at(nodes, i).row;
  return berth_error(one);
}

static BerthStatus permit(BerthPod pod, BerthNode node, uint64_t *wait) {
  (void)pod, (void)node;
  *wait = 1500;
  return prepared;
}

static void configure(BerthJson config) {
  berth_json_only(config, "limit");
  if (berth_json_i64(berth_json_get(config, "limit"), 0) < 0) berth_json_error(berth_json_get(config, "limit"), "it is negative");
}

BERTH_PLUGIN("rules.json", setup);
BERTH_CONFIGURE(configure);
BERTH_PREPARED_FILTER(prepare, filter);
BERTH_PREPARED_SCORE(prepare, score);
BERTH_PRE_FILTER(pre_filter);
BERTH_ADD_POD(change);
BERTH_REMOVE_POD(change);
BERTH_QUEUE_KEY(queue_key);
BERTH_RESERVE(filter);
BERTH_NORMALIZE(normalize);
BERTH_PERMIT(permit);

#include "calls.h"

int main(void) {
  void (*const tests[])(void) = {
      texts_that_are_json, values, errors, doubles, utf8, numbers, keys, memory, constants,
      configurations, answers, mistakes, reasons, directives, host_functions, row_sets, queue_keys, other_points,
  };
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
    fresh();
    tests[i]();
  }
  return 0;
}
