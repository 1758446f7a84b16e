// Cluster events (ABI-3.10).

/// The answer of hint, in the words of k8s.io/kube-scheduler/framework.
typedef enum {
  BERTH_QUEUE = BERTH_CODE_SUCCESS,   // after the event another try may succeed
  BERTH_QUEUE_SKIP = BERTH_CODE_SKIP, // the pod stays parked
} BerthHintResult;

/// A cluster event. It has objects of one kind: no old one if it was added, no new one if it was
/// deleted.
typedef const struct berth__event_record *BerthEvent;

/// The kind of the object.
BERTH__FN BerthEventKind berth_event_resource(BerthEvent event) { return (BerthEventKind)event->resource; }

/// What happened to it, as bits of BerthEventAction. An update may have several.
BERTH__FN uint32_t berth_event_actions(BerthEvent event) { return event->actions; }

/// Reports whether the event is of a resource and has one of some actions.
BERTH__FN bool berth_event_is(BerthEvent event, BerthEventKind resource, uint32_t actions) {
  return event->resource == (uint32_t)resource && (event->actions & actions) != 0;
}

/// Gets the pod as it was; its fields are those that the manifest lists of `pod`.
BERTH__FN bool berth_event_old_pod(BerthEvent event, BerthPod *pod) {
  *pod = &berth__calling.other;
  return event->old_pod.address != 0;
}

/// Gets the pod as it is.
BERTH__FN bool berth_event_new_pod(BerthEvent event, BerthPod *pod) {
  *pod = &berth__calling.newer;
  return event->new_pod.address != 0;
}

BERTH__FN bool berth__event_node(uint32_t row, BerthNode *node) {
  *node = (BerthNode){row};
  return row != UINT32_MAX;
}

/// Gets the node as it was, with what the manifest lists of it except the pods on it and what is
/// computed from them.
BERTH__FN bool berth_event_old_node(BerthEvent event, BerthNode *node) { return berth__event_node(event->old_node, node); }

/// Gets the node as it is.
BERTH__FN bool berth_event_new_node(BerthEvent event, BerthNode *node) { return berth__event_node(event->new_node, node); }

BERTH__FN BerthText berth__event_text(struct berth__text text) {
  return (BerthText){berth__view(text.address, text.length, 1), text.length};
}

/// metadata.namespace of an object that is neither a pod nor a node.
BERTH__FN BerthText berth_event_namespace(BerthEvent event) { return berth__event_text(event->namespace); }

/// metadata.name of an object that is neither a pod nor a node.
BERTH__FN BerthText berth_event_name(BerthEvent event) { return berth__event_text(event->name); }
