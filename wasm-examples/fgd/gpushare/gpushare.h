// What the GPU plugins of this folder have in common, in C: the twin of the Go package in this folder,
// where its names are explained. A plugin includes it in its one file.

#include "../../../abi/sdk/c/berth.h"

enum {
  WHOLE = 1000, // all of a GPU, in milli-GPU
  MOST = 16,    // the most GPUs of a node that are given out
};

// What a pod asks for: milli-CPU, a number of GPUs, and the milli-GPU of each.
struct demand {
  int64_t cpu, milli;
  uint32_t gpus;
};

static bool shares(const struct demand *d) { return d->gpus == 1 && d->milli < WHOLE; }

// What is left of a node.
struct node {
  int64_t cpu;        // milli-CPU
  uint32_t n;         // GPUs
  uint32_t model;     // for plugins that look at it
  int16_t free[MOST]; // milli-GPU of each
};

static struct {
  BerthResource cpu;
  BerthNodeAnnotation has;
  BerthPodAnnotation count, milli, devices;
  BerthReason too_few, too_little, wrong, raced;
} of;

static void gpushare_setup(void) {
  of.cpu = berth_resource_handle("cpu");
  of.has = berth_node_annotation_handle("berth.dev/gpu-count");
  of.count = berth_pod_annotation_handle("berth.dev/gpu-count");
  of.milli = berth_pod_annotation_handle("berth.dev/gpu-milli");
  of.devices = berth_pod_annotation_handle("berth.dev/gpu-devices");
  of.too_few = berth_reason("node(s) had too few GPUs");
  of.too_little = berth_reason("node(s) had too little left of each GPU");
  of.wrong = berth_reason("the annotations berth.dev/gpu-count and berth.dev/gpu-milli are not one share of a GPU, or up to 16 whole ones");
  of.raced = berth_reason("the node's GPUs were taken meanwhile");
}

// What annotations say, by the ids of their texts.
struct value {
  bool known;
  int32_t number; // -1 if it is none
  uint32_t set;   // of GPUs, a bit each
};

static struct {
  uint64_t epoch;
  uint32_t n;
  struct value *known;
} values;

// Reads a decimal number below 10^6; -1 if it is none.
static int32_t number_of(const char *at, uint32_t n) {
  int32_t number = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (at[i] < '0' || at[i] > '9' || number > 99999) return -1;
    number = 10 * number + (at[i] - '0');
  }
  return n == 0 ? -1 : number;
}

// Reads numbers with commas between, as take writes them; what is not one, or is MOST or more, is left
// out.
static uint32_t set_of(BerthText text) {
  uint32_t set = 0;
  for (uint32_t start = 0; start <= text.n;) {
    uint32_t end = start;
    while (end < text.n && text.at[end] != ',') end++;
    int32_t number = number_of(text.at + start, end - start);
    if (number >= 0 && number < MOST) set |= 1u << number;
    start = end + 1;
  }
  return set;
}

static const struct value *read_value(BerthId id) {
  if (id >= values.n) {
    uint32_t n = values.n < 32 ? 64 : 2 * values.n;
    if (n <= id) n = id + 1;
    struct value *known = berth_keep(n * sizeof *known);
    for (uint32_t i = 0; i < n; i++) known[i] = i < values.n ? values.known[i] : (struct value){false, 0, 0};
    values.known = known;
    values.n = n;
  }
  BerthText text = berth_text(id);
  values.known[id] = (struct value){true, number_of(text.at, text.n), set_of(text)};
  return &values.known[id];
}

// Returns the value of a text that is there.
static inline const struct value *value(BerthId id) {
  if (id < values.n && values.known[id].known) return &values.known[id];
  return read_value(id);
}

// Returns the number that an annotation is: -1 if it is none, 0 if there is no annotation.
static inline int64_t number(BerthId id) { return id == BERTH_ABSENT ? 0 : value(id)->number; }

static inline int64_t within(int64_t n, int64_t least, int64_t most) { return n < least ? least : n > most ? most : n; }

// Takes the GPU with most left, the first of equals; false if nothing is left.
static bool take_most(struct node *n) {
  uint32_t most = 0;
  for (uint32_t i = 1; i < MOST; i++) {
    if (n->free[i] > n->free[most]) most = i;
  }
  bool had = n->free[most] > 0;
  n->free[most] = 0;
  return had;
}

// Adds up what the pods on a node have taken. A pod that asks for GPUs and has none counts as if it had
// whole ones, those with most left.
static inline struct node node_of(BerthNode node) {
  struct node n = {.cpu = berth_node_allocatable(node, of.cpu) - berth_node_requested(node, of.cpu)};
  n.n = (uint32_t)within(number(berth_node_annotation(node, of.has)), 0, MOST);
  for (uint32_t i = 0; i < n.n; i++) n.free[i] = WHOLE;
  int64_t unknown = 0;
  BerthPods pods = berth_node_pods(node);
  for (uint32_t i = 0; i < pods.n; i++) {
    BerthPlacedPod pod = berth_pods_at(pods, i);
    BerthId devices = berth_placed_pod_annotation(pod, of.devices);
    uint32_t taken = devices == BERTH_ABSENT ? 0 : value(devices)->set & ((1u << n.n) - 1);
    if (taken == 0) {
      unknown = within(unknown + within(number(berth_placed_pod_annotation(pod, of.count)), 0, MOST), 0, MOST);
      continue;
    }
    int16_t milli = (int16_t)within(number(berth_placed_pod_annotation(pod, of.milli)), 0, WHOLE);
    for (; taken != 0; taken &= taken - 1) {
      int16_t *free = &n.free[__builtin_ctz(taken)];
      *free = *free > milli ? (int16_t)(*free - milli) : 0;
    }
  }
  while (unknown > 0 && take_most(&n)) unknown--;
  return n;
}

// Reports whether single GPUs have what a pod asks for.
static inline bool fits(const struct node *n, const struct demand *d) {
  uint32_t fit = 0;
  for (uint32_t i = 0; i < n->n; i++) fit += n->free[i] >= d->milli;
  return fit >= d->gpus;
}

// This call's pod.
static struct demand demand;

// Looks at the pod.
static BerthStatus gpushare_prepare(BerthPod pod) {
  if (values.epoch != berth_snapshot_epoch()) {
    values.epoch = berth_snapshot_epoch();
    for (uint32_t i = 0; i < values.n; i++) values.known[i].known = false;
  }
  int64_t gpus = number(berth_pod_annotation(pod, of.count)), milli = number(berth_pod_annotation(pod, of.milli));
  bool share = gpus == 1 && milli > 0 && milli <= WHOLE, whole = gpus > 0 && gpus <= MOST && milli == WHOLE;
  if (!share && !whole && (gpus != 0 || milli != 0)) return berth_unschedulable_and_unresolvable(of.wrong);
  demand = (struct demand){.cpu = berth_pod_request(pod, of.cpu), .milli = milli, .gpus = (uint32_t)gpus};
  return BERTH_SUCCESS;
}

// Judges a node by its GPUs: by their number for good, by what is left of them until a pod goes.
static BerthStatus filter(BerthPod pod, BerthNode node) {
  (void)pod;
  if (demand.gpus == 0) return BERTH_SUCCESS;
  struct node n = node_of(node);
  if (n.n < demand.gpus) return berth_unschedulable_and_unresolvable(of.too_few);
  if (!fits(&n, &demand)) return berth_unschedulable(of.too_little);
  return BERTH_SUCCESS;
}

// Gives the pod its devices: the first whole ones that are free, or the one that choose picks for a
// share, of those with demand.milli left.
static BerthStatus take(BerthPod pod, BerthNode node, uint32_t (*choose)(struct node *n, BerthNode node)) {
  BerthStatus status = gpushare_prepare(pod);
  if (status != BERTH_SUCCESS || demand.gpus == 0) return status;
  struct node n = node_of(node);
  if (!fits(&n, &demand)) return berth_unschedulable(of.raced);
  BerthText text = {NULL, 0};
  if (shares(&demand)) {
    text = berth_decimal(choose(&n, node));
  } else {
    uint32_t left = demand.gpus;
    for (uint32_t i = 0; left > 0; i++) {
      if (n.free[i] != WHOLE) continue;
      text = text.n == 0 ? berth_decimal(i) : berth_concat(text, ",", berth_decimal(i));
      left--;
    }
  }
  return berth_annotate("berth.dev/gpu-devices", text) ? BERTH_SUCCESS : berth_error(BERTH_NO_REASON);
}
