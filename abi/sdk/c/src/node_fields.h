// What nodes, the pods on them and namespaces have. The functions name what the manifest must list.
// Generated from abi/fields.

/// metadata.name. Reads `node: name`.
BERTH__FN BerthText berth_node_name(BerthNode node) {
  return BERTH__LIST(BerthText, berth__columns.node_name, node.row, "node", "name");
}

/// spec.unschedulable. Reads `node: flags`.
BERTH__HOT bool berth_node_unschedulable(BerthNode node) {
  return (BERTH__CELL(uint8_t, berth__columns.node_flags, node.row, "node", "flags") & 1) != 0;
}

/// status.allocatable, in milli-CPU, bytes or a count. Reads `node: allocatable`.
BERTH__HOT int64_t berth_node_allocatable(BerthNode node, BerthResource r) {
  return BERTH__CELL(int64_t, berth__columns.node_allocatable[r.number], node.row, "node", "allocatable, or resources the resource");
}

/// The sum of the requests of the pods on the node; for `pods` their number. Reads `node: requested`.
BERTH__HOT int64_t berth_node_requested(BerthNode node, BerthResource r) {
  return BERTH__CELL(int64_t, berth__columns.node_requested[r.number], node.row, "node", "requested, or resources the resource");
}

/// Milli-CPU and bytes requested, where a container without a request counts 100 milli-CPU and 200 MiB. Reads
/// `node: nonZeroRequested`.
BERTH__FN BerthNonZero berth_node_non_zero_requested(BerthNode node) {
  const struct berth__column *c = berth__columns.node_non_zero_requested;
  return (BerthNonZero){BERTH__CELL(int64_t, c[0], node.row, "node", "nonZeroRequested"),
                        BERTH__CELL(int64_t, c[1], node.row, "node", "nonZeroRequested")};
}

/// All labels, unordered. Reads `node: labels`.
BERTH__HOT BerthPairs berth_node_labels(BerthNode node) {
  return BERTH__LIST(BerthPairs, berth__columns.node_labels, node.row, "node", "labels");
}

/// The value of any label key, found among all labels; BERTH_ABSENT if there is none. Reads `node: labels`.
BERTH__HOT BerthId berth_node_label_by_key(BerthNode node, BerthId key) {
  return berth_pairs_find(berth_node_labels(node), key);
}

/// The value of a declared annotation key; BERTH_ABSENT if the node does not have it. Reads `nodeAnnotations`.
BERTH__HOT BerthId berth_node_annotation(BerthNode node, BerthNodeAnnotation key) {
  return BERTH__CELL(BerthId, berth__columns.node_annotation[key.number], node.row, "nodeAnnotations", "the key");
}

/// spec.taints. Reads `node: taints`.
BERTH__HOT BerthTaints berth_node_taints(BerthNode node) {
  return BERTH__LIST(BerthTaints, berth__columns.node_taints, node.row, "node", "taints");
}

/// The host ports in use. Reads `node: ports`.
BERTH__HOT BerthPorts berth_node_ports(BerthNode node) {
  return BERTH__LIST(BerthPorts, berth__columns.node_ports, node.row, "node", "ports");
}

/// status.images, an entry a name. Reads `node: images`.
BERTH__HOT BerthImages berth_node_images(BerthNode node) {
  return BERTH__LIST(BerthImages, berth__columns.node_images, node.row, "node", "images");
}

/// The status of a declared type of condition. Reads `nodeConditions`.
BERTH__HOT BerthCondition berth_node_condition(BerthNode node, BerthNodeCondition type) {
  return (BerthCondition)BERTH__CELL(uint8_t, berth__columns.node_condition[type.number], node.row, "nodeConditions", "the type");
}

/// The pods on the node that the plugin may see. Reads `node: pods`.
BERTH__HOT BerthPods berth_node_pods(BerthNode node) {
  struct list { const uint32_t *at; uint32_t n; };
  struct list slots = BERTH__LIST(struct list, berth__columns.node_pods, node.row, "node", "pods");
  return (BerthPods){slots.at, slots.n};
}

/// The row's generation. Reads `node: generation`.
BERTH__HOT uint64_t berth_node_generation(BerthNode node) {
  return BERTH__CELL(uint64_t, berth__columns.node_generation, node.row, "node", "generation");
}

/// The value of a declared label key; BERTH_ABSENT if the node does not have it. Reads `nodeLabels`.
BERTH__HOT BerthId berth_node_label(BerthNode node, BerthNodeLabel key) {
  return BERTH__CELL(BerthId, berth__columns.node_label[key.number], node.row, "nodeLabels", "the key");
}

/// The value of the label topology.kubernetes.io/zone, or else of its older name; BERTH_ABSENT if the node has neither. Reads
/// `node: zone`.
BERTH__HOT BerthId berth_node_zone(BerthNode node) {
  return BERTH__CELL(BerthId, berth__columns.node_zone, node.row, "node", "zone");
}

/// status.capacity, in milli-CPU, bytes or a count; a change of it alone is no event. Reads `node: capacity`.
BERTH__HOT int64_t berth_node_capacity(BerthNode node, BerthResource r) {
  return BERTH__CELL(int64_t, berth__columns.node_capacity[r.number], node.row, "node", "capacity, or resources the resource");
}

/// metadata.creationTimestamp in seconds since 1970; 0 for none. Reads `node: createdAt`.
BERTH__HOT int64_t berth_node_created_at(BerthNode node) {
  return BERTH__CELL(int64_t, berth__columns.node_created_at, node.row, "node", "createdAt");
}

/// The pods that are nominated to the node and that the plugin may see. Reads `node: nominated`.
BERTH__HOT BerthPods berth_node_nominated(BerthNode node) {
  struct list { const uint32_t *at; uint32_t n; };
  struct list slots = BERTH__LIST(struct list, berth__columns.node_nominated, node.row, "node", "nominated");
  return (BerthPods){slots.at, slots.n};
}

/// What a declared feed says of the node, in the feed's unit; 0 if it has never said anything. Reads `feeds`.
BERTH__HOT int64_t berth_node_feed(BerthNode node, BerthFeed feed) {
  return BERTH__CELL(int64_t, berth__columns.node_feed[feed.number], node.row, "feeds", "the feed");
}

/// The state of what a declared feed says of the node. Reads `feeds`.
BERTH__HOT BerthFeedState berth_node_feed_state(BerthNode node, BerthFeed feed) {
  return (BerthFeedState)BERTH__CELL(uint8_t, berth__columns.node_feed_state[feed.number], node.row, "feeds", "the feed");
}

/// The sum of the requests of pods on the node that the samples of the declared feeds cannot contain, by the oldest of them. Reads
/// `node: requestedSince`.
BERTH__HOT int64_t berth_node_requested_since(BerthNode node, BerthResource r) {
  return BERTH__CELL(int64_t, berth__columns.node_requested_since[r.number], node.row, "node", "requestedSince, or resources the resource");
}

/// The values of a declared column of the node's object: integers, quantities in thousandths, times in seconds since 1970, or 0 and
/// 1. Reads `objectColumns`.
BERTH__HOT BerthNumbers berth_node_object_numbers(BerthNode node, BerthObjectColumn key) {
  return BERTH__LIST(BerthNumbers, ((struct berth__lists){berth__columns.node_object_numbers[key.number],
      berth__columns.node_object_numbers_arena[key.number]}), node.row, "objectColumns", "the column, or with another type or join");
}

/// The values of a declared column of type string of the node's object. Reads `objectColumns`.
BERTH__HOT BerthIds berth_node_object_texts(BerthNode node, BerthObjectColumn key) {
  return BERTH__LIST(BerthIds, ((struct berth__lists){berth__columns.node_object_texts[key.number],
      berth__columns.node_object_texts_arena[key.number]}), node.row, "objectColumns", "the column, or with another type or join");
}

/// metadata.namespace. Reads `pods: namespace`.
BERTH__HOT BerthId berth_placed_pod_namespace(BerthPlacedPod pod) {
  return BERTH__CELL(BerthId, berth__columns.placed_namespace, pod.slot, "pods", "namespace");
}

/// spec.priority. Reads `pods: priority`.
BERTH__HOT int32_t berth_placed_pod_priority(BerthPlacedPod pod) {
  return BERTH__CELL(int32_t, berth__columns.placed_priority, pod.slot, "pods", "priority");
}

/// What the pod requests of a resource. Reads `pods: requests`.
BERTH__HOT int64_t berth_placed_pod_request(BerthPlacedPod pod, BerthResource r) {
  return BERTH__CELL(int64_t, berth__columns.placed_requests[r.number], pod.slot, "pods", "requests, or resources the resource");
}

/// All labels, unordered. Reads `pods: labels`.
BERTH__HOT BerthPairs berth_placed_pod_labels(BerthPlacedPod pod) {
  return BERTH__LIST(BerthPairs, berth__columns.placed_labels, pod.slot, "pods", "labels");
}

/// The value of any label key, found among all labels; BERTH_ABSENT if there is none. Reads `pods: labels`.
BERTH__HOT BerthId berth_placed_pod_label_by_key(BerthPlacedPod pod, BerthId key) {
  return berth_pairs_find(berth_placed_pod_labels(pod), key);
}

/// The value of a declared annotation key, what plugins reserved included. Reads `podAnnotations`.
BERTH__HOT BerthId berth_placed_pod_annotation(BerthPlacedPod pod, BerthPodAnnotation key) {
  return BERTH__CELL(BerthId, berth__columns.placed_annotation[key.number], pod.slot, "podAnnotations", "the key");
}

/// `Kind/name` of the controlling owner; BERTH_ABSENT for none. Reads `pods: owner`.
BERTH__HOT BerthId berth_placed_pod_owner(BerthPlacedPod pod) {
  return BERTH__CELL(BerthId, berth__columns.placed_owner, pod.slot, "pods", "owner");
}

/// The value of a declared label key. Reads `podLabels`.
BERTH__HOT BerthId berth_placed_pod_label(BerthPlacedPod pod, BerthPodLabel key) {
  return BERTH__CELL(BerthId, berth__columns.placed_label[key.number], pod.slot, "podLabels", "the key");
}

/// Reports whether the pod is being deleted. Reads `pods: flags`.
BERTH__HOT bool berth_placed_pod_terminating(BerthPlacedPod pod) {
  return (BERTH__CELL(uint8_t, berth__columns.placed_flags, pod.slot, "pods", "flags") & 1) != 0;
}

/// metadata.uid. Reads `pods: uid`.
BERTH__FN BerthText berth_placed_pod_uid(BerthPlacedPod pod) {
  return BERTH__LIST(BerthText, berth__columns.placed_uid, pod.slot, "pods", "uid");
}

/// metadata.name. Reads `pods: name`.
BERTH__FN BerthText berth_placed_pod_name(BerthPlacedPod pod) {
  return BERTH__LIST(BerthText, berth__columns.placed_name, pod.slot, "pods", "name");
}

/// How much of a resource the pod may use; −1 if a container has no limit. Reads `pods: limits`.
BERTH__HOT int64_t berth_placed_pod_limit(BerthPlacedPod pod, BerthResource r) {
  return BERTH__CELL(int64_t, berth__columns.placed_limits[r.number], pod.slot, "pods", "limits, or resources the resource");
}

/// The QoS class: Guaranteed, Burstable or BestEffort. Reads `pods: qos`.
BERTH__HOT BerthId berth_placed_pod_qos(BerthPlacedPod pod) {
  return BERTH__CELL(BerthId, berth__columns.placed_qos, pod.slot, "pods", "qos");
}

/// When the pod got its node, in seconds since 1970: the time of the condition PodScheduled, or the host's while the API does not
/// say; 0 if neither is known. Reads `pods: assignedAt`.
BERTH__HOT int64_t berth_placed_pod_assigned_at(BerthPlacedPod pod) {
  return BERTH__CELL(int64_t, berth__columns.placed_assigned_at, pod.slot, "pods", "assignedAt");
}

/// metadata.creationTimestamp in seconds since 1970; 0 for none. Reads `pods: createdAt`.
BERTH__HOT int64_t berth_placed_pod_created_at(BerthPlacedPod pod) {
  return BERTH__CELL(int64_t, berth__columns.placed_created_at, pod.slot, "pods", "createdAt");
}

/// Reports whether status.phase is Running. Reads `pods: state`.
BERTH__HOT bool berth_placed_pod_running(BerthPlacedPod pod) {
  return (BERTH__CELL(uint8_t, berth__columns.placed_state, pod.slot, "pods", "state") & 1) != 0;
}

/// Reports whether the condition Ready is True. Reads `pods: state`.
BERTH__HOT bool berth_placed_pod_ready(BerthPlacedPod pod) {
  return (BERTH__CELL(uint8_t, berth__columns.placed_state, pod.slot, "pods", "state") & 2) != 0;
}

/// metadata.name; BERTH_ABSENT for an empty row. Reads `namespaces: name`.
BERTH__HOT BerthId berth_namespace_name(BerthNamespace namespace) {
  return BERTH__CELL(BerthId, berth__columns.namespace_name, namespace.row, "namespaces", "name");
}

/// All labels, unordered. Reads `namespaces: labels`.
BERTH__HOT BerthPairs berth_namespace_labels(BerthNamespace namespace) {
  return BERTH__LIST(BerthPairs, berth__columns.namespace_labels, namespace.row, "namespaces", "labels");
}

/// The value of any label key, found among all labels; BERTH_ABSENT if there is none. Reads `namespaces: labels`.
BERTH__HOT BerthId berth_namespace_label_by_key(BerthNamespace namespace, BerthId key) {
  return berth_pairs_find(berth_namespace_labels(namespace), key);
}

/// The value of a declared label key. Reads `namespaceLabels`.
BERTH__HOT BerthId berth_namespace_label(BerthNamespace namespace, BerthNamespaceLabel key) {
  return BERTH__CELL(BerthId, berth__columns.namespace_label[key.number], namespace.row, "namespaceLabels", "the key");
}

/// The sum of the requests of the namespace's pods on nodes; for `pods` their number. Reads `namespaces: requested`.
BERTH__HOT int64_t berth_namespace_requested(BerthNamespace namespace, BerthResource r) {
  return BERTH__CELL(int64_t, berth__columns.namespace_requested[r.number], namespace.row, "namespaces", "requested, or resources the resource");
}

/// The values of a declared column of the namespace's object: integers, quantities in thousandths, times in seconds since 1970, or 0
/// and 1. Reads `objectColumns`.
BERTH__HOT BerthNumbers berth_namespace_object_numbers(BerthNamespace namespace, BerthObjectColumn key) {
  return BERTH__LIST(BerthNumbers, ((struct berth__lists){berth__columns.namespace_object_numbers[key.number],
      berth__columns.namespace_object_numbers_arena[key.number]}), namespace.row, "objectColumns", "the column, or with another type or join");
}

/// The values of a declared column of type string of the namespace's object. Reads `objectColumns`.
BERTH__HOT BerthIds berth_namespace_object_texts(BerthNamespace namespace, BerthObjectColumn key) {
  return BERTH__LIST(BerthIds, ((struct berth__lists){berth__columns.namespace_object_texts[key.number],
      berth__columns.namespace_object_texts_arena[key.number]}), namespace.row, "objectColumns", "the column, or with another type or join");
}
