// The pod to be placed, or another one that a call is about, as a view of its record (SPEC.md,
// section 6). Its functions name what the manifest must list under `pod`.

struct berth__pod {
  int32_t index; // in the pod list; −1 for a pod that is not the call's
  BerthText name, uid, node_name;
  BerthIds namespace, owner, images, gates, values;
  BerthPairs labels, namespace_labels;
  BerthTolerations tolerations;
  BerthRequirements selector, requirements;
  BerthTerms required, preferred;
  BerthPorts ports;
  const int64_t *priority, *non_zero;
  struct berth__later later;
  bool has_required;
  // By the number of a handle.
  int64_t *requests, *limits;
  BerthId *annotations;
};

/// A pod, valid until the function that got it returns.
typedef const struct berth__pod *BerthPod;

// Makes room for the fields of declared keys, once an instance.
BERTH__FN void berth__pod_start(struct berth__pod *pod) {
  pod->requests = berth__keep_zero(berth__columns.lengths[BERTH__RESOURCES] + 1, sizeof *pod->requests);
  pod->limits = berth__keep_zero(berth__columns.lengths[BERTH__RESOURCES] + 1, sizeof *pod->limits);
  pod->annotations = berth__keep_zero(berth__columns.lengths[BERTH__POD_ANNOTATION_KEYS] + 1, sizeof *pod->annotations);
}

// Takes a field that is a list.
#define BERTH__FIELD(list) \
  (list).at = berth__view(address + f->offset, f->count, sizeof *(list).at); \
  (list).n = f->count; \
  break

// Reads a pod record, the index-th of the pod list.
BERTH__COLD void berth__pod_read(struct berth__pod *pod, uint32_t address, uint32_t size, int32_t index) {
  __builtin_memset(pod, 0, offsetof(struct berth__pod, requests));
  pod->index = index;
  uint32_t resources = berth__columns.lengths[BERTH__RESOURCES], keys = berth__columns.lengths[BERTH__POD_ANNOTATION_KEYS];
  for (uint32_t i = 0; i <= resources; i++) pod->requests[i] = pod->limits[i] = 0;
  for (uint32_t i = 0; i <= keys; i++) pod->annotations[i] = BERTH_ABSENT;
  if (size < sizeof(struct berth__pod_header)) return;
  const struct berth__pod_header *header = berth__view(address, 1, sizeof *header);
  const struct berth__pod_field *fields = berth__view(address + (uint32_t)sizeof *header, header->n_fields, sizeof *fields);
  for (const struct berth__pod_field *f = fields; f != fields + header->n_fields; f++) {
    switch (f->id) {
    case BERTH__POD_NAME: BERTH__FIELD(pod->name);
    case BERTH__POD_UID: BERTH__FIELD(pod->uid);
    case BERTH__POD_NODE_NAME: BERTH__FIELD(pod->node_name);
    case BERTH__POD_NODE_SELECTOR: BERTH__FIELD(pod->selector);
    case BERTH__POD_TOLERATIONS: BERTH__FIELD(pod->tolerations);
    case BERTH__POD_HOST_PORTS: BERTH__FIELD(pod->ports);
    case BERTH__POD_IMAGES: BERTH__FIELD(pod->images);
    case BERTH__POD_SCHEDULING_GATES: BERTH__FIELD(pod->gates);
    case BERTH__POD_NAMESPACE: BERTH__FIELD(pod->namespace);
    case BERTH__POD_LABELS: BERTH__FIELD(pod->labels);
    case BERTH__POD_OWNER: BERTH__FIELD(pod->owner);
    case BERTH__POD_PREFERRED_TERMS: BERTH__FIELD(pod->preferred);
    case BERTH__POD_REQUIREMENTS: BERTH__FIELD(pod->requirements);
    case BERTH__POD_REQUIREMENT_VALUES: BERTH__FIELD(pod->values);
    case BERTH__POD_NAMESPACE_LABELS: BERTH__FIELD(pod->namespace_labels);
    case BERTH__POD_REQUIRED_TERMS: pod->has_required = true; BERTH__FIELD(pod->required);
    case BERTH__POD_PRIORITY:
      if (f->count >= 1) pod->priority = berth__view(address + f->offset, 1, sizeof *pod->priority);
      break;
    case BERTH__POD_NON_ZERO_REQUESTED:
      if (f->count >= 2) pod->non_zero = berth__view(address + f->offset, 2, sizeof *pod->non_zero);
      break;
    case BERTH__POD_REQUESTS:
      if (f->count >= 1 && f->arg < resources) pod->requests[f->arg + 1] = *(int64_t *)berth__view(address + f->offset, 1, 8);
      break;
    case BERTH__POD_LIMITS:
      if (f->count >= 1 && f->arg < resources) pod->limits[f->arg + 1] = *(int64_t *)berth__view(address + f->offset, 1, 8);
      break;
    case BERTH__POD_ANNOTATIONS:
      if (f->count >= 1 && f->arg < keys) pod->annotations[f->arg + 1] = *(BerthId *)berth__view(address + f->offset, 1, 4);
      break;
    default: berth__later_read(&pod->later, f->id, address + f->offset, f->count);
    }
  }
}

#undef BERTH__FIELD

// Ends a plugin that reads a field which its manifest does not list.
BERTH__HOT BerthPod berth__need(BerthPod pod, uint32_t field) {
  if (BERTH__RARE((berth__declared.pod >> field & 1) == 0)) berth__undeclared("pod", BERTH_TEXT(berth__field_name(field)));
  return pod;
}

/// metadata.name. Reads `name`.
BERTH__FN BerthText berth_pod_name(BerthPod pod) { return berth__need(pod, BERTH__READS_NAME)->name; }

/// metadata.uid. Reads `uid`.
BERTH__FN BerthText berth_pod_uid(BerthPod pod) { return berth__need(pod, BERTH__READS_UID)->uid; }

/// metadata.namespace. Reads `namespace`.
BERTH__FN BerthId berth_pod_namespace(BerthPod pod) {
  BerthIds ids = berth__need(pod, BERTH__READS_NAMESPACE)->namespace;
  return ids.n == 0 ? BERTH_ABSENT : ids.at[0];
}

/// All labels of the pod's namespace, in no order. Reads `namespaceLabels`.
BERTH__FN BerthPairs berth_pod_namespace_labels(BerthPod pod) { return berth__need(pod, BERTH__READS_NAMESPACE_LABELS)->namespace_labels; }

/// The value of a label key of the pod's namespace; BERTH_ABSENT if it does not have it. Reads
/// `namespaceLabels`.
BERTH__FN BerthId berth_pod_namespace_label_by_key(BerthPod pod, BerthId key) {
  return berth_pairs_find(berth_pod_namespace_labels(pod), key);
}

/// spec.nodeName; from reserve on that of the chosen node. Reads `nodeName`.
BERTH__FN BerthText berth_pod_node_name(BerthPod pod) { return berth__need(pod, BERTH__READS_NODE_NAME)->node_name; }

/// The names of spec.schedulingGates. Reads `schedulingGates`.
BERTH__FN BerthIds berth_pod_scheduling_gates(BerthPod pod) { return berth__need(pod, BERTH__READS_SCHEDULING_GATES)->gates; }

/// spec.priority. Reads `priority`.
BERTH__FN int64_t berth_pod_priority(BerthPod pod) {
  const int64_t *priority = berth__need(pod, BERTH__READS_PRIORITY)->priority;
  return priority == NULL ? 0 : *priority;
}

/// What the pod requests of a resource, in milli-CPU, bytes or a count. Reads `requests`.
BERTH__HOT int64_t berth_pod_request(BerthPod pod, BerthResource r) { return berth__need(pod, BERTH__READS_REQUESTS)->requests[r.number]; }

/// What the pod requests, where a container without a request counts 100 milli-CPU and 200 MiB.
/// Reads `nonZeroRequested`.
BERTH__FN BerthNonZero berth_pod_non_zero_requested(BerthPod pod) {
  const int64_t *both = berth__need(pod, BERTH__READS_NON_ZERO)->non_zero;
  return both == NULL ? (BerthNonZero){0, 0} : (BerthNonZero){both[0], both[1]};
}

// The number of a handle counts from 1; 0 is that of a resource that is not declared.
BERTH__FN int64_t berth__amount(BerthPod pod, uint32_t first, uint32_t number) {
  struct berth__numbers all = berth__need(pod, BERTH__READS_CONTAINERS)->later.container_amounts;
  if (number < 2) return 0;
  if (BERTH__RARE((uint64_t)first + number - 2 >= all.n)) berth__outside();
  return all.at[first + number - 2];
}

/// What a container requests of a resource, in milli-CPU, bytes or a count. Reads `containers`.
BERTH__FN int64_t berth_pod_container_request(BerthPod pod, const BerthContainer *container, BerthResource r) {
  return berth__amount(pod, container->first, r.number * 2);
}

/// How much a container may use of a resource; −1 for as much as there is. Reads `containers`.
BERTH__FN int64_t berth_pod_container_limit(BerthPod pod, const BerthContainer *container, BerthResource r) {
  return berth__amount(pod, container->first, r.number * 2 + 1);
}

/// All labels, in no order. Reads `labels`.
BERTH__FN BerthPairs berth_pod_labels(BerthPod pod) { return berth__need(pod, BERTH__READS_LABELS)->labels; }

/// The value of a label key; BERTH_ABSENT if the pod does not have it. Reads `labels`.
BERTH__FN BerthId berth_pod_label_by_key(BerthPod pod, BerthId key) { return berth_pairs_find(berth_pod_labels(pod), key); }

/// The value of a declared annotation key. Reads `annotations`, and the list `podAnnotations`.
BERTH__FN BerthId berth_pod_annotation(BerthPod pod, BerthPodAnnotation key) {
  return berth__need(pod, BERTH__READS_ANNOTATIONS)->annotations[key.number];
}

/// `Kind/name` of the controlling owner; BERTH_ABSENT for none. Reads `owner`.
BERTH__FN BerthId berth_pod_owner(BerthPod pod) {
  BerthIds ids = berth__need(pod, BERTH__READS_OWNER)->owner;
  return ids.n == 0 ? BERTH_ABSENT : ids.at[0];
}

/// The host ports that the pod asks for. Reads `hostPorts`.
BERTH__FN BerthPorts berth_pod_host_ports(BerthPod pod) { return berth__need(pod, BERTH__READS_HOST_PORTS)->ports; }

/// The names of the containers' images, as nodes report them. Reads `images`.
BERTH__FN BerthIds berth_pod_images(BerthPod pod) { return berth__need(pod, BERTH__READS_IMAGES)->images; }

// Fields since ABI 1.1. Generated from abi/fields.

/// metadata.creationTimestamp in seconds since 1970; 0 for none. Reads `createdAt`.
BERTH__FN int64_t berth_pod_created_at(BerthPod pod) {
  const int64_t *at = berth__need(pod, BERTH__READS_CREATED_AT)->later.created_at;
  return at == NULL ? 0 : *at;
}

/// spec.priorityClassName; 0 for none. Reads `priorityClass`.
BERTH__FN BerthId berth_pod_priority_class(BerthPod pod) {
  const BerthId *at = berth__need(pod, BERTH__READS_PRIORITY_CLASS)->later.priority_class;
  return at == NULL ? BERTH_ABSENT : *at;
}

/// spec.serviceAccountName; 0 for none. Reads `serviceAccount`.
BERTH__FN BerthId berth_pod_service_account(BerthPod pod) {
  const BerthId *at = berth__need(pod, BERTH__READS_SERVICE_ACCOUNT)->later.service_account;
  return at == NULL ? BERTH_ABSENT : *at;
}

/// spec.preemptionPolicy; PreemptLowerPriority if it is not set. Reads `preemptionPolicy`.
BERTH__FN BerthId berth_pod_preemption_policy(BerthPod pod) {
  const BerthId *at = berth__need(pod, BERTH__READS_PREEMPTION_POLICY)->later.preemption_policy;
  return at == NULL ? BERTH_ABSENT : *at;
}

/// spec.schedulingGroup.podGroupName; 0 for none. Reads `group`.
BERTH__FN BerthId berth_pod_group(BerthPod pod) {
  const BerthId *at = berth__need(pod, BERTH__READS_GROUP)->later.group;
  return at == NULL ? BERTH_ABSENT : *at;
}

/// the QoS class: Guaranteed, Burstable or BestEffort. Reads `qos`.
BERTH__FN BerthId berth_pod_qos(BerthPod pod) {
  const BerthId *at = berth__need(pod, BERTH__READS_QOS)->later.qos;
  return at == NULL ? BERTH_ABSENT : *at;
}

/// the time in seconds since 1970, in steps of `resolution`; 0 at queueSort, hint, unreserve and from preBind on (6.7). Reads `now`.
BERTH__FN int64_t berth_pod_now(BerthPod pod) {
  const int64_t *at = berth__need(pod, BERTH__READS_NOW)->later.now;
  return at == NULL ? 0 : *at;
}

/// names of the persistent volume claims of spec.volumes, also of ephemeral ones. Reads `claims`.
BERTH__FN BerthIds berth_pod_claims(BerthPod pod) { return berth__need(pod, BERTH__READS_CLAIMS)->later.claims; }

/// init containers, and then the others, each in the order of spec. Reads `containers`.
BERTH__FN BerthContainers berth_pod_containers(BerthPod pod) { return berth__need(pod, BERTH__READS_CONTAINERS)->later.containers; }

/// Of a resource, how much the pod may use; −1 if a container has no limit. Reads `limits`.
BERTH__FN int64_t berth_pod_limit(BerthPod pod, BerthResource r) { return berth__need(pod, BERTH__READS_LIMITS)->limits[r.number]; }
