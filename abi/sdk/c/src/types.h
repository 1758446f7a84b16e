// Elements of columns and of the pod record, with the layout of SPEC.md, sections 4 and 6.

/// Names a string. Equal strings have equal ids, so comparing ids compares strings; ids have no
/// order. Ids are valid during a call only. The text is berth_text.
typedef uint32_t BerthId;

/// The id of no string: a label that a node does not have. The empty string has an id of its own.
#define BERTH_ABSENT ((BerthId)0)

/// The score of a node about which there is nothing to say: a normalisation of the host leaves it out, and it becomes 0.
#define BERTH_NO_SCORE INT64_MIN

// Handles name a declared column: a key of a list of the manifest. They come from the functions
// berth_…_handle, when the plugin is set up. One that was never set is number 0, which no column has.

/// A resource of the list `resources`.
typedef struct { uint32_t number; } BerthResource;
/// A key of the list `nodeLabels`.
typedef struct { uint32_t number; } BerthNodeLabel;
/// A key of the list `nodeAnnotations`.
typedef struct { uint32_t number; } BerthNodeAnnotation;
/// A type of the list `nodeConditions`.
typedef struct { uint32_t number; } BerthNodeCondition;
/// A feed of the list `feeds`, as `name:unit`.
typedef struct { uint32_t number; } BerthFeed;
/// A column of the list `objectColumns`.
typedef struct { uint32_t number; } BerthObjectColumn;
/// A key of the list `podLabels`.
typedef struct { uint32_t number; } BerthPodLabel;
/// A key of the list `podAnnotations`.
typedef struct { uint32_t number; } BerthPodAnnotation;
/// A key of the list `namespaceLabels`.
typedef struct { uint32_t number; } BerthNamespaceLabel;
/// An entry of the list `published`, as `plugin/key`.
typedef struct { uint32_t number; } BerthPublished;

/// A label: key and value.
typedef struct { BerthId key, value; } BerthPair;

/// The effect of a taint, as in the core/v1 API. BERTH_ANY_EFFECT is of tolerations only.
typedef enum { BERTH_ANY_EFFECT, BERTH_NO_SCHEDULE, BERTH_PREFER_NO_SCHEDULE, BERTH_NO_EXECUTE } BerthEffect;

/// A taint of a node. effect is a BerthEffect.
typedef struct { BerthId key, value; uint32_t effect; } BerthTaint;

/// The protocol of a host port, as in the core/v1 API.
typedef enum { BERTH_TCP = 1, BERTH_UDP, BERTH_SCTP } BerthProtocol;

/// A host port. The id of `0.0.0.0` is every address of the node. protocol is a BerthProtocol.
typedef struct { BerthId ip; uint16_t port; uint8_t protocol, zero; } BerthPort;

/// A container image on a node, with its size in bytes.
typedef struct { BerthId name; uint32_t zero; int64_t size; } BerthImage;

/// The status of a node's condition. BERTH_CONDITION_ABSENT means that the node does not report it.
typedef enum { BERTH_CONDITION_ABSENT, BERTH_CONDITION_TRUE, BERTH_CONDITION_FALSE, BERTH_CONDITION_UNKNOWN } BerthCondition;

/// What a feed's value of a node is worth. BERTH_FEED_NONE means that it has never had one, BERTH_FEED_STALE that the last is too old.
typedef enum { BERTH_FEED_NONE, BERTH_FEED_FRESH, BERTH_FEED_STALE } BerthFeedState;

/// How a toleration matches.
typedef enum { BERTH_TOLERATION_EQUAL = 1, BERTH_TOLERATION_EXISTS } BerthTolerationOperator;

/// A toleration of the pod. Key BERTH_ABSENT with BERTH_TOLERATION_EXISTS is every key; seconds is
/// −1 if there is no limit. op is a BerthTolerationOperator, effect a BerthEffect.
typedef struct { BerthId key, value; uint32_t op, effect; int64_t seconds; } BerthToleration;

/// Reports whether a toleration matches a taint.
BERTH__HOT bool berth_toleration_tolerates(const BerthToleration *t, const BerthTaint *taint) {
  if (t->key != taint->key && (t->key != BERTH_ABSENT || t->op != BERTH_TOLERATION_EXISTS)) {
    return false; // first, since it is most of them
  }
  return (t->op == BERTH_TOLERATION_EXISTS || t->value == taint->value) &&
         (t->effect == taint->effect || t->effect == BERTH_ANY_EFFECT);
}

/// How a requirement on a label matches, as in core/v1 NodeSelectorRequirement.
typedef enum { BERTH_IN = 1, BERTH_NOT_IN, BERTH_EXISTS, BERTH_DOES_NOT_EXIST, BERTH_GT, BERTH_LT } BerthOperator;

/// A requirement on a node's label. Its values are berth_pod_values; number is the operand of
/// BERTH_GT and BERTH_LT. op is a BerthOperator.
typedef struct { BerthId key; uint32_t op, first, count; int64_t number; } BerthRequirement;

/// Requirements that must all hold. They are berth_pod_requirements; weight is of preferred terms.
typedef struct { uint32_t first, count; int32_t weight; uint32_t flags; } BerthTerm;

/// Reports a term that cannot be evaluated and so matches no node.
BERTH__FN bool berth_term_unusable(const BerthTerm *term) { return (term->flags & 1) != 0; }

/// Reports a term with requirements on metadata.name, which the host evaluates and the record does
/// not have.
BERTH__FN bool berth_term_has_fields(const BerthTerm *term) { return (term->flags & 2) != 0; }

/// Milli-CPU and bytes, where a container without a request counts 100 milli-CPU and 200 MiB.
typedef struct { int64_t cpu, memory; } BerthNonZero;

/// The role of a container. A sidecar is an init container that runs beside the others.
typedef enum { BERTH_APP_CONTAINER = 1, BERTH_INIT_CONTAINER, BERTH_SIDECAR } BerthContainerKind;

/// A container of a pod, with its image as nodes report it. kind is a BerthContainerKind. Its resources are
/// berth_pod_container_request and berth_pod_container_limit.
typedef struct { BerthId name; uint32_t kind; BerthId image; uint32_t first; } BerthContainer;

// Lists, as views of what the host wrote.
typedef struct { const BerthId *at; uint32_t n; } BerthIds;
typedef struct { const int64_t *at; uint32_t n; } BerthNumbers;
typedef struct { const BerthPair *at; uint32_t n; } BerthPairs;
typedef struct { const BerthTaint *at; uint32_t n; } BerthTaints;
typedef struct { const BerthPort *at; uint32_t n; } BerthPorts;
typedef struct { const BerthImage *at; uint32_t n; } BerthImages;
typedef struct { const BerthToleration *at; uint32_t n; } BerthTolerations;
typedef struct { const BerthRequirement *at; uint32_t n; } BerthRequirements;
typedef struct { const BerthTerm *at; uint32_t n; } BerthTerms;
typedef struct { const BerthContainer *at; uint32_t n; } BerthContainers;
struct berth__numbers { const int64_t *at; uint32_t n; };

/// The value of a key in a list of labels; BERTH_ABSENT if it is not there.
BERTH__HOT BerthId berth_pairs_find(BerthPairs pairs, BerthId key) {
  for (uint32_t i = 0; i < pairs.n; i++) {
    if (pairs.at[i].key == key) return pairs.at[i].value;
  }
  return BERTH_ABSENT;
}

_Static_assert(sizeof(BerthPair) == 8 && sizeof(BerthTaint) == 12 && sizeof(BerthPort) == 8, "ABI-4.7");
_Static_assert(sizeof(BerthImage) == 16 && offsetof(BerthImage, size) == 8, "ABI-4.7");
_Static_assert(sizeof(BerthToleration) == 24 && sizeof(BerthRequirement) == 24 && sizeof(BerthTerm) == 16 && sizeof(BerthContainer) == 16, "ABI-6");
