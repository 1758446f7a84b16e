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
