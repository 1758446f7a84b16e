//! Nodes and the pods on them, as views of columns.

use crate::columns::{cell, keyed, utf8, Columns};
use crate::types::{
    find, Condition, Feed, FeedState, Id, Image, NodeAnnotation, NodeCondition, NodeLabel, Pair,
    PodAnnotation, PodLabel, Port, Resource, Taint,
};

/// A node, as a view of its row.
#[derive(Clone, Copy)]
pub struct Node<'c> {
    pub(crate) columns: &'c Columns,
    pub(crate) row: u32,
}

impl<'c> Node<'c> {
    /// The number of the node's row in this instance. It means nothing else, and an answer must
    /// not depend on it.
    #[inline]
    pub fn row(self) -> u32 {
        self.row
    }

    /// metadata.name. Reads `node: name`.
    pub fn name(self) -> &'c str {
        utf8(self.columns.plain.name.row(self.row, "node", "name"))
    }

    /// spec.unschedulable. Reads `node: flags`.
    #[inline]
    pub fn unschedulable(self) -> bool {
        cell(&self.columns.plain.flags, self.row, "node", "flags") & 1 != 0
    }

    /// status.allocatable in milli-CPU, bytes or a count. Reads `node: allocatable`.
    #[inline]
    pub fn allocatable(self, resource: Resource) -> i64 {
        keyed(
            &self.columns.allocatable,
            resource.0,
            self.row,
            "node",
            "allocatable",
        )
    }

    /// status.capacity in milli-CPU, bytes or a count. Reads `node: capacity`.
    #[inline]
    pub fn capacity(self, resource: Resource) -> i64 {
        keyed(
            &self.columns.capacity,
            resource.0,
            self.row,
            "node",
            "capacity",
        )
    }

    /// metadata.creationTimestamp in seconds since 1970; 0 for none. Reads `node: createdAt`.
    #[inline]
    pub fn created_at(self) -> i64 {
        cell(
            &self.columns.plain.created_at,
            self.row,
            "node",
            "createdAt",
        )
    }

    /// The sum of what the pods on the node request; for `pods` their number. Reads
    /// `node: requested`.
    #[inline]
    pub fn requested(self, resource: Resource) -> i64 {
        keyed(
            &self.columns.requested,
            resource.0,
            self.row,
            "node",
            "requested",
        )
    }

    /// Milli-CPU and bytes requested, where a container without a request counts 100 milli-CPU
    /// and 200 MiB. Reads `node: nonZeroRequested`.
    #[inline]
    pub fn non_zero_requested(self) -> (i64, i64) {
        let [cpu, memory] = &self.columns.plain.non_zero;
        (
            cell(cpu, self.row, "node", "nonZeroRequested"),
            cell(memory, self.row, "node", "nonZeroRequested"),
        )
    }

    /// The value of a declared label key; ABSENT if the node does not have it. Reads
    /// `nodeLabels`.
    #[inline]
    pub fn label(self, key: NodeLabel) -> Id {
        keyed(
            &self.columns.label,
            key.0,
            self.row,
            "nodeLabels",
            "the key",
        )
    }

    /// All labels, in no order. Reads `node: labels`.
    #[inline]
    pub fn labels(self) -> &'c [Pair] {
        self.columns.plain.labels.row(self.row, "node", "labels")
    }

    /// The value of any label key, found among labels; ABSENT if the node does not have it.
    /// Reads `node: labels`.
    #[inline]
    pub fn label_by_key(self, key: Id) -> Id {
        find(self.labels(), key)
    }

    /// The value of a declared annotation key. Reads `nodeAnnotations`.
    #[inline]
    pub fn annotation(self, key: NodeAnnotation) -> Id {
        keyed(
            &self.columns.annotation,
            key.0,
            self.row,
            "nodeAnnotations",
            "the key",
        )
    }

    /// spec.taints. Reads `node: taints`.
    #[inline]
    pub fn taints(self) -> &'c [Taint] {
        self.columns.plain.taints.row(self.row, "node", "taints")
    }

    /// The host ports in use. Reads `node: ports`.
    #[inline]
    pub fn ports(self) -> &'c [Port] {
        self.columns.plain.ports.row(self.row, "node", "ports")
    }

    /// status.images, an entry a name. Reads `node: images`.
    #[inline]
    pub fn images(self) -> &'c [Image] {
        self.columns.plain.images.row(self.row, "node", "images")
    }

    /// The status of a declared type of condition. Reads `nodeConditions`.
    #[inline]
    pub fn condition(self, kind: NodeCondition) -> Condition {
        keyed(
            &self.columns.condition,
            kind.0,
            self.row,
            "nodeConditions",
            "the type",
        )
    }

    /// What a declared feed says of the node, in its unit; 0 if the state is NONE. Reads `feeds`.
    #[inline]
    pub fn feed(self, feed: Feed) -> i64 {
        keyed(&self.columns.feed, feed.0, self.row, "feeds", "the feed")
    }

    /// The state of what a declared feed says of the node. Reads `feeds`.
    #[inline]
    pub fn feed_state(self, feed: Feed) -> FeedState {
        keyed(
            &self.columns.feed_state,
            feed.0,
            self.row,
            "feeds",
            "the feed",
        )
    }

    /// The sum of the requests of pods on the node that the samples of the declared feeds cannot
    /// contain, by the oldest of them. Reads `node: requestedSince`.
    #[inline]
    pub fn requested_since(self, resource: Resource) -> i64 {
        keyed(
            &self.columns.requested_since,
            resource.0,
            self.row,
            "node",
            "requestedSince",
        )
    }

    /// The pods on the node that the plugin may see. Reads `node: pods`.
    #[inline]
    pub fn pods(self) -> Pods<'c> {
        Pods {
            columns: self.columns,
            slots: self.columns.plain.pods.row(self.row, "node", "pods"),
        }
    }

    /// The row's generation. Reads `node: generation`.
    pub fn generation(self) -> u64 {
        cell(
            &self.columns.plain.generation,
            self.row,
            "node",
            "generation",
        )
    }

    /// The value of the label topology.kubernetes.io/zone, or else of its older name. Reads
    /// `node: zone`.
    #[inline]
    pub fn zone(self) -> Id {
        cell(&self.columns.plain.zone, self.row, "node", "zone")
    }
}

/// A list of pods on a node, in no order.
#[derive(Clone, Copy)]
pub struct Pods<'c> {
    columns: &'c Columns,
    slots: &'c [u32],
}

impl<'c> Pods<'c> {
    /// The number of pods.
    #[inline]
    pub fn len(self) -> usize {
        self.slots.len()
    }

    /// Reports whether there is none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.slots.is_empty()
    }

    /// The i-th pod.
    #[inline]
    pub fn at(self, i: usize) -> PlacedPod<'c> {
        PlacedPod {
            columns: self.columns,
            slot: self.slots[i],
        }
    }

    /// All of them.
    #[inline]
    pub fn iter(self) -> impl ExactSizeIterator<Item = PlacedPod<'c>> {
        let columns = self.columns;
        self.slots.iter().map(move |slot| PlacedPod {
            columns,
            slot: *slot,
        })
    }
}

/// A pod on a node, as a view of its slot.
#[derive(Clone, Copy)]
pub struct PlacedPod<'c> {
    pub(crate) columns: &'c Columns,
    pub(crate) slot: u32,
}

impl<'c> PlacedPod<'c> {
    /// metadata.namespace. Reads `pods: namespace`.
    #[inline]
    pub fn namespace(self) -> Id {
        cell(
            &self.columns.plain.pod_namespace,
            self.slot,
            "pods",
            "namespace",
        )
    }

    /// spec.priority. Reads `pods: priority`.
    #[inline]
    pub fn priority(self) -> i32 {
        cell(
            &self.columns.plain.pod_priority,
            self.slot,
            "pods",
            "priority",
        )
    }

    /// What the pod requests of a resource. Reads `pods: requests`.
    #[inline]
    pub fn request(self, resource: Resource) -> i64 {
        keyed(
            &self.columns.pod_requests,
            resource.0,
            self.slot,
            "pods",
            "requests",
        )
    }

    /// The value of a declared label key. Reads `podLabels`.
    #[inline]
    pub fn label(self, key: PodLabel) -> Id {
        keyed(
            &self.columns.pod_label,
            key.0,
            self.slot,
            "podLabels",
            "the key",
        )
    }

    /// All labels, in no order. Reads `pods: labels`.
    #[inline]
    pub fn labels(self) -> &'c [Pair] {
        self.columns
            .plain
            .pod_labels
            .row(self.slot, "pods", "labels")
    }

    /// The value of any label key. Reads `pods: labels`.
    #[inline]
    pub fn label_by_key(self, key: Id) -> Id {
        find(self.labels(), key)
    }

    /// The value of a declared annotation key, what plugins reserved included (ABI-5.16). Reads
    /// `podAnnotations`.
    #[inline]
    pub fn annotation(self, key: PodAnnotation) -> Id {
        keyed(
            &self.columns.pod_annotation,
            key.0,
            self.slot,
            "podAnnotations",
            "the key",
        )
    }

    /// `Kind/name` of the controlling owner; ABSENT for none. Reads `pods: owner`.
    #[inline]
    pub fn owner(self) -> Id {
        cell(&self.columns.plain.pod_owner, self.slot, "pods", "owner")
    }

    /// Reports a pod that is being deleted. Reads `pods: flags`.
    #[inline]
    pub fn terminating(self) -> bool {
        cell(&self.columns.plain.pod_flags, self.slot, "pods", "flags") & 1 != 0
    }

    /// How much of a resource the pod may use; −1 if a container has no limit. Reads
    /// `pods: limits`.
    #[inline]
    pub fn limit(self, resource: Resource) -> i64 {
        keyed(
            &self.columns.pod_limits,
            resource.0,
            self.slot,
            "pods",
            "limits",
        )
    }

    /// The QoS class: Guaranteed, Burstable or BestEffort. Reads `pods: qos`.
    #[inline]
    pub fn qos(self) -> Id {
        cell(&self.columns.plain.pod_qos, self.slot, "pods", "qos")
    }

    /// When the pod got its node, in seconds since 1970: the time of the condition PodScheduled,
    /// or the host's while the API does not say; 0 if neither is known. Reads `pods: assignedAt`.
    #[inline]
    pub fn assigned_at(self) -> i64 {
        cell(
            &self.columns.plain.pod_assigned,
            self.slot,
            "pods",
            "assignedAt",
        )
    }

    /// metadata.creationTimestamp in seconds since 1970; 0 for none. Reads `pods: createdAt`.
    #[inline]
    pub fn created_at(self) -> i64 {
        cell(
            &self.columns.plain.pod_created,
            self.slot,
            "pods",
            "createdAt",
        )
    }

    /// Reports a pod whose status.phase is Running. Reads `pods: state`.
    #[inline]
    pub fn running(self) -> bool {
        cell(&self.columns.plain.pod_state, self.slot, "pods", "state") & 1 != 0
    }

    /// Reports a pod whose condition Ready is True. Reads `pods: state`.
    #[inline]
    pub fn ready(self) -> bool {
        cell(&self.columns.plain.pod_state, self.slot, "pods", "state") & 2 != 0
    }

    /// metadata.uid. Reads `pods: uid`.
    pub fn uid(self) -> &'c str {
        utf8(self.columns.plain.pod_uid.row(self.slot, "pods", "uid"))
    }

    /// metadata.name. Reads `pods: name`.
    pub fn name(self) -> &'c str {
        utf8(self.columns.plain.pod_name.row(self.slot, "pods", "name"))
    }
}
