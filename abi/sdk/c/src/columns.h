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
