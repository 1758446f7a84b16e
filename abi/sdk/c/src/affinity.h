// Where a pod may go according to its spec: tolerations, node selector and node affinity.

/// spec.tolerations. Reads `pod: tolerations`.
BERTH__HOT BerthTolerations berth_pod_tolerations(BerthPod pod) { return berth__need(pod, BERTH__READS_TOLERATIONS)->tolerations; }

/// Reports whether the pod tolerates a taint. Reads `pod: tolerations`.
BERTH__HOT bool berth_pod_tolerates(BerthPod pod, const BerthTaint *taint) {
  BerthTolerations all = berth_pod_tolerations(pod);
  for (uint32_t i = 0; i < all.n; i++) {
    if (berth_toleration_tolerates(&all.at[i], taint)) return true;
  }
  return false;
}

/// spec.nodeSelector: all must hold. Reads `pod: nodeSelector`.
BERTH__FN BerthRequirements berth_pod_node_selector(BerthPod pod) { return berth__need(pod, BERTH__READS_NODE_SELECTOR)->selector; }

/// The required node affinity: if there is any, which is reported, one term must hold. Reads
/// `pod: affinity`.
BERTH__FN bool berth_pod_required_terms(BerthPod pod, BerthTerms *terms) {
  *terms = berth__need(pod, BERTH__READS_AFFINITY)->required;
  return pod->has_required;
}

/// The preferred node affinity. Reads `pod: affinity`.
BERTH__FN BerthTerms berth_pod_preferred_terms(BerthPod pod) { return berth__need(pod, BERTH__READS_AFFINITY)->preferred; }

/// The requirements of a term: all must hold. A term without requirements matches no node, unless it
/// has fields. Reads `pod: affinity`.
BERTH__HOT BerthRequirements berth_pod_requirements(BerthPod pod, const BerthTerm *term) {
  BerthRequirements all = berth__need(pod, BERTH__READS_AFFINITY)->requirements;
  if (term->count == 0) return (BerthRequirements){NULL, 0};
  if (BERTH__RARE((uint64_t)term->first + term->count > all.n)) berth__outside();
  return (BerthRequirements){all.at + term->first, term->count};
}

/// The values of a requirement. Reads `pod: affinity` or `nodeSelector`.
BERTH__HOT BerthIds berth_pod_values(BerthPod pod, const BerthRequirement *r) {
  if (r->count == 0) return (BerthIds){NULL, 0};
  if (BERTH__RARE((uint64_t)r->first + r->count > pod->values.n)) berth__outside();
  return (BerthIds){pod->values.at + r->first, r->count};
}

BERTH__HOT bool berth__among(BerthIds ids, BerthId id) {
  for (uint32_t i = 0; i < ids.n; i++) {
    if (ids.at[i] == id) return true;
  }
  return false;
}

BERTH__FN bool berth__holds(BerthPod pod, const BerthRequirement *r, BerthId value) {
  int64_t number = 0;
  switch (r->op) {
  case BERTH_NOT_IN: return value == BERTH_ABSENT || !berth__among(berth_pod_values(pod, r), value);
  case BERTH_EXISTS: return value != BERTH_ABSENT;
  case BERTH_DOES_NOT_EXIST: return value == BERTH_ABSENT;
  case BERTH_GT: return berth_parse_i64(berth_text(value), &number) && number > r->number;
  case BERTH_LT: return berth_parse_i64(berth_text(value), &number) && number < r->number;
  }
  return false;
}

/// Reports whether a requirement holds for a value of its label; BERTH_ABSENT for a node without the
/// label.
BERTH__HOT bool berth_pod_holds(BerthPod pod, const BerthRequirement *r, BerthId value) {
  if (r->op == BERTH_IN) { // nearly all requirements; this much is inlined
    return value != BERTH_ABSENT && berth__among(berth_pod_values(pod, r), value);
  }
  return berth__holds(pod, r, value);
}
