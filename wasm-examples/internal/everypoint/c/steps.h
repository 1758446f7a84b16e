// Steps: what annotations say, and how it is carried out.

#include "../../../../abi/sdk/c/berth.h"

// What a point is about.
struct call {
  BerthPod pod;
  const BerthNode *node;     // from reserve on
  const BerthJudged *judged; // at post_filter
};

static BerthPublished published;
static double number;

static BerthText slice(BerthText s, uint32_t from, uint32_t to) { return (BerthText){s.at + from, to - from}; }

static bool begins(BerthText s, BerthText with) { return s.n >= with.n && berth_text_equals(slice(s, 0, with.n), with); }

// Where a byte is in a text; its length if it is not there.
static uint32_t find(BerthText s, char byte) {
  uint32_t i = 0;
  while (i < s.n && s.at[i] != byte) i++;
  return i;
}

static BerthText trim_left(BerthText s) {
  while (s.n > 0 && s.at[0] == ' ') s = slice(s, 1, s.n);
  return s;
}

static BerthText trim(BerthText s) {
  s = trim_left(s);
  while (s.n > 0 && s.at[s.n - 1] == ' ') s.n--;
  return s;
}

// Cuts off the first word.
static BerthText word(BerthText s, BerthText *rest) {
  uint32_t n = find(s, ' ');
  *rest = trim_left(slice(s, n, s.n));
  return slice(s, 0, n);
}

// Cuts off the next step that is not empty: its verb and the rest of it.
static bool next_step(BerthText *value, BerthText *verb, BerthText *rest) {
  while (value->n > 0) {
    uint32_t n = find(*value, ';');
    BerthText step = trim(slice(*value, 0, n));
    *value = slice(*value, n < value->n ? n + 1 : n, value->n);
    if (step.n == 0) continue;
    *verb = word(step, rest);
    return true;
  }
  return false;
}

static uint64_t varint(BerthBytes *b) {
  uint64_t v = 0;
  for (uint32_t shift = 0; b->n > 0 && shift < 64; shift += 7) {
    uint8_t c = *b->at++;
    b->n--;
    v |= (uint64_t)(c & 0x7F) << shift;
    if (c < 0x80) return v;
  }
  b->n = 0;
  return v;
}

// Returns a field of a protobuf message that has a length; empty if it does not have it.
static BerthBytes message_field(BerthBytes message, uint64_t number) {
  while (message.n > 0) {
    uint64_t tag = varint(&message), n = 0;
    switch (tag & 7) {
    case 0: varint(&message); continue;
    case 1: n = 8; break;
    case 2: n = varint(&message); break;
    case 5: n = 4; break;
    default: return (BerthBytes){NULL, 0};
    }
    if (n > message.n) n = message.n;
    if ((tag & 7) == 2 && tag >> 3 == number) return (BerthBytes){message.at, (uint32_t)n};
    message.at += n;
    message.n -= (uint32_t)n;
  }
  return message;
}

// metadata.name in a whole object: field 1 of field 1.
static BerthText metadata_name(BerthBytes object) { return berth_bytes_text(message_field(message_field(object, 1), 1)); }

static bool less(BerthText a, BerthText b) {
  for (uint32_t i = 0; i < a.n && i < b.n; i++) {
    if (a.at[i] != b.at[i]) return (uint8_t)a.at[i] < (uint8_t)b.at[i];
  }
  return a.n < b.n;
}

#include "sight.h"

static BerthText verdicts(BerthJudged judged) {
  BerthText *all = berth_scratch(judged.nodes.n * sizeof *all);
  for (uint32_t i = 0; i < judged.nodes.n; i++) {
    BerthText verdict = berth_concat(berth_node_name(berth_nodes_at(judged.nodes, i)), "=", berth_decimal(berth_judged_code(judged, i)));
    uint32_t k = i;
    for (; k > 0 && less(verdict, all[k - 1]); k--) all[k] = all[k - 1];
    all[k] = verdict;
  }
  BerthText joined = BERTH_TEXT("");
  for (uint32_t i = 0; i < judged.nodes.n; i++) joined = berth_concat(joined, i == 0 ? "" : ",", all[i]);
  return joined;
}

// The values of keys of the state, with spaces between them.
static BerthText values(BerthText keys) {
  BerthBytes *all = berth_scratch((keys.n + 1) * sizeof *all);
  uint32_t n = 0;
  for (;; n++) {
    uint32_t end = find(keys, ' ');
    if (!berth_state_get(slice(keys, 0, end), &all[n])) all[n] = berth_text_bytes(BERTH_TEXT("none"));
    if (end == keys.n) break;
    keys = slice(keys, end + 1, keys.n);
  }
  BerthText joined = berth_bytes_text(all[0]);
  for (uint32_t i = 1; i <= n; i++) joined = berth_concat(joined, " ", berth_bytes_text(all[i]));
  return joined;
}

// What a name between braces stands for; false for another name.
static bool value(const struct call *c, BerthText name, BerthText *text) {
  BerthBytes bytes;
  *text = BERTH_TEXT("none");
  if (berth_text_equals(name, "node")) {
    if (c->node != NULL) *text = berth_node_name(*c->node);
  } else if (berth_text_equals(name, "uid")) {
    *text = berth_pod_uid(c->pod);
  } else if (berth_text_equals(name, "published")) {
    if (berth_published_get(published, &bytes)) *text = berth_bytes_text(bytes);
  } else if (berth_text_equals(name, "pod-object")) {
    if (berth_pod_object(c->pod, &bytes)) *text = metadata_name(bytes);
  } else if (berth_text_equals(name, "node-object")) {
    if (c->node != NULL && berth_node_object(*c->node, &bytes)) *text = metadata_name(bytes);
  } else if (berth_text_equals(name, "number")) {
    int64_t bits;
    __builtin_memcpy(&bits, &number, sizeof bits);
    *text = berth_decimal(bits);
  } else if (berth_text_equals(name, "sight")) {
    *text = sight(c->pod, c->node);
  } else if (berth_text_equals(name, "verdicts")) {
    if (c->judged != NULL) *text = verdicts(*c->judged);
  } else if (begins(name, BERTH_TEXT("state:"))) {
    *text = values(slice(name, 6, name.n));
  } else {
    return false;
  }
  return true;
}

// Replaces what stands between braces.
static BerthText expand(const struct call *c, BerthText text) {
  BerthText out = BERTH_TEXT("");
  for (;;) {
    uint32_t open = find(text, '{');
    BerthText after = slice(text, open < text.n ? open + 1 : open, text.n), found;
    uint32_t close = find(after, '}');
    if (close == after.n) return berth_concat(out, text);
    BerthText name = slice(after, 0, close);
    if (!value(c, name, &found)) found = berth_concat("{", name, "}");
    out = berth_concat(out, slice(text, 0, open), found);
    text = slice(after, close + 1, after.n);
  }
}

// A reason of texts with | between them; none of the empty text.
static BerthReason reason_of(BerthText texts) {
  BerthText *all = berth_scratch((texts.n + 1) * sizeof *all);
  uint32_t n = 0;
  for (;; n++) {
    uint32_t end = find(texts, '|');
    all[n] = slice(texts, 0, end);
    if (end == texts.n) break;
    texts = slice(texts, end + 1, texts.n);
  }
  return n == 0 && all[0].n == 0 ? BERTH_NO_REASON : berth_reason_of(all, n + 1);
}

// Reads a status; a verb that is none is an error.
static BerthStatus status(BerthText verb, BerthText text) {
  BerthReason reason = reason_of(text);
  if (berth_text_equals(verb, "success")) return BERTH_SUCCESS;
  if (berth_text_equals(verb, "skip")) return BERTH_SKIP;
  if (berth_text_equals(verb, "error")) return berth_error(reason);
  if (berth_text_equals(verb, "unschedulable")) return berth_unschedulable(reason);
  if (berth_text_equals(verb, "unresolvable")) return berth_unschedulable_and_unresolvable(reason);
  if (berth_text_equals(verb, "pending")) return berth_pending(reason);
  return berth_error(berth_reason(berth_concat("unknown step: ", verb)));
}

// Carries out one step, and reports whether it is a status.
static bool step(const struct call *c, BerthText verb, BerthText rest, BerthStatus *answer) {
  BerthText text, key = word(rest, &text);
  bool ok = true;
  if (berth_text_equals(verb, "set")) {
    ok = berth_state_set(key, berth_text_bytes(expand(c, text)));
  } else if (berth_text_equals(verb, "publish")) {
    ok = berth_state_set("plan", berth_text_bytes(expand(c, rest)));
  } else if (berth_text_equals(verb, "log")) {
    berth_log(BERTH_INFO, expand(c, rest));
  } else if (berth_text_equals(verb, "trap")) {
    berth_log(BERTH_FAILURE, BERTH_TEXT("everypoint: trap"));
    __builtin_trap();
  } else if (berth_text_equals(verb, "annotate")) {
    ok = berth_annotate(key, expand(c, text));
  } else if (berth_text_equals(verb, "label")) {
    ok = berth_label(key, expand(c, text));
  } else if (berth_text_equals(verb, "nominate")) {
    ok = berth_nominate(key);
  } else if (berth_text_equals(verb, "bind")) {
    ok = berth_bind_pod();
  } else if (berth_text_equals(verb, "allow")) {
    ok = berth_allow(key);
  } else if (berth_text_equals(verb, "reject")) {
    ok = berth_reject(key, expand(c, text));
  } else if (berth_text_equals(verb, "activate")) {
    ok = berth_activate(key);
  } else {
    *answer = status(verb, expand(c, rest));
    return true;
  }
  if (!ok) *answer = berth_error(berth_reason("no room"));
  return !ok;
}

// Carries out the steps of an annotation.
static BerthStatus steps(const struct call *c, BerthId annotation) {
  BerthText left = berth_text(annotation), verb, rest;
  BerthStatus answer = BERTH_SUCCESS;
  while (next_step(&left, &verb, &rest)) {
    if (step(c, verb, rest, &answer)) return answer;
  }
  return BERTH_SUCCESS;
}
