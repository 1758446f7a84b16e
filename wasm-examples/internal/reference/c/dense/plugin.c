// The reference workload with a column for each label key.

#include "../common.h"

static struct {
  BerthConst key;
  BerthNodeLabel label;
} keys[2];

// A requirement with its column.
struct check {
  BerthNodeLabel label;
  const BerthRequirement *requirement;
};

// Of this call's pod: the checks of all terms, and where those of each end.
static bool any;
static struct check *checks;
static uint32_t *ends, n_terms;

static void setup(void) {
  static const char *const names[2] = {"topology.kubernetes.io/zone", "example.com/pool"};
  common_setup();
  for (uint32_t i = 0; i < 2; i++) {
    keys[i].key = berth_const(names[i]);
    keys[i].label = berth_node_label_handle(names[i]);
  }
}

static bool find(BerthId key, BerthNodeLabel *label) {
  for (uint32_t i = 0; i < 2; i++) {
    *label = keys[i].label;
    if (berth_const_is(keys[i].key, key)) return true;
  }
  return false;
}

// Resolves the requirements of the pod's affinity.
static BerthStatus prepare(BerthPod pod) {
  common_prepare(pod);
  BerthTerms terms;
  any = berth_pod_required_terms(pod, &terms);
  uint32_t n = 0;
  BERTH_EACH(term, terms) n += term->count;
  checks = berth_scratch(n * sizeof *checks);
  ends = berth_scratch(terms.n * sizeof *ends);
  n = n_terms = 0;
  BERTH_EACH(term, terms) {
    if (berth_term_unusable(term)) continue;
    BERTH_EACH(r, berth_pod_requirements(pod, term)) {
      checks[n].requirement = r;
      if (!find(r->key, &checks[n++].label)) {
        return berth_error(berth_reason(berth_concat("the label ", berth_text(r->key), " is not declared")));
      }
    }
    ends[n_terms++] = n;
  }
  return BERTH_SUCCESS;
}

static inline bool matches(BerthPod pod, BerthNode node) {
  const struct check *check = checks;
  for (uint32_t i = 0; i < n_terms; i++) {
    const struct check *end = checks + ends[i];
    while (check != end && berth_pod_holds(pod, check->requirement, berth_node_label(node, check->label))) check++;
    if (check == end) return true;
    check = end;
  }
  return false;
}

static BerthStatus filter(BerthPod pod, BerthNode node) {
  if (!tolerated(node)) return berth_unschedulable_and_unresolvable(tainted);
  if (any && !matches(pod, node)) return berth_unschedulable_and_unresolvable(mismatched);
  return fits(node);
}

BERTH_PLUGIN("../manifest-dense.json", setup);
BERTH_PREPARED_FILTER(prepare, filter);
