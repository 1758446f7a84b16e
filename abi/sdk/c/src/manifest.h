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
  BERTH__POD_LABEL_KEYS,
  BERTH__POD_ANNOTATION_KEYS,
  BERTH__NAMESPACE_LABEL_KEYS,
  BERTH__PUBLISHED_KEYS,
  BERTH__LISTS,
};

BERTH__FN const char *berth__list_name(uint32_t list) {
  static const char *const names[BERTH__LISTS] = {
      "resources", "nodeLabels",     "nodeAnnotations", "nodeConditions", "feeds",
      "podLabels", "podAnnotations", "namespaceLabels", "published",
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
};

extern struct berth__declared berth__declared;

// Returns the elements of a list of `reads`.
BERTH__COLD BerthJson berth__reads(const char *list) {
  return berth_json_elements(berth_json_get(berth_json_get(berth__declared.manifest, "reads"), list));
}

BERTH__COLD uint32_t berth__reads_length(uint32_t list) {
  uint32_t n = 0;
  for (BerthJson e = berth__reads(berth__list_name(list)); e.at != NULL; e = berth_json_next(e)) n++;
  return n;
}

// Reads the manifest.
BERTH__COLD void berth__declare(void) {
  struct berth__declared *d = &berth__declared;
  d->manifest = berth__json_value(&d->in, (BerthText){berth__manifest, berth__manifest_size});
  if (berth_json_failed(d->manifest)) berth__stop(berth_concat("berth: manifest.json: ", d->in.error));
  d->pod = 0;
  for (BerthJson e = berth__reads("pod"); e.at != NULL; e = berth_json_next(e)) {
    for (uint32_t field = 0; field < BERTH__READS; field++) {
      if (berth_json_is(e, berth__field_name(field))) d->pod |= 1u << field;
    }
  }
}

// The number of a handle: its place in the list, from 1 on.
BERTH__COLD uint32_t berth__handle(uint32_t list, BerthText name) {
  uint32_t number = 0;
  for (BerthJson e = berth__reads(berth__list_name(list)); e.at != NULL; e = berth_json_next(e)) {
    number++;
    if (berth_json_is(e, name)) return number;
  }
  berth__undeclared(berth__list_name(list), name);
}

/// Handles of declared names, such as `cpu`. A name that the manifest does not list ends the plugin
/// with a text that says so. They are for BERTH_PLUGIN's setup.
#define berth_resource_handle(name) ((BerthResource){berth__handle(BERTH__RESOURCES, BERTH_TEXT(name))})
#define berth_node_label_handle(key) ((BerthNodeLabel){berth__handle(BERTH__NODE_LABEL_KEYS, BERTH_TEXT(key))})
#define berth_node_annotation_handle(key) ((BerthNodeAnnotation){berth__handle(BERTH__NODE_ANNOTATION_KEYS, BERTH_TEXT(key))})
#define berth_node_condition_handle(type) ((BerthNodeCondition){berth__handle(BERTH__NODE_CONDITION_TYPES, BERTH_TEXT(type))})
#define berth_feed_handle(name) ((BerthFeed){berth__handle(BERTH__FEEDS, BERTH_TEXT(name))})
#define berth_pod_label_handle(key) ((BerthPodLabel){berth__handle(BERTH__POD_LABEL_KEYS, BERTH_TEXT(key))})
#define berth_pod_annotation_handle(key) ((BerthPodAnnotation){berth__handle(BERTH__POD_ANNOTATION_KEYS, BERTH_TEXT(key))})
#define berth_namespace_label_handle(key) ((BerthNamespaceLabel){berth__handle(BERTH__NAMESPACE_LABEL_KEYS, BERTH_TEXT(key))})
#define berth_published_handle(name) ((BerthPublished){berth__handle(BERTH__PUBLISHED_KEYS, BERTH_TEXT(name))})
