// A call: its record, what it is about, and what the host does in it and after it.

struct berth__calling {
  struct berth__call *record;
  struct berth__pod pod;   // the pod to be placed, or the one of the pod list that is asked about
  struct berth__pod other; // add_pod's and remove_pod's, or the old one of an event
  struct berth__pod newer; // the new one of an event
  struct berth__room directives; // of berth__directive
  uint32_t texts; // bytes of the texts of directives
};

extern struct berth__calling berth__calling;

/// How important a text of a log is.
typedef enum { BERTH_DEBUG, BERTH_INFO, BERTH_WARNING, BERTH_FAILURE } BerthLevel;

/// Writes to the plugin's log. It needs `log` in the manifest's list `host`.
#define berth_log(level, text) berth__log(level, BERTH_TEXT(text))

BERTH__COLD void berth__log(BerthLevel level, BerthText text) { berth__host_log((int32_t)level, text.at, text.n); }

// Copies what a host function returns: get is its call, with to and capacity as its last arguments.
// If the room is too small, it is called again.
#define BERTH__FETCH(value, get) \
  for (;;) { \
    uint8_t *to = berth_scratch(0); \
    uint32_t capacity = berth__scratch.size - berth__scratch.used; \
    int32_t n = get; \
    if (n < 0) return false; \
    if ((uint32_t)n <= capacity) { \
      berth_scratch((uint32_t)n); \
      *(value) = (BerthBytes){to, (uint32_t)n}; \
      return true; \
    } \
    berth__scratch_grow(&berth__scratch, ((uint32_t)n + 7) & ~7u); \
  }

/// Gets the value of a key of the plugin's state of this pod's cycle; false if there is none, as
/// before pre_filter. It is valid until the call returns. It needs `state_get` in the list `host`.
#define berth_state_get(key, value) berth__state_get(BERTH_TEXT(key), value)

BERTH__COLD bool berth__state_get(BerthText key, BerthBytes *value) {
  BERTH__FETCH(value, berth__host_state_get(key.at, key.n, to, capacity))
}

/// Sets the value of a key, and reports whether the limits allow it. State outlives instances and
/// must not hold ids or row numbers. In a plugin of scope node only pre_filter may set state. It
/// needs `state_set` in the list `host`.
#define berth_state_set(key, value) berth__state_set(BERTH_TEXT(key), value)

BERTH__COLD bool berth__state_set(BerthText key, BerthBytes value) {
  return berth__host_state_set(key.at, key.n, value.at, value.n) == 0;
}

/// Gets the value that another plugin published in this pod's cycle; false if there is none, as in
/// calls of scope node. It is valid until the call returns. It needs `published_get` in the list
/// `host`.
BERTH__COLD bool berth_published_get(BerthPublished key, BerthBytes *value) {
  if (key.number == 0) berth__undeclared("published", BERTH_TEXT("the key"));
  BERTH__FETCH(value, berth__host_published_get(key.number - 1, to, capacity))
}

/// Gets the whole Pod as Kubernetes protobuf (k8s.io/api/core/v1, without the envelope and without
/// managedFields). Use it for what no field has: the host encodes the object for each call. It is false
/// for a pod that is not the call's own: a pod of an event, and in add_pod and remove_pod the pod to
/// be placed. The bytes are valid until the call returns. It needs `pod_object` in the list `host`.
BERTH__COLD bool berth_pod_object(BerthPod pod, BerthBytes *object) {
  if (pod->index < 0) return false;
  BERTH__FETCH(object, berth__host_pod_object((uint32_t)pod->index, to, capacity))
}

/// Gets the whole Node, as berth_pod_object does the Pod. It needs `node_object` in the list `host`.
BERTH__COLD bool berth_node_object(BerthNode node, BerthBytes *object) {
  BERTH__FETCH(object, berth__host_node_object(node.row, to, capacity))
}

#undef BERTH__FETCH

/// Asks for another attempt for the pod after so many milliseconds, 1,000 to 3,600,000, if this one fails and no event has it tried
/// before: at pre_enqueue for a pod that it holds back, at pre_filter, reserve and permit whatever they answer. The last call counts.
/// The manifest must have ABI 1.1 or later.
BERTH__COLD void berth_retry_after(uint64_t milliseconds) {
  struct berth__calling *c = &berth__calling;
  if (c->record->point == 0) {
    ((int64_t *)berth__view(c->record->scores, c->record->n_rows, 8))[c->pod.index] = (int64_t)milliseconds;
  } else {
    c->record->retry_after = milliseconds;
  }
}

// Directives are requests to the host, made with the functions below (SPEC.md, section 13). The
// host does it after the call, if the call answers success, or wait from permit. The manifest lists
// what a plugin asks for in `directives`, and the user grants it. Asking for anything else, or at a
// point that does not have the directive, is a fault of the plugin, and nothing of the call is
// carried out. The host may discard directives: a plugin may be run to see what it would do.
//
// The functions return false, and request nothing, where the host would refuse: more than 256
// directives or 65,536 bytes of their texts in a call, a text that is not UTF-8, a value that no label
// may have. A plugin that needs the directive then answers with an error.

BERTH__COLD struct berth__text berth__scratch_text(BerthText text) {
  if (text.n == 0) return (struct berth__text){0, 0};
  char *at = berth_scratch(text.n);
  berth__copy(at, text.at, text.n);
  return (struct berth__text){berth__address(at), text.n};
}

BERTH__COLD bool berth__direct(uint32_t kind, BerthText first, BerthText second) {
  struct berth__calling *c = &berth__calling;
  if (c->directives.n == BERTH__MAX_DIRECTIVES || (uint64_t)c->texts + first.n + second.n > BERTH__MAX_DIRECTIVE_TEXTS) return false;
  if (!berth__is_utf8(first) || !berth__is_utf8(second)) return false;
  c->texts += first.n + second.n;
  *(struct berth__directive *)berth__room_push(&c->directives, sizeof(struct berth__directive)) =
      (struct berth__directive){kind, 0, berth__scratch_text(first), berth__scratch_text(second)};
  return true;
}

// Reports whether a text is a value of a label: empty, or at most 63 letters, digits, dashes, dots
// and underscores, a letter or digit at both ends.
BERTH__COLD bool berth__is_label_value(BerthText text) {
  if (text.n > 63) return false;
  for (uint32_t i = 0; i < text.n; i++) {
    char b = text.at[i];
    bool alphanumeric = ((b | 0x20) >= 'a' && (b | 0x20) <= 'z') || (b >= '0' && b <= '9');
    bool inner = i > 0 && i + 1 < text.n && (b == '-' || b == '.' || b == '_');
    if (!alphanumeric && !inner) return false;
  }
  return true;
}

/// Writes an annotation of the pod: at reserve, where the next pods see it at once, pre_bind and
/// bind. A later one of the same key counts.
#define berth_annotate(key, value) berth__direct(1, BERTH_TEXT(key), BERTH_TEXT(value))

/// Writes a label of the pod, as berth_annotate does.
#define berth_label(key, value) berth__label(BERTH_TEXT(key), BERTH_TEXT(value))

BERTH__COLD bool berth__label(BerthText key, BerthText value) { return berth__is_label_value(value) && berth__direct(2, key, value); }

/// Nominates a node for the pod, at post_filter; an empty name clears the nomination.
#define berth_nominate(node) berth__direct(3, BERTH_TEXT(node), BERTH_TEXT(""))

/// Binds the pod to the node, at bind, with what was written on it.
#define berth_bind_pod() berth__direct(4, BERTH_TEXT(""), BERTH_TEXT(""))

/// Ends this plugin's wait for a pod, at post_filter and from reserve on. A UID that is not that of a
/// waiting pod does nothing.
#define berth_allow(uid) berth__direct(5, BERTH_TEXT(uid), BERTH_TEXT(""))

/// Sends a waiting pod back to the queue, where berth_allow can be asked for. The reason is for
/// people.
#define berth_reject(uid, reason) berth__direct(6, BERTH_TEXT(uid), BERTH_TEXT(reason))

/// Moves a parked pod to the active queue at once, if the call's own pod is placed, from reserve on.
#define berth_activate(uid) berth__direct(7, BERTH_TEXT(uid), BERTH_TEXT(""))
