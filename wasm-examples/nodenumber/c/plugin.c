// A plugin that prefers nodes with a high number in a label or an annotation, whose key the configuration names. It is the twin of the Go
// package in the folder above.

#include "../../../abi/sdk/c/berth.h"

static BerthNodeLabel label; // with number 0 if no key is given
static BerthNodeAnnotation annotation;

static void setup(void) {}

static void configure(BerthJson config) {
  berth_json_only(config, "label", "annotation");
  BerthJson l = berth_json_get(config, "label"), a = berth_json_get(config, "annotation");
  label = berth_find_node_label(berth_json_text(l, ""));
  annotation = berth_find_node_annotation(berth_json_text(a, ""));
  if (label.number > 0 && annotation.number > 0) berth_json_error(a, "the number is in a label already");
}

static int64_t score(BerthPod pod, BerthNode node) {
  (void)pod;
  BerthId text = BERTH_ABSENT;
  if (label.number > 0) text = berth_node_label(node, label);
  if (annotation.number > 0) text = berth_node_annotation(node, annotation);
  int64_t number;
  return berth_parse_i64(berth_text(text), &number) && number > 0 ? number : 0;
}

BERTH_PLUGIN("manifest.json", setup);
BERTH_CONFIGURE(configure);
BERTH_SCORE(score);
