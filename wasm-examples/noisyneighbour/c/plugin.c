// A plugin that limits what pods do to their neighbours: how many pods of one tenant share a node, and
// how many noisy pods, with how much cpu. Within the limits it spreads them. It is the twin of the Go
// package in the folder above.

#include "../../../abi/sdk/c/berth.h"

// A tenant is a namespace; a pod is noisy if its label berth.dev/noisy is `true`.
static BerthPodLabel noisy;
static BerthResource cpu;
static BerthConst noisy_key, yes;
static BerthReason tenant, too_noisy, too_much;

// Limits; 0 is none.
static struct {
  int64_t pods_per_tenant; // of the pods of one namespace on a node
  int64_t noisy_pods;      // of the noisy pods on a node, of all tenants
  int64_t noisy_milli_cpu; // of the sum of their cpu requests
} limits;

// Namespaces that the limits do not apply to, and whose pods do not count.
static BerthConst *exempt;
static uint32_t n_exempt;

// Of this call's pod.
static struct {
  BerthId namespace;
  bool noisy;
  int64_t request;
} asked;

static void setup(void) {
  noisy = berth_pod_label_handle("berth.dev/noisy");
  cpu = berth_resource_handle("cpu");
  noisy_key = berth_const("berth.dev/noisy");
  yes = berth_const("true");
  tenant = berth_reason("node(s) had too many pods of the tenant");
  too_noisy = berth_reason("node(s) had too many noisy pods");
  too_much = berth_reason("node(s) had too much cpu of noisy pods");
}

static void configure(BerthJson config) {
  berth_json_only(config, "podsPerTenant", "noisyPods", "noisyMilliCPU", "exempt");
  limits.pods_per_tenant = berth_json_i64(berth_json_get(config, "podsPerTenant"), 0);
  limits.noisy_pods = berth_json_i64(berth_json_get(config, "noisyPods"), 0);
  limits.noisy_milli_cpu = berth_json_i64(berth_json_get(config, "noisyMilliCPU"), 0);
  uint32_t n = 0;
  BERTH_JSON_ELEMENTS(namespace, berth_json_get(config, "exempt")) n++;
  exempt = berth_keep(n * sizeof *exempt);
  BERTH_JSON_ELEMENTS(namespace, berth_json_get(config, "exempt")) exempt[n_exempt++] = berth_const(berth_json_text(namespace, ""));
}

static bool is_exempt(BerthId namespace) {
  for (uint32_t i = 0; i < n_exempt; i++) {
    if (berth_const_is(exempt[i], namespace)) return true;
  }
  return false;
}

// Looks at the pod.
static BerthStatus prepare(BerthPod pod) {
  asked.namespace = berth_pod_namespace(pod);
  if (is_exempt(asked.namespace)) return BERTH_SKIP;
  asked.noisy = berth_const_is(yes, berth_pod_label_by_key(pod, berth_const_id(noisy_key)));
  asked.request = berth_pod_request(pod, cpu);
  return BERTH_SUCCESS;
}

// What the pods on a node amount to.
struct load {
  int64_t tenant_pods, noisy_pods, noisy_cpu;
};

static struct load load(BerthNode node) {
  struct load l = {0, 0, 0};
  BerthPods pods = berth_node_pods(node);
  for (uint32_t i = 0; i < pods.n; i++) {
    BerthPlacedPod pod = berth_pods_at(pods, i);
    BerthId namespace = berth_placed_pod_namespace(pod);
    if (namespace == asked.namespace) l.tenant_pods++;
    if (berth_const_is(yes, berth_placed_pod_label(pod, noisy)) && !is_exempt(namespace)) {
      l.noisy_pods++;
      l.noisy_cpu += berth_placed_pod_request(pod, cpu);
    }
  }
  return l;
}

static bool over(int64_t n, int64_t limit) { return limit > 0 && n > limit; }

// Refuses nodes that the pod would bring over a limit. Preemption can help: the limits are about pods
// that could go.
static BerthStatus filter(BerthPod pod, BerthNode node) {
  (void)pod;
  struct load l = load(node);
  if (over(l.tenant_pods + 1, limits.pods_per_tenant)) return berth_unschedulable(tenant);
  if (asked.noisy && over(l.noisy_pods + 1, limits.noisy_pods)) return berth_unschedulable(too_noisy);
  if (asked.noisy && over(l.noisy_cpu + asked.request, limits.noisy_milli_cpu)) return berth_unschedulable(too_much);
  return BERTH_SUCCESS;
}

// How crowded the node is for this pod: pods of its tenant, each counted as one cpu, and the cpu of noisy
// pods, twice if it is noisy itself. The manifest asks the host to normalise it with `reverse`: least
// crowded is best.
static int64_t score(BerthPod pod, BerthNode node) {
  (void)pod;
  struct load l = load(node);
  return 1000 * l.tenant_pods + l.noisy_cpu + (asked.noisy ? l.noisy_cpu : 0);
}

BERTH_PLUGIN("manifest.json", setup);
BERTH_CONFIGURE(configure);
BERTH_PREPARED_FILTER(prepare, filter);
BERTH_PREPARED_SCORE(prepare, score);
