// What the SDK reads of the pod, of the node and of all namespaces, as sight.go lists it.

static struct {
  BerthNodeAnnotation note;
  BerthNodeLabel disk;
  BerthNodeCondition ready;
  BerthPodLabel app;
  BerthPodAnnotation peer;
  BerthNamespaceLabel team;
  BerthResource cpu;
} read_by;

static BerthText seen;

static void see(BerthText text) { seen = berth_concat(seen, seen.n == 0 ? "" : " ", text); }

static void see_number(int64_t n) { see(berth_decimal(n)); }

static void see_id(BerthId id) { see(id == BERTH_ABSENT ? BERTH_TEXT("-") : berth_text(id)); }

static void see_ids(BerthIds all) {
  BERTH_EACH(id, all) see_id(*id);
}

static void see_pairs(BerthPairs all) {
  BERTH_EACH(pair, all) {
    see_id(pair->key);
    see_id(pair->value);
  }
}

static void see_ports(BerthPorts all) {
  BERTH_EACH(port, all) {
    see_id(port->ip);
    see_number(port->port);
    see_number(port->protocol);
  }
}

static void see_non_zero(BerthNonZero both) {
  see_number(both.cpu);
  see_number(both.memory);
}

static void see_pod(BerthPod pod) {
  see_id(berth_pod_namespace(pod));
  see_id(berth_pod_owner(pod));
  see_number(berth_pod_priority(pod));
  see_number(berth_pod_request(pod, read_by.cpu));
  see_non_zero(berth_pod_non_zero_requested(pod));
  see(berth_concat(berth_pod_name(pod), " on ", berth_pod_node_name(pod)));
  see_pairs(berth_pod_labels(pod));
  see_pairs(berth_pod_namespace_labels(pod));
  see_ids(berth_pod_scheduling_gates(pod));
  see_ids(berth_pod_images(pod));
  see_ports(berth_pod_host_ports(pod));
  BerthRequirements selector = berth_pod_node_selector(pod);
  BERTH_EACH(requirement, selector) {
    see_id(requirement->key);
    see_number(requirement->op);
    see_ids(berth_pod_values(pod, requirement));
  }
}

static void see_placed(BerthPlacedPod pod) {
  see(berth_concat(berth_placed_pod_name(pod), " ", berth_placed_pod_uid(pod)));
  see_id(berth_placed_pod_namespace(pod));
  see_id(berth_placed_pod_owner(pod));
  see_id(berth_placed_pod_label(pod, read_by.app));
  see_id(berth_placed_pod_annotation(pod, read_by.peer));
  see_number(berth_placed_pod_priority(pod));
  see_number(berth_placed_pod_request(pod, read_by.cpu));
  see_number(berth_placed_pod_terminating(pod));
  see_pairs(berth_placed_pod_labels(pod));
}

static void see_node(BerthNode node) {
  see_id(berth_node_zone(node));
  see_id(berth_node_label(node, read_by.disk));
  see_id(berth_node_annotation(node, read_by.note));
  see_number(berth_node_unschedulable(node));
  see_number(berth_node_condition(node, read_by.ready));
  see_number(berth_node_allocatable(node, read_by.cpu));
  see_number(berth_node_requested(node, read_by.cpu));
  see_non_zero(berth_node_non_zero_requested(node));
  see_pairs(berth_node_labels(node));
  BerthTaints taints = berth_node_taints(node);
  BERTH_EACH(taint, taints) {
    see_id(taint->key);
    see_id(taint->value);
    see_number(taint->effect);
  }
  see_ports(berth_node_ports(node));
  BerthImages images = berth_node_images(node);
  BERTH_EACH(image, images) {
    see_id(image->name);
    see_number(image->size);
  }
  BerthPods pods = berth_node_pods(node);
  for (uint32_t i = 0; i < pods.n; i++) see_placed(berth_pods_at(pods, i));
}

static BerthText sight(BerthPod pod, const BerthNode *node) {
  seen = BERTH_TEXT("");
  see_pod(pod);
  if (node != NULL) see_node(*node);
  for (uint32_t i = 0; i < berth_namespaces_len(); i++) {
    BerthNamespace namespace = berth_namespaces_at(i);
    if (berth_namespace_name(namespace) == BERTH_ABSENT) continue;
    see_id(berth_namespace_name(namespace));
    see_id(berth_namespace_label(namespace, read_by.team));
    see_pairs(berth_namespace_labels(namespace));
  }
  return seen;
}
