// A plugin that prefers nodes with a high or a low number: of a label, an annotation, a feed, or their age.

#include "../../../abi/sdk/c/berth.h"

// A text and its number, in millionths.
struct number {
  BerthConst text;
  int64_t of;
  struct number *next;
};

static BerthNodeLabel label; // with number 0 if no key is given, as the others
static BerthNodeAnnotation annotation;
static BerthFeed feed;
static bool age, low, stale;
static struct number *numbers;

static void setup(void) {}

static int64_t millionths(double number) { return (int64_t)(number * 1e6 + (number < 0 ? -0.5 : 0.5)); }

static void configure(BerthJson config) {
  berth_json_only(config, "label", "annotation", "feed", "age", "prefer", "numbers", "stale");
  BerthJson l = berth_json_get(config, "label"), a = berth_json_get(config, "annotation"), f = berth_json_get(config, "feed");
  BerthJson named = berth_json_get(config, "numbers");
  label = berth_find_node_label(berth_json_text(l, ""));
  annotation = berth_find_node_annotation(berth_json_text(a, ""));
  feed = berth_find_feed(berth_json_text(f, ""));
  age = berth_json_bool(berth_json_get(config, "age"), false);
  low = berth_json_one_of(berth_json_get(config, "prefer"), 0, "high", "low") == 1;
  stale = berth_json_bool(berth_json_get(config, "stale"), false);
  if ((label.number > 0) + (annotation.number > 0) + (feed.number > 0) + age != 1) {
    berth_json_error(config, "name one of label, annotation and feed, or set age");
  }
  if (berth_json_is_there(named) && (feed.number > 0 || age)) berth_json_error(named, "only a label or an annotation has texts");
  BERTH_JSON_FIELDS(field, named) {
    struct number *n = berth_keep(sizeof *n);
    *n = (struct number){berth_const(berth_json_key(field)), millionths(berth_json_f64(field, 0)), numbers};
    numbers = n;
  }
}

// A number in decimal notation, such as -12.5, in millionths; further digits do not count. False if the text is none, or beyond a billion.
static bool decimal(BerthText text, int64_t *number) {
  uint32_t i = 0;
  bool negative = text.n > 0 && text.at[0] == '-';
  if (negative) i++;
  int64_t n = 0;
  int digits = 0, places = -1;
  for (; i < text.n; i++) {
    char c = text.at[i];
    if (c == '.' && places < 0) {
      places = 0;
      continue;
    }
    if (c < '0' || c > '9') return false;
    digits++;
    if (places >= 6) continue;
    if (places >= 0) places++;
    n = 10 * n + (c - '0');
    if (places < 0 && n > 1000000000) return false;
  }
  for (places = places < 0 ? 0 : places; places < 6; places++) n *= 10;
  *number = negative ? -n : n;
  return digits > 0;
}

// The node's number in millionths, or in a feed's unit, or seconds; false if it has none.
static bool number(BerthNode node, int64_t *of) {
  if (age) {
    *of = -berth_node_created_at(node); // the older, the higher
    return *of != 0;
  }
  if (feed.number > 0) {
    BerthFeedState state = berth_node_feed_state(node, feed);
    *of = berth_node_feed(node, feed);
    return state == BERTH_FEED_FRESH || (stale && state == BERTH_FEED_STALE);
  }
  BerthId id = label.number > 0 ? berth_node_label(node, label) : berth_node_annotation(node, annotation);
  if (id == BERTH_ABSENT) return false;
  for (struct number *n = numbers; n != NULL; n = n->next) {
    if (berth_const_is(n->text, id)) {
      *of = n->of;
      return true;
    }
  }
  return decimal(berth_text(id), of);
}

static int64_t score(BerthPod pod, BerthNode node) {
  (void)pod;
  int64_t of;
  if (!number(node, &of)) return BERTH_NO_SCORE;
  if (of < -INT64_MAX) of = -INT64_MAX;
  return low ? -of : of;
}

BERTH_PLUGIN("manifest.json", setup);
BERTH_CONFIGURE(configure);
BERTH_SCORE(score);
