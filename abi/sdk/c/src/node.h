// Nodes, the pods on them and namespaces, as views of rows (SPEC.md, section 4).

/// A node, as a view of its row.
typedef struct { uint32_t row; } BerthNode;

/// A pod on a node, as a view of its slot.
typedef struct { uint32_t slot; } BerthPlacedPod;

/// A namespace, as a view of its row.
typedef struct { uint32_t row; } BerthNamespace;

/// Pods on a node, in no order.
typedef struct { const uint32_t *slots; uint32_t n; } BerthPods;

/// The number of the node's row in this instance. It means nothing else, and an answer must not
/// depend on it.
BERTH__HOT uint32_t berth_node_row(BerthNode node) { return node.row; }

/// The i-th of a list of pods.
BERTH__HOT BerthPlacedPod berth_pods_at(BerthPods pods, uint32_t i) {
  if (BERTH__RARE(i >= pods.n)) berth__stop(BERTH_TEXT("berth: no such pod"));
  return (BerthPlacedPod){pods.slots[i]};
}
