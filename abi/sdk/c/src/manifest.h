// What a manifest declares (SPEC.md, section 9): the lists that give handles their numbers, and the
// fields of the pod record.

// The manifest, with a zero byte after it. BERTH_PLUGIN brings it.
extern const char berth__manifest[];
extern const uint32_t berth__manifest_size;

// Lists of `reads` whose order gives handles.
enum {
  BERTH__RESOURCES,
  BERTH__NODE_LABEL_KEYS,
  BERTH__NODE_ANNOTATION_KEYS,
  BERTH__NODE_CONDITION_TYPES,
  BERTH__FEEDS,
  BERTH__OBJECT_COLUMNS,
  BERTH__POD_LABEL_KEYS,
  BERTH__POD_ANNOTATION_KEYS,
  BERTH__NAMESPACE_LABEL_KEYS,
  BERTH__PUBLISHED_KEYS,
  BERTH__LISTS,
};

BERTH__FN const char *berth__list_name(uint32_t list) {
  static const char *const names[BERTH__LISTS] = {
      "resources",     "nodeLabels", "nodeAnnotations", "nodeConditions",  "feeds",
      "objectColumns", "podLabels",  "podAnnotations",  "namespaceLabels", "published",
  };
  return names[list];
}

// Fields of the pod record, as numbers of bits.
enum {
  BERTH__READS_NAME,
  BERTH__READS_NAMESPACE,
  BERTH__READS_PRIORITY,
  BERTH__READS_REQUESTS,
  BERTH__READS_NON_ZERO,
  BERTH__READS_LABELS,
  BERTH__READS_ANNOTATIONS,
  BERTH__READS_OWNER,
  BERTH__READS_TOLERATIONS,
  BERTH__READS_NODE_SELECTOR,
  BERTH__READS_AFFINITY,
  BERTH__READS_HOST_PORTS,
  BERTH__READS_IMAGES,
  BERTH__READS_NODE_NAME,
  BERTH__READS_SCHEDULING_GATES,
  BERTH__READS_NAMESPACE_LABELS,
  BERTH__READS_UID,
  // Generated from abi/fields.
  BERTH__READS_CREATED_AT,
  BERTH__READS_PRIORITY_CLASS,
  BERTH__READS_SERVICE_ACCOUNT,
  BERTH__READS_PREEMPTION_POLICY,
  BERTH__READS_GROUP,
  BERTH__READS_LIMITS,
  BERTH__READS_QOS,
  BERTH__READS_CLAIMS,
  BERTH__READS_NOW,
  BERTH__READS_CONTAINERS,
  BERTH__READS,
};

BERTH__FN const char *berth__field_name(uint32_t field) {
  static const char *const names[BERTH__READS] = {
      "name",     "namespace", "priority", "requests", "nonZeroRequested", "labels",          "annotations",     "owner", "tolerations", "nodeSelector",
      "affinity", "hostPorts", "images",   "nodeName", "schedulingGates",  "namespaceLabels", "uid",
      // Generated from abi/fields.
      "createdAt",
      "priorityClass",
      "serviceAccount",
      "preemptionPolicy",
      "group",
      "limits",
      "qos",
      "claims",
      "now",
      "containers",
  };
  return names[field];
}

// Ends a plugin that reads a column that its manifest does not list.
BERTH__COLD __attribute__((noreturn)) void berth__undeclared(const char *list, BerthText name) {
  berth__stop(berth_concat("berth: manifest.json: reads.", list, " does not list ", name));
}

struct berth__declared {
  BerthJsonText in;
  BerthJson manifest;
  uint32_t pod; // fields of the pod record, as bits
  BerthText *brought[BERTH__LISTS]; // names of the configuration, by list
  uint32_t n_brought[BERTH__LISTS];
};

extern struct berth__declared berth__declared;

// Returns the elements of a list of `reads`.
BERTH__COLD BerthJson berth__reads(const char *list) {
  return berth_json_elements(berth_json_get(berth_json_get(berth__declared.manifest, "reads"), list));
}

BERTH__COLD uint32_t berth__reads_length(uint32_t list) {
  uint32_t n = berth__declared.n_brought[list];
  for (BerthJson e = berth__reads(berth__list_name(list)); e.at != NULL && *e.at == '"'; e = berth_json_next(e)) n++;
  return n;
}

// Reads the manifest.
BERTH__COLD void berth__declare(void) {
  struct berth__declared *d = &berth__declared;
  d->manifest = berth__json_value(&d->in, (BerthText){berth__manifest, berth__manifest_size});
  if (berth_json_failed(d->manifest)) berth__stop(berth_concat("berth: manifest.json: ", d->in.error));
  d->pod = 0;
  __builtin_memset(d->n_brought, 0, sizeof d->n_brought);
  for (BerthJson e = berth__reads("pod"); e.at != NULL; e = berth_json_next(e)) {
    for (uint32_t field = 0; field < BERTH__READS; field++) {
      if (berth_json_is(e, berth__field_name(field))) d->pod |= 1u << field;
    }
  }
}

// The number of a handle: its place in the list, from 1 on; 0 if the name is not there.
BERTH__COLD uint32_t berth__find(uint32_t list, BerthText name) {
  uint32_t number = 0;
  for (BerthJson e = berth__reads(berth__list_name(list)); e.at != NULL && *e.at == '"'; e = berth_json_next(e)) {
    number++;
    if (berth_json_is(e, name)) return number;
  }
  for (uint32_t i = 0; i < berth__declared.n_brought[list]; i++) {
    if (berth__equals(berth__declared.brought[list][i], name)) return number + i + 1;
  }
  return 0;
}

BERTH__COLD uint32_t berth__handle(uint32_t list, BerthText name) {
  uint32_t number = berth__find(list, name);
  if (number == 0) berth__undeclared(berth__list_name(list), name);
  return number;
}

// Adds a name of the configuration to a list, if it is a string that is not there.
BERTH__COLD void berth__bring_name(uint32_t list, BerthJson v) {
  if (v.at == NULL || *v.at != '"') return;
  BerthText name = berth_json_text(v, "");
  if (berth__find(list, name) > 0) return;
  struct berth__declared *d = &berth__declared;
  uint32_t n = d->n_brought[list];
  if ((n & (n - 1)) == 0) { // full
    BerthText *more = berth__keep_zero(n == 0 ? 1 : 2 * n, sizeof *more);
    berth__copy(more, d->brought[list], n * (uint32_t)sizeof *more);
    d->brought[list] = more;
  }
  d->brought[list][d->n_brought[list]++] = name;
}

// The value at a JSON pointer that leads through objects; nowhere if there is none.
BERTH__COLD BerthJson berth__json_at(BerthJson v, BerthText pointer) {
  for (uint32_t i = 0; i < pointer.n;) {
    char *token = berth_scratch(pointer.n);
    uint32_t n = 0;
    for (i++; i < pointer.n && pointer.at[i] != '/'; i++) {
      char c = pointer.at[i];
      if (c == '~' && i + 1 < pointer.n) c = pointer.at[++i] == '1' ? '/' : '~';
      token[n++] = c;
    }
    if (v.at == NULL || *v.at != '{') return berth__json_absent(v);
    v = berth__json_get(v, (BerthText){token, n});
  }
  return v;
}

// Adds the names of a configuration, as the host does (ABI-9.15), and reports whether there may be any. It adds nothing of a
// configuration that the host refuses.
BERTH__COLD bool berth__bring(BerthJson config) {
  bool any = false;
  for (uint32_t list = 0; list < BERTH__LISTS; list++) {
    for (BerthJson e = berth__reads(berth__list_name(list)); e.at != NULL; e = berth_json_next(e)) {
      if (*e.at != '{') continue;
      any = true;
      BerthJson v = berth__json_at(config, berth_json_text(berth_json_get(e, "fromConfig"), ""));
      if (v.at == NULL || *v.at != '[') berth__bring_name(list, v);
      else BERTH_JSON_ELEMENTS(name, v) berth__bring_name(list, name);
    }
  }
  return any;
}

/// Handles of declared names, such as `cpu`. A name that the manifest does not list ends the plugin
/// with a text that says so. They are for BERTH_PLUGIN's setup.
#define berth_resource_handle(name) ((BerthResource){berth__handle(BERTH__RESOURCES, BERTH_TEXT(name))})
#define berth_node_label_handle(key) ((BerthNodeLabel){berth__handle(BERTH__NODE_LABEL_KEYS, BERTH_TEXT(key))})
#define berth_node_annotation_handle(key) ((BerthNodeAnnotation){berth__handle(BERTH__NODE_ANNOTATION_KEYS, BERTH_TEXT(key))})
#define berth_node_condition_handle(type) ((BerthNodeCondition){berth__handle(BERTH__NODE_CONDITION_TYPES, BERTH_TEXT(type))})
#define berth_feed_handle(name) ((BerthFeed){berth__handle(BERTH__FEEDS, BERTH_TEXT(name))})
#define berth_object_column_handle(column) ((BerthObjectColumn){berth__handle(BERTH__OBJECT_COLUMNS, BERTH_TEXT(column))})
#define berth_pod_label_handle(key) ((BerthPodLabel){berth__handle(BERTH__POD_LABEL_KEYS, BERTH_TEXT(key))})
#define berth_pod_annotation_handle(key) ((BerthPodAnnotation){berth__handle(BERTH__POD_ANNOTATION_KEYS, BERTH_TEXT(key))})
#define berth_namespace_label_handle(key) ((BerthNamespaceLabel){berth__handle(BERTH__NAMESPACE_LABEL_KEYS, BERTH_TEXT(key))})
#define berth_published_handle(name) ((BerthPublished){berth__handle(BERTH__PUBLISHED_KEYS, BERTH_TEXT(name))})

/// Handles of names that are known only in configure: those of the manifest, and those that the configuration brings. The number is 0
/// if the name is not declared; reading with such a handle ends the plugin.
#define berth_find_resource(name) ((BerthResource){berth__find(BERTH__RESOURCES, BERTH_TEXT(name))})
#define berth_find_node_label(key) ((BerthNodeLabel){berth__find(BERTH__NODE_LABEL_KEYS, BERTH_TEXT(key))})
#define berth_find_node_annotation(key) ((BerthNodeAnnotation){berth__find(BERTH__NODE_ANNOTATION_KEYS, BERTH_TEXT(key))})
#define berth_find_feed(name) ((BerthFeed){berth__find(BERTH__FEEDS, BERTH_TEXT(name))})
#define berth_find_pod_label(key) ((BerthPodLabel){berth__find(BERTH__POD_LABEL_KEYS, BERTH_TEXT(key))})
#define berth_find_pod_annotation(key) ((BerthPodAnnotation){berth__find(BERTH__POD_ANNOTATION_KEYS, BERTH_TEXT(key))})
