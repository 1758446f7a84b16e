// Code generated from src by go generate ./abi/sdk/c/...; DO NOT EDIT.

// Berth's C SDK: this one file, for clang and wasm-ld, without a library. README.md tells how to use
// it, abi/SPEC.md what goes over the wire. Names that begin with berth__ or BERTH__ are the SDK's own.
//
// SPDX-License-Identifier: Apache-2.0

#ifndef BERTH_H
#define BERTH_H

// ---- head.h

// The compiler, and what everything else is made of: texts and lists.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The version of this file, which berth plugin sbom and push put into bills of materials.
#define BERTH_SDK_VERSION "0.1.0"

#if !defined(__clang__) && !defined(__GNUC__)
#error "berth.h needs clang (or, for native tests, gcc)"
#endif
#if defined(__wasm__) && !defined(__wasm32__)
#error "the ABI has addresses of 32 bits: compile with --target=wasm32"
#endif

// Every file that includes berth.h has its own functions, and all share the state that
// BERTH_PLUGIN defines. So functions that are not used cost nothing.
#ifdef __clang__
#define BERTH__SMALL minsize
#else
#define BERTH__SMALL
#endif
#define BERTH__FN static inline __attribute__((unused, BERTH__SMALL))
#define BERTH__COLD static __attribute__((unused, noinline, cold, BERTH__SMALL))
#define BERTH__HOT static inline __attribute__((unused, always_inline))

// Reports that something is rare, for the compiler's layout of code.
#define BERTH__RARE(condition) __builtin_expect(!!(condition), 0)

/// A text in UTF-8, which is not terminated by a zero byte. A text that the SDK returns in a
/// call is valid until the call returns, if nothing else is said.
typedef struct {
  const char *at;
  uint32_t n; // bytes
} BerthText;

/// Bytes that are no text.
typedef struct {
  const uint8_t *at;
  uint32_t n;
} BerthBytes;

/// Calls of functions with a text as argument take a BerthText or a C string.
#define BERTH_TEXT(text) \
  _Generic((text), BerthText: berth__text, char *: berth__c_string, const char *: berth__c_string)(text)

BERTH__HOT BerthText berth__text(BerthText text) { return text; }

BERTH__HOT BerthText berth__c_string(const char *text) {
  return (BerthText){text, (uint32_t)__builtin_strlen(text)}; // a literal's is known to the compiler
}

// BERTH__TEXTS(a, b) is an array of the texts, and their number.
#define BERTH__TEXTS(...) (const BerthText[]){BERTH__EACH(__VA_ARGS__)}, BERTH__COUNT(__VA_ARGS__)
#define BERTH__COUNT(...) BERTH__17TH(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, )
#define BERTH__17TH(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, count, ...) count
#define BERTH__EACH(...) BERTH__PASTE(BERTH__EACH_, BERTH__COUNT(__VA_ARGS__))(__VA_ARGS__)
#define BERTH__PASTE(a, b) BERTH__PASTED(a, b)
#define BERTH__PASTED(a, b) a##b
#define BERTH__EACH_1(a) BERTH_TEXT(a)
#define BERTH__EACH_2(a, ...) BERTH_TEXT(a), BERTH__EACH_1(__VA_ARGS__)
#define BERTH__EACH_3(a, ...) BERTH_TEXT(a), BERTH__EACH_2(__VA_ARGS__)
#define BERTH__EACH_4(a, ...) BERTH_TEXT(a), BERTH__EACH_3(__VA_ARGS__)
#define BERTH__EACH_5(a, ...) BERTH_TEXT(a), BERTH__EACH_4(__VA_ARGS__)
#define BERTH__EACH_6(a, ...) BERTH_TEXT(a), BERTH__EACH_5(__VA_ARGS__)
#define BERTH__EACH_7(a, ...) BERTH_TEXT(a), BERTH__EACH_6(__VA_ARGS__)
#define BERTH__EACH_8(a, ...) BERTH_TEXT(a), BERTH__EACH_7(__VA_ARGS__)
#define BERTH__EACH_9(a, ...) BERTH_TEXT(a), BERTH__EACH_8(__VA_ARGS__)
#define BERTH__EACH_10(a, ...) BERTH_TEXT(a), BERTH__EACH_9(__VA_ARGS__)
#define BERTH__EACH_11(a, ...) BERTH_TEXT(a), BERTH__EACH_10(__VA_ARGS__)
#define BERTH__EACH_12(a, ...) BERTH_TEXT(a), BERTH__EACH_11(__VA_ARGS__)
#define BERTH__EACH_13(a, ...) BERTH_TEXT(a), BERTH__EACH_12(__VA_ARGS__)
#define BERTH__EACH_14(a, ...) BERTH_TEXT(a), BERTH__EACH_13(__VA_ARGS__)
#define BERTH__EACH_15(a, ...) BERTH_TEXT(a), BERTH__EACH_14(__VA_ARGS__)
#define BERTH__EACH_16(a, ...) BERTH_TEXT(a), BERTH__EACH_15(__VA_ARGS__)

/// Reports whether two texts have the same bytes.
#define berth_text_equals(a, b) berth__equals(BERTH_TEXT(a), BERTH_TEXT(b))

BERTH__FN bool berth__equals(BerthText a, BerthText b) {
  if (a.n != b.n) return false;
  for (uint32_t i = 0; i < a.n; i++) {
    if (a.at[i] != b.at[i]) return false;
  }
  return true;
}

/// The bytes of a text.
#define berth_text_bytes(text) berth__bytes(BERTH_TEXT(text))

BERTH__FN BerthBytes berth__bytes(BerthText text) { return (BerthBytes){(const uint8_t *)text.at, text.n}; }

/// Bytes as a text.
BERTH__FN BerthText berth_bytes_text(BerthBytes bytes) { return (BerthText){(const char *)bytes.at, bytes.n}; }

/// BERTH_EACH(pair, berth_node_labels(node)) { … } goes through a list: pair is a pointer to
/// each element in turn.
#define BERTH_EACH(element, list) \
  for (__typeof__((list).at) element = (list).at, element##__end = (list).n == 0 ? element : element + (list).n; \
       element != element##__end; element++)

// Copies bytes. The rooms do not overlap.
BERTH__FN void berth__copy(void *to, const void *from, uint32_t n) {
  if (n > 0) __builtin_memcpy(to, from, n);
}

// Returns how many bytes the character at a position of UTF-8 has; 0 if it is none (RFC 3629).
BERTH__FN uint32_t berth__character(BerthText text, uint32_t i) {
  const uint8_t *b = (const uint8_t *)text.at + i;
  uint32_t left = text.n - i;
  if (b[0] < 0x80) return 1;
  uint32_t size = b[0] < 0xC2 ? 0 : b[0] < 0xE0 ? 2 : b[0] < 0xF0 ? 3 : b[0] < 0xF5 ? 4 : 0;
  if (size == 0 || size > left) return 0;
  uint8_t low = 0x80, high = 0xBF; // of the second byte: neither too long, nor a surrogate, nor beyond U+10FFFF
  if (b[0] == 0xE0) low = 0xA0;
  if (b[0] == 0xED) high = 0x9F;
  if (b[0] == 0xF0) low = 0x90;
  if (b[0] == 0xF4) high = 0x8F;
  if (b[1] < low || b[1] > high) return 0;
  for (uint32_t k = 2; k < size; k++) {
    if ((b[k] & 0xC0) != 0x80) return 0;
  }
  return size;
}

BERTH__FN bool berth__is_utf8(BerthText text) {
  for (uint32_t i = 0, size; i < text.n; i += size) {
    size = berth__character(text, i);
    if (size == 0) return false;
  }
  return true;
}

// Cuts a text between characters, so that it has at most n bytes.
BERTH__FN BerthText berth__cut(BerthText text, uint32_t n) {
  if (text.n <= n) return text;
  while (n > 0 && ((uint8_t)text.at[n] & 0xC0) == 0x80) n--;
  return (BerthText){text.at, n};
}


// ---- abi.h

// The numbers of the ABI (abi/SPEC.md, version 1.0). They never change their meaning.

// What berth_abi returns: major and minor version (ABI-2.2).
#define BERTH_ABI_VERSION 0x10000u

/// A status code: the answer to a call, or for one row of a call (SPEC.md, section 8).
typedef enum {
  BERTH_CODE_SUCCESS = 0,
  BERTH_CODE_ERROR = 1,
  BERTH_CODE_UNSCHEDULABLE = 2,
  BERTH_CODE_UNSCHEDULABLE_AND_UNRESOLVABLE = 3,
  BERTH_CODE_WAIT = 4,
  BERTH_CODE_SKIP = 5,
  BERTH_CODE_PENDING = 6,
} BerthCode;

/// The resource of a cluster event (ABI-3.10).
typedef enum {
  // Generated from abi/fields.
  BERTH_EVENT_ANY = 0,
  BERTH_EVENT_ASSIGNED_POD = 1,
  BERTH_EVENT_UNSCHEDULED_POD = 2,
  BERTH_EVENT_NODE = 3,
  BERTH_EVENT_PERSISTENT_VOLUME = 4,
  BERTH_EVENT_PERSISTENT_VOLUME_CLAIM = 5,
  BERTH_EVENT_CSI_NODE = 6,
  BERTH_EVENT_CSI_DRIVER = 7,
  BERTH_EVENT_VOLUME_ATTACHMENT = 8,
  BERTH_EVENT_CSI_STORAGE_CAPACITY = 9,
  BERTH_EVENT_STORAGE_CLASS = 10,
  BERTH_EVENT_RESOURCE_CLAIM = 11,
  BERTH_EVENT_RESOURCE_SLICE = 12,
  BERTH_EVENT_DEVICE_CLASS = 13,
  BERTH_EVENT_NAMESPACE = 14,
} BerthEventKind;

/// A set of changes to the object of an event, as in k8s.io/kube-scheduler/framework.
typedef enum {
  // Generated from abi/fields.
  BERTH_ADD = 1 << 0,
  BERTH_DELETE = 1 << 1,
  BERTH_UPDATE_NODE_ALLOCATABLE = 1 << 2,
  BERTH_UPDATE_NODE_LABEL = 1 << 3,
  BERTH_UPDATE_NODE_TAINT = 1 << 4,
  BERTH_UPDATE_NODE_CONDITION = 1 << 5,
  BERTH_UPDATE_NODE_ANNOTATION = 1 << 6,
  BERTH_UPDATE_NODE_DECLARED_FEATURE = 1 << 7,
  BERTH_UPDATE_POD_LABEL = 1 << 8,
  BERTH_UPDATE_POD_SCALE_DOWN = 1 << 9,
  BERTH_UPDATE_POD_TOLERATION = 1 << 10,
  BERTH_UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 1 << 11,
  BERTH_UPDATE_POD_GENERATED_RESOURCE_CLAIM = 1 << 12,
  BERTH_UPDATE_OTHER = 1 << 13,
  BERTH_UPDATE_POD_READY = 1 << 14,
  BERTH_UPDATE_NAMESPACE_LABEL = 1 << 15,
} BerthEventAction;

// Tables, columns and fields (SPEC.md, sections 4 and 6).
enum {
  BERTH__MAGIC = 0x48545242, // the bytes BRTH (ABI-4.1)
  BERTH__MAJOR = 1,

  BERTH__NODES = 1,
  BERTH__PODS = 2,
  BERTH__STRINGS = 3,
  BERTH__NAMESPACES = 4,
  BERTH__TABLES = 5,

  BERTH__ARENA = 256, // from a column of spans to its arena (ABI-4.8)

  // Generated from abi/fields.
  BERTH__NODE_NAME = 1,
  BERTH__NODE_FLAGS = 2,
  BERTH__NODE_ALLOCATABLE = 3,
  BERTH__NODE_REQUESTED = 4,
  BERTH__NODE_NON_ZERO_REQUESTED = 5,
  BERTH__NODE_LABELS = 6,
  BERTH__NODE_ANNOTATION = 7,
  BERTH__NODE_TAINTS = 8,
  BERTH__NODE_PORTS = 9,
  BERTH__NODE_IMAGES = 10,
  BERTH__NODE_CONDITION = 11,
  BERTH__NODE_PODS = 12,
  BERTH__NODE_GENERATION = 13,
  BERTH__NODE_LABEL = 14,
  BERTH__NODE_ZONE = 16,
  BERTH__NODE_CAPACITY = 162,
  BERTH__NODE_CREATED_AT = 163,
  BERTH__NODE_NOMINATED = 167,
  BERTH__NODE_FEED = 190,
  BERTH__NODE_FEED_STATE = 191,
  BERTH__NODE_REQUESTED_SINCE = 193,
  BERTH__NODE_OBJECT_NUMBERS = 194,
  BERTH__NODE_OBJECT_TEXTS = 195,

  BERTH__PLACED_NAMESPACE = 64,
  BERTH__PLACED_PRIORITY = 65,
  BERTH__PLACED_REQUESTS = 66,
  BERTH__PLACED_LABELS = 67,
  BERTH__PLACED_ANNOTATION = 68,
  BERTH__PLACED_OWNER = 69,
  BERTH__PLACED_LABEL = 70,
  BERTH__PLACED_FLAGS = 71,
  BERTH__PLACED_UID = 73,
  BERTH__PLACED_NAME = 74,
  BERTH__PLACED_LIMITS = 75,
  BERTH__PLACED_QOS = 76,
  BERTH__PLACED_ASSIGNED_AT = 77,
  BERTH__PLACED_CREATED_AT = 78,
  BERTH__PLACED_STATE = 79,

  BERTH__STRING = 192,

  BERTH__NAMESPACE_NAME = 224,
  BERTH__NAMESPACE_LABELS = 225,
  BERTH__NAMESPACE_LABEL = 226,
  BERTH__NAMESPACE_REQUESTED = 227,
  BERTH__NAMESPACE_OBJECT_NUMBERS = 228,
  BERTH__NAMESPACE_OBJECT_TEXTS = 229,

  BERTH__POD_NAME = 128,
  BERTH__POD_NODE_NAME = 129,
  BERTH__POD_NODE_SELECTOR = 130,
  BERTH__POD_TOLERATIONS = 131,
  BERTH__POD_HOST_PORTS = 132,
  BERTH__POD_IMAGES = 133,
  BERTH__POD_SCHEDULING_GATES = 134,
  BERTH__POD_NAMESPACE = 140,
  BERTH__POD_PRIORITY = 141,
  BERTH__POD_REQUESTS = 142,
  BERTH__POD_LABELS = 143,
  BERTH__POD_ANNOTATIONS = 144,
  BERTH__POD_OWNER = 145,
  BERTH__POD_REQUIRED_TERMS = 146,
  BERTH__POD_PREFERRED_TERMS = 147,
  BERTH__POD_REQUIREMENTS = 148,
  BERTH__POD_REQUIREMENT_VALUES = 149,
  BERTH__POD_NON_ZERO_REQUESTED = 150,
  BERTH__POD_NAMESPACE_LABELS = 151,
  BERTH__POD_UID = 152,
  BERTH__POD_CREATED_AT = 154,
  BERTH__POD_PRIORITY_CLASS = 155,
  BERTH__POD_SERVICE_ACCOUNT = 156,
  BERTH__POD_PREEMPTION_POLICY = 157,
  BERTH__POD_GROUP = 158,
  BERTH__POD_LIMITS = 159,
  BERTH__POD_QOS = 160,
  BERTH__POD_CLAIMS = 161,
  BERTH__POD_NOW = 164,
  BERTH__POD_CONTAINERS = 165,
  BERTH__POD_CONTAINER_AMOUNTS = 166,

  BERTH__U8 = 1,
  BERTH__U32 = 3,
  BERTH__U64 = 4,
  BERTH__I32 = 5,
  BERTH__I64 = 6,
  BERTH__SPAN = 7,
  BERTH__PAIR = 8,
  BERTH__TAINT = 9,
  BERTH__PORT = 10,
  BERTH__IMAGE = 11,
  BERTH__BYTES = 12,
};

// Limits (SPEC.md, section 10); sizes are in bytes.
enum {
  BERTH__MAX_REASON_SETS = 1024,
  BERTH__MAX_REASON_TEXTS = 16,
  BERTH__MAX_TEXT = 1024,
  BERTH__MAX_TEXTS = 65536,
  BERTH__MAX_LOG_TEXT = 4096,
  BERTH__MAX_QUEUE_KEY = 64,
  BERTH__MAX_DIRECTIVES = 256,
  BERTH__MAX_DIRECTIVE_TEXTS = 65536,
};

// ---- types.h

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

// ---- records.h

// Structures of SPEC.md, sections 3, 4, 6 and 13.

struct berth__call {
  uint32_t header, pod, pod_size, point;
  uint32_t rows, n_rows;
  uint32_t codes, reasons, scores, flags;
  uint32_t pods, event, queue, keys;
  uint32_t zero[2];
  uint32_t reason_sets, n_reason_sets;
  uint32_t row_set, n_row_set, has_row_set;
  uint32_t status_reason;
  uint32_t directives, n_directives;
  uint64_t wait, retry_after;
  uint32_t zeroes[4];
};

struct berth__pod_entry {
  uint32_t address, size;
};

struct berth__text {
  uint32_t address, length;
};

struct berth__event_record {
  uint32_t resource, actions;
  struct berth__pod_entry old_pod, new_pod;
  uint32_t old_node, new_node;
  struct berth__text namespace, name;
  uint32_t zero[4];
};

struct berth__header {
  uint32_t magic;
  uint16_t major, minor;
  uint64_t epoch, generation, seed;
  uint32_t state, n_tables, tables, layout;
  uint32_t zero[4];
};

struct berth__table {
  uint32_t id, n_rows, row_capacity, row_base, overlay_capacity, n_columns, columns, zero;
};

struct berth__column_entry {
  uint32_t id, arg, type, address, capacity, length;
};

struct berth__pod_header {
  uint32_t n_fields, size;
};

struct berth__pod_field {
  uint32_t id, arg, offset, count;
};

// A reason set is an address and a number of texts, which is as a text's address and length.
struct berth__directive {
  uint32_t kind, zero;
  struct berth__text first, second;
};

struct berth__span {
  uint32_t start, length;
};

_Static_assert(sizeof(struct berth__call) == 128, "ABI-3.1");
_Static_assert(offsetof(struct berth__call, keys) == 52 && offsetof(struct berth__call, reason_sets) == 64, "ABI-3.1");
_Static_assert(offsetof(struct berth__call, directives) == 88 && offsetof(struct berth__call, wait) == 96 && offsetof(struct berth__call, retry_after) == 104, "ABI-3.1");
_Static_assert(sizeof(struct berth__event_record) == 64 && offsetof(struct berth__event_record, name) == 40, "ABI-3.10");
_Static_assert(sizeof(struct berth__header) == 64 && offsetof(struct berth__header, layout) == 44, "ABI-4.1");
_Static_assert(sizeof(struct berth__table) == 32 && sizeof(struct berth__column_entry) == 24, "ABI-4.2, ABI-4.3");
_Static_assert(sizeof(struct berth__pod_field) == 16 && sizeof(struct berth__directive) == 24, "ABI-6.1, ABI-13.1");


// ---- memory.h

// The linear memory: room for what the host writes and reads, and a way out of mistakes.
//
// In a module address 0 is pointer 0, and the module's own bounds checks hold. Natively the memory
// is a block of bytes that the test gives to berth_native_start.

// Room for bytes that are needed until the next call. Pieces keep their place; the room is used
// again in each call.
struct berth__scratch {
  uint8_t *at;
  uint32_t size, used; // multiples of 8
};

#ifdef __wasm__

// Functions of the host (SPEC.md, section 7). The linker leaves out an import that nothing refers
// to, so a module imports what its plugin uses.
#define BERTH__IMPORT(name) __attribute__((import_module("berth"), import_name(#name))) extern
BERTH__IMPORT(log) void berth__host_log(int32_t level, const char *at, uint32_t n);
BERTH__IMPORT(state_get) int32_t berth__host_state_get(const char *key, uint32_t n, uint8_t *to, uint32_t capacity);
BERTH__IMPORT(state_set) int32_t berth__host_state_set(const char *key, uint32_t n, const uint8_t *value, uint32_t size);
BERTH__IMPORT(published_get) int32_t berth__host_published_get(uint32_t index, uint8_t *to, uint32_t capacity);
BERTH__IMPORT(pod_object) int32_t berth__host_pod_object(uint32_t index, uint8_t *to, uint32_t capacity);
BERTH__IMPORT(node_object) int32_t berth__host_node_object(uint32_t row, uint8_t *to, uint32_t capacity);

// What a plugin says of its own end must not be an import that the plugin does not have: a weak
// reference is berth__host_log if something else refers to that, or else a function that traps.
static void berth__last_words(int32_t level, const char *at, uint32_t n)
    __attribute__((weakref("berth__host_log"), import_module("berth"), import_name("log")));

// Ends the call: logs why, if the plugin has logs, and traps.
BERTH__COLD __attribute__((noreturn)) void berth__stop(BerthText why) {
  berth__last_words(3, why.at, why.n);
  __builtin_trap();
}

BERTH__HOT void *berth__pointer(uint32_t address) { return (void *)address; }

BERTH__HOT uint32_t berth__address(const void *at) { return (uint32_t)at; }

// Returns the bytes at an address.
BERTH__HOT void *berth__view(uint32_t address, uint32_t n, uint32_t size) {
  (void)n, (void)size;
  return (void *)address;
}

// The bytes that are free, from next to end: they only move up, by memory.grow.
struct berth__memory {
  uint32_t next, end;
};

extern uint8_t __heap_base; // where the linker's data ends

#else // natively

/// The host of a plugin that runs natively, in a test. Functions have the meaning of SPEC.md,
/// section 7; stop must not return.
typedef struct {
  void (*log)(int32_t level, BerthText text);
  int32_t (*state_get)(BerthText key, uint8_t *to, uint32_t capacity);
  int32_t (*state_set)(BerthText key, BerthBytes value);
  int32_t (*published_get)(uint32_t index, uint8_t *to, uint32_t capacity);
  int32_t (*pod_object)(uint32_t index, uint8_t *to, uint32_t capacity);
  int32_t (*node_object)(uint32_t row, uint8_t *to, uint32_t capacity);
  void (*stop)(BerthText why);
} BerthHost;

struct berth__memory {
  uint32_t next, end; // as in a module
  uint8_t *base;      // address 0
  BerthHost host;
};

#endif

// What all files of a plugin share, as the other variables below. BERTH_PLUGIN defines them.
extern struct berth__memory berth__memory;
extern struct berth__scratch berth__scratch;

#ifndef __wasm__

BERTH__COLD __attribute__((noreturn)) void berth__stop(BerthText why) {
  berth__memory.host.stop(why);
  __builtin_trap();
}

BERTH__HOT void *berth__pointer(uint32_t address) { return berth__memory.base + address; }

BERTH__HOT uint32_t berth__address(const void *at) { return (uint32_t)((const uint8_t *)at - berth__memory.base); }

// Returns the bytes at an address, which must be in bounds.
BERTH__FN void *berth__view(uint32_t address, uint32_t n, uint32_t size) {
  if (n > 0 && (address == 0 || address + (uint64_t)n * size > berth__memory.end)) {
    berth__stop(BERTH_TEXT("berth: the host gave an address that is out of bounds"));
  }
  return berth__pointer(address);
}

BERTH__FN void berth__host_log(int32_t level, const char *at, uint32_t n) {
  berth__memory.host.log(level, (BerthText){at, n});
}

BERTH__FN int32_t berth__host_state_get(const char *key, uint32_t n, uint8_t *to, uint32_t capacity) {
  return berth__memory.host.state_get((BerthText){key, n}, to, capacity);
}

BERTH__FN int32_t berth__host_state_set(const char *key, uint32_t n, const uint8_t *value, uint32_t size) {
  return berth__memory.host.state_set((BerthText){key, n}, (BerthBytes){value, size});
}

BERTH__FN int32_t berth__host_published_get(uint32_t index, uint8_t *to, uint32_t capacity) {
  return berth__memory.host.published_get(index, to, capacity);
}

BERTH__FN int32_t berth__host_pod_object(uint32_t index, uint8_t *to, uint32_t capacity) {
  return berth__memory.host.pod_object(index, to, capacity);
}

BERTH__FN int32_t berth__host_node_object(uint32_t row, uint8_t *to, uint32_t capacity) {
  return berth__memory.host.node_object(row, to, capacity);
}

#endif

// Returns the address of size bytes at a multiple of align, a power of two; 0 if there is no room.
BERTH__COLD uint32_t berth__alloc(uint32_t size, uint32_t align) {
  struct berth__memory *m = &berth__memory;
#ifdef __wasm__
  if (m->next == 0) {
    m->next = (uint32_t)&__heap_base;
    m->end = (uint32_t)__builtin_wasm_memory_size(0) << 16;
  }
#endif
  uint64_t mask = (align == 0 ? 1 : align) - 1;
  uint64_t at = (m->next + mask) & ~mask, after = at + size;
#ifdef __wasm__
  if (after > m->end) {
    uint64_t pages = (after - m->end + 65535) >> 16;
    if ((m->end >> 16) + pages > 65535) return 0;
    uint32_t before = (uint32_t)__builtin_wasm_memory_grow(0, (uint32_t)pages);
    if (before == UINT32_MAX) return 0;
    if (before << 16 != m->end) { // other code grew the memory: begin after it
      m->next = before << 16;
      m->end = (before + (uint32_t)pages) << 16;
      return berth__alloc(size, align);
    }
    m->end += (uint32_t)pages << 16;
  }
#else
  if (after > m->end) return 0;
#endif
  m->next = (uint32_t)after;
  return (uint32_t)at;
}

/// Returns room for size bytes, aligned to 8, which is there for good: for what is made when the
/// plugin is set up or configured. There is no way to give it back.
BERTH__FN void *berth_keep(uint32_t size) {
  uint32_t address = berth__alloc(size, 8);
  if (BERTH__RARE(address == 0)) berth__stop(BERTH_TEXT("berth: out of memory"));
  return berth__pointer(address);
}

// Sees to it that size bytes are left in the scratch room.
BERTH__COLD void berth__scratch_grow(struct berth__scratch *s, uint32_t size) {
  // What was returned before in this call stays where it is.
  uint32_t least = 2 * s->size > 1024 ? 2 * s->size : 1024;
  s->size = size > least ? size : least;
  s->at = berth_keep(s->size);
  s->used = 0;
}

/// Returns room for size bytes, aligned to 8, which is valid until the call returns.
BERTH__FN void *berth_scratch(uint32_t size) {
  struct berth__scratch *s = &berth__scratch;
  uint32_t whole = (size + 7) & ~7u;
  if (BERTH__RARE(whole > s->size - s->used || s->at == NULL)) berth__scratch_grow(s, whole);
  void *at = s->at + s->used;
  s->used += whole;
  return at;
}

// A list that the host can read. It grows by doubling; its earlier memory is not freed, so it
// takes at most twice its size.
struct berth__room {
  uint8_t *at;
  uint32_t n, capacity; // elements
};

// Returns the place of one more element, of size bytes.
BERTH__FN void *berth__room_push(struct berth__room *room, uint32_t size) {
  if (BERTH__RARE(room->n == room->capacity)) {
    uint32_t capacity = room->capacity == 0 ? 8 : 2 * room->capacity;
    uint8_t *at = berth_keep(capacity * size);
    berth__copy(at, room->at, room->n * size);
    room->at = at;
    room->capacity = capacity;
  }
  return room->at + size * room->n++;
}

// Returns room, never freed, for n elements of size bytes that are zero.
BERTH__FN void *berth__keep_zero(uint32_t n, uint32_t size) {
  uint8_t *at = berth_keep(n * size);
  if (n * size > 0) __builtin_memset(at, 0, n * size);
  return at;
}

// ---- text.h

// Texts that are made in a call.

/// Returns texts one after the other, as one text that is valid until the call returns.
#define berth_concat(...) berth__concat(BERTH__TEXTS(__VA_ARGS__))

BERTH__COLD BerthText berth__concat(const BerthText *texts, uint32_t n) {
  uint32_t size = 0;
  for (uint32_t i = 0; i < n; i++) size += texts[i].n;
  char *at = berth_scratch(size), *end = at;
  for (uint32_t i = 0; i < n; i++) {
    berth__copy(end, texts[i].at, texts[i].n);
    end += texts[i].n;
  }
  return (BerthText){at, size};
}

/// Returns a number as a decimal text that is valid until the call returns.
BERTH__COLD BerthText berth_decimal(int64_t number) {
  char *end = (char *)berth_scratch(24) + 24, *at = end;
  uint64_t left = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
  do {
    *--at = (char)('0' + left % 10);
    left /= 10;
  } while (left > 0);
  if (number < 0) *--at = '-';
  return (BerthText){at, (uint32_t)(end - at)};
}

// Reads a whole decimal number of 64 bits with an optional sign, as strconv.ParseInt does.
BERTH__COLD bool berth__parse_i64(BerthText text, int64_t *number) {
  bool negative = text.n > 0 && text.at[0] == '-';
  uint32_t i = negative || (text.n > 0 && text.at[0] == '+');
  if (i == text.n) return false;
  uint64_t n = 0, most = (uint64_t)INT64_MAX + negative;
  for (; i < text.n; i++) {
    uint32_t digit = (uint32_t)(uint8_t)text.at[i] - '0';
    if (digit > 9 || n > (most - digit) / 10) return false;
    n = 10 * n + digit;
  }
  *number = (int64_t)(negative ? 0 - n : n);
  return true;
}

/// Reads a whole decimal number of 64 bits, with an optional sign and nothing around it.
#define berth_parse_i64(text, number) berth__parse_i64(BERTH_TEXT(text), number)

/// Returns a copy of a text that is never freed.
#define berth_keep_text(text) berth__keep_text(BERTH_TEXT(text))

BERTH__COLD BerthText berth__keep_text(BerthText text) {
  char *at = berth_keep(text.n);
  berth__copy(at, text.at, text.n);
  return (BerthText){at, text.n};
}

// Returns a text with question marks instead of bytes that are not UTF-8.
BERTH__COLD BerthText berth__utf8(BerthText text) {
  if (berth__is_utf8(text)) return text;
  char *at = berth_scratch(text.n);
  berth__copy(at, text.at, text.n);
  for (uint32_t i = 0, size; i < text.n; i += size) {
    size = berth__character(text, i);
    if (size > 0) continue;
    at[i] = '?';
    size = 1;
  }
  return (BerthText){at, text.n};
}

// ---- number.h

// Decimal numbers as doubles, rounded to the nearest, ties to even (IEEE 754). It is exact by whole
// numbers of any length: slow, small, and the same on every machine.

enum {
  BERTH__LIMBS = 128,  // 4,096 bits: 10^1130, which what follows does not exceed, has 3,754
  BERTH__DIGITS = 800, // a number half-way between two doubles has at most 767 digits
};

struct berth__big {
  uint32_t n; // limbs in use
  uint32_t limb[BERTH__LIMBS];
};

// Multiplies by a small number, and adds one.
BERTH__FN void berth__big_times(struct berth__big *b, uint32_t factor, uint32_t more) {
  uint64_t carry = more;
  for (uint32_t i = 0; i < b->n; i++) {
    carry += (uint64_t)b->limb[i] * factor;
    b->limb[i] = (uint32_t)carry;
    carry >>= 32;
  }
  if (carry > 0) b->limb[b->n++] = (uint32_t)carry;
}

BERTH__FN void berth__big_power(struct berth__big *b, int32_t exponent) {
  for (; exponent >= 9; exponent -= 9) berth__big_times(b, 1000000000, 0);
  for (; exponent > 0; exponent--) berth__big_times(b, 10, 0);
}

BERTH__FN int32_t berth__big_bits(const struct berth__big *b) {
  return b->n == 0 ? 0 : (int32_t)(32 * b->n) - __builtin_clz(b->limb[b->n - 1]);
}

BERTH__FN void berth__big_shift(struct berth__big *b, int32_t bits) {
  for (; bits >= 16; bits -= 16) berth__big_times(b, 1 << 16, 0);
  berth__big_times(b, 1u << bits, 0);
}

// Subtracts m if it is not more than b, and reports whether it did.
BERTH__FN bool berth__big_minus(struct berth__big *b, const struct berth__big *m) {
  if (b->n < m->n) return false;
  for (uint32_t i = b->n; i-- > 0;) {
    uint32_t other = i < m->n ? m->limb[i] : 0;
    if (b->limb[i] > other) break;
    if (b->limb[i] < other) return false;
  }
  int64_t carry = 0;
  for (uint32_t i = 0; i < b->n; i++) {
    carry += (int64_t)b->limb[i] - (i < m->n ? m->limb[i] : 0);
    b->limb[i] = (uint32_t)carry;
    carry >>= 32;
  }
  while (b->n > 0 && b->limb[b->n - 1] == 0) b->n--;
  return true;
}

// Returns the double nearest to over/under, as bits; those of infinity if it is too large.
BERTH__COLD uint64_t berth__big_ratio(struct berth__big *over, struct berth__big *under) {
  // Shifted to the same length the ratio is between 1/2 and 2, so 64 steps give 63 bits at least.
  int32_t shift = berth__big_bits(under) - berth__big_bits(over);
  berth__big_shift(shift > 0 ? over : under, shift > 0 ? shift : -shift);
  uint64_t quotient = 0;
  for (uint32_t i = 0; i < 64; i++) {
    quotient = quotient << 1 | berth__big_minus(over, under);
    berth__big_times(over, 2, 0);
  }
  // The value is quotient · 2^(−63 − shift), and a bit more if over is not 0.
  int32_t bits = 64 - __builtin_clzll(quotient), exponent = bits - 64 - shift;
  int32_t precision = exponent >= -1022 ? 53 : 53 + 1022 + exponent; // less for subnormal numbers
  int32_t drop = bits - precision;
  if (drop > 64) return 0;
  uint64_t mantissa = drop == 64 ? 0 : quotient >> drop;
  uint64_t half = (uint64_t)1 << (drop - 1), rest = quotient & (half | (half - 1));
  if (rest > half || (rest == half && (over->n > 0 || (mantissa & 1) != 0))) mantissa++;
  if (exponent < -1022) return mantissa;
  uint64_t double_bits = ((uint64_t)(exponent + 1022) << 52) + mantissa; // a carry goes to the exponent
  return double_bits < (uint64_t)0x7FF << 52 ? double_bits : (uint64_t)0x7FF << 52;
}

// Reads a number of JSON; false if it is beyond the finite doubles.
BERTH__COLD bool berth__parse_f64(BerthText text, double *number) {
  struct berth__big over = {0, {0}}, under = {1, {1}};
  const char *s = text.at, *end = s + text.n;
  bool negative = *s == '-', point = false, more = false;
  int32_t digits = 0, exponent = 0;
  for (s += negative; s < end && *s != 'e' && *s != 'E'; s++) {
    if (*s == '.') {
      point = true;
      continue;
    }
    if (digits == BERTH__DIGITS) {
      more |= *s != '0';
      exponent += !point;
      continue;
    }
    berth__big_times(&over, 10, (uint32_t)(*s - '0'));
    digits += over.n > 0; // zeros in front do not count
    exponent -= point;
  }
  if (s < end) {
    bool minus = *++s == '-';
    s += *s == '-' || *s == '+';
    int32_t n = 0;
    for (; s < end; s++) n = n < 100000 ? 10 * n + (*s - '0') : n;
    exponent += minus ? -n : n;
  }
  if (more) { // what was left out is not 0: as one digit that is not
    berth__big_times(&over, 10, 1);
    exponent--;
    digits++;
  }
  uint64_t bits = 0;
  if (over.n > 0 && digits + exponent > 310) return false;
  if (over.n > 0 && digits + exponent > -330) {
    berth__big_power(exponent > 0 ? &over : &under, exponent > 0 ? exponent : -exponent);
    bits = berth__big_ratio(&over, &under);
  }
  if (bits == (uint64_t)0x7FF << 52) return false;
  bits |= (uint64_t)negative << 63;
  __builtin_memcpy(number, &bits, sizeof bits);
  return true;
}

// ---- wide.h

// What clang calls for products that do not fit into 64 bits, such as those of __builtin_mul_overflow and of __int128. A plugin is
// linked without clang's library.

// The name is the compiler's. In each file that includes berth.h there is one, and the linker takes the first.
__attribute__((weak)) __int128 __multi3(__int128 a, __int128 b) {
  const uint64_t low = 0xffffffff;
  uint64_t x = (uint64_t)a, y = (uint64_t)b, x0 = x & low, x1 = x >> 32, y0 = y & low, y1 = y >> 32;
  // x · y in 128 bits, from products of 32 bits.
  uint64_t middle = x1 * y0 + (x0 * y0 >> 32), other = x0 * y1 + (middle & low);
  uint64_t high = x1 * y1 + (middle >> 32) + (other >> 32);
  high += (uint64_t)((unsigned __int128)a >> 64) * y + x * (uint64_t)((unsigned __int128)b >> 64);
  return (__int128)((unsigned __int128)high << 64 | x * y);
}

// ---- scan.h

// Scanning JSON text: the manifest, when an instance starts, and a configuration.
//
// The functions take the position of a value in a text that berth__json_check has passed, so they
// need not look where it ends.

BERTH__FN const char *berth__space(const char *s) {
  while (*s == ' ' || *s == '\n' || *s == '\r' || *s == '\t') s++;
  return s;
}

// Returns the end of a string.
BERTH__COLD const char *berth__skip_string(const char *s) {
  for (s++; *s != '"'; s++) s += *s == '\\';
  return s + 1;
}

// Returns the end of a value.
BERTH__COLD const char *berth__skip(const char *s) {
  uint32_t depth = 0;
  for (;;) {
    char c = *s;
    if (c == '"') {
      s = berth__skip_string(s);
    } else if (c == '{' || c == '[') {
      depth++;
      s++;
    } else if (c == '}' || c == ']') {
      depth--;
      s++;
    } else if (depth > 0 && (c == ',' || c == ':')) {
      s++;
    } else {
      while ((*s >= 'a' && *s <= 'z') || (*s >= '0' && *s <= '9') || *s == '+' || *s == '-' || *s == '.' || *s == 'E') s++;
    }
    if (depth == 0) return s;
    s = berth__space(s);
  }
}

// Returns the first element of a list, or the first key of an object; NULL if it is empty.
BERTH__COLD const char *berth__first(const char *s) {
  s = berth__space(s + 1);
  return *s == ']' || *s == '}' ? NULL : s;
}

// Returns what follows the end of an element or of a member's value; NULL if it was the last.
BERTH__COLD const char *berth__next(const char *s) {
  s = berth__space(s);
  return *s == ',' ? berth__space(s + 1) : NULL;
}

// Returns the value of a key.
BERTH__COLD const char *berth__value(const char *key) {
  return berth__space(berth__space(berth__skip_string(key)) + 1);
}

BERTH__COLD uint32_t berth__hex(const char *s) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < 4; i++) {
    uint32_t c = (uint8_t)s[i];
    n = n << 4 | (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  return n;
}

// Reads a byte or an escape of a string and returns the position after it. Half of a
// surrogate pair becomes U+FFFD.
BERTH__COLD const char *berth__unescape(const char *s, char utf8[4], uint32_t *n) {
  uint32_t c = (uint8_t)*s++;
  *n = 1;
  utf8[0] = (char)c;
  if (c != '\\') return s;
  c = (uint8_t)*s++;
  utf8[0] = (char)(c == 'b' ? 8 : c == 'f' ? 12 : c == 'n' ? '\n' : c == 'r' ? '\r' : c == 't' ? '\t' : (char)c);
  if (c != 'u') return s;
  c = berth__hex(s);
  s += 4;
  if ((c & 0xFC00) == 0xD800 && s[0] == '\\' && s[1] == 'u') {
    uint32_t low = berth__hex(s + 2);
    if ((low & 0xFC00) == 0xDC00) {
      c = 0x10000 + ((c & 0x3FF) << 10) + (low & 0x3FF);
      s += 6;
    }
  }
  if (c >= 0xD800 && c < 0xE000) c = 0xFFFD;
  uint32_t tail = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  static const uint8_t lead[4] = {0, 0xC0, 0xE0, 0xF0};
  utf8[0] = (char)(lead[tail] | c >> 6 * tail);
  for (uint32_t i = 1; i <= tail; i++) utf8[i] = (char)(0x80 | (c >> 6 * (tail - i) & 0x3F));
  *n = tail + 1;
  return s;
}

// Reports whether a string has a text.
BERTH__COLD bool berth__string_is(const char *s, BerthText text) {
  uint32_t done = 0;
  for (s++; *s != '"';) {
    char utf8[4];
    uint32_t n;
    s = berth__unescape(s, utf8, &n);
    for (uint32_t i = 0; i < n; i++, done++) {
      if (done == text.n || text.at[done] != utf8[i]) return false;
    }
  }
  return done == text.n;
}

// Returns the value of a key of an object, the last of equal ones; NULL if it does not have it.
BERTH__COLD const char *berth__member(const char *object, BerthText key) {
  const char *found = NULL;
  for (const char *s = berth__first(object); s != NULL;) {
    const char *value = berth__value(s);
    if (berth__string_is(s, key)) found = value;
    s = berth__next(berth__skip(value));
  }
  return found;
}

// ---- check.h

// Whether a text is JSON (RFC 8259).

enum { BERTH__DEPTH = 32 }; // objects and lists may be nested this deep

struct berth__check {
  const char *s, *end;
};

// The next byte; 0, which is nowhere in JSON, at the end.
BERTH__FN char berth__byte(const struct berth__check *c) { return c->s < c->end ? *c->s : 0; }

BERTH__COLD char berth__peek(struct berth__check *c) {
  while (c->s < c->end && (*c->s == ' ' || *c->s == '\n' || *c->s == '\r' || *c->s == '\t')) c->s++;
  return berth__byte(c);
}

BERTH__FN bool berth__take(struct berth__check *c, char b) {
  if (berth__peek(c) != b) return false;
  c->s++;
  return true;
}

BERTH__COLD bool berth__check_word(struct berth__check *c, BerthText word) {
  if ((size_t)(c->end - c->s) < word.n || !berth__equals((BerthText){c->s, word.n}, word)) return false;
  c->s += word.n;
  return true;
}

BERTH__COLD bool berth__check_string(struct berth__check *c) {
  if (!berth__take(c, '"')) return false;
  for (;;) {
    char b = berth__byte(c);
    if ((uint8_t)b < 0x20) return false;
    c->s++;
    if (b == '"') return true;
    if (b != '\\') continue;
    b = berth__byte(c);
    if (b != '"' && b != '\\' && b != '/' && b != 'b' && b != 'f' && b != 'n' && b != 'r' && b != 't' && b != 'u') return false;
    c->s++;
    for (uint32_t i = 0; b == 'u' && i < 4; i++, c->s++) {
      char d = berth__byte(c);
      if (!((d >= '0' && d <= '9') || ((d | 0x20) >= 'a' && (d | 0x20) <= 'f'))) return false;
    }
  }
}

BERTH__COLD bool berth__check_digits(struct berth__check *c) {
  const char *from = c->s;
  while (berth__byte(c) >= '0' && berth__byte(c) <= '9') c->s++;
  return c->s > from;
}

BERTH__COLD bool berth__check_number(struct berth__check *c) {
  if (berth__byte(c) == '-') c->s++;
  const char *from = c->s;
  if (!berth__check_digits(c) || (*from == '0' && c->s > from + 1)) return false;
  if (berth__byte(c) == '.') {
    c->s++;
    if (!berth__check_digits(c)) return false;
  }
  if (berth__byte(c) != 'e' && berth__byte(c) != 'E') return true;
  c->s++;
  if (berth__byte(c) == '+' || berth__byte(c) == '-') c->s++;
  return berth__check_digits(c);
}

BERTH__COLD bool berth__check_value(struct berth__check *c, uint32_t depth) {
  if (depth > BERTH__DEPTH) return false;
  char open = berth__peek(c), close = open == '{' ? '}' : ']';
  switch (open) {
  case '"': return berth__check_string(c);
  case 't': return berth__check_word(c, BERTH_TEXT("true"));
  case 'f': return berth__check_word(c, BERTH_TEXT("false"));
  case 'n': return berth__check_word(c, BERTH_TEXT("null"));
  case '{':
  case '[': break;
  default: return berth__check_number(c);
  }
  c->s++;
  if (berth__take(c, close)) return true;
  for (;;) {
    if (open == '{' && !(berth__check_string(c) && berth__take(c, ':'))) return false;
    if (!berth__check_value(c, depth + 1)) return false;
    if (berth__peek(c) != ',') return berth__take(c, close);
    c->s++;
  }
}

// Reports whether a text is one JSON value in UTF-8. Otherwise line is that of the first mistake;
// 0 if it is not UTF-8.
BERTH__COLD bool berth__json_check(BerthText text, uint32_t *line) {
  *line = 0;
  if (!berth__is_utf8(text)) return false;
  struct berth__check c = {text.at, text.at + text.n};
  if (berth__check_value(&c, 0) && berth__peek(&c) == 0 && c.s == c.end) return true;
  *line = 1;
  for (const char *s = text.at; s < c.s; s++) *line += *s == '\n';
  return false;
}

// ---- json.h

// Reading a configuration: typed access to JSON.
//
// A value is a place in the text. The first mistake is noted with
// its path, and from then on every function returns what it returns for an absent value. So a
// plugin reads its configuration without looking for mistakes, and berth_configure refuses it in
// the end. Looking a field up walks through its object, so it is for configure, once an instance.

/// A text of JSON, and the first mistake in it.
typedef struct {
  BerthText text;
  BerthText error; // empty if there is none
} BerthJsonText;

/// A value in a JSON text. One that is absent, or null, is nowhere: at is NULL.
typedef struct {
  BerthJsonText *in;
  const char *at, *key; // of a member, its key
} BerthJson;

// Checks a text that has a byte behind it which is nowhere in JSON, and returns its value.
BERTH__COLD BerthJson berth__json_value(BerthJsonText *in, BerthText text) {
  *in = (BerthJsonText){text, {"", 0}};
  uint32_t line;
  if (berth__json_check(text, &line)) return (BerthJson){in, berth__space(text.at), NULL};
  in->error = line == 0 ? BERTH_TEXT("the configuration is not UTF-8") : berth_concat("line ", berth_decimal(line), ": this is not JSON");
  return (BerthJson){in, NULL, NULL};
}

/// Checks a text and returns its value, which is valid until the call returns; in must stay where
/// it is. A text that is not JSON is the first mistake, and its value is absent.
#define berth_json_parse(in, text) berth__json_parse(in, BERTH_TEXT(text))

BERTH__COLD BerthJson berth__json_parse(BerthJsonText *in, BerthText text) {
  char *copy = berth_scratch(text.n + 1);
  berth__copy(copy, text.at, text.n);
  copy[text.n] = 0;
  return berth__json_value(in, (BerthText){copy, text.n});
}

/// Reports whether there was a mistake. It is in->error.
BERTH__FN bool berth_json_failed(BerthJson v) { return v.in->error.n > 0; }

/// Reports whether a value exists.
BERTH__COLD bool berth_json_is_there(BerthJson v) { return v.at != NULL && *v.at != 'n' && !berth_json_failed(v); }

BERTH__FN BerthJson berth__json_absent(BerthJson v) { return (BerthJson){v.in, NULL, NULL}; }

// Returns a string, decoded, until the call returns.
BERTH__COLD BerthText berth__json_string(const char *s) {
  char *at = berth_scratch((uint32_t)(berth__skip_string(s) - s)), *end = at; // decoded it is shorter
  for (s++; *s != '"';) {
    char utf8[4];
    uint32_t n;
    s = berth__unescape(s, utf8, &n);
    for (uint32_t i = 0; i < n; i++) *end++ = utf8[i];
  }
  return (BerthText){at, (uint32_t)(end - at)};
}

// Returns the path from a value to the one at a position, or to a key.
BERTH__COLD BerthText berth__json_path(const char *from, const char *to) {
  BerthText path = {"", 0};
  while (from != to && (*from == '{' || *from == '[')) {
    const char *s = berth__first(from), *value = s;
    bool list = *from == '[';
    uint32_t i = 0;
    for (; s != NULL; s = berth__next(berth__skip(value)), i++) {
      value = list ? s : berth__value(s);
      if (s == to || (value <= to && to < berth__skip(value))) break;
    }
    if (s == NULL) return path;
    path = list ? berth_concat(path, "[", berth_decimal(i), "]") : berth_concat(path, path.n == 0 ? "" : ".", berth__json_string(s));
    if (s == to) return path;
    from = value;
  }
  return path;
}

/// Refuses a value. The text is for people; the value's path is put before it. The first mistake
/// counts.
#define berth_json_error(v, text) berth__json_error(v, BERTH_TEXT(text))

BERTH__COLD void berth__json_error(BerthJson v, BerthText text) {
  if (berth_json_failed(v)) return;
  BerthText path = v.at == NULL ? BERTH_TEXT("") : berth__json_path(berth__space(v.in->text.at), v.at);
  v.in->error = berth_concat(path.n == 0 ? BERTH_TEXT("the configuration") : path, ": ", text);
}

BERTH__COLD const char *berth__json_kind(char first) {
  switch (first) {
  case '{': return "an object";
  case '[': return "a list";
  case '"': return "a string";
  case 't':
  case 'f': return "true or false";
  default: return "a number";
  }
}

// Reports whether a value exists and begins with one of some bytes.
BERTH__COLD bool berth__json_expect(BerthJson v, const char *firsts) {
  if (!berth_json_is_there(v)) return false;
  for (const char *first = firsts; *first != 0; first++) {
    if (*v.at == *first) return true;
  }
  berth__json_error(v, berth_concat("expected ", berth__json_kind(*firsts), ", found ", berth__json_kind(*v.at)));
  return false;
}

/// The value of a key of an object, the last of equal ones; absent if the object does not have it.
#define berth_json_get(object, key) berth__json_get(object, BERTH_TEXT(key))

BERTH__COLD BerthJson berth__json_get(BerthJson object, BerthText key) {
  if (!berth__json_expect(object, "{")) return berth__json_absent(object);
  const char *at = berth__member(object.at, key);
  return (BerthJson){object.in, at != NULL && *at == 'n' ? NULL : at, NULL};
}

/// The value of a key of an object, which must be there.
#define berth_json_need(object, key) berth__json_need(object, BERTH_TEXT(key))

BERTH__COLD BerthJson berth__json_need(BerthJson object, BerthText key) {
  BerthJson v = berth__json_get(object, key);
  if (!berth_json_is_there(v)) berth__json_error(object, berth_concat("the field ", key, " is missing"));
  return v;
}

/// Refuses keys of an object other than those named.
#define berth_json_only(object, ...) berth__json_only(object, BERTH__TEXTS(__VA_ARGS__))

// Returns the texts, separated by commas.
BERTH__COLD BerthText berth__json_known(const char *before, const BerthText *texts, uint32_t n) {
  BerthText known = BERTH_TEXT(before);
  for (uint32_t i = 0; i < n; i++) known = berth_concat(known, i == 0 ? "" : ", ", texts[i]);
  return known;
}

// Returns which of some texts a string is; n if it is none.
BERTH__COLD uint32_t berth__json_which(const char *string, const BerthText *texts, uint32_t n) {
  uint32_t i = 0;
  while (i < n && !berth__string_is(string, texts[i])) i++;
  return i;
}

BERTH__COLD void berth__json_only(BerthJson object, const BerthText *keys, uint32_t n) {
  if (!berth__json_expect(object, "{")) return;
  for (const char *key = berth__first(object.at); key != NULL; key = berth__next(berth__skip(berth__value(key)))) {
    if (berth__json_which(key, keys, n) == n) {
      berth__json_error((BerthJson){object.in, key, NULL}, berth__json_known("there is no such field; there are ", keys, n));
      return;
    }
  }
}

// ---- values.h

// Values of JSON: elements of lists and objects, strings, numbers.

BERTH__COLD BerthJson berth__json_item(BerthJson of, const char *s) {
  if (s == NULL || berth_json_failed(of)) return berth__json_absent(of);
  if (of.key == NULL) return (BerthJson){of.in, s, NULL};
  return (BerthJson){of.in, berth__value(s), s};
}

/// The first element of a list; absent if there is none.
BERTH__COLD BerthJson berth_json_elements(BerthJson list) {
  list.key = NULL;
  return berth__json_item(list, berth__json_expect(list, "[") ? berth__first(list.at) : NULL);
}

/// The first value of an object, which has a key; absent if there is none.
BERTH__COLD BerthJson berth_json_fields(BerthJson object) {
  object.key = object.at;
  return berth__json_item(object, berth__json_expect(object, "{") ? berth__first(object.at) : NULL);
}

/// What follows an element, or a value of an object; absent if it was the last.
BERTH__FN BerthJson berth_json_next(BerthJson item) { return berth__json_item(item, berth__next(berth__skip(item.at))); }

/// BERTH_JSON_ELEMENTS(pool, berth_json_get(config, "pools")) { … } goes through a list.
#define BERTH_JSON_ELEMENTS(item, list) \
  for (BerthJson item = berth_json_elements(list); item.at != NULL; item = berth_json_next(item))

/// BERTH_JSON_FIELDS(tenant, berth_json_get(config, "tenants")) { … } goes through an object;
/// berth_json_key(tenant) is the key.
#define BERTH_JSON_FIELDS(item, object) \
  for (BerthJson item = berth_json_fields(object); item.at != NULL; item = berth_json_next(item))

/// The key of a value that berth_json_fields returned; never freed.
BERTH__COLD BerthText berth_json_key(BerthJson field) { return berth__keep_text(berth__json_string(field.key)); }

/// A string, never freed; `otherwise` if it is absent.
#define berth_json_text(v, otherwise) berth__json_text(v, BERTH_TEXT(otherwise))

BERTH__COLD BerthText berth__json_text(BerthJson v, BerthText otherwise) {
  return berth__json_expect(v, "\"") ? berth__keep_text(berth__json_string(v.at)) : otherwise;
}

/// Reports whether a value is a string with a text.
#define berth_json_is(v, text) berth__json_is(v, BERTH_TEXT(text))

BERTH__COLD bool berth__json_is(BerthJson v, BerthText text) {
  return berth_json_is_there(v) && *v.at == '"' && berth__string_is(v.at, text);
}

/// The index of a string among a few texts, from 0 on; otherwise if it is absent.
#define berth_json_one_of(v, otherwise, ...) berth__json_one_of(v, otherwise, BERTH__TEXTS(__VA_ARGS__))

BERTH__COLD uint32_t berth__json_one_of(BerthJson v, uint32_t otherwise, const BerthText *texts, uint32_t n) {
  if (!berth_json_is_there(v)) return otherwise;
  uint32_t which = *v.at == '"' ? berth__json_which(v.at, texts, n) : n;
  if (which < n) return which;
  berth__json_error(v, berth__json_known("expected one of ", texts, n));
  return otherwise;
}

/// A value that is true or false; otherwise if it is absent.
BERTH__COLD bool berth_json_bool(BerthJson v, bool otherwise) { return berth__json_expect(v, "tf") ? *v.at == 't' : otherwise; }

// The text of a number; empty if it is absent.
BERTH__COLD BerthText berth__json_digits(BerthJson v) {
  if (!berth__json_expect(v, "0123456789-")) return (BerthText){"", 0};
  return (BerthText){v.at, (uint32_t)(berth__skip(v.at) - v.at)};
}

/// A whole number of 64 bits; otherwise if it is absent.
BERTH__COLD int64_t berth_json_i64(BerthJson v, int64_t otherwise) {
  BerthText digits = berth__json_digits(v);
  int64_t number = otherwise;
  if (digits.n > 0 && !berth__parse_i64(digits, &number)) {
    berth__json_error(v, berth_concat(digits, " is not a whole number of 64 bits"));
    return otherwise;
  }
  return number;
}

/// A number; otherwise if it is absent. It is the nearest that a double can hold, ties to even.
BERTH__COLD double berth_json_f64(BerthJson v, double otherwise) {
  BerthText digits = berth__json_digits(v);
  double number = otherwise;
  if (digits.n > 0 && !berth__parse_f64(digits, &number)) {
    berth__json_error(v, berth_concat(digits, " is beyond the numbers of 64 bits"));
    return otherwise;
  }
  return number;
}

// ---- manifest.h

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


// ---- columns.h

// The columns of a snapshot (SPEC.md, section 4). They cover the whole capacity, overlay rows
// included, so they change with the layout only.

struct berth__column {
  const void *at;
  uint32_t n; // elements; 0 for a column that is not there
};

// A column of spans and its arena.
struct berth__lists {
  struct berth__column spans, arena;
};

struct berth__columns {
  const struct berth__header *header;
  uint32_t layout;
  const struct berth__table *tables[BERTH__TABLES];

  struct berth__lists strings;
  // Generated from abi/fields.
  struct berth__lists node_name, node_labels, node_taints, node_ports, node_images, node_pods, node_nominated,
      placed_labels, placed_uid, placed_name, namespace_labels;
  struct berth__column node_flags, node_non_zero_requested[2], node_generation, node_zone, node_created_at,
      placed_namespace, placed_priority, placed_owner, placed_flags, placed_qos, placed_assigned_at, placed_created_at,
      placed_state, namespace_name;
  // By the number of a handle; that of number 0 is never there.
  struct berth__column *node_allocatable, *node_requested, *node_annotation, *node_condition, *node_label, *node_capacity,
      *node_feed, *node_feed_state, *node_requested_since, *node_object_numbers, *node_object_numbers_arena,
      *node_object_texts, *node_object_texts_arena, *placed_requests, *placed_annotation, *placed_label, *placed_limits,
      *namespace_label, *namespace_requested, *namespace_object_numbers, *namespace_object_numbers_arena,
      *namespace_object_texts, *namespace_object_texts_arena;
  uint32_t lengths[BERTH__LISTS];
};

extern struct berth__columns berth__columns;

// The element of a row. A column that the manifest does not declare has none.
#define BERTH__CELL(type, column, row, list, name) (*(const type *)berth__cell(&(column), row, sizeof(type), list, name))

BERTH__HOT const void *berth__cell(const struct berth__column *c, uint32_t row, uint32_t size, const char *list, const char *name) {
  if (BERTH__RARE(row >= c->n)) berth__undeclared(list, BERTH_TEXT(name));
  return (const uint8_t *)c->at + (size_t)row * size;
}

// The elements of a row: sets at and n of a list.
#define BERTH__LIST(type, lists, row, list, name) \
  __extension__({ \
    type berth__list = {NULL, 0}; \
    struct berth__span berth__s = BERTH__CELL(struct berth__span, (lists).spans, row, list, name); \
    if (berth__s.length > 0) { /* a span of length 0 may have any start (ABI-4.8) */ \
      if (BERTH__RARE((uint64_t)berth__s.start + berth__s.length > (lists).arena.n)) berth__outside(); \
      berth__list.at = (__typeof__(berth__list.at))(lists).arena.at + berth__s.start; \
      berth__list.n = berth__s.length; \
    } \
    berth__list; \
  })

BERTH__COLD __attribute__((noreturn)) void berth__outside(void) {
  berth__stop(BERTH_TEXT("berth: the host's snapshot has a span that is out of bounds"));
}

// Where a column goes: offset is that of a berth__column, or for a column of a list's keys of a
// pointer to as many of them as there are keys.
struct berth__place {
  uint16_t id, type, list, offset;
};

#define BERTH__ONE(id, type, field) {id, type, BERTH__LISTS, offsetof(struct berth__columns, field)}
#define BERTH__KEYED(id, type, field, list) {id, type, list, offsetof(struct berth__columns, field)}
#define BERTH__SPANS(id, type, field) BERTH__ONE(id, BERTH__SPAN, field.spans), BERTH__ONE(id + BERTH__ARENA, type, field.arena)

// The place of a column. Unknown ones have none (ABI-4.5).
BERTH__COLD const struct berth__place *berth__place(uint32_t id) {
  static const struct berth__place places[] = {
      BERTH__SPANS(BERTH__STRING, BERTH__BYTES, strings),
      // Generated from abi/fields.
      BERTH__SPANS(BERTH__NODE_NAME, BERTH__BYTES, node_name),
      BERTH__ONE(BERTH__NODE_FLAGS, BERTH__U8, node_flags),
      BERTH__KEYED(BERTH__NODE_ALLOCATABLE, BERTH__I64, node_allocatable, BERTH__RESOURCES),
      BERTH__KEYED(BERTH__NODE_REQUESTED, BERTH__I64, node_requested, BERTH__RESOURCES),
      BERTH__ONE(BERTH__NODE_NON_ZERO_REQUESTED, BERTH__I64, node_non_zero_requested),
      BERTH__SPANS(BERTH__NODE_LABELS, BERTH__PAIR, node_labels),
      BERTH__KEYED(BERTH__NODE_ANNOTATION, BERTH__U32, node_annotation, BERTH__NODE_ANNOTATION_KEYS),
      BERTH__SPANS(BERTH__NODE_TAINTS, BERTH__TAINT, node_taints),
      BERTH__SPANS(BERTH__NODE_PORTS, BERTH__PORT, node_ports),
      BERTH__SPANS(BERTH__NODE_IMAGES, BERTH__IMAGE, node_images),
      BERTH__KEYED(BERTH__NODE_CONDITION, BERTH__U8, node_condition, BERTH__NODE_CONDITION_TYPES),
      BERTH__SPANS(BERTH__NODE_PODS, BERTH__U32, node_pods),
      BERTH__ONE(BERTH__NODE_GENERATION, BERTH__U64, node_generation),
      BERTH__KEYED(BERTH__NODE_LABEL, BERTH__U32, node_label, BERTH__NODE_LABEL_KEYS),
      BERTH__ONE(BERTH__NODE_ZONE, BERTH__U32, node_zone),
      BERTH__KEYED(BERTH__NODE_CAPACITY, BERTH__I64, node_capacity, BERTH__RESOURCES),
      BERTH__ONE(BERTH__NODE_CREATED_AT, BERTH__I64, node_created_at),
      BERTH__SPANS(BERTH__NODE_NOMINATED, BERTH__U32, node_nominated),
      BERTH__KEYED(BERTH__NODE_FEED, BERTH__I64, node_feed, BERTH__FEEDS),
      BERTH__KEYED(BERTH__NODE_FEED_STATE, BERTH__U8, node_feed_state, BERTH__FEEDS),
      BERTH__KEYED(BERTH__NODE_REQUESTED_SINCE, BERTH__I64, node_requested_since, BERTH__RESOURCES),
      BERTH__KEYED(BERTH__NODE_OBJECT_NUMBERS, BERTH__SPAN, node_object_numbers, BERTH__OBJECT_COLUMNS),
      BERTH__KEYED(BERTH__NODE_OBJECT_NUMBERS + BERTH__ARENA, BERTH__I64, node_object_numbers_arena, BERTH__OBJECT_COLUMNS),
      BERTH__KEYED(BERTH__NODE_OBJECT_TEXTS, BERTH__SPAN, node_object_texts, BERTH__OBJECT_COLUMNS),
      BERTH__KEYED(BERTH__NODE_OBJECT_TEXTS + BERTH__ARENA, BERTH__U32, node_object_texts_arena, BERTH__OBJECT_COLUMNS),
      BERTH__ONE(BERTH__PLACED_NAMESPACE, BERTH__U32, placed_namespace),
      BERTH__ONE(BERTH__PLACED_PRIORITY, BERTH__I32, placed_priority),
      BERTH__KEYED(BERTH__PLACED_REQUESTS, BERTH__I64, placed_requests, BERTH__RESOURCES),
      BERTH__SPANS(BERTH__PLACED_LABELS, BERTH__PAIR, placed_labels),
      BERTH__KEYED(BERTH__PLACED_ANNOTATION, BERTH__U32, placed_annotation, BERTH__POD_ANNOTATION_KEYS),
      BERTH__ONE(BERTH__PLACED_OWNER, BERTH__U32, placed_owner),
      BERTH__KEYED(BERTH__PLACED_LABEL, BERTH__U32, placed_label, BERTH__POD_LABEL_KEYS),
      BERTH__ONE(BERTH__PLACED_FLAGS, BERTH__U8, placed_flags),
      BERTH__SPANS(BERTH__PLACED_UID, BERTH__BYTES, placed_uid),
      BERTH__SPANS(BERTH__PLACED_NAME, BERTH__BYTES, placed_name),
      BERTH__KEYED(BERTH__PLACED_LIMITS, BERTH__I64, placed_limits, BERTH__RESOURCES),
      BERTH__ONE(BERTH__PLACED_QOS, BERTH__U32, placed_qos),
      BERTH__ONE(BERTH__PLACED_ASSIGNED_AT, BERTH__I64, placed_assigned_at),
      BERTH__ONE(BERTH__PLACED_CREATED_AT, BERTH__I64, placed_created_at),
      BERTH__ONE(BERTH__PLACED_STATE, BERTH__U8, placed_state),
      BERTH__ONE(BERTH__NAMESPACE_NAME, BERTH__U32, namespace_name),
      BERTH__SPANS(BERTH__NAMESPACE_LABELS, BERTH__PAIR, namespace_labels),
      BERTH__KEYED(BERTH__NAMESPACE_LABEL, BERTH__U32, namespace_label, BERTH__NAMESPACE_LABEL_KEYS),
      BERTH__KEYED(BERTH__NAMESPACE_REQUESTED, BERTH__I64, namespace_requested, BERTH__RESOURCES),
      BERTH__KEYED(BERTH__NAMESPACE_OBJECT_NUMBERS, BERTH__SPAN, namespace_object_numbers, BERTH__OBJECT_COLUMNS),
      BERTH__KEYED(BERTH__NAMESPACE_OBJECT_NUMBERS + BERTH__ARENA, BERTH__I64, namespace_object_numbers_arena, BERTH__OBJECT_COLUMNS),
      BERTH__KEYED(BERTH__NAMESPACE_OBJECT_TEXTS, BERTH__SPAN, namespace_object_texts, BERTH__OBJECT_COLUMNS),
      BERTH__KEYED(BERTH__NAMESPACE_OBJECT_TEXTS + BERTH__ARENA, BERTH__U32, namespace_object_texts_arena, BERTH__OBJECT_COLUMNS),
  };
  for (uint32_t i = 0; i < sizeof places / sizeof *places; i++) {
    if (places[i].id == id) return &places[i];
  }
  return NULL;
}

// The columns at a place, and their number.
BERTH__FN struct berth__column *berth__columns_at(struct berth__columns *c, const struct berth__place *p, uint32_t *n) {
  void *at = (uint8_t *)c + p->offset;
  if (p->list == BERTH__LISTS) {
    *n = p->id == BERTH__NODE_NON_ZERO_REQUESTED ? 2 : 1;
    return at;
  }
  *n = c->lengths[p->list];
  return *(struct berth__column **)at + 1;
}

BERTH__COLD void berth__set_column(struct berth__columns *c, const struct berth__column_entry *e) {
  static const uint8_t sizes[] = {0, 1, 2, 4, 8, 4, 8, 8, 8, 12, 8, 16, 1}; // of elements, by type (ABI-4.7)
  const struct berth__place *p = berth__place(e->id);
  if (p == NULL || e->type != p->type) return; // unknown columns and types are skipped (ABI-4.5)
  uint32_t n;
  struct berth__column *to = berth__columns_at(c, p, &n);
  if (e->arg < n) to[e->arg] = (struct berth__column){berth__view(e->address, e->capacity, sizes[e->type]), e->capacity};
}

// Makes room for the columns of declared keys, once an instance.
BERTH__COLD void berth__columns_start(struct berth__columns *c) {
  for (uint32_t list = 0; list < BERTH__LISTS; list++) c->lengths[list] = berth__reads_length(list);
  for (uint32_t id = 0; id < 512; id++) {
    const struct berth__place *p = berth__place(id);
    if (p == NULL || p->list == BERTH__LISTS) continue;
    *(struct berth__column **)(void *)((uint8_t *)c + p->offset) = berth__keep_zero(c->lengths[p->list] + 1, sizeof(struct berth__column));
  }
}

// Rebuilds the columns.
BERTH__COLD void berth__columns_read(struct berth__columns *c, const struct berth__header *h) {
  if (h->magic != BERTH__MAGIC || h->major != BERTH__MAJOR) berth__stop(BERTH_TEXT("berth: the host's snapshot is of another ABI"));
  for (uint32_t id = 0; id < 512; id++) {
    const struct berth__place *p = berth__place(id);
    uint32_t n = 0;
    struct berth__column *columns = p == NULL ? NULL : berth__columns_at(c, p, &n);
    if (n > 0) __builtin_memset(columns, 0, n * sizeof *columns);
  }
  __builtin_memset(c->tables, 0, sizeof c->tables);
  c->header = h;
  c->layout = h->layout;
  const struct berth__table *tables = berth__view(h->tables, h->n_tables, sizeof *tables);
  for (uint32_t i = 0; i < h->n_tables; i++) {
    if (tables[i].id >= BERTH__TABLES) continue; // unknown tables are skipped (ABI-4.5)
    c->tables[tables[i].id] = &tables[i];
    const struct berth__column_entry *entries = berth__view(tables[i].columns, tables[i].n_columns, sizeof *entries);
    for (uint32_t k = 0; k < tables[i].n_columns; k++) berth__set_column(c, &entries[k]);
  }
}

// Rebuilds the columns if the layout changed.
BERTH__FN void berth__columns_refresh(struct berth__columns *c, uint32_t address) {
  const struct berth__header *h = berth__view(address, 1, sizeof *h);
  if (c->header != h || c->layout != h->layout) berth__columns_read(c, h);
}

// The rows of a table; 0 if it is not there.
BERTH__FN uint32_t berth__rows(uint32_t table) {
  const struct berth__table *t = berth__columns.tables[table];
  return t == NULL ? 0 : t->n_rows;
}

BERTH__FN BerthText berth__string(uint32_t id) { return BERTH__LIST(BerthText, berth__columns.strings, id, "strings", "the id"); }

/// The string of an id; the empty text for BERTH_ABSENT.
BERTH__FN BerthText berth_text(BerthId id) { return id == BERTH_ABSENT ? (BerthText){"", 0} : berth__string(id); }

// ---- constants.h

// Constant strings whose ids are known in every call.

struct berth__const {
  BerthId id; // in this call
  uint32_t hash;
  BerthText text;
  struct berth__const *next; // of all constants
};

/// A constant string, whose id is known in every call. Create it in setup or configure,
/// by berth_const.
typedef const struct berth__const *BerthConst;

struct berth__constants {
  struct berth__const *first;
  struct berth__const **places; // by hash, at most half full
  uint32_t n, n_places;         // the latter a power of two
  uint64_t lengths;             // bit n: there is a constant of n bytes; bit 63: or more
  uint32_t scanned; // the strings before this id; that of id 0 is empty (ABI-4.13)
  uint64_t epoch;
};

extern struct berth__constants berth__constants;

// FNV-1a.
#define BERTH__HASH 0x811c9dc5u

BERTH__FN uint32_t berth__hash(uint32_t hash, BerthText text) {
  for (uint32_t i = 0; i < text.n; i++) hash = (hash ^ (uint8_t)text.at[i]) * 0x01000193u;
  return hash;
}

// The place of a text: that of its constant, or a free one.
BERTH__FN struct berth__const **berth__const_place(BerthText text, uint32_t hash) {
  struct berth__constants *c = &berth__constants;
  for (uint32_t i = hash;; i++) {
    struct berth__const **place = &c->places[i & (c->n_places - 1)];
    if (*place == NULL || ((*place)->hash == hash && berth__equals((*place)->text, text))) return place;
  }
}

/// Returns a constant string, whose id is known in every call. The text is copied.
#define berth_const(text) berth__const(BERTH_TEXT(text))

BERTH__COLD BerthConst berth__const(BerthText text) {
  struct berth__constants *c = &berth__constants;
  if (2 * (c->n + 1) > c->n_places) {
    c->n_places = c->n_places == 0 ? 16 : 2 * c->n_places;
    c->places = berth__keep_zero(c->n_places, sizeof *c->places);
    for (struct berth__const *known = c->first; known != NULL; known = known->next) *berth__const_place(known->text, known->hash) = known;
  }
  uint32_t hash = berth__hash(BERTH__HASH, text);
  struct berth__const **place = berth__const_place(text, hash);
  if (*place == NULL) {
    struct berth__const *made = berth_keep(sizeof *made);
    *made = (struct berth__const){BERTH_ABSENT, hash, berth__keep_text(text), c->first};
    *place = c->first = made;
    c->n++;
    c->lengths |= (uint64_t)1 << (text.n < 63 ? text.n : 63);
    c->scanned = 1; // look at all strings again
  }
  return *place;
}

// Looks at the strings that are new. The dictionary only grows within an epoch (ABI-4.6).
BERTH__FN void berth__constants_resolve(void) {
  struct berth__constants *c = &berth__constants;
  uint32_t rows = berth__rows(BERTH__STRINGS);
  uint64_t epoch = berth__columns.header->epoch;
  if (c->n == 0 || rows == 0 || (rows == c->scanned && epoch == c->epoch)) return;
  if (epoch != c->epoch || rows < c->scanned) {
    for (struct berth__const *known = c->first; known != NULL; known = known->next) known->id = BERTH_ABSENT;
    c->scanned = 1;
    c->epoch = epoch;
  }
  for (uint32_t id = c->scanned; id < rows; id++) {
    BerthText text = berth__string(id);
    if ((c->lengths >> (text.n < 63 ? text.n : 63) & 1) == 0) continue;
    struct berth__const *known = *berth__const_place(text, berth__hash(BERTH__HASH, text));
    if (known != NULL) known->id = id;
  }
  c->scanned = rows;
}

/// The string's id in this call; BERTH_ABSENT if nothing in the snapshot, and not the pod, has the
/// string. Compare with care: BERTH_ABSENT is also the id of a label that is not there, see
/// berth_const_is.
BERTH__HOT BerthId berth_const_id(BerthConst c) { return c->id; }

/// Reports whether an id is that of the constant. BERTH_ABSENT never is.
BERTH__HOT bool berth_const_is(BerthConst c, BerthId id) { return id != BERTH_ABSENT && id == c->id; }

/// The string.
BERTH__HOT BerthText berth_const_text(BerthConst c) { return c->text; }

// ---- reasons.h

// Statuses, and reason sets (ABI-3.6) within the limits of section 10: what does not fit has no
// reason, so that it is not a fault (ABI-3.8).

/// A reason that people read, made by berth_reason.
typedef uint16_t BerthReason;

/// No reason.
#define BERTH_NO_REASON ((BerthReason)0)

/// The answer to a call, or for one node of a call: a code, and a reason.
typedef uint32_t BerthStatus;

/// The plugin has no objection.
#define BERTH_SUCCESS ((BerthStatus)BERTH_CODE_SUCCESS)
/// Of pre_filter, pre_score and prepare: nothing to do here for this pod; and of bind: let the next
/// plugin bind it.
#define BERTH_SKIP ((BerthStatus)BERTH_CODE_SKIP)
/// Of permit: bind the pod when the plugin allows it.
#define BERTH_WAIT ((BerthStatus)BERTH_CODE_WAIT)

BERTH__HOT BerthStatus berth__status(BerthCode code, BerthReason reason) { return (BerthStatus)code | (BerthStatus)reason << 8; }

/// The pod does not fit, and removing other pods could help: preemption considers the node.
BERTH__HOT BerthStatus berth_unschedulable(BerthReason reason) { return berth__status(BERTH_CODE_UNSCHEDULABLE, reason); }

/// The pod does not fit, and removing pods cannot help: preemption leaves the node alone.
BERTH__HOT BerthStatus berth_unschedulable_and_unresolvable(BerthReason reason) {
  return berth__status(BERTH_CODE_UNSCHEDULABLE_AND_UNRESOLVABLE, reason);
}

/// The pod has to wait for an event that the plugin registered.
BERTH__HOT BerthStatus berth_pending(BerthReason reason) { return berth__status(BERTH_CODE_PENDING, reason); }

/// The plugin failed.
BERTH__HOT BerthStatus berth_error(BerthReason reason) { return berth__status(BERTH_CODE_ERROR, reason); }

/// The status's code.
BERTH__HOT BerthCode berth_status_code(BerthStatus status) { return (BerthCode)(status & 0xFF); }

/// The status's reason; BERTH_NO_REASON for none.
BERTH__HOT BerthReason berth_status_reason(BerthStatus status) { return (BerthReason)(status >> 8); }

// A set, as the host reads it: the texts follow each other at an address.
struct berth__reasons {
  struct berth__room sets;   // of berth__text
  struct berth__room hashes; // of uint32_t, to find a set again
  uint32_t lasting;          // sets that were not made in a call
  uint32_t told;             // sets that a call told the host of
  uint32_t bytes, lasting_bytes;
  bool in_call;
};

extern struct berth__reasons berth__reasons;

/// Returns a reason of one or more texts, up to 16, which people read in events; kube-scheduler's
/// words are best where it has them ("node(s) had …").
///
/// A reason created in setup or configure is permanent, and using it costs nothing. One created
/// in a call is valid for that call. A call, of all nodes or of a block of them, has room for 1,024
/// reasons of 65,536 bytes in all; further ones are BERTH_NO_REASON. So a reason that is different
/// for every node does not scale.
#define berth_reason(...) berth_reason_of(BERTH__TEXTS(__VA_ARGS__))

// Reports whether a set has these texts.
BERTH__FN bool berth__reason_is(const struct berth__text *set, const BerthText *texts, uint32_t n) {
  if (set->length != n) return false;
  const struct berth__text *known = berth__pointer(set->address);
  for (uint32_t i = 0; i < n; i++) {
    BerthText text = {berth__pointer(known[i].address), known[i].length};
    if (!berth__equals(text, texts[i])) return false;
  }
  return true;
}

/// Returns a reason of n texts.
BERTH__COLD BerthReason berth_reason_of(const BerthText *given, uint32_t n) {
  struct berth__reasons *r = &berth__reasons;
  BerthText texts[BERTH__MAX_REASON_TEXTS];
  uint32_t size = 0, hash = BERTH__HASH;
  if (n > BERTH__MAX_REASON_TEXTS) n = BERTH__MAX_REASON_TEXTS;
  if (n == 0) return BERTH_NO_REASON;
  for (uint32_t i = 0; i < n; i++) {
    texts[i] = berth__cut(berth__utf8(given[i]), BERTH__MAX_TEXT);
    size += texts[i].n;
    hash = berth__hash(hash, texts[i]) + 1; // "ab", "c" is not "a", "bc"
  }
  struct berth__text *sets = (struct berth__text *)(void *)r->sets.at;
  for (uint32_t i = 0; i < r->sets.n; i++) {
    if (((uint32_t *)(void *)r->hashes.at)[i] == hash && berth__reason_is(&sets[i], texts, n)) return (BerthReason)(i + 1);
  }
  if (r->sets.n == BERTH__MAX_REASON_SETS || r->bytes + size > BERTH__MAX_TEXTS) return BERTH_NO_REASON;
  uint32_t head = n * (uint32_t)sizeof(struct berth__text);
  struct berth__text *set = r->in_call ? berth_scratch(head + size) : berth_keep(head + size);
  char *at = (char *)set + head;
  for (uint32_t i = 0; i < n; i++) {
    berth__copy(at, texts[i].at, texts[i].n);
    set[i] = (struct berth__text){berth__address(at), texts[i].n};
    at += texts[i].n;
  }
  *(struct berth__text *)berth__room_push(&r->sets, sizeof *set) = (struct berth__text){berth__address(set), n};
  *(uint32_t *)berth__room_push(&r->hashes, sizeof hash) = hash;
  r->bytes += size;
  if (!r->in_call) {
    r->lasting = r->sets.n;
    r->lasting_bytes = r->bytes;
  }
  return (BerthReason)r->sets.n;
}

// Forgets the reasons of the last call.
BERTH__FN void berth__reasons_begin(void) {
  struct berth__reasons *r = &berth__reasons;
  r->sets.n = r->hashes.n = r->lasting;
  r->bytes = r->lasting_bytes;
  r->in_call = true;
}

// ---- node.h

// Nodes, the pods on them and namespaces, as views of rows (SPEC.md, section 4).

/// A node, as a view of its row.
typedef struct { uint32_t row; } BerthNode;

/// A pod on a node, as a view of its slot.
typedef struct { uint32_t slot; } BerthPlacedPod;

/// A namespace, as a view of its row.
typedef struct { uint32_t row; } BerthNamespace;

/// Pods on a node, in no order.
typedef struct { const uint32_t *slots; uint32_t n; } BerthPods;

/// The number of the node's row in this instance. It means nothing else, and an answer must not
/// depend on it.
BERTH__HOT uint32_t berth_node_row(BerthNode node) { return node.row; }

/// The i-th of a list of pods.
BERTH__HOT BerthPlacedPod berth_pods_at(BerthPods pods, uint32_t i) {
  if (BERTH__RARE(i >= pods.n)) berth__stop(BERTH_TEXT("berth: no such pod"));
  return (BerthPlacedPod){pods.slots[i]};
}

// ---- node_fields.h

// What nodes, the pods on them and namespaces have. The functions name what the manifest must list.
// Generated from abi/fields.

/// metadata.name. Reads `node: name`.
BERTH__FN BerthText berth_node_name(BerthNode node) {
  return BERTH__LIST(BerthText, berth__columns.node_name, node.row, "node", "name");
}

/// spec.unschedulable. Reads `node: flags`.
BERTH__HOT bool berth_node_unschedulable(BerthNode node) {
  return (BERTH__CELL(uint8_t, berth__columns.node_flags, node.row, "node", "flags") & 1) != 0;
}

/// status.allocatable, in milli-CPU, bytes or a count. Reads `node: allocatable`.
BERTH__HOT int64_t berth_node_allocatable(BerthNode node, BerthResource r) {
  return BERTH__CELL(int64_t, berth__columns.node_allocatable[r.number], node.row, "node", "allocatable, or resources the resource");
}

/// The sum of the requests of the pods on the node; for `pods` their number. Reads `node: requested`.
BERTH__HOT int64_t berth_node_requested(BerthNode node, BerthResource r) {
  return BERTH__CELL(int64_t, berth__columns.node_requested[r.number], node.row, "node", "requested, or resources the resource");
}

/// Milli-CPU and bytes requested, where a container without a request counts 100 milli-CPU and 200 MiB. Reads
/// `node: nonZeroRequested`.
BERTH__FN BerthNonZero berth_node_non_zero_requested(BerthNode node) {
  const struct berth__column *c = berth__columns.node_non_zero_requested;
  return (BerthNonZero){BERTH__CELL(int64_t, c[0], node.row, "node", "nonZeroRequested"),
                        BERTH__CELL(int64_t, c[1], node.row, "node", "nonZeroRequested")};
}

/// All labels, unordered. Reads `node: labels`.
BERTH__HOT BerthPairs berth_node_labels(BerthNode node) {
  return BERTH__LIST(BerthPairs, berth__columns.node_labels, node.row, "node", "labels");
}

/// The value of any label key, found among all labels; BERTH_ABSENT if there is none. Reads `node: labels`.
BERTH__HOT BerthId berth_node_label_by_key(BerthNode node, BerthId key) {
  return berth_pairs_find(berth_node_labels(node), key);
}

/// The value of a declared annotation key; BERTH_ABSENT if the node does not have it. Reads `nodeAnnotations`.
BERTH__HOT BerthId berth_node_annotation(BerthNode node, BerthNodeAnnotation key) {
  return BERTH__CELL(BerthId, berth__columns.node_annotation[key.number], node.row, "nodeAnnotations", "the key");
}

/// spec.taints. Reads `node: taints`.
BERTH__HOT BerthTaints berth_node_taints(BerthNode node) {
  return BERTH__LIST(BerthTaints, berth__columns.node_taints, node.row, "node", "taints");
}

/// The host ports in use. Reads `node: ports`.
BERTH__HOT BerthPorts berth_node_ports(BerthNode node) {
  return BERTH__LIST(BerthPorts, berth__columns.node_ports, node.row, "node", "ports");
}

/// status.images, an entry a name. Reads `node: images`.
BERTH__HOT BerthImages berth_node_images(BerthNode node) {
  return BERTH__LIST(BerthImages, berth__columns.node_images, node.row, "node", "images");
}

/// The status of a declared type of condition. Reads `nodeConditions`.
BERTH__HOT BerthCondition berth_node_condition(BerthNode node, BerthNodeCondition type) {
  return (BerthCondition)BERTH__CELL(uint8_t, berth__columns.node_condition[type.number], node.row, "nodeConditions", "the type");
}

/// The pods on the node that the plugin may see. Reads `node: pods`.
BERTH__HOT BerthPods berth_node_pods(BerthNode node) {
  struct list { const uint32_t *at; uint32_t n; };
  struct list slots = BERTH__LIST(struct list, berth__columns.node_pods, node.row, "node", "pods");
  return (BerthPods){slots.at, slots.n};
}

/// The row's generation. Reads `node: generation`.
BERTH__HOT uint64_t berth_node_generation(BerthNode node) {
  return BERTH__CELL(uint64_t, berth__columns.node_generation, node.row, "node", "generation");
}

/// The value of a declared label key; BERTH_ABSENT if the node does not have it. Reads `nodeLabels`.
BERTH__HOT BerthId berth_node_label(BerthNode node, BerthNodeLabel key) {
  return BERTH__CELL(BerthId, berth__columns.node_label[key.number], node.row, "nodeLabels", "the key");
}

/// The value of the label topology.kubernetes.io/zone, or else of its older name; BERTH_ABSENT if the node has neither. Reads
/// `node: zone`.
BERTH__HOT BerthId berth_node_zone(BerthNode node) {
  return BERTH__CELL(BerthId, berth__columns.node_zone, node.row, "node", "zone");
}

/// status.capacity, in milli-CPU, bytes or a count; a change of it alone is no event. Reads `node: capacity`.
BERTH__HOT int64_t berth_node_capacity(BerthNode node, BerthResource r) {
  return BERTH__CELL(int64_t, berth__columns.node_capacity[r.number], node.row, "node", "capacity, or resources the resource");
}

/// metadata.creationTimestamp in seconds since 1970; 0 for none. Reads `node: createdAt`.
BERTH__HOT int64_t berth_node_created_at(BerthNode node) {
  return BERTH__CELL(int64_t, berth__columns.node_created_at, node.row, "node", "createdAt");
}

/// The pods that are nominated to the node and that the plugin may see. Reads `node: nominated`.
BERTH__HOT BerthPods berth_node_nominated(BerthNode node) {
  struct list { const uint32_t *at; uint32_t n; };
  struct list slots = BERTH__LIST(struct list, berth__columns.node_nominated, node.row, "node", "nominated");
  return (BerthPods){slots.at, slots.n};
}

/// What a declared feed says of the node, in the feed's unit; 0 if it has never said anything. Reads `feeds`.
BERTH__HOT int64_t berth_node_feed(BerthNode node, BerthFeed feed) {
  return BERTH__CELL(int64_t, berth__columns.node_feed[feed.number], node.row, "feeds", "the feed");
}

/// The state of what a declared feed says of the node. Reads `feeds`.
BERTH__HOT BerthFeedState berth_node_feed_state(BerthNode node, BerthFeed feed) {
  return (BerthFeedState)BERTH__CELL(uint8_t, berth__columns.node_feed_state[feed.number], node.row, "feeds", "the feed");
}

/// The sum of the requests of pods on the node that the samples of the declared feeds cannot contain, by the oldest of them. Reads
/// `node: requestedSince`.
BERTH__HOT int64_t berth_node_requested_since(BerthNode node, BerthResource r) {
  return BERTH__CELL(int64_t, berth__columns.node_requested_since[r.number], node.row, "node", "requestedSince, or resources the resource");
}

/// The values of a declared column of the node's object: integers, quantities in thousandths, times in seconds since 1970, or 0 and
/// 1. Reads `objectColumns`.
BERTH__HOT BerthNumbers berth_node_object_numbers(BerthNode node, BerthObjectColumn key) {
  return BERTH__LIST(BerthNumbers, ((struct berth__lists){berth__columns.node_object_numbers[key.number],
      berth__columns.node_object_numbers_arena[key.number]}), node.row, "objectColumns", "the column, or with another type or join");
}

/// The values of a declared column of type string of the node's object. Reads `objectColumns`.
BERTH__HOT BerthIds berth_node_object_texts(BerthNode node, BerthObjectColumn key) {
  return BERTH__LIST(BerthIds, ((struct berth__lists){berth__columns.node_object_texts[key.number],
      berth__columns.node_object_texts_arena[key.number]}), node.row, "objectColumns", "the column, or with another type or join");
}

/// metadata.namespace. Reads `pods: namespace`.
BERTH__HOT BerthId berth_placed_pod_namespace(BerthPlacedPod pod) {
  return BERTH__CELL(BerthId, berth__columns.placed_namespace, pod.slot, "pods", "namespace");
}

/// spec.priority. Reads `pods: priority`.
BERTH__HOT int32_t berth_placed_pod_priority(BerthPlacedPod pod) {
  return BERTH__CELL(int32_t, berth__columns.placed_priority, pod.slot, "pods", "priority");
}

/// What the pod requests of a resource. Reads `pods: requests`.
BERTH__HOT int64_t berth_placed_pod_request(BerthPlacedPod pod, BerthResource r) {
  return BERTH__CELL(int64_t, berth__columns.placed_requests[r.number], pod.slot, "pods", "requests, or resources the resource");
}

/// All labels, unordered. Reads `pods: labels`.
BERTH__HOT BerthPairs berth_placed_pod_labels(BerthPlacedPod pod) {
  return BERTH__LIST(BerthPairs, berth__columns.placed_labels, pod.slot, "pods", "labels");
}

/// The value of any label key, found among all labels; BERTH_ABSENT if there is none. Reads `pods: labels`.
BERTH__HOT BerthId berth_placed_pod_label_by_key(BerthPlacedPod pod, BerthId key) {
  return berth_pairs_find(berth_placed_pod_labels(pod), key);
}

/// The value of a declared annotation key, what plugins reserved included. Reads `podAnnotations`.
BERTH__HOT BerthId berth_placed_pod_annotation(BerthPlacedPod pod, BerthPodAnnotation key) {
  return BERTH__CELL(BerthId, berth__columns.placed_annotation[key.number], pod.slot, "podAnnotations", "the key");
}

/// `Kind/name` of the controlling owner; BERTH_ABSENT for none. Reads `pods: owner`.
BERTH__HOT BerthId berth_placed_pod_owner(BerthPlacedPod pod) {
  return BERTH__CELL(BerthId, berth__columns.placed_owner, pod.slot, "pods", "owner");
}

/// The value of a declared label key. Reads `podLabels`.
BERTH__HOT BerthId berth_placed_pod_label(BerthPlacedPod pod, BerthPodLabel key) {
  return BERTH__CELL(BerthId, berth__columns.placed_label[key.number], pod.slot, "podLabels", "the key");
}

/// Reports whether the pod is being deleted. Reads `pods: flags`.
BERTH__HOT bool berth_placed_pod_terminating(BerthPlacedPod pod) {
  return (BERTH__CELL(uint8_t, berth__columns.placed_flags, pod.slot, "pods", "flags") & 1) != 0;
}

/// metadata.uid. Reads `pods: uid`.
BERTH__FN BerthText berth_placed_pod_uid(BerthPlacedPod pod) {
  return BERTH__LIST(BerthText, berth__columns.placed_uid, pod.slot, "pods", "uid");
}

/// metadata.name. Reads `pods: name`.
BERTH__FN BerthText berth_placed_pod_name(BerthPlacedPod pod) {
  return BERTH__LIST(BerthText, berth__columns.placed_name, pod.slot, "pods", "name");
}

/// How much of a resource the pod may use; −1 if a container has no limit. Reads `pods: limits`.
BERTH__HOT int64_t berth_placed_pod_limit(BerthPlacedPod pod, BerthResource r) {
  return BERTH__CELL(int64_t, berth__columns.placed_limits[r.number], pod.slot, "pods", "limits, or resources the resource");
}

/// The QoS class: Guaranteed, Burstable or BestEffort. Reads `pods: qos`.
BERTH__HOT BerthId berth_placed_pod_qos(BerthPlacedPod pod) {
  return BERTH__CELL(BerthId, berth__columns.placed_qos, pod.slot, "pods", "qos");
}

/// When the pod got its node, in seconds since 1970: the time of the condition PodScheduled, or the host's while the API does not
/// say; 0 if neither is known. Reads `pods: assignedAt`.
BERTH__HOT int64_t berth_placed_pod_assigned_at(BerthPlacedPod pod) {
  return BERTH__CELL(int64_t, berth__columns.placed_assigned_at, pod.slot, "pods", "assignedAt");
}

/// metadata.creationTimestamp in seconds since 1970; 0 for none. Reads `pods: createdAt`.
BERTH__HOT int64_t berth_placed_pod_created_at(BerthPlacedPod pod) {
  return BERTH__CELL(int64_t, berth__columns.placed_created_at, pod.slot, "pods", "createdAt");
}

/// Reports whether status.phase is Running. Reads `pods: state`.
BERTH__HOT bool berth_placed_pod_running(BerthPlacedPod pod) {
  return (BERTH__CELL(uint8_t, berth__columns.placed_state, pod.slot, "pods", "state") & 1) != 0;
}

/// Reports whether the condition Ready is True. Reads `pods: state`.
BERTH__HOT bool berth_placed_pod_ready(BerthPlacedPod pod) {
  return (BERTH__CELL(uint8_t, berth__columns.placed_state, pod.slot, "pods", "state") & 2) != 0;
}

/// metadata.name; BERTH_ABSENT for an empty row. Reads `namespaces: name`.
BERTH__HOT BerthId berth_namespace_name(BerthNamespace namespace) {
  return BERTH__CELL(BerthId, berth__columns.namespace_name, namespace.row, "namespaces", "name");
}

/// All labels, unordered. Reads `namespaces: labels`.
BERTH__HOT BerthPairs berth_namespace_labels(BerthNamespace namespace) {
  return BERTH__LIST(BerthPairs, berth__columns.namespace_labels, namespace.row, "namespaces", "labels");
}

/// The value of any label key, found among all labels; BERTH_ABSENT if there is none. Reads `namespaces: labels`.
BERTH__HOT BerthId berth_namespace_label_by_key(BerthNamespace namespace, BerthId key) {
  return berth_pairs_find(berth_namespace_labels(namespace), key);
}

/// The value of a declared label key. Reads `namespaceLabels`.
BERTH__HOT BerthId berth_namespace_label(BerthNamespace namespace, BerthNamespaceLabel key) {
  return BERTH__CELL(BerthId, berth__columns.namespace_label[key.number], namespace.row, "namespaceLabels", "the key");
}

/// The sum of the requests of the namespace's pods on nodes; for `pods` their number. Reads `namespaces: requested`.
BERTH__HOT int64_t berth_namespace_requested(BerthNamespace namespace, BerthResource r) {
  return BERTH__CELL(int64_t, berth__columns.namespace_requested[r.number], namespace.row, "namespaces", "requested, or resources the resource");
}

/// The values of a declared column of the namespace's object: integers, quantities in thousandths, times in seconds since 1970, or 0
/// and 1. Reads `objectColumns`.
BERTH__HOT BerthNumbers berth_namespace_object_numbers(BerthNamespace namespace, BerthObjectColumn key) {
  return BERTH__LIST(BerthNumbers, ((struct berth__lists){berth__columns.namespace_object_numbers[key.number],
      berth__columns.namespace_object_numbers_arena[key.number]}), namespace.row, "objectColumns", "the column, or with another type or join");
}

/// The values of a declared column of type string of the namespace's object. Reads `objectColumns`.
BERTH__HOT BerthIds berth_namespace_object_texts(BerthNamespace namespace, BerthObjectColumn key) {
  return BERTH__LIST(BerthIds, ((struct berth__lists){berth__columns.namespace_object_texts[key.number],
      berth__columns.namespace_object_texts_arena[key.number]}), namespace.row, "objectColumns", "the column, or with another type or join");
}

// ---- snapshot.h

// The snapshot, its nodes and its namespaces.

/// Nodes: those of a row set, or n rows from lo on.
typedef struct {
  const uint32_t *rows; // NULL: lo …
  uint32_t lo, n;
} BerthNodes;

/// The i-th node.
BERTH__HOT BerthNode berth_nodes_at(BerthNodes nodes, uint32_t i) {
  if (BERTH__RARE(i >= nodes.n)) berth__stop(BERTH_TEXT("berth: no such node"));
  return (BerthNode){nodes.rows == NULL ? nodes.lo + i : nodes.rows[i]};
}

/// Names the dictionary of string ids.
BERTH__FN uint64_t berth_snapshot_epoch(void) { return berth__columns.header->epoch; }

/// Grows with each change of the snapshot.
BERTH__FN uint64_t berth_snapshot_generation(void) { return berth__columns.header->generation; }

/// This cycle's random number, the only randomness that an answer may depend on; 0 for points of
/// scope node.
BERTH__FN uint64_t berth_snapshot_seed(void) { return berth__columns.header->seed; }

/// All nodes that the instance holds.
BERTH__FN BerthNodes berth_snapshot_nodes(void) { return (BerthNodes){NULL, 0, berth__rows(BERTH__NODES)}; }

/// The nodes of post_filter and what filters said of them.
typedef struct {
  BerthNodes nodes;
  const uint8_t *codes;
} BerthJudged;

/// The verdict of the i-th node: why it is out, or success for a node that no filter judged.
BERTH__FN BerthCode berth_judged_code(BerthJudged judged, uint32_t i) {
  if (BERTH__RARE(i >= judged.nodes.n)) berth__stop(BERTH_TEXT("berth: no such node"));
  return (BerthCode)judged.codes[i];
}

/// The number of rows of the namespaces that have an object and that the plugin may see, the empty
/// ones included; none in the points before pre_filter and from reserve on. A point of scope node
/// must not let an answer depend on them (ABI-4.15). Reads `namespaces`.
BERTH__FN uint32_t berth_namespaces_len(void) { return berth__rows(BERTH__NAMESPACES); }

/// The i-th row. It is empty if its name is BERTH_ABSENT.
BERTH__FN BerthNamespace berth_namespaces_at(uint32_t i) {
  if (BERTH__RARE(i >= berth_namespaces_len())) berth__stop(BERTH_TEXT("berth: no such namespace"));
  return (BerthNamespace){i};
}

/// Finds the namespace of a name, such as that of a pod; false if it has no object. It looks at all
/// rows. Reads `namespaces: name`.
BERTH__FN bool berth_namespaces_find(BerthId name, BerthNamespace *found) {
  for (uint32_t i = 0; name != BERTH_ABSENT && i < berth_namespaces_len(); i++) {
    *found = (BerthNamespace){i};
    if (berth_namespace_name(*found) == name) return true;
  }
  return false;
}

// ---- pod_fields.h

// The fields of a pod record since ABI 1.1 (SPEC.md, section 6). Generated from abi/fields.

struct berth__later {
  const int64_t *created_at;
  const BerthId *priority_class;
  const BerthId *service_account;
  const BerthId *preemption_policy;
  const BerthId *group;
  const BerthId *qos;
  const int64_t *now;
  BerthIds claims;
  BerthContainers containers;
  struct berth__numbers container_amounts;
};

// Takes a field of one element, or a list. Unknown ids are skipped (ABI-6.2).
BERTH__FN void berth__later_read(struct berth__later *later, uint32_t id, uint32_t address, uint32_t count) {
  if (count < 1) return;
  switch (id) {
  case BERTH__POD_CREATED_AT: later->created_at = berth__view(address, 1, sizeof *later->created_at); break;
  case BERTH__POD_PRIORITY_CLASS: later->priority_class = berth__view(address, 1, sizeof *later->priority_class); break;
  case BERTH__POD_SERVICE_ACCOUNT: later->service_account = berth__view(address, 1, sizeof *later->service_account); break;
  case BERTH__POD_PREEMPTION_POLICY: later->preemption_policy = berth__view(address, 1, sizeof *later->preemption_policy); break;
  case BERTH__POD_GROUP: later->group = berth__view(address, 1, sizeof *later->group); break;
  case BERTH__POD_QOS: later->qos = berth__view(address, 1, sizeof *later->qos); break;
  case BERTH__POD_NOW: later->now = berth__view(address, 1, sizeof *later->now); break;
  case BERTH__POD_CLAIMS:
    later->claims = (BerthIds){berth__view(address, count, sizeof *later->claims.at), count};
    break;
  case BERTH__POD_CONTAINERS:
    later->containers = (BerthContainers){berth__view(address, count, sizeof *later->containers.at), count};
    break;
  case BERTH__POD_CONTAINER_AMOUNTS:
    later->container_amounts = (struct berth__numbers){berth__view(address, count, sizeof *later->container_amounts.at), count};
    break;
  }
}

// ---- pod.h

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

// ---- affinity.h

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

// ---- call.h

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

// ---- queue.h

// Input and output of queue_key (ABI-3.11, ABI-5.10).

/// How a pod stands in the queue.
typedef struct {
  int64_t time;      // at which the pod was queued, in nanoseconds since 1970
  uint32_t attempts; // tries so far
  uint32_t zero;
} BerthQueued;

/// The place of a pod in the queue: up to 64 bytes, to which queue_key appends one part after the
/// other, the most important first. Keys are compared byte by byte, and the smaller one is tried
/// first. The parts below are made so that their own order is that of the bytes; the descending ones
/// reverse it.
///
/// A key that becomes longer than 64 bytes fails the call. Where a part may be long, see
/// berth_key_room.
typedef struct {
  uint32_t length; // as appended, so it may be more than there is
  uint8_t bytes[BERTH__MAX_QUEUE_KEY];
} BerthKey;

_Static_assert(sizeof(BerthQueued) == 16 && sizeof(BerthKey) == 68, "ABI-3.11");

/// How many bytes still fit.
BERTH__COLD uint32_t berth_key_room(const BerthKey *key) {
  return key->length < BERTH__MAX_QUEUE_KEY ? BERTH__MAX_QUEUE_KEY - key->length : 0;
}

BERTH__COLD void berth__key_put(BerthKey *key, uint8_t b, uint8_t mask) {
  if (key->length < BERTH__MAX_QUEUE_KEY) key->bytes[key->length] = b ^ mask;
  key->length++;
}

/// Appends 8 bytes: a smaller number comes first.
BERTH__COLD void berth_key_append_u64(BerthKey *key, uint64_t v) {
  for (int shift = 56; shift >= 0; shift -= 8) berth__key_put(key, (uint8_t)(v >> shift), 0);
}

/// Appends 8 bytes: a larger number comes first.
BERTH__COLD void berth_key_append_u64_descending(BerthKey *key, uint64_t v) { berth_key_append_u64(key, ~v); }

/// Appends 8 bytes: a smaller number comes first, negative ones before 0.
BERTH__COLD void berth_key_append_i64(BerthKey *key, int64_t v) { berth_key_append_u64(key, (uint64_t)v ^ (uint64_t)1 << 63); }

/// Appends 8 bytes: a larger number comes first.
BERTH__COLD void berth_key_append_i64_descending(BerthKey *key, int64_t v) { berth_key_append_i64(key, ~v); }

BERTH__COLD void berth__key_append(BerthKey *key, BerthBytes bytes, uint8_t mask) {
  for (uint32_t i = 0; i < bytes.n; i++) berth__key_put(key, bytes.at[i], mask);
}

/// Appends bytes as they are: a part of a fixed length, or the last one.
BERTH__COLD void berth_key_append_bytes(BerthKey *key, BerthBytes bytes) { berth__key_append(key, bytes, 0); }

/// Appends inverted bytes: a larger one comes first.
BERTH__COLD void berth_key_append_bytes_descending(BerthKey *key, BerthBytes bytes) { berth__key_append(key, bytes, 0xFF); }

// The end of a text is 0 1 and a zero byte in it 0 255, so that the end is less than anything that
// goes on.
BERTH__COLD void berth__key_append_text(BerthKey *key, BerthText text, uint8_t mask) {
  for (uint32_t i = 0; i < text.n; i++) {
    berth__key_put(key, (uint8_t)text.at[i], mask);
    if (text.at[i] == 0) berth__key_put(key, 0xFF, mask);
  }
  berth__key_put(key, 0, mask);
  berth__key_put(key, 1, mask);
}

/// Appends a text of any length and two bytes that end it, so that parts after it do not mix with
/// it: texts are in the order of their bytes, a beginning of another one before it. A zero byte in it
/// takes two.
#define berth_key_append_text(key, text) berth__key_append_text(key, BERTH_TEXT(text), 0)

/// berth_key_append_text with inverted bytes.
#define berth_key_append_text_descending(key, text) berth__key_append_text(key, BERTH_TEXT(text), 0xFF)

// ---- event.h

// Cluster events (ABI-3.10).

/// The answer of hint, in the words of k8s.io/kube-scheduler/framework.
typedef enum {
  BERTH_QUEUE = BERTH_CODE_SUCCESS,   // after the event another try may succeed
  BERTH_QUEUE_SKIP = BERTH_CODE_SKIP, // the pod stays parked
} BerthHintResult;

/// A cluster event. It has objects of one kind: no old one if it was added, no new one if it was
/// deleted.
typedef const struct berth__event_record *BerthEvent;

/// The kind of the object.
BERTH__FN BerthEventKind berth_event_resource(BerthEvent event) { return (BerthEventKind)event->resource; }

/// What happened to it, as bits of BerthEventAction. An update may have several.
BERTH__FN uint32_t berth_event_actions(BerthEvent event) { return event->actions; }

/// Reports whether the event is of a resource and has one of some actions.
BERTH__FN bool berth_event_is(BerthEvent event, BerthEventKind resource, uint32_t actions) {
  return event->resource == (uint32_t)resource && (event->actions & actions) != 0;
}

/// Gets the pod as it was; its fields are those that the manifest lists of `pod`.
BERTH__FN bool berth_event_old_pod(BerthEvent event, BerthPod *pod) {
  *pod = &berth__calling.other;
  return event->old_pod.address != 0;
}

/// Gets the pod as it is.
BERTH__FN bool berth_event_new_pod(BerthEvent event, BerthPod *pod) {
  *pod = &berth__calling.newer;
  return event->new_pod.address != 0;
}

BERTH__FN bool berth__event_node(uint32_t row, BerthNode *node) {
  *node = (BerthNode){row};
  return row != UINT32_MAX;
}

/// Gets the node as it was, with what the manifest lists of it except the pods on it and what is
/// computed from them.
BERTH__FN bool berth_event_old_node(BerthEvent event, BerthNode *node) { return berth__event_node(event->old_node, node); }

/// Gets the node as it is.
BERTH__FN bool berth_event_new_node(BerthEvent event, BerthNode *node) { return berth__event_node(event->new_node, node); }

BERTH__FN BerthText berth__event_text(struct berth__text text) {
  return (BerthText){berth__view(text.address, text.length, 1), text.length};
}

/// metadata.namespace of an object that is neither a pod nor a node.
BERTH__FN BerthText berth_event_namespace(BerthEvent event) { return berth__event_text(event->namespace); }

/// metadata.name of an object that is neither a pod nor a node.
BERTH__FN BerthText berth_event_name(BerthEvent event) { return berth__event_text(event->name); }


// ---- serve.h

// What the functions of a module do around those of the plugin (SPEC.md, sections 3 and 5).

/// Nodes that pre_filter narrows down to.
typedef struct {
  struct berth__room rows; // of uint32_t
  bool counts;
} BerthRows;

extern BerthRows berth__row_set;

/// Empties the list: no node can fit, but those that are added.
BERTH__FN void berth_rows_reset(BerthRows *rows) {
  rows->rows.n = 0;
  rows->counts = true;
}

/// Adds a node. Nodes are added in the order of their row numbers, which is that of berth_nodes_at,
/// each once.
BERTH__FN void berth_rows_add(BerthRows *rows, BerthNode node) {
  uint32_t n = rows->rows.n;
  if (n > 0 && ((uint32_t *)(void *)rows->rows.at)[n - 1] >= node.row) {
    berth__stop(BERTH_TEXT("berth: rows must be added in the order of nodes, each once"));
  }
  rows->counts = true;
  *(uint32_t *)berth__room_push(&rows->rows, sizeof(uint32_t)) = node.row;
}

/// The number of nodes.
BERTH__FN uint32_t berth_rows_len(const BerthRows *rows) { return rows->rows.n; }

// Makes room for what is declared.
BERTH__COLD void berth__size(void) {
  berth__columns_start(&berth__columns);
  berth__pod_start(&berth__calling.pod);
  berth__pod_start(&berth__calling.other);
  berth__pod_start(&berth__calling.newer);
}

// Sets an instance up, once.
BERTH__FN void berth__start(void (*setup)(void)) {
  berth__declare();
  berth__size();
  setup();
}

// berth_configure. What is wrong goes to the log, so a module with a configuration has one.
BERTH__FN int32_t berth__configure(uint32_t address, uint32_t length, void (*configure)(BerthJson)) {
  BerthJsonText in;
  BerthJson config = berth_json_parse(&in, ((BerthText){berth__view(address, length, 1), length}));
  if (!berth_json_failed(config) && berth__bring(config)) berth__size();
  if (!berth_json_failed(config)) configure(config);
  if (!berth_json_failed(config)) return 0;
  berth__log(BERTH_FAILURE, in.error);
  return 1;
}

// Makes the views of a call, and returns its record.
BERTH__COLD struct berth__call *berth__begin(uint32_t call) {
  struct berth__calling *c = &berth__calling;
  c->record = berth__view(call, 1, sizeof *c->record);
  berth__scratch.used = 0;
  berth__columns_refresh(&berth__columns, c->record->header);
  berth__pod_read(&c->pod, c->record->pod, c->record->pod_size, 0);
  berth__constants_resolve();
  berth__reasons_begin();
  c->directives.n = c->texts = 0;
  return c->record;
}

// Writes the answer of the whole call. used tells that rows have reasons. Each set is told once even if
// nothing has it, so that the conformance kit can name those that never come up.
BERTH__COLD int32_t berth__finish(BerthStatus status, bool used) {
  struct berth__call *record = berth__calling.record;
  berth__reasons.in_call = false;
  record->status_reason = berth_status_reason(status);
  if (used || record->status_reason != 0 || berth__reasons.told < berth__reasons.sets.n) {
    berth__reasons.told = berth__reasons.sets.n;
    record->reason_sets = berth__address(berth__reasons.sets.at);
    record->n_reason_sets = berth__reasons.sets.n;
  }
  if (berth__calling.directives.n > 0) {
    record->directives = berth__address(berth__calling.directives.at);
    record->n_directives = berth__calling.directives.n;
  }
  return (int32_t)berth_status_code(status);
}

// The rows asked.
BERTH__FN BerthNodes berth__asked(const struct berth__call *record, uint32_t lo) {
  const uint32_t *rows = record->rows == 0 ? NULL : berth__view(record->rows, record->n_rows, sizeof *rows);
  return (BerthNodes){rows, lo, record->n_rows};
}

// The answers of a call, which the host has zeroed (ABI-3.2).
struct berth__answers {
  uint8_t *codes;
  uint16_t *reasons;
  bool used;
};

BERTH__FN struct berth__answers berth__answers(const struct berth__call *record) {
  return (struct berth__answers){berth__view(record->codes, record->n_rows, 1), berth__view(record->reasons, record->n_rows, 2), false};
}

BERTH__HOT void berth__answer(struct berth__answers *a, uint32_t i, BerthStatus status) {
  if (status == BERTH_SUCCESS) return; // the default is success
  BerthReason reason = berth_status_reason(status);
  a->codes[i] = (uint8_t)berth_status_code(status);
  a->reasons[i] = reason;
  a->used |= reason != BERTH_NO_REASON;
}

BERTH__FN BerthStatus berth__no_prepare(BerthPod pod) {
  (void)pod;
  return BERTH_SUCCESS;
}

// berth_filter.
BERTH__HOT int32_t berth__filter(uint32_t call, uint32_t lo, BerthStatus (*prepare)(BerthPod), BerthStatus (*filter)(BerthPod, BerthNode)) {
  const struct berth__call *record = berth__begin(call);
  BerthPod pod = &berth__calling.pod;
  BerthStatus prepared = prepare(pod);
  if (prepared == BERTH_SKIP) return berth__finish(BERTH_SUCCESS, false);
  if (berth_status_code(prepared) == BERTH_CODE_ERROR) return berth__finish(prepared, false);
  struct berth__answers a = berth__answers(record);
  uint32_t n = record->n_rows;
  if (prepared != BERTH_SUCCESS) {
    for (uint32_t i = 0; i < n; i++) berth__answer(&a, i, prepared);
  } else if (record->rows == 0) {
    for (uint32_t i = 0; i < n; i++) berth__answer(&a, i, filter(pod, (BerthNode){lo + i}));
  } else {
    const uint32_t *rows = berth__asked(record, lo).rows;
    for (uint32_t i = 0; i < n; i++) berth__answer(&a, i, filter(pod, (BerthNode){rows[i]}));
  }
  return berth__finish(BERTH_SUCCESS, a.used);
}

// The scores of a call.
BERTH__FN int64_t *berth__scores(const struct berth__call *record) { return berth__view(record->scores, record->n_rows, 8); }

// berth_score.
BERTH__HOT int32_t berth__score(uint32_t call, uint32_t lo, BerthStatus (*prepare)(BerthPod), int64_t (*score)(BerthPod, BerthNode)) {
  const struct berth__call *record = berth__begin(call);
  BerthPod pod = &berth__calling.pod;
  BerthStatus prepared = prepare(pod);
  if (prepared == BERTH_SKIP) return berth__finish(BERTH_SUCCESS, false);
  if (prepared != BERTH_SUCCESS) return berth__finish(berth_error(berth_status_reason(prepared)), false);
  BerthNodes nodes = berth__asked(record, lo);
  int64_t *scores = berth__scores(record);
  for (uint32_t i = 0; i < nodes.n; i++) scores[i] = score(pod, berth_nodes_at(nodes, i));
  return berth__finish(BERTH_SUCCESS, false);
}

// ---- points.h

// The functions of the other points.

// berth_pre_filter.
BERTH__HOT int32_t berth__pre_filter(uint32_t call, BerthStatus (*pre_filter)(BerthPod, BerthNodes, BerthRows *)) {
  struct berth__call *record = berth__begin(call);
  BerthRows *rows = &berth__row_set;
  rows->rows.n = 0;
  rows->counts = false;
  BerthStatus status = pre_filter(&berth__calling.pod, berth_snapshot_nodes(), rows);
  if (rows->counts && status == BERTH_SUCCESS) {
    record->row_set = rows->rows.n == 0 ? 0 : berth__address(rows->rows.at);
    record->n_row_set = rows->rows.n;
    record->has_row_set = 1;
  }
  return berth__finish(status, false);
}

// The i-th pod of the list, read into a view.
BERTH__FN BerthPod berth__listed(const struct berth__call *record, uint32_t i, struct berth__pod *to) {
  const struct berth__pod_entry *e = berth__view(record->pods, record->n_rows, sizeof *e);
  berth__pod_read(to, e[i].address, e[i].size, (int32_t)i);
  return to;
}

// berth_pre_enqueue.
BERTH__HOT int32_t berth__pre_enqueue(uint32_t call, BerthStatus (*pre_enqueue)(BerthPod)) {
  const struct berth__call *record = berth__begin(call);
  struct berth__answers a = berth__answers(record);
  for (uint32_t i = 0; i < record->n_rows; i++) {
    berth__answer(&a, i, pre_enqueue(berth__listed(record, i, &berth__calling.pod)));
  }
  return berth__finish(BERTH_SUCCESS, a.used);
}

// berth_queue_key.
BERTH__HOT int32_t berth__queue_key(uint32_t call, void (*queue_key)(BerthPod, BerthQueued, BerthKey *)) {
  const struct berth__call *record = berth__begin(call);
  uint32_t n = record->n_rows;
  const BerthQueued *queued = berth__view(record->queue, n, sizeof *queued);
  BerthKey *keys = berth__view(record->keys, n, sizeof *keys);
  for (uint32_t i = 0; i < n; i++) {
    queue_key(berth__listed(record, i, &berth__calling.pod), queued[i], &keys[i]);
    if (BERTH__RARE(keys[i].length > BERTH__MAX_QUEUE_KEY)) {
      BerthText length = berth_decimal(keys[i].length);
      __builtin_memset(keys, 0, n * sizeof *keys);
      return berth__finish(berth_error(berth_reason(berth_concat("the queue key has ", length, " bytes, at most 64 are allowed"))), false);
    }
  }
  return berth__finish(BERTH_SUCCESS, false);
}

// berth_hint.
BERTH__HOT int32_t berth__hint(uint32_t call, BerthHintResult (*hint)(BerthEvent, BerthPod)) {
  const struct berth__call *record = berth__begin(call);
  struct berth__calling *c = &berth__calling;
  BerthEvent event = berth__view(record->event, 1, sizeof *event);
  berth__pod_read(&c->other, event->old_pod.address, event->old_pod.size, -1);
  berth__pod_read(&c->newer, event->new_pod.address, event->new_pod.size, -1);
  uint8_t *codes = berth__view(record->codes, record->n_rows, 1);
  for (uint32_t i = 0; i < record->n_rows; i++) codes[i] = (uint8_t)hint(event, berth__listed(record, i, &c->pod));
  return berth__finish(BERTH_SUCCESS, false);
}

// berth_add_pod and berth_remove_pod.
BERTH__HOT int32_t berth__change_pod(uint32_t call, uint32_t lo, BerthStatus (*change)(BerthPod, BerthPod, BerthNode)) {
  const struct berth__call *record = berth__begin(call);
  berth__calling.pod.index = -1; // the list has the other one
  BerthPod other = berth__listed(record, 0, &berth__calling.other);
  return berth__finish(change(&berth__calling.pod, other, (BerthNode){lo}), false);
}

// berth_post_filter.
BERTH__HOT int32_t berth__post_filter(uint32_t call, uint32_t lo, BerthStatus (*post_filter)(BerthPod, BerthJudged)) {
  const struct berth__call *record = berth__begin(call);
  BerthJudged judged = {berth__asked(record, lo), berth__view(record->codes, record->n_rows, 1)};
  return berth__finish(post_filter(&berth__calling.pod, judged), false);
}

// berth_pre_score.
BERTH__HOT int32_t berth__pre_score(uint32_t call, uint32_t lo, BerthStatus (*pre_score)(BerthPod, BerthNodes)) {
  const struct berth__call *record = berth__begin(call);
  return berth__finish(pre_score(&berth__calling.pod, berth__asked(record, lo)), false);
}

// berth_normalize.
BERTH__HOT int32_t berth__normalize(uint32_t call, uint32_t lo, BerthStatus (*normalize)(BerthPod, BerthNodes, int64_t *)) {
  const struct berth__call *record = berth__begin(call);
  return berth__finish(normalize(&berth__calling.pod, berth__asked(record, lo), berth__scores(record)), false);
}

// A point about a pod and the node that was chosen, which is row 0.
BERTH__HOT int32_t berth__chosen(uint32_t call, BerthStatus (*point)(BerthPod, BerthNode)) {
  berth__begin(call);
  return berth__finish(point(&berth__calling.pod, (BerthNode){0}), false);
}

// berth_permit.
BERTH__HOT int32_t berth__permit(uint32_t call, BerthStatus (*permit)(BerthPod, BerthNode, uint64_t *)) {
  struct berth__call *record = berth__begin(call);
  uint64_t wait = 0;
  BerthStatus status = permit(&berth__calling.pod, (BerthNode){0}, &wait);
  if (status == BERTH_WAIT) record->wait = wait;
  return berth__finish(status, false);
}

// ---- plugin.h

// What makes a file a plugin: BERTH_PLUGIN once, and a line for each extension point.

// The functions of a module (SPEC.md, section 5). What follows defines those that the plugin has.
uint32_t berth_abi(void);
uint32_t berth_alloc(uint32_t size, uint32_t align);
int32_t berth_configure(uint32_t address, uint32_t length);
int32_t berth_pre_enqueue(uint32_t call, uint32_t lo, uint32_t hi);
int32_t berth_queue_key(uint32_t call, uint32_t lo, uint32_t hi);
int32_t berth_hint(uint32_t call, uint32_t lo, uint32_t hi);
int32_t berth_pre_filter(uint32_t call);
int32_t berth_add_pod(uint32_t call, uint32_t lo, uint32_t hi);
int32_t berth_remove_pod(uint32_t call, uint32_t lo, uint32_t hi);
int32_t berth_filter(uint32_t call, uint32_t lo, uint32_t hi);
int32_t berth_post_filter(uint32_t call, uint32_t lo, uint32_t hi);
int32_t berth_pre_score(uint32_t call, uint32_t lo, uint32_t hi);
int32_t berth_score(uint32_t call, uint32_t lo, uint32_t hi);
int32_t berth_normalize(uint32_t call, uint32_t lo, uint32_t hi);
int32_t berth_reserve(uint32_t call);
int32_t berth_unreserve(uint32_t call);
int32_t berth_permit(uint32_t call);
int32_t berth_pre_bind(uint32_t call);
int32_t berth_bind(uint32_t call);
int32_t berth_post_bind(uint32_t call);

#ifdef __wasm__

#define BERTH__EXPORT(name) __attribute__((export_name(#name), used))

// The manifest is at hand as text, for handles, and in the section that the host reads (ABI-1.5).
#define BERTH__MANIFEST(file) \
  __asm__(".section .rodata.berth__manifest,\"\",@\n" \
          ".globl berth__manifest\n.hidden berth__manifest\nberth__manifest:\n" \
          ".incbin \"" file "\"\n.Lberth_manifest_end:\n.int8 0\n" \
          ".size berth__manifest, . - berth__manifest\n" \
          ".section .rodata.berth__manifest_size,\"\",@\n" \
          ".globl berth__manifest_size\n.hidden berth__manifest_size\n.p2align 2\nberth__manifest_size:\n" \
          ".int32 .Lberth_manifest_end - berth__manifest\n.size berth__manifest_size, 4\n" \
          ".section .custom_section.berth.manifest,\"\",@\n.incbin \"" file "\"\n" \
          ".text\n")

// The compiler writes calls of these for loops and structures, with or without a library.
#define BERTH__LIBRARY \
  __attribute__((weak, no_builtin)) void *memcpy(void *restrict to, const void *restrict from, size_t n) { \
    for (size_t i = 0; i < n; i++) ((uint8_t *)to)[i] = ((const uint8_t *)from)[i]; \
    return to; \
  } \
  __attribute__((weak, no_builtin)) void *memmove(void *to, const void *from, size_t n) { \
    if ((uint8_t *)to <= (const uint8_t *)from) return memcpy(to, from, n); \
    for (size_t i = n; i-- > 0;) ((uint8_t *)to)[i] = ((const uint8_t *)from)[i]; \
    return to; \
  } \
  __attribute__((weak, no_builtin)) void *memset(void *to, int b, size_t n) { \
    for (size_t i = 0; i < n; i++) ((uint8_t *)to)[i] = (uint8_t)b; \
    return to; \
  } \
  __attribute__((weak, no_builtin)) int memcmp(const void *a, const void *b, size_t n) { \
    for (size_t i = 0; i < n; i++) { \
      int difference = ((const uint8_t *)a)[i] - ((const uint8_t *)b)[i]; \
      if (difference != 0) return difference; \
    } \
    return 0; \
  } \
  __attribute__((weak, no_builtin)) size_t strlen(const char *s) { \
    size_t n = 0; \
    while (s[n] != 0) n++; \
    return n; \
  }

#else // natively

#define BERTH__EXPORT(name)

#ifdef __APPLE__
#define BERTH__SYMBOL(name) ".globl _" name "\n_" name ":\n"
#define BERTH__READ_ONLY ".const\n"
#else
#define BERTH__SYMBOL(name) ".globl " name "\n" name ":\n"
#define BERTH__READ_ONLY ".section .rodata\n"
#endif

#define BERTH__MANIFEST(file) \
  __asm__(BERTH__READ_ONLY BERTH__SYMBOL("berth__manifest") ".incbin \"" file "\"\nLberth_manifest_end:\n.byte 0\n.p2align 2\n" \
          BERTH__SYMBOL("berth__manifest_size") ".long Lberth_manifest_end - " BERTH__NAME("berth__manifest") "\n.text\n")

#ifdef __APPLE__
#define BERTH__NAME(name) "_" name
#else
#define BERTH__NAME(name) name
#endif

#define BERTH__LIBRARY

/// Gives a plugin that runs natively, in a test, its linear memory: size bytes, aligned to 8, of
/// which the first used are the test's own. Then the functions of the module can be called, berth_abi
/// first. Each call of this function makes a new instance.
BERTH__FN void berth_native_start(void *memory, uint32_t size, uint32_t used, const BerthHost *host) {
  berth__memory = (struct berth__memory){used, size, memory, *host};
  berth__scratch = (struct berth__scratch){NULL, 0, 0};
  __builtin_memset(&berth__columns, 0, sizeof berth__columns);
  __builtin_memset(&berth__constants, 0, sizeof berth__constants);
  __builtin_memset(&berth__reasons, 0, sizeof berth__reasons);
  __builtin_memset(&berth__calling, 0, sizeof berth__calling);
  __builtin_memset(&berth__row_set, 0, sizeof berth__row_set);
}

#endif

/// BERTH_PLUGIN("manifest.json", setup) makes the program a plugin, in one of its files. The name is
/// that of the manifest, relative to the folders that -I names; berth plugin build names those of the
/// plugin and the one above. setup is a function void(void) that gets handles and makes constants and
/// reasons; it is called once.
#define BERTH_PLUGIN(manifest, setup) \
  BERTH__MANIFEST(manifest); \
  BERTH__LIBRARY \
  struct berth__memory berth__memory; \
  struct berth__scratch berth__scratch; \
  struct berth__declared berth__declared; \
  struct berth__columns berth__columns; \
  struct berth__constants berth__constants; \
  struct berth__reasons berth__reasons; \
  struct berth__calling berth__calling; \
  BerthRows berth__row_set; \
  BERTH__EXPORT(berth_abi) uint32_t berth_abi(void) { \
    berth__start(setup); \
    return BERTH_ABI_VERSION; \
  } \
  BERTH__EXPORT(berth_alloc) uint32_t berth_alloc(uint32_t size, uint32_t align) { return berth__alloc(size, align); } \
  BERTH__END

// What follows a macro's last brace takes the semicolon after the macro.
#define BERTH__END struct berth__end

#define BERTH__ROWS(export, call_of) \
  BERTH__EXPORT(export) int32_t export(uint32_t call, uint32_t lo, uint32_t hi) { \
    (void)lo, (void)hi; \
    return call_of; \
  } \
  BERTH__END

#define BERTH__ONE_POD(export, call_of) \
  BERTH__EXPORT(export) int32_t export(uint32_t call) { return call_of; } \
  BERTH__END

/// The functions below make a function of the plugin an extension point of the module. The exports of
/// a module are its points, so they must be those of the manifest's `points`.

/// void configure(BerthJson config) gets the configuration, once, before any point. The host has
/// checked it against the manifest's schema. A mistake that is noted in it refuses it and is shown to
/// the user, so it needs `log` in the list `host`.
#define BERTH_CONFIGURE(f) \
  BERTH__EXPORT(berth_configure) int32_t berth_configure(uint32_t address, uint32_t length) { return berth__configure(address, length, f); } \
  BERTH__END

/// BerthStatus pre_enqueue(BerthPod pod) lets a pod into the queue: success; or holds it back until an
/// event that the manifest lists: unschedulable, unschedulable_and_unresolvable, pending or error.
#define BERTH_PRE_ENQUEUE(f) BERTH__ROWS(berth_pre_enqueue, berth__pre_enqueue(call, f))

/// void queue_key(BerthPod pod, BerthQueued queued, BerthKey *key) appends the pod's place in the queue
/// to an empty key. It must depend on the pod, on queued and on the configuration alone. Pods of equal
/// keys are in the order of their times.
#define BERTH_QUEUE_KEY(f) BERTH__ROWS(berth_queue_key, berth__queue_key(call, f))

/// BerthHintResult hint(BerthEvent event, BerthPod pod) says whether after an event that the
/// manifest lists another try may succeed for a pod that the plugin rejected.
#define BERTH_HINT(f) BERTH__ROWS(berth_hint, berth__hint(call, f))

/// BerthStatus pre_filter(BerthPod pod, BerthNodes nodes, BerthRows *rows) looks at the pod once before
/// nodes are filtered. It may narrow the nodes down to rows. Skip leaves out filter for this pod. If all
/// points of the plugin are of scope node, nodes is empty and rows must be left alone.
#define BERTH_PRE_FILTER(f) BERTH__ONE_POD(berth_pre_filter, berth__pre_filter(call, f))

/// BerthStatus add_pod(BerthPod pod, BerthPod added, BerthNode node) brings up to date what pre_filter
/// put into the state, when the host wants to know what would be with another pod on a node:
/// success or error. The node's columns show it already; state is a copy for this node.
#define BERTH_ADD_POD(f) BERTH__ROWS(berth_add_pod, berth__change_pod(call, lo, f))

/// BerthStatus remove_pod(BerthPod pod, BerthPod removed, BerthNode node), likewise without a pod. A
/// plugin has both or none; one whose filter reads columns only needs neither.
#define BERTH_REMOVE_POD(f) BERTH__ROWS(berth_remove_pod, berth__change_pod(call, lo, f))

/// BerthStatus filter(BerthPod pod, BerthNode node) judges a node: success, unschedulable,
/// unschedulable_and_unresolvable, pending or error.
#define BERTH_FILTER(f) BERTH_PREPARED_FILTER(berth__no_prepare, f)

/// BERTH_PREPARED_FILTER(prepare, filter): BerthStatus prepare(BerthPod pod) is called at the start of
/// each call of filter for many nodes. It is where a plugin looks up what does not depend on the node;
/// variables that it sets must not depend on earlier calls. Success goes on to the nodes. Skip means
/// that the plugin has no objection to any node. Error fails the call. Another status is the answer for
/// every node of the call.
#define BERTH_PREPARED_FILTER(prepare, f) BERTH__ROWS(berth_filter, berth__filter(call, lo, prepare, f))

/// BerthStatus post_filter(BerthPod pod, BerthJudged nodes) is called when no node fits, with what the
/// filters of all plugins said of each. Success with berth_nominate nominates a node for the pod, and like
/// unschedulable_and_unresolvable keeps other plugins from trying; unschedulable lets them.
#define BERTH_POST_FILTER(f) BERTH__ROWS(berth_post_filter, berth__post_filter(call, lo, f))

/// BerthStatus pre_score(BerthPod pod, BerthNodes nodes) looks at the nodes that passed all filters,
/// once before they are scored. Skip leaves out score for this pod.
#define BERTH_PRE_SCORE(f) BERTH__ROWS(berth_pre_score, berth__pre_score(call, lo, f))

/// int64_t score(BerthPod pod, BerthNode node) rates a node: 0 to 100, or any number if scores are
/// normalised, or BERTH_NO_SCORE if the host normalises them.
#define BERTH_SCORE(f) BERTH_PREPARED_SCORE(berth__no_prepare, f)

/// BERTH_PREPARED_SCORE(prepare, score): as BERTH_PREPARED_FILTER; skip scores all nodes 0, and a
/// status other than success fails the call.
#define BERTH_PREPARED_SCORE(prepare, f) BERTH__ROWS(berth_score, berth__score(call, lo, prepare, f))

/// BerthStatus normalize(BerthPod pod, BerthNodes nodes, int64_t *scores) brings the scores of all
/// nodes, one a node, to 0 … 100.
#define BERTH_NORMALIZE(f) BERTH__ROWS(berth_normalize, berth__normalize(call, lo, f))

/// BerthStatus reserve(BerthPod pod, BerthNode node) takes what the pod needs on the node. In this point
/// and those after it the node is the chosen one, as it was when it was chosen, with its pods but without
/// this one; the pod shows what earlier points wrote on it. What reserve writes on the pod is visible to
/// the next pod at once, as annotations and labels of a pod on the node. It answers success,
/// unschedulable, unschedulable_and_unresolvable, pending or error.
#define BERTH_RESERVE(f) BERTH__ONE_POD(berth_reserve, berth__chosen(call, f))

/// BerthStatus unreserve(BerthPod pod, BerthNode node) is called when the pod does not get the node after
/// all, whether or not reserve was called. The host drops what reserve wrote. It answers success or
/// error. A plugin with unreserve needs reserve.
#define BERTH_UNRESERVE(f) BERTH__ONE_POD(berth_unreserve, berth__chosen(call, f))

/// BerthStatus permit(BerthPod pod, BerthNode node, uint64_t *wait) answers success, or wait to hold the
/// pod back until berth_allow names it in a call for another pod, at most *wait milliseconds and at most
/// 15 minutes; then the pod is rejected. It rejects the pod as reserve does.
#define BERTH_PERMIT(f) BERTH__ONE_POD(berth_permit, berth__permit(call, f))

/// BerthStatus pre_bind(BerthPod pod, BerthNode node) prepares the binding. What it writes on the pod goes
/// to the API only. It answers as reserve does.
#define BERTH_PRE_BIND(f) BERTH__ONE_POD(berth_pre_bind, berth__chosen(call, f))

/// BerthStatus bind(BerthPod pod, BerthNode node) answers success after berth_bind_pod, skip to leave the
/// pod to the next plugin, or as reserve does.
#define BERTH_BIND(f) BERTH__ONE_POD(berth_bind, berth__chosen(call, f))

/// BerthStatus post_bind(BerthPod pod, BerthNode node) is called after a pod was bound. It answers
/// success or error.
#define BERTH_POST_BIND(f) BERTH__ONE_POD(berth_post_bind, berth__chosen(call, f))


#endif
