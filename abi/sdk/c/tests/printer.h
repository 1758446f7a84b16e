// Views as the vectors write them (abi/vectors/README.md).

static struct {
  char text[16384];
  uint32_t n;
} out;

static const char *where; // the vector, for messages

static void fail(BerthText what) { berth__stop(berth_concat(where, ": ", what)); }

static BerthText printed(void) { return (BerthText){out.text, out.n}; }

static void print(BerthText text) {
  if (out.n + text.n > sizeof out.text) fail(BERTH_TEXT("the test's room is too small"));
  berth__copy(out.text + out.n, text.at, text.n);
  out.n += text.n;
}

#define PRINT(...) print(berth_concat(__VA_ARGS__))

static void quoted(BerthText text) { PRINT("\"", text, "\""); }

static void id(BerthId id) {
  if (id == BERTH_ABSENT) {
    PRINT("-");
  } else {
    quoted(berth_text(id));
  }
}

static void number(int64_t n) { print(berth_decimal(n)); }

// Prints a list in brackets; print is a statement for the element e.
#define LIST(list, separator, print_e) \
  do { \
    uint32_t left = (list).n; \
    BERTH_EACH(e, list) { \
      print_e; \
      if (--left > 0) PRINT(separator); \
    } \
  } while (0)

#define BRACKETED(list, print_e) \
  do { \
    PRINT("["); \
    LIST(list, " ", print_e); \
    PRINT("]"); \
  } while (0)

static void ids(BerthIds all) { BRACKETED(all, id(*e)); }

static void pairs(BerthPairs all) { BRACKETED(all, (id(e->key), PRINT("="), id(e->value))); }

static void ports(BerthPorts all) {
  static const char *const protocols[] = {"?", "TCP", "UDP", "SCTP"};
  BRACKETED(all, (id(e->ip), PRINT(":", berth_decimal(e->port), "/", protocols[e->protocol])));
}

static void requirement(BerthPod pod, const BerthRequirement *r) {
  static const char *const operators[] = {"?", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};
  id(r->key);
  PRINT(" ", operators[r->op], " (");
  BerthIds values = berth_pod_values(pod, r);
  LIST(values, " ", id(*e));
  PRINT(") ", berth_decimal(r->number));
}

static void term(BerthPod pod, const BerthTerm *t) {
  BerthRequirements all = berth_pod_requirements(pod, t);
  PRINT("{");
  LIST(all, ",", requirement(pod, e));
  int64_t flags = (berth_term_unusable(t) ? 1 : 0) + (berth_term_has_fields(t) ? 2 : 0);
  PRINT(" weight=", berth_decimal(t->weight), " flags=", berth_decimal(flags), "}");
}

static void terms(BerthPod pod, BerthTerms all) { BRACKETED(all, term(pod, e)); }

static void bracketed(int64_t n) { PRINT("[", berth_decimal(n), "]"); }

static void container(BerthPod pod, const BerthContainer *c) {
  static const char *const resources[] = {"cpu", "memory"};
  id(c->name);
  PRINT("/", berth_decimal(c->kind), "/");
  id(c->image);
  for (int i = 0; i < 2; i++) {
    BerthResource r = berth_resource_handle(resources[i]);
    PRINT("/", berth_decimal(berth_pod_container_request(pod, c, r)), "/", berth_decimal(berth_pod_container_limit(pod, c, r)));
  }
}

// Prints a field of the pod record, by its `id.arg`.
static void field(BerthPod pod, BerthText name) {
  BerthTerms required;
  BerthTolerations tolerations;
  BerthRequirements selector;
#define IS(text) berth_text_equals(name, text)
  if (IS("128.0")) quoted(berth_pod_name(pod));
  else if (IS("129.0")) quoted(berth_pod_node_name(pod));
  else if (IS("130.0")) {
    selector = berth_pod_node_selector(pod);
    BRACKETED(selector, requirement(pod, e));
  } else if (IS("131.0")) {
    tolerations = berth_pod_tolerations(pod);
    BRACKETED(tolerations, (id(e->key), PRINT("="), id(e->value),
                            PRINT("/", berth_decimal(e->op), "/", berth_decimal(e->effect), "/", berth_decimal(e->seconds))));
  } else if (IS("132.0")) ports(berth_pod_host_ports(pod));
  else if (IS("133.0")) ids(berth_pod_images(pod));
  else if (IS("134.0")) ids(berth_pod_scheduling_gates(pod));
  else if (IS("140.0")) PRINT("["), id(berth_pod_namespace(pod)), PRINT("]");
  else if (IS("141.0")) bracketed(berth_pod_priority(pod));
  else if (IS("142.0")) bracketed(berth_pod_request(pod, berth_resource_handle("cpu")));
  else if (IS("142.1")) bracketed(berth_pod_request(pod, berth_resource_handle("memory")));
  else if (IS("143.0")) pairs(berth_pod_labels(pod));
  else if (IS("144.0")) PRINT("["), id(berth_pod_annotation(pod, berth_pod_annotation_handle("a"))), PRINT("]");
  else if (IS("144.1")) PRINT("["), id(berth_pod_annotation(pod, berth_pod_annotation_handle("b"))), PRINT("]");
  else if (IS("145.0")) PRINT("["), id(berth_pod_owner(pod)), PRINT("]");
  else if (IS("146.0")) berth_pod_required_terms(pod, &required), terms(pod, required);
  else if (IS("147.0")) terms(pod, berth_pod_preferred_terms(pod));
  else if (IS("150.0")) PRINT("[", berth_decimal(berth_pod_non_zero_requested(pod).cpu), " ", berth_decimal(berth_pod_non_zero_requested(pod).memory), "]");
  else if (IS("151.0")) pairs(berth_pod_namespace_labels(pod));
  else if (IS("152.0")) quoted(berth_pod_uid(pod));
  else if (IS("154.0")) bracketed(berth_pod_created_at(pod));
  else if (IS("155.0")) PRINT("["), id(berth_pod_priority_class(pod)), PRINT("]");
  else if (IS("156.0")) PRINT("["), id(berth_pod_service_account(pod)), PRINT("]");
  else if (IS("157.0")) PRINT("["), id(berth_pod_preemption_policy(pod)), PRINT("]");
  else if (IS("158.0")) PRINT("["), id(berth_pod_group(pod)), PRINT("]");
  else if (IS("159.0")) bracketed(berth_pod_limit(pod, berth_resource_handle("cpu")));
  else if (IS("159.1")) bracketed(berth_pod_limit(pod, berth_resource_handle("memory")));
  else if (IS("160.0")) PRINT("["), id(berth_pod_qos(pod)), PRINT("]");
  else if (IS("161.0")) ids(berth_pod_claims(pod));
  else if (IS("164.0")) bracketed(berth_pod_now(pod));
  else if (IS("165.0")) {
    BerthContainers containers = berth_pod_containers(pod);
    BRACKETED(containers, container(pod, e));
  } else fail(berth_concat("field ", name, " is not read here yet"));
}

static void slots(BerthPods pods) {
  PRINT("[");
  for (uint32_t i = 0; i < pods.n; i++) PRINT(i == 0 ? "" : " ", berth_decimal(berth_pods_at(pods, i).slot));
  PRINT("]");
}

static void taints(BerthTaints all) {
  static const char *const effects[] = {"?", "NoSchedule", "PreferNoSchedule", "NoExecute"};
  BRACKETED(all, (id(e->key), PRINT("="), id(e->value), PRINT(":", effects[e->effect])));
}

static void images(BerthImages all) { BRACKETED(all, (id(e->name), PRINT(":", berth_decimal(e->size)))); }

// Prints a cell of a table, by the column's `id.arg`.
static void cell(uint32_t row, BerthText name) {
  BerthNode node = {row};
  BerthPlacedPod pod = {row};
  BerthNamespace namespace = {row};
  if (IS("192.0")) quoted(berth_text(row));
  else if (IS("64.0")) id(berth_placed_pod_namespace(pod));
  else if (IS("65.0")) number(berth_placed_pod_priority(pod));
  else if (IS("68.0")) id(berth_placed_pod_annotation(pod, berth_pod_annotation_handle("a")));
  else if (IS("75.0")) number(berth_placed_pod_limit(pod, berth_resource_handle("cpu")));
  else if (IS("75.1")) number(berth_placed_pod_limit(pod, berth_resource_handle("memory")));
  else if (IS("76.0")) id(berth_placed_pod_qos(pod));
  else if (IS("77.0")) number(berth_placed_pod_assigned_at(pod));
  else if (IS("78.0")) number(berth_placed_pod_created_at(pod));
  else if (IS("79.0")) number(berth_placed_pod_running(pod) + 2 * berth_placed_pod_ready(pod));
  else if (IS("224.0")) id(berth_namespace_name(namespace));
  else if (IS("225.0")) pairs(berth_namespace_labels(namespace));
  else if (IS("226.0")) id(berth_namespace_label(namespace, berth_namespace_label_handle("team")));
  else if (IS("227.0")) number(berth_namespace_requested(namespace, berth_resource_handle("cpu")));
  else if (IS("227.1")) number(berth_namespace_requested(namespace, berth_resource_handle("memory")));
  else if (IS("1.0")) quoted(berth_node_name(node));
  else if (IS("2.0")) number(berth_node_unschedulable(node));
  else if (IS("3.0")) number(berth_node_allocatable(node, berth_resource_handle("cpu")));
  else if (IS("3.1")) number(berth_node_allocatable(node, berth_resource_handle("memory")));
  else if (IS("6.0")) pairs(berth_node_labels(node));
  else if (IS("8.0")) taints(berth_node_taints(node));
  else if (IS("9.0")) ports(berth_node_ports(node));
  else if (IS("10.0")) images(berth_node_images(node));
  else if (IS("12.0")) slots(berth_node_pods(node));
  else if (IS("167.0")) slots(berth_node_nominated(node));
  else if (IS("13.0")) number((int64_t)berth_node_generation(node));
  else if (IS("14.0")) id(berth_node_label(node, berth_node_label_handle("pool")));
  else if (IS("16.0")) id(berth_node_zone(node));
  else if (IS("162.0")) number(berth_node_capacity(node, berth_resource_handle("cpu")));
  else if (IS("162.1")) number(berth_node_capacity(node, berth_resource_handle("memory")));
  else if (IS("163.0")) number(berth_node_created_at(node));
  else if (IS("190.0")) number(berth_node_feed(node, berth_feed_handle("node.cpu.usage:milli")));
  else if (IS("191.0")) number(berth_node_feed_state(node, berth_feed_handle("node.cpu.usage:milli")));
  else if (IS("193.0")) number(berth_node_requested_since(node, berth_resource_handle("cpu")));
  else if (IS("193.1")) number(berth_node_requested_since(node, berth_resource_handle("memory")));
  else fail(berth_concat("column ", name, " is not read here yet"));
}

#undef IS
