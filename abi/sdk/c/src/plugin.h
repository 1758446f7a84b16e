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
