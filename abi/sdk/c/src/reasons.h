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
