// The snapshot, its nodes and its namespaces.

/// Nodes: those of a row set, or n rows from lo on.
typedef struct {
  const uint32_t *rows; // NULL: lo …
  uint32_t lo, n;
} BerthNodes;

/// The i-th node.
BERTH__HOT BerthNode berth_nodes_at(BerthNodes nodes, uint32_t i) {
  if (BERTH__RARE(i >= nodes.n)) berth__stop(BERTH_TEXT("berth: no such node"));
  return (BerthNode){nodes.rows == NULL ? nodes.lo + i : nodes.rows[i]};
}

/// Names the dictionary of string ids.
BERTH__FN uint64_t berth_snapshot_epoch(void) { return berth__columns.header->epoch; }

/// Grows with each change of the snapshot.
BERTH__FN uint64_t berth_snapshot_generation(void) { return berth__columns.header->generation; }

/// This cycle's random number, the only randomness that an answer may depend on; 0 for points of
/// scope node.
BERTH__FN uint64_t berth_snapshot_seed(void) { return berth__columns.header->seed; }

/// All nodes that the instance holds.
BERTH__FN BerthNodes berth_snapshot_nodes(void) { return (BerthNodes){NULL, 0, berth__rows(BERTH__NODES)}; }

/// The nodes of post_filter and what filters said of them.
typedef struct {
  BerthNodes nodes;
  const uint8_t *codes;
} BerthJudged;

/// The verdict of the i-th node: why it is out, or success for a node that no filter judged.
BERTH__FN BerthCode berth_judged_code(BerthJudged judged, uint32_t i) {
  if (BERTH__RARE(i >= judged.nodes.n)) berth__stop(BERTH_TEXT("berth: no such node"));
  return (BerthCode)judged.codes[i];
}

/// The number of rows of the namespaces that have an object and that the plugin may see, the empty
/// ones included; none in the points before pre_filter and from reserve on. A point of scope node
/// must not let an answer depend on them (ABI-4.15). Reads `namespaces`.
BERTH__FN uint32_t berth_namespaces_len(void) { return berth__rows(BERTH__NAMESPACES); }

/// The i-th row. It is empty if its name is BERTH_ABSENT.
BERTH__FN BerthNamespace berth_namespaces_at(uint32_t i) {
  if (BERTH__RARE(i >= berth_namespaces_len())) berth__stop(BERTH_TEXT("berth: no such namespace"));
  return (BerthNamespace){i};
}

/// Finds the namespace of a name, such as that of a pod; false if it has no object. It looks at all
/// rows. Reads `namespaces: name`.
BERTH__FN bool berth_namespaces_find(BerthId name, BerthNamespace *found) {
  for (uint32_t i = 0; name != BERTH_ABSENT && i < berth_namespaces_len(); i++) {
    *found = (BerthNamespace){i};
    if (berth_namespace_name(*found) == name) return true;
  }
  return false;
}
