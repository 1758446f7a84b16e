// The reference workload with the labels of each node as a list.

#include "../common.h"

// Of this call's pod.
static BerthTerms terms;
static bool any;

static BerthStatus prepare(BerthPod pod) {
  common_prepare(pod);
  any = berth_pod_required_terms(pod, &terms);
  return BERTH_SUCCESS;
}

static inline bool holds(BerthPod pod, BerthNode node, const BerthTerm *term) {
  if (berth_term_unusable(term)) return false;
  BERTH_EACH(r, berth_pod_requirements(pod, term)) {
    if (!berth_pod_holds(pod, r, berth_node_label_by_key(node, r->key))) return false;
  }
  return true;
}

static inline bool matches(BerthPod pod, BerthNode node) {
  BERTH_EACH(term, terms) {
    if (holds(pod, node, term)) return true;
  }
  return false;
}

static BerthStatus filter(BerthPod pod, BerthNode node) {
  if (!tolerated(node)) return berth_unschedulable_and_unresolvable(tainted);
  if (any && !matches(pod, node)) return berth_unschedulable_and_unresolvable(mismatched);
  return fits(node);
}

BERTH_PLUGIN("../manifest-csr.json", common_setup);
BERTH_PREPARED_FILTER(prepare, filter);
