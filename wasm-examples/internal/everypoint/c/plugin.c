// A plugin for tests, which does at every extension point what annotations of the pod say. It is the
// twin of the Go package in the folder above, whose comment (doc.go) defines the language.

#include "steps.h"

static struct {
  BerthPodAnnotation pre_enqueue, queue_key, hint, pre_filter, filter, post_filter, pre_score, score, normalize;
  BerthPodAnnotation reserve, unreserve, permit, pre_bind, bind, post_bind, peer, max_peers;
} at;

static BerthConst yes;
static BerthReason too_many;

static BerthPodAnnotation key(const char *name) { return berth_pod_annotation_handle(berth_concat("everypoint.berth.dev/", name)); }

static void setup(void) {
  at.pre_enqueue = key("pre-enqueue"), at.queue_key = key("queue-key"), at.hint = key("hint"), at.pre_filter = key("pre-filter");
  at.filter = key("filter"), at.post_filter = key("post-filter"), at.pre_score = key("pre-score"), at.score = key("score");
  at.normalize = key("normalize"), at.reserve = key("reserve"), at.unreserve = key("unreserve"), at.permit = key("permit");
  at.pre_bind = key("pre-bind"), at.bind = key("bind"), at.post_bind = key("post-bind");
  at.peer = key("peer"), at.max_peers = key("max-peers");
  published = berth_published_handle("publisher/plan");
  read_by.note = berth_node_annotation_handle("everypoint.berth.dev/note"), read_by.disk = berth_node_label_handle("disk");
  read_by.ready = berth_node_condition_handle("Ready"), read_by.app = berth_pod_label_handle("app"), read_by.peer = at.peer;
  read_by.team = berth_namespace_label_handle("team"), read_by.cpu = berth_resource_handle("cpu");
  read_by.usage = berth_feed_handle("node.cpu.usage:milli");
  read_by.slot_names = berth_object_column_handle("box.spec.slots[*].name:string");
  read_by.slot_sizes = berth_object_column_handle("box.spec.slots[*].size:quantity");
  read_by.max_keys = berth_object_column_handle("quota.spec.max[*].@key:string");
  read_by.maxima = berth_object_column_handle("quota.spec.max[*]:quantity");
  read_by.memory = berth_resource_handle("memory");
  read_by.app_key = berth_const("app"), read_by.disk_key = berth_const("disk"), read_by.team_key = berth_const("team");
  yes = berth_const("true");
  too_many = berth_reason("too many peers");
}

static void configure(BerthJson config) {
  berth_json_only(config, "numbers", "flags", "number");
  number = berth_json_f64(berth_json_get(config, "number"), 0);
  BERTH_JSON_ELEMENTS(n, berth_json_get(config, "numbers")) berth_json_i64(n, 0);
  BERTH_JSON_FIELDS(flag, berth_json_get(config, "flags")) berth_json_bool(flag, false);
}

static BerthStatus pre_enqueue(BerthPod pod) { return steps(&(struct call){.pod = pod}, berth_pod_annotation(pod, at.pre_enqueue)); }

static int64_t parsed(BerthText text) {
  int64_t n = 0;
  return berth_parse_i64(text, &n) ? n : 0;
}

// Puts a zero byte for each `|` into a copy, which the next call overwrites. A longer text is no part of a key.
static BerthText zeroes(BerthText text) {
  static char copy[64];
  if (text.n > sizeof copy) return text;
  for (uint32_t i = 0; i < text.n; i++) copy[i] = text.at[i] == '|' ? 0 : text.at[i];
  return (BerthText){copy, text.n};
}

// Appends a part of a key; nothing for a step that is none.
static void part(BerthKey *to, BerthText verb, BerthText rest, BerthQueued queued) {
  if (berth_text_equals(verb, "u64")) {
    berth_key_append_u64(to, (uint64_t)parsed(rest));
  } else if (berth_text_equals(verb, "-u64")) {
    berth_key_append_u64_descending(to, (uint64_t)parsed(rest));
  } else if (berth_text_equals(verb, "i64")) {
    berth_key_append_i64(to, parsed(rest));
  } else if (berth_text_equals(verb, "-i64")) {
    berth_key_append_i64_descending(to, parsed(rest));
  } else if (berth_text_equals(verb, "bytes")) {
    berth_key_append_bytes(to, berth_text_bytes(rest));
  } else if (berth_text_equals(verb, "-bytes")) {
    berth_key_append_bytes_descending(to, berth_text_bytes(rest));
  } else if (berth_text_equals(verb, "text")) {
    berth_key_append_text(to, zeroes(rest));
  } else if (berth_text_equals(verb, "-text")) {
    berth_key_append_text_descending(to, zeroes(rest));
  } else if (berth_text_equals(verb, "attempts")) {
    berth_key_append_u64(to, queued.attempts);
  }
}

static void queue_key(BerthPod pod, BerthQueued queued, BerthKey *to) {
  BerthText text = berth_text(berth_pod_annotation(pod, at.queue_key));
  if (berth_text_equals(text, "long")) {
    static const uint8_t zeroes[65];
    berth_key_append_bytes(to, (BerthBytes){zeroes, sizeof zeroes});
    return;
  }
  BerthText left = text, verb, rest;
  while (next_step(&left, &verb, &rest)) part(to, verb, rest, queued);
  if (berth_key_room(to) < sizeof to->bytes) return;
  int64_t n = 0;
  berth_parse_i64(text, &n);
  berth_key_append_i64(to, n);
  berth_key_append_i64(to, queued.time);
}

// The name of what an event is about.
static BerthText object(BerthEvent event) {
  BerthNode node;
  BerthPod pod;
  if (berth_event_new_node(event, &node) || berth_event_old_node(event, &node)) return berth_node_name(node);
  if (berth_event_new_pod(event, &pod) || berth_event_old_pod(event, &pod)) return berth_pod_name(pod);
  return berth_event_name(event);
}

// The name of the old node or pod of an event; empty if there is none.
static BerthText old(BerthEvent event) {
  BerthNode node;
  BerthPod pod;
  if (berth_event_old_node(event, &node)) return berth_node_name(node);
  return berth_event_old_pod(event, &pod) ? berth_pod_name(pod) : BERTH_TEXT("");
}

// Reports whether an event is what a step says, besides its name.
static bool concerns(BerthEvent event, BerthText verb, BerthText rest) {
  if (berth_text_equals(verb, "was")) return berth_text_equals(old(event), rest);
  if (berth_text_equals(verb, "in")) return berth_text_equals(berth_event_namespace(event), rest);
  if (!berth_text_equals(verb, "is")) return true;
  BerthText resource = word(rest, &rest);
  return berth_event_is(event, (BerthEventKind)parsed(resource), (uint32_t)parsed(rest));
}

static BerthText whole(BerthPod pod) { return expand(&(struct call){.pod = pod}, BERTH_TEXT("{pod-object}")); }

// Reports whether there is a whole object of the pod that waits, and none of the pods of an event.
static bool wholes(BerthEvent event, BerthPod waiting) {
  BerthPod pod;
  if (berth_event_new_pod(event, &pod) && !berth_text_equals(whole(pod), "none")) return false;
  if (berth_event_old_pod(event, &pod) && !berth_text_equals(whole(pod), "none")) return false;
  return berth_text_equals(whole(waiting), berth_pod_name(waiting));
}

static BerthHintResult hint(BerthEvent event, BerthPod pod) {
  BerthText left = berth_text(berth_pod_annotation(pod, at.hint)), verb, rest;
  if (!next_step(&left, &verb, &rest)) return BERTH_QUEUE;
  bool skip = berth_text_equals(verb, "skip") || (berth_text_equals(verb, "on") && !berth_text_equals(object(event), rest));
  skip |= !concerns(event, verb, rest) || (berth_text_equals(verb, "whole") && !wholes(event, pod));
  return skip ? BERTH_QUEUE_SKIP : BERTH_QUEUE;
}

static BerthStatus set_peers(uint32_t n) {
  uint8_t bytes[4] = {(uint8_t)n, (uint8_t)(n >> 8), (uint8_t)(n >> 16), (uint8_t)(n >> 24)};
  return berth_state_set("peers", ((BerthBytes){bytes, 4})) ? BERTH_SUCCESS : berth_error(berth_reason("no room"));
}

static uint32_t peers(void) {
  BerthBytes b;
  if (!berth_state_get("peers", &b) || b.n != 4) return 0;
  return b.at[0] | (uint32_t)b.at[1] << 8 | (uint32_t)b.at[2] << 16 | (uint32_t)b.at[3] << 24;
}

// Narrows the nodes down to those named.
static void only(BerthNodes nodes, BerthText names, BerthRows *rows) {
  berth_rows_reset(rows);
  for (uint32_t i = 0; i < nodes.n; i++) {
    BerthNode node = berth_nodes_at(nodes, i);
    BerthText left = names;
    while (left.n > 0) {
      if (!berth_text_equals(word(left, &left), berth_node_name(node))) continue;
      berth_rows_add(rows, node);
      break;
    }
  }
}

static BerthStatus pre_filter(BerthPod pod, BerthNodes nodes, BerthRows *rows) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < nodes.n; i++) {
    BerthPods pods = berth_node_pods(berth_nodes_at(nodes, i));
    for (uint32_t k = 0; k < pods.n; k++) n += berth_const_is(yes, berth_placed_pod_annotation(berth_pods_at(pods, k), at.peer));
  }
  BerthStatus answer = set_peers(n);
  BerthText left = berth_text(berth_pod_annotation(pod, at.pre_filter)), verb, rest;
  while (answer == BERTH_SUCCESS && next_step(&left, &verb, &rest)) {
    if (berth_text_equals(verb, "only")) {
      only(nodes, rest, rows);
    } else if (step(&(struct call){.pod = pod}, verb, rest, &answer)) {
      return answer;
    }
  }
  return answer;
}

static BerthStatus change(BerthPod pod, BerthPod changed, int32_t by) {
  if (!berth_text_equals(whole(pod), "none") || !berth_text_equals(whole(changed), berth_pod_name(changed))) {
    return berth_error(berth_reason("wrong object"));
  }
  return berth_const_is(yes, berth_pod_annotation(changed, at.peer)) ? set_peers((uint32_t)((int32_t)peers() + by)) : BERTH_SUCCESS;
}

static BerthStatus add_pod(BerthPod pod, BerthPod added, BerthNode node) { return (void)node, change(pod, added, 1); }

static BerthStatus remove_pod(BerthPod pod, BerthPod removed, BerthNode node) { return (void)node, change(pod, removed, -1); }

// Finds what the first step for a node says.
static bool of(BerthId annotation, BerthNode node, BerthText *rest) {
  BerthText left = berth_text(annotation), name;
  while (next_step(&left, &name, rest)) {
    if (berth_text_equals(name, "*") || berth_text_equals(name, berth_node_name(node))) return true;
  }
  return false;
}

// Reads a decimal number without a sign; false if it is none, or above a limit.
static bool natural(BerthText text, int64_t most, int64_t *n) {
  return text.n > 0 && text.at[0] >= '0' && text.at[0] <= '9' && berth_parse_i64(text, n) && *n <= most;
}

static BerthStatus prepare(BerthPod pod) {
  BerthText left = berth_text(berth_pod_annotation(pod, at.filter)), verb, rest, reason;
  if (!next_step(&left, &verb, &rest) || !berth_text_equals(verb, "all")) return BERTH_SUCCESS;
  verb = word(rest, &reason);
  return status(verb, reason);
}

static BerthStatus filter(BerthPod pod, BerthNode node) {
  int64_t limit;
  BerthText rest, reason;
  if (natural(berth_text(berth_pod_annotation(pod, at.max_peers)), UINT32_MAX, &limit) && peers() >= limit) return berth_unschedulable(too_many);
  if (!of(berth_pod_annotation(pod, at.filter), node, &rest)) return BERTH_SUCCESS;
  BerthText verb = word(rest, &reason);
  return status(verb, expand(&(struct call){.pod = pod, .node = &node}, reason));
}

static BerthStatus post_filter(BerthPod pod, BerthJudged judged) {
  return steps(&(struct call){.pod = pod, .judged = &judged}, berth_pod_annotation(pod, at.post_filter));
}

static BerthStatus pre_score(BerthPod pod, BerthNodes nodes) {
  (void)nodes;
  return steps(&(struct call){.pod = pod}, berth_pod_annotation(pod, at.pre_score));
}

static int64_t score(BerthPod pod, BerthNode node) {
  BerthText rest;
  int64_t n = 0;
  return of(berth_pod_annotation(pod, at.score), node, &rest) && berth_parse_i64(rest, &n) ? n : 0;
}

static BerthStatus normalize(BerthPod pod, BerthNodes nodes, int64_t *scores) {
  BerthText text = berth_text(berth_pod_annotation(pod, at.normalize));
  while (text.n > 0 && (text.at[0] == ' ' || text.at[0] == ';')) text = slice(text, 1, text.n);
  while (text.n > 0 && (text.at[text.n - 1] == ' ' || text.at[text.n - 1] == ';')) text.n--;
  bool reverse = berth_text_equals(text, "reverse");
  BerthStatus answer = reverse ? BERTH_SUCCESS : steps(&(struct call){.pod = pod}, berth_pod_annotation(pod, at.normalize));
  int64_t highest = nodes.n == 0 ? 0 : scores[0];
  for (uint32_t i = 0; i < nodes.n; i++) highest = scores[i] > highest ? scores[i] : highest;
  for (uint32_t i = 0; i < nodes.n; i++) {
    int64_t s = reverse ? highest - scores[i] : scores[i];
    scores[i] = s < 0 ? 0 : s > 100 ? 100 : s;
  }
  return answer;
}

static BerthStatus reserve(BerthPod pod, BerthNode node) {
  return steps(&(struct call){.pod = pod, .node = &node}, berth_pod_annotation(pod, at.reserve));
}

static BerthStatus unreserve(BerthPod pod, BerthNode node) {
  return steps(&(struct call){.pod = pod, .node = &node}, berth_pod_annotation(pod, at.unreserve));
}

// Reads a number and a unit, as milliseconds; 0 if it is none.
static uint64_t duration(BerthText text) {
  uint32_t digits = text.n;
  while (digits > 0 && (text.at[digits - 1] == 'm' || text.at[digits - 1] == 's')) digits--;
  BerthText unit = slice(text, digits, text.n);
  uint64_t scale = berth_text_equals(unit, "ms") ? 1 : berth_text_equals(unit, "s") ? 1000 : berth_text_equals(unit, "m") ? 60000 : 0;
  int64_t n;
  return natural(slice(text, 0, digits), INT32_MAX, &n) ? (uint64_t)n * scale : 0;
}

static BerthStatus permit(BerthPod pod, BerthNode node, uint64_t *wait) {
  BerthText left = berth_text(berth_pod_annotation(pod, at.permit)), verb, rest;
  BerthStatus answer;
  while (next_step(&left, &verb, &rest)) {
    if (berth_text_equals(verb, "wait")) {
      *wait = duration(rest);
      return BERTH_WAIT;
    }
    if (step(&(struct call){.pod = pod, .node = &node}, verb, rest, &answer)) return answer;
  }
  return BERTH_SUCCESS;
}

static BerthStatus pre_bind(BerthPod pod, BerthNode node) {
  return steps(&(struct call){.pod = pod, .node = &node}, berth_pod_annotation(pod, at.pre_bind));
}

static BerthStatus bind(BerthPod pod, BerthNode node) {
  BerthText left = berth_text(berth_pod_annotation(pod, at.bind)), verb, rest;
  BerthStatus answer = BERTH_SKIP, ended;
  while (next_step(&left, &verb, &rest)) {
    if (step(&(struct call){.pod = pod, .node = &node}, verb, rest, &ended)) return ended;
    if (berth_text_equals(verb, "bind")) answer = BERTH_SUCCESS;
  }
  return answer;
}

static BerthStatus post_bind(BerthPod pod, BerthNode node) {
  return steps(&(struct call){.pod = pod, .node = &node}, berth_pod_annotation(pod, at.post_bind));
}

BERTH_PLUGIN("manifest.json", setup);
BERTH_CONFIGURE(configure);
BERTH_PRE_ENQUEUE(pre_enqueue);
BERTH_QUEUE_KEY(queue_key);
BERTH_HINT(hint);
BERTH_PRE_FILTER(pre_filter);
BERTH_ADD_POD(add_pod);
BERTH_REMOVE_POD(remove_pod);
BERTH_PREPARED_FILTER(prepare, filter);
BERTH_POST_FILTER(post_filter);
BERTH_PRE_SCORE(pre_score);
BERTH_SCORE(score);
BERTH_NORMALIZE(normalize);
BERTH_RESERVE(reserve);
BERTH_UNRESERVE(unreserve);
BERTH_PERMIT(permit);
BERTH_PRE_BIND(pre_bind);
BERTH_BIND(bind);
BERTH_POST_BIND(post_bind);
