// Fragmentation Gradient Descent (Weng et al., USENIX ATC 2023): the twin of the Go package in the
// folder above.

#include "../gpushare/gpushare.h"
#include "logit.h"
#include "workload.h"

static BerthNodeLabel model;
static BerthConst models[MOST_MODELS];
static uint32_t n_models;

// Returns the bit of a node's model.
static inline uint32_t model_of(BerthNode node) {
  BerthId id = berth_node_label(node, model);
  for (uint32_t i = 0; i < n_models; i++) {
    if (berth_const_is(models[i], id)) return 1u << i;
  }
  return OTHER_MODEL;
}

#include "memo.h"

static void setup(void) {
  gpushare_setup();
  model = berth_node_label_handle("berth.dev/gpu-model");
}

// Returns the bits of the models that a list names; all of them if it names none.
static uint32_t models_of(BerthJson list) {
  uint32_t bits = 0;
  BERTH_JSON_ELEMENTS(name, list) {
    BerthText text = berth_json_text(name, "");
    uint32_t at = 0;
    while (at < n_models && !berth_text_equals(berth_const_text(models[at]), text)) at++;
    if (at == MOST_MODELS) {
      berth_json_error(name, "there may be 31 models");
      return bits;
    }
    if (at == n_models) models[n_models++] = berth_const(text);
    bits |= 1u << at;
  }
  return bits == 0 ? ANY_MODEL : bits;
}

// Gets the typical pods.
static void configure(BerthJson config) {
  berth_json_only(config, "typicalPods");
  BERTH_JSON_ELEMENTS(pod, berth_json_need(config, "typicalPods")) {
    berth_json_only(pod, "milliCPU", "gpus", "milliGPU", "models", "count");
    struct typical t = {
        .cpu = berth_json_i64(berth_json_need(pod, "milliCPU"), 0),
        .count = berth_json_i64(berth_json_need(pod, "count"), 0),
        .gpus = berth_json_i64(berth_json_get(pod, "gpus"), 0),
        .milli = berth_json_i64(berth_json_get(pod, "milliGPU"), 0),
        .models = models_of(berth_json_get(pod, "models")),
    };
    workload.total += t.count;
    if (t.gpus == 0 && t.milli == 0) {
      workload.cpu_only += t.count;
    } else if (t.gpus == 0 || t.milli == 0) {
      berth_json_error(pod, "gpus and milliGPU must both be 0, or both more");
    } else if (workload.n == MOST_TYPICAL) {
      berth_json_error(pod, "there may be 256 typical pods");
    } else {
      add_typical(t);
    }
  }
  thresholds();
}

// Looks at the pod.
static BerthStatus prepare(BerthPod pod) {
  BerthStatus status = gpushare_prepare(pod);
  if (status == BERTH_SUCCESS) memo_begin();
  return status;
}

// Rates a node by how much of it becomes a fragment: 50 for nothing, less for some, more if fragments
// become of use.
static int64_t score(BerthPod pod, BerthNode node) {
  (void)pod;
  struct node n = node_of(node);
  n.model = model_of(node);
  uint8_t *known = memo_at(berth_node_row(node), &n);
  if (*known == UNKNOWN) {
    uint32_t device;
    *known = (uint8_t)rate(&n, &demand, &device);
  }
  return *known;
}

// Gives a pod that shares a GPU the one by which the node had its score.
static uint32_t choose(struct node *n, BerthNode node) {
  uint32_t device;
  n->model = model_of(node);
  rate(n, &demand, &device);
  return device;
}

static BerthStatus reserve(BerthPod pod, BerthNode node) { return take(pod, node, choose); }

BERTH_PLUGIN("manifest.json", setup);
BERTH_CONFIGURE(configure);
BERTH_PREPARED_FILTER(gpushare_prepare, filter);
BERTH_PREPARED_SCORE(prepare, score);
BERTH_RESERVE(reserve);
