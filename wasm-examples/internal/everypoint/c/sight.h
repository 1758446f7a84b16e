// What the SDK reads of the pod, of the node and of all namespaces, as sight.go lists it.

static struct {
  BerthNodeAnnotation note;
  BerthNodeLabel disk;
  BerthNodeCondition ready;
  BerthPodLabel app;
  BerthPodAnnotation peer;
  BerthNamespaceLabel team;
  BerthResource cpu, memory;
  BerthFeed usage;
  BerthObjectColumn slot_names, slot_sizes, max_keys, maxima;
  BerthConst app_key, disk_key, team_key;
} read_by;

static BerthText seen;

static void see(BerthText text) { seen = berth_concat(seen, seen.n == 0 ? "" : " ", text); }

static void see_number(int64_t n) { see(berth_decimal(n)); }

static void see_id(BerthId id) { see(id == BERTH_ABSENT ? BERTH_TEXT("-") : berth_text(id)); }

// The entries of a list, in the order of their bytes: a list has none.
struct entries {
  BerthText before, *all;
  uint32_t n;
};

static struct entries entries(uint32_t most) {
  struct entries list = {seen, berth_scratch(most * sizeof(BerthText)), 0};
  seen = BERTH_TEXT("");
  return list;
}

// Ends an entry: what was seen since the last one.
static void entry(struct entries *list) {
  uint32_t k = list->n++;
  for (; k > 0 && less(seen, list->all[k - 1]); k--) list->all[k] = list->all[k - 1];
  list->all[k] = seen;
  seen = BERTH_TEXT("");
}

static void see_entries(const struct entries *list) {
  seen = list->before;
  for (uint32_t i = 0; i < list->n; i++) see(list->all[i]);
}

static void see_ids(BerthIds all) {
  struct entries list = entries(all.n);
  BERTH_EACH(id, all) {
    see_id(*id);
    entry(&list);
  }
  see_entries(&list);
}

static void see_pairs(BerthPairs all) {
  struct entries list = entries(all.n);
  BERTH_EACH(pair, all) {
    see_id(pair->key);
    see_id(pair->value);
    entry(&list);
  }
  see_entries(&list);
}

static void see_ports(BerthPorts all) {
  struct entries list = entries(all.n);
  BERTH_EACH(port, all) {
    see_id(port->ip);
    see_number(port->port);
    see_number(port->protocol);
    entry(&list);
  }
  see_entries(&list);
}

static void see_non_zero(BerthNonZero both) {
  see_number(both.cpu);
  see_number(both.memory);
}

static void see_requirements(BerthPod pod, BerthRequirements all) {
  struct entries list = entries(all.n);
  BERTH_EACH(requirement, all) {
    see_id(requirement->key);
    see_number(requirement->op);
    see_number(requirement->number);
    see_ids(berth_pod_values(pod, requirement));
    entry(&list);
  }
  see_entries(&list);
}

static void see_terms(BerthPod pod, BerthTerms all) {
  struct entries list = entries(all.n);
  BERTH_EACH(term, all) {
    see_number(term->weight);
    see_number(berth_term_unusable(term));
    see_number(berth_term_has_fields(term));
    see_requirements(pod, berth_pod_requirements(pod, term));
    entry(&list);
  }
  see_entries(&list);
}

static void see_tolerations(BerthTolerations all) {
  struct entries list = entries(all.n);
  BERTH_EACH(toleration, all) {
    see_id(toleration->key);
    see_id(toleration->value);
    see_number(toleration->op);
    see_number(toleration->effect);
    see_number(toleration->seconds);
    entry(&list);
  }
  see_entries(&list);
}

static void see_containers(BerthPod pod, BerthContainers all) {
  struct entries list = entries(all.n);
  BERTH_EACH(c, all) {
    see_id(c->name);
    see_id(c->image);
    see_number(c->kind);
    see_number(berth_pod_container_request(pod, c, read_by.cpu));
    see_number(berth_pod_container_limit(pod, c, read_by.cpu));
    see_number(berth_pod_container_request(pod, c, read_by.memory));
    see_number(berth_pod_container_limit(pod, c, read_by.memory));
    entry(&list);
  }
  see_entries(&list);
}

static void see_pod(BerthPod pod) {
  BerthTerms required;
  bool any = berth_pod_required_terms(pod, &required);
  see_id(berth_pod_namespace(pod));
  see_id(berth_pod_owner(pod));
  see_id(berth_pod_label_by_key(pod, berth_const_id(read_by.app_key)));
  see_id(berth_pod_namespace_label_by_key(pod, berth_const_id(read_by.team_key)));
  see_number(berth_pod_priority(pod));
  see_number(berth_pod_request(pod, read_by.cpu));
  see_number(berth_pod_request(pod, read_by.memory));
  see_non_zero(berth_pod_non_zero_requested(pod));
  see(berth_concat(berth_pod_name(pod), " on ", berth_pod_node_name(pod)));
  see_pairs(berth_pod_labels(pod));
  see_pairs(berth_pod_namespace_labels(pod));
  see_ids(berth_pod_scheduling_gates(pod));
  see_ids(berth_pod_images(pod));
  see_ports(berth_pod_host_ports(pod));
  see_requirements(pod, berth_pod_node_selector(pod));
  see_tolerations(berth_pod_tolerations(pod));
  see_number(any);
  see_terms(pod, required);
  see_terms(pod, berth_pod_preferred_terms(pod));
  see_number(berth_pod_created_at(pod));
  see_id(berth_pod_priority_class(pod));
  see_id(berth_pod_service_account(pod));
  see_id(berth_pod_preemption_policy(pod));
  see_id(berth_pod_group(pod));
  see_id(berth_pod_qos(pod));
  see_number(berth_pod_limit(pod, read_by.cpu));
  see_number(berth_pod_limit(pod, read_by.memory));
  see_ids(berth_pod_claims(pod));
  see_number(berth_pod_now(pod));
  see_containers(pod, berth_pod_containers(pod));
}

static void see_placed(BerthPods pods) {
  struct entries list = entries(pods.n);
  for (uint32_t i = 0; i < pods.n; i++) {
    BerthPlacedPod pod = berth_pods_at(pods, i);
    see(berth_concat(berth_placed_pod_name(pod), " ", berth_placed_pod_uid(pod)));
    see_id(berth_placed_pod_namespace(pod));
    see_id(berth_placed_pod_owner(pod));
    see_id(berth_placed_pod_label(pod, read_by.app));
    see_id(berth_placed_pod_label_by_key(pod, berth_const_id(read_by.app_key)));
    see_id(berth_placed_pod_annotation(pod, read_by.peer));
    see_number(berth_placed_pod_priority(pod));
    see_number(berth_placed_pod_request(pod, read_by.cpu));
    see_number(berth_placed_pod_request(pod, read_by.memory));
    see_number(berth_placed_pod_terminating(pod));
    see_pairs(berth_placed_pod_labels(pod));
    see_id(berth_placed_pod_qos(pod));
    see_number(berth_placed_pod_limit(pod, read_by.cpu));
    see_number(berth_placed_pod_limit(pod, read_by.memory));
    see_number(berth_placed_pod_assigned_at(pod));
    see_number(berth_placed_pod_created_at(pod));
    see_number(berth_placed_pod_running(pod));
    see_number(berth_placed_pod_ready(pod));
    entry(&list);
  }
  see_entries(&list);
}

static void see_taints(BerthTaints all) {
  struct entries list = entries(all.n);
  BERTH_EACH(taint, all) {
    see_id(taint->key);
    see_id(taint->value);
    see_number(taint->effect);
    entry(&list);
  }
  see_entries(&list);
}

static void see_images(BerthImages all) {
  struct entries list = entries(all.n);
  BERTH_EACH(image, all) {
    see_id(image->name);
    see_number(image->size);
    entry(&list);
  }
  see_entries(&list);
}

static void see_object(BerthIds texts, BerthNumbers numbers) {
  for (uint32_t i = 0; i < texts.n; i++) see_id(texts.at[i]);
  for (uint32_t i = 0; i < numbers.n; i++) see_number(numbers.at[i]);
}

static void see_node(BerthNode node) {
  see_id(berth_node_zone(node));
  see_id(berth_node_label(node, read_by.disk));
  see_id(berth_node_label_by_key(node, berth_const_id(read_by.disk_key)));
  see_id(berth_node_annotation(node, read_by.note));
  see_number(berth_node_unschedulable(node));
  see_number(berth_node_condition(node, read_by.ready));
  see_number(berth_node_allocatable(node, read_by.cpu));
  see_number(berth_node_requested(node, read_by.cpu));
  see_number(berth_node_allocatable(node, read_by.memory));
  see_number(berth_node_requested(node, read_by.memory));
  see_non_zero(berth_node_non_zero_requested(node));
  see_number(berth_node_capacity(node, read_by.cpu));
  see_number(berth_node_capacity(node, read_by.memory));
  see_number(berth_node_created_at(node));
  see_number(berth_node_feed(node, read_by.usage));
  see_number(berth_node_feed_state(node, read_by.usage));
  see_number(berth_node_requested_since(node, read_by.cpu));
  see_number(berth_node_requested_since(node, read_by.memory));
  see_object(berth_node_object_texts(node, read_by.slot_names), berth_node_object_numbers(node, read_by.slot_sizes));
  see_pairs(berth_node_labels(node));
  see_taints(berth_node_taints(node));
  see_ports(berth_node_ports(node));
  see_images(berth_node_images(node));
  see_placed(berth_node_pods(node));
  see_placed(berth_node_nominated(node));
}

static void see_namespace(BerthNamespace namespace) {
  see_id(berth_namespace_name(namespace));
  see_id(berth_namespace_label(namespace, read_by.team));
  see_id(berth_namespace_label_by_key(namespace, berth_const_id(read_by.team_key)));
  see_pairs(berth_namespace_labels(namespace));
  see_number(berth_namespace_requested(namespace, read_by.cpu));
  see_number(berth_namespace_requested(namespace, read_by.memory));
  see_object(berth_namespace_object_texts(namespace, read_by.max_keys), berth_namespace_object_numbers(namespace, read_by.maxima));
}

static BerthText sight(BerthPod pod, const BerthNode *node) {
  seen = BERTH_TEXT("");
  see_pod(pod);
  if (node != NULL) see_node(*node);
  struct entries list = entries(berth_namespaces_len());
  for (uint32_t i = 0; i < berth_namespaces_len(); i++) {
    if (berth_namespace_name(berth_namespaces_at(i)) == BERTH_ABSENT) continue;
    see_namespace(berth_namespaces_at(i));
    entry(&list);
  }
  see_entries(&list);
  BerthNamespace own;
  if (berth_namespaces_find(berth_pod_namespace(pod), &own)) see_namespace(own);
  return seen;
}
