// A plugin that keeps the pods of a tenant's namespace on the nodes of the tenant's pools, with shared
// pools to fall back on. It is the twin of the Go package in the folder above.

#include "../../../abi/sdk/c/berth.h"

// Pools: values of the node label berth.dev/pool.
struct pools {
  BerthConst *at;
  uint32_t n;
};

struct tenant {
  BerthConst namespace;
  struct pools own;
  bool fallback; // to the shared pools; its own are preferred
  struct tenant *next;
};

static BerthNodeLabel pool;
static BerthReason wrong;

static struct tenant *tenants;
static struct pools shared; // for who falls back, and for namespaces that are no tenants
static bool any_node;       // for the latter

// The ids of this call's pod.
static BerthIds own, fallback;

static void setup(void) {
  pool = berth_node_label_handle("berth.dev/pool");
  wrong = berth_reason("node(s) didn't belong to the tenant's pool");
}

// The texts of a list as constants.
static struct pools constants(BerthJson list) {
  uint32_t n = 0;
  BERTH_JSON_ELEMENTS(text, list) n++;
  struct pools all = {berth_keep(n * sizeof *all.at), 0};
  BERTH_JSON_ELEMENTS(text, list) all.at[all.n++] = berth_const(berth_json_text(text, ""));
  return all;
}

static void configure(BerthJson config) {
  berth_json_only(config, "tenants", "shared", "others");
  shared = constants(berth_json_get(config, "shared"));
  any_node = berth_json_one_of(berth_json_get(config, "others"), 0, "shared", "any") == 1;
  BERTH_JSON_FIELDS(of, berth_json_get(config, "tenants")) {
    berth_json_only(of, "pools", "fallback");
    struct tenant *t = berth_keep(sizeof *t);
    *t = (struct tenant){berth_const(berth_json_key(of)), constants(berth_json_get(of, "pools")), berth_json_bool(berth_json_get(of, "fallback"), false), tenants};
    tenants = t;
  }
}

// The ids of the pools that there are nodes of, for this call.
static BerthIds ids(struct pools pools) {
  BerthId *all = berth_scratch(pools.n * sizeof *all);
  uint32_t n = 0;
  for (uint32_t i = 0; i < pools.n; i++) {
    if (berth_const_id(pools.at[i]) != BERTH_ABSENT) all[n++] = berth_const_id(pools.at[i]);
  }
  return (BerthIds){all, n};
}

// Looks up the pools of the pod's namespace.
static BerthStatus prepare(BerthPod pod) {
  struct tenant *t = tenants;
  while (t != NULL && !berth_const_is(t->namespace, berth_pod_namespace(pod))) t = t->next;
  if (t == NULL && any_node) return BERTH_SKIP;
  own = t == NULL ? (BerthIds){NULL, 0} : ids(t->own);
  fallback = t == NULL || t->fallback ? ids(shared) : (BerthIds){NULL, 0};
  return BERTH_SUCCESS;
}

static bool has(BerthIds ids, BerthId id) {
  for (uint32_t i = 0; i < ids.n; i++) {
    if (ids.at[i] == id) return true;
  }
  return false;
}

// Refuses nodes of other pools. Other pods on the node have nothing to do with it, so preemption need
// not look.
static BerthStatus filter(BerthPod pod, BerthNode node) {
  (void)pod;
  BerthId of = berth_node_label(node, pool);
  return has(own, of) || has(fallback, of) ? BERTH_SUCCESS : berth_unschedulable_and_unresolvable(wrong);
}

// Prefers the tenant's own nodes to shared ones.
static int64_t score(BerthPod pod, BerthNode node) {
  (void)pod;
  return has(own, berth_node_label(node, pool)) ? 100 : 0;
}

BERTH_PLUGIN("manifest.json", setup);
BERTH_CONFIGURE(configure);
BERTH_PREPARED_FILTER(prepare, filter);
BERTH_PREPARED_SCORE(prepare, score);
