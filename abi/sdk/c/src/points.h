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
