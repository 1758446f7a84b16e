// Every function of a view reads its own column, and that of its own key. A cell of column id with arg
// a has in row r the number 100·id + 10·a + r; a list of row r has r elements, whose words are
// 1000·id + 10·r + i for the i-th.

#include "../berth.h"

#include "native.h"

enum { ROWS = 4 };

static struct berth__column_entry entries[5][80];
static uint32_t n_entries[5];

static uint32_t element(uint32_t type) { return (uint32_t[]){0, 1, 2, 4, 8, 4, 8, 8, 8, 12, 8, 16, 1}[type]; }

static void entry(uint32_t table, uint32_t id, uint32_t arg, uint32_t type, const void *at, uint32_t n) {
  entries[table][n_entries[table]++] = (struct berth__column_entry){id, arg, type, berth__address(at), n, n};
}

static void column(uint32_t table, uint32_t id, uint32_t args, uint32_t type) {
  for (uint32_t arg = 0; arg < args; arg++) {
    uint8_t *at = berth__keep_zero(ROWS, element(type));
    for (uint32_t row = 0; row < ROWS; row++) {
      uint64_t value = 100 * id + 10 * arg + row;
      memcpy(at + row * element(type), &value, element(type) < 8 ? element(type) : 8);
    }
    entry(table, id, arg, type, at, ROWS);
  }
}

static void lists(uint32_t table, uint32_t id, uint32_t type) {
  struct berth__span *spans = berth__keep_zero(ROWS, sizeof *spans);
  uint8_t *arena = berth__keep_zero(ROWS * ROWS, element(type));
  for (uint32_t row = 0; row < ROWS; row++) {
    spans[row] = row == 0 ? (struct berth__span){UINT32_MAX, 0} : (struct berth__span){row * ROWS, row};
    for (uint32_t i = 0; i < row; i++) {
      uint32_t word = 1000 * id + 10 * row + i;
      for (uint32_t k = 0; k < element(type); k += 4) memcpy(arena + (row * ROWS + i) * element(type) + k, &word, element(type) < 4 ? element(type) : 4);
    }
  }
  // Arenas may come first.
  entry(table, id + 256, 0, type, arena, ROWS * ROWS);
  entry(table, id, 0, 7, spans, ROWS);
}

// A column that must be skipped: its id, its arg or its type is not known.
static void unknown(uint32_t table, uint32_t id, uint32_t arg, uint32_t type) { entry(table, id, arg, type, berth__keep_zero(ROWS, 16), ROWS); }

static uint32_t snapshot(void) {
  lists(1, 1, 12), column(1, 2, 1, 1), column(1, 3, 2, 6), column(1, 4, 2, 6), column(1, 5, 2, 6), lists(1, 6, 8), column(1, 7, 2, 3);
  lists(1, 8, 9), lists(1, 9, 10), lists(1, 10, 11), column(1, 11, 2, 1), lists(1, 12, 3), column(1, 13, 1, 4), column(1, 14, 2, 3), column(1, 16, 1, 3);
  column(2, 64, 1, 3), column(2, 65, 1, 5), column(2, 66, 2, 6), lists(2, 67, 8), column(2, 68, 2, 3), column(2, 69, 1, 3), column(2, 70, 2, 3);
  column(2, 71, 1, 1), lists(2, 73, 12), lists(2, 74, 12), lists(3, 192, 12), column(4, 224, 1, 3), lists(4, 225, 8), column(4, 226, 2, 3);
  column(4, 227, 2, 6);
  unknown(1, 99, 0, 3), unknown(1, 14, 2, 3), unknown(1, 14, 0, 6), unknown(1, 3, 0, 77), unknown(1, 5, 2, 6), unknown(2, 70, UINT32_MAX, 3), unknown(1, 2, 0, 3);
  struct berth__table *tables = berth__keep_zero(5, sizeof *tables);
  for (uint32_t table = 1; table < 5; table++) {
    struct berth__column_entry *at = berth_keep(sizeof entries[table]);
    memcpy(at, entries[table], sizeof entries[table]);
    tables[table] = (struct berth__table){table, ROWS, ROWS, 0, 0, n_entries[table], berth__address(at), 0};
  }
  tables[0] = (struct berth__table){77, ROWS, ROWS, 0, 0, 1, 0, 0}; // unknown, and not to be looked into
  struct berth__header *header = berth__keep_zero(1, sizeof *header);
  *header = (struct berth__header){.magic = BERTH__MAGIC, .major = 1, .epoch = 5, .generation = 6, .seed = 7, .n_tables = 5, .tables = berth__address(tables)};
  return berth__address(header);
}

#define WORD(id) (1000 * (id) + 10 * row + row - 1) // of a list's last element
#define CELL(id, arg) (100 * (id) + 10 * (arg) + row)
#define TEXT(text, id) ((text).n == row && (row == 0 || (uint8_t)(text).at[row - 1] == (uint8_t)WORD(id)))
#define LAST(list, id, field) ((list).n == row && (row == 0 || (list).at[row - 1].field == WORD(id)))

static void nodes(uint32_t row) {
  BerthNode n = {row};
  BerthResource memory = berth_resource_handle("memory");
  CHECK(TEXT(berth_node_name(n), 1) && berth_node_unschedulable(n) == (CELL(2, 0) & 1) && berth_node_row(n) == row);
  CHECK(berth_node_allocatable(n, memory) == CELL(3, 1) && berth_node_allocatable(n, berth_resource_handle("cpu")) == CELL(3, 0));
  CHECK(berth_node_requested(n, memory) == CELL(4, 1));
  CHECK(berth_node_non_zero_requested(n).cpu == CELL(5, 0) && berth_node_non_zero_requested(n).memory == CELL(5, 1));
  CHECK(LAST(berth_node_labels(n), 6, value) && (row == 0 || berth_node_label_by_key(n, WORD(6)) == WORD(6)) && berth_node_label_by_key(n, 1) == 0);
  CHECK(berth_node_annotation(n, berth_node_annotation_handle("b")) == CELL(7, 1) && berth_node_annotation(n, berth_node_annotation_handle("a")) == CELL(7, 0));
  CHECK(LAST(berth_node_taints(n), 8, effect) && LAST(berth_node_ports(n), 9, ip) && LAST(berth_node_images(n), 10, name));
  CHECK(berth_node_condition(n, berth_node_condition_handle("B")) == (CELL(11, 1) & 0xFF));
  CHECK(berth_node_pods(n).n == row && (row == 0 || berth_pods_at(berth_node_pods(n), row - 1).slot == WORD(12)));
  CHECK_TEXT(STOPS(berth_pods_at(berth_node_pods(n), row)), "berth: no such pod");
  CHECK(berth_node_generation(n) == CELL(13, 0) && berth_node_label(n, berth_node_label_handle("b")) == CELL(14, 1));
  CHECK(berth_node_label(n, berth_node_label_handle("a")) == CELL(14, 0) && berth_node_zone(n) == CELL(16, 0));
}

static void pods(uint32_t row) {
  BerthPlacedPod p = {row};
  CHECK(berth_placed_pod_namespace(p) == CELL(64, 0) && berth_placed_pod_priority(p) == (int32_t)CELL(65, 0));
  CHECK(berth_placed_pod_request(p, berth_resource_handle("memory")) == CELL(66, 1));
  CHECK(LAST(berth_placed_pod_labels(p), 67, key) && (row == 0 || berth_placed_pod_label_by_key(p, WORD(67)) == WORD(67)));
  CHECK(berth_placed_pod_annotation(p, berth_pod_annotation_handle("b")) == CELL(68, 1) && berth_placed_pod_owner(p) == CELL(69, 0));
  CHECK(berth_placed_pod_label(p, berth_pod_label_handle("b")) == CELL(70, 1) && berth_placed_pod_terminating(p) == (CELL(71, 0) & 1));
  CHECK(TEXT(berth_placed_pod_uid(p), 73) && TEXT(berth_placed_pod_name(p), 74));
}

static void namespaces(uint32_t row) {
  BerthNamespace n;
  CHECK(berth_namespaces_find(CELL(224, 0), &n) && n.row == row && berth_namespaces_at(row).row == row && berth_namespace_name(n) == CELL(224, 0));
  CHECK(LAST(berth_namespace_labels(n), 225, value) && (row == 0 || berth_namespace_label_by_key(n, WORD(225)) == WORD(225)));
  CHECK(berth_namespace_label(n, berth_namespace_label_handle("b")) == CELL(226, 1));
  CHECK(berth_namespace_requested(n, berth_resource_handle("cpu")) == CELL(227, 0));
  CHECK(berth_namespace_requested(n, berth_resource_handle("memory")) == CELL(227, 1));
}

static void requirements(void) {
  berth__calling.pod.values = (BerthIds){(BerthId[]){1, 3}, 2};
  BerthPod pod = &berth__calling.pod;
  static const struct { uint32_t op, first, count; int64_t number; BerthId value; bool holds; } cases[] = {
      {BERTH_IN, 0, 2, 0, 3, true}, {BERTH_IN, 1, 1, 0, 1, false}, {BERTH_IN, 0, 2, 0, 0, false}, {BERTH_NOT_IN, 0, 2, 0, 0, true},
      {BERTH_NOT_IN, 0, 1, 0, 1, false}, {BERTH_NOT_IN, 0, 1, 0, 3, true}, {BERTH_EXISTS, 9, 0, 0, 3, true}, {BERTH_EXISTS, 0, 0, 0, 0, false},
      {BERTH_DOES_NOT_EXIST, 0, 0, 0, 0, true}, {BERTH_DOES_NOT_EXIST, 0, 0, 0, 3, false}, {77, 0, 0, 0, 3, false}, {BERTH_IN, 9, 0, 0, 3, false},
      // The string of id 2 is no number, that of id 0 is none.
      {BERTH_GT, 0, 0, -5, 2, false}, {BERTH_LT, 0, 0, 5, 0, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    BerthRequirement r = {1, cases[i].op, cases[i].first, cases[i].count, cases[i].number};
    CHECK(berth_pod_holds(pod, &r, cases[i].value) == cases[i].holds);
  }
  BerthRequirement beyond = {1, BERTH_IN, 1, 2, 0};
  CHECK_TEXT(STOPS(berth_pod_holds(pod, &beyond, 1)), "berth: the host's snapshot has a span that is out of bounds");
  memcpy(berth__pointer(berth__address(berth_text(3).at)), "-12", 3);
  static const struct { uint32_t op; int64_t number; bool holds; } numbers[] = {
      {BERTH_GT, -13, true}, {BERTH_GT, -12, false}, {BERTH_LT, -11, true}, {BERTH_LT, -12, false},
  };
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    BerthRequirement r = {1, numbers[i].op, 0, 0, numbers[i].number};
    CHECK(berth_pod_holds(pod, &r, 3) == numbers[i].holds);
  }
}

static void tolerations(void) {
  static const struct { BerthToleration t; BerthTaint taint; bool tolerates; } cases[] = {
      {{5, 6, BERTH_TOLERATION_EQUAL, BERTH_NO_SCHEDULE, -1}, {5, 6, BERTH_NO_SCHEDULE}, true},
      {{5, 6, BERTH_TOLERATION_EQUAL, BERTH_NO_SCHEDULE, -1}, {5, 6, BERTH_NO_EXECUTE}, false},
      {{5, 6, BERTH_TOLERATION_EQUAL, BERTH_ANY_EFFECT, -1}, {5, 6, BERTH_NO_EXECUTE}, true},
      {{5, 6, BERTH_TOLERATION_EQUAL, BERTH_ANY_EFFECT, -1}, {5, 7, BERTH_NO_EXECUTE}, false},
      {{5, 0, BERTH_TOLERATION_EXISTS, BERTH_ANY_EFFECT, -1}, {5, 7, BERTH_NO_EXECUTE}, true},
      {{5, 0, BERTH_TOLERATION_EXISTS, BERTH_ANY_EFFECT, -1}, {4, 7, BERTH_NO_EXECUTE}, false},
      {{0, 0, BERTH_TOLERATION_EXISTS, BERTH_NO_EXECUTE, 30}, {4, 7, BERTH_NO_EXECUTE}, true},
      {{0, 7, BERTH_TOLERATION_EQUAL, BERTH_ANY_EFFECT, -1}, {4, 7, BERTH_NO_EXECUTE}, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    CHECK(berth_toleration_tolerates(&cases[i].t, &cases[i].taint) == cases[i].tolerates);
    berth__calling.pod.tolerations = (BerthTolerations){&cases[i].t, 1};
    CHECK(berth_pod_tolerates(&berth__calling.pod, &cases[i].taint) == cases[i].tolerates);
  }
}

static BerthStatus filter(BerthPod pod, BerthNode node) { return (void)pod, berth_error((BerthReason)node.row); }

static void setup(void) {}

BERTH_PLUGIN("views.json", setup);
BERTH_FILTER(filter);

int main(void) {
  start(64, (BerthHost){0});
  CHECK(berth_abi() == BERTH_ABI_VERSION);
  uint32_t header = snapshot();
  berth__columns_refresh(&berth__columns, header);
  CHECK(berth_snapshot_epoch() == 5 && berth_snapshot_generation() == 6 && berth_snapshot_seed() == 7);
  CHECK(berth_snapshot_nodes().n == ROWS && berth_namespaces_len() == ROWS);
  for (uint32_t row = 0; row < ROWS; row++) {
    nodes(row), pods(row), namespaces(row);
    CHECK(TEXT(row == 0 ? BERTH_TEXT("") : berth_text(row), 192));
  }
  BerthNamespace none;
  CHECK(!berth_namespaces_find(BERTH_ABSENT, &none) && !berth_namespaces_find(1, &none));
  CHECK_TEXT(STOPS(berth_namespaces_at(ROWS)), "berth: no such namespace");
  CHECK_TEXT(STOPS(berth_node_zone((BerthNode){ROWS})), "berth: manifest.json: reads.node does not list zone");
  requirements();
  tolerations();
  // Another layout without columns: nothing of the old one is left.
  struct berth__header *h = berth__pointer(header);
  h->layout++;
  h->n_tables = 0;
  berth__columns_refresh(&berth__columns, header);
  CHECK(berth_snapshot_nodes().n == 0 && berth_namespaces_len() == 0);
  CHECK_TEXT(STOPS(berth_node_label((BerthNode){0}, berth_node_label_handle("b"))), "berth: manifest.json: reads.nodeLabels does not list the key");
  CHECK_TEXT(STOPS(berth_node_labels((BerthNode){1})), "berth: manifest.json: reads.node does not list labels");
  CHECK_TEXT(STOPS(berth_node_non_zero_requested((BerthNode){0})), "berth: manifest.json: reads.node does not list nonZeroRequested");
  return 0;
}
