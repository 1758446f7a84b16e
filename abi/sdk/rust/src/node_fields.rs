//! What nodes, pods on them and namespaces have.

use crate::columns::{cell, keyed, keyed_list, utf8};
use crate::node::{Node, PlacedPod, Pods};
use crate::snapshot::Namespace;
use crate::types::{
    find, Condition, Feed, FeedState, Id, Image, NamespaceLabel, NodeAnnotation, NodeCondition,
    NodeLabel, ObjectColumn, Pair, PodAnnotation, PodLabel, Port, Resource, Taint,
};

// Generated from abi/fields.
impl<'c> Node<'c> {
    /// metadata.name. Reads `node: name`.
    pub fn name(self) -> &'c str {
        let column = &self.columns.plain.node_name;
        utf8(column.row(self.row, "node", "name"))
    }

    /// spec.unschedulable. Reads `node: flags`.
    #[inline]
    pub fn unschedulable(self) -> bool {
        let column = &self.columns.plain.node_flags;
        cell(column, self.row, "node", "flags") & 1 != 0
    }

    /// status.allocatable, in milli-CPU, bytes or a count. Reads `node: allocatable`.
    #[inline]
    pub fn allocatable(self, resource: Resource) -> i64 {
        let columns = &self.columns.keyed.node_allocatable;
        keyed(columns, resource.0, self.row, "node", "allocatable")
    }

    /// The sum of the requests of the pods on the node; for `pods` their number. Reads
    /// `node: requested`.
    #[inline]
    pub fn requested(self, resource: Resource) -> i64 {
        let columns = &self.columns.keyed.node_requested;
        keyed(columns, resource.0, self.row, "node", "requested")
    }

    /// Milli-CPU and bytes requested, where a container without a request counts 100 milli-CPU and
    /// 200 MiB. Reads `node: nonZeroRequested`.
    #[inline]
    pub fn non_zero_requested(self) -> (i64, i64) {
        let [cpu, memory] = &self.columns.plain.node_non_zero_requested;
        let of = |column| cell(column, self.row, "node", "nonZeroRequested");
        (of(cpu), of(memory))
    }

    /// All labels, unordered. Reads `node: labels`.
    #[inline]
    pub fn labels(self) -> &'c [Pair] {
        let column = &self.columns.plain.node_labels;
        column.row(self.row, "node", "labels")
    }

    /// The value of any label key, found among all labels; ABSENT if there is none. Reads
    /// `node: labels`.
    #[inline]
    pub fn label_by_key(self, key: Id) -> Id {
        find(self.labels(), key)
    }

    /// The value of a declared annotation key; ABSENT if the node does not have it. Reads
    /// `nodeAnnotations`.
    #[inline]
    pub fn annotation(self, key: NodeAnnotation) -> Id {
        let columns = &self.columns.keyed.node_annotation;
        keyed(columns, key.0, self.row, "nodeAnnotations", "the key")
    }

    /// spec.taints. Reads `node: taints`.
    #[inline]
    pub fn taints(self) -> &'c [Taint] {
        let column = &self.columns.plain.node_taints;
        column.row(self.row, "node", "taints")
    }

    /// The host ports in use. Reads `node: ports`.
    #[inline]
    pub fn ports(self) -> &'c [Port] {
        let column = &self.columns.plain.node_ports;
        column.row(self.row, "node", "ports")
    }

    /// status.images, an entry a name. Reads `node: images`.
    #[inline]
    pub fn images(self) -> &'c [Image] {
        let column = &self.columns.plain.node_images;
        column.row(self.row, "node", "images")
    }

    /// The status of a declared type of condition. Reads `nodeConditions`.
    #[inline]
    pub fn condition(self, kind: NodeCondition) -> Condition {
        let columns = &self.columns.keyed.node_condition;
        keyed(columns, kind.0, self.row, "nodeConditions", "the type")
    }

    /// The pods on the node that the plugin may see. Reads `node: pods`.
    #[inline]
    pub fn pods(self) -> Pods<'c> {
        let column = &self.columns.plain.node_pods;
        Pods {
            columns: self.columns,
            slots: column.row(self.row, "node", "pods"),
        }
    }

    /// The row's generation. Reads `node: generation`.
    #[inline]
    pub fn generation(self) -> u64 {
        let column = &self.columns.plain.node_generation;
        cell(column, self.row, "node", "generation")
    }

    /// The value of a declared label key; ABSENT if the node does not have it. Reads `nodeLabels`.
    #[inline]
    pub fn label(self, key: NodeLabel) -> Id {
        let columns = &self.columns.keyed.node_label;
        keyed(columns, key.0, self.row, "nodeLabels", "the key")
    }

    /// The value of the label topology.kubernetes.io/zone, or else of its older name; ABSENT if the
    /// node has neither. Reads `node: zone`.
    #[inline]
    pub fn zone(self) -> Id {
        let column = &self.columns.plain.node_zone;
        cell(column, self.row, "node", "zone")
    }

    /// status.capacity, in milli-CPU, bytes or a count; a change of it alone is no event. Reads
    /// `node: capacity`.
    #[inline]
    pub fn capacity(self, resource: Resource) -> i64 {
        let columns = &self.columns.keyed.node_capacity;
        keyed(columns, resource.0, self.row, "node", "capacity")
    }

    /// metadata.creationTimestamp in seconds since 1970; 0 for none. Reads `node: createdAt`.
    #[inline]
    pub fn created_at(self) -> i64 {
        let column = &self.columns.plain.node_created_at;
        cell(column, self.row, "node", "createdAt")
    }

    /// The pods that are nominated to the node and that the plugin may see. Reads
    /// `node: nominated`.
    #[inline]
    pub fn nominated(self) -> Pods<'c> {
        let column = &self.columns.plain.node_nominated;
        Pods {
            columns: self.columns,
            slots: column.row(self.row, "node", "nominated"),
        }
    }

    /// What a declared feed says of the node, in the feed's unit; 0 if it has never said anything.
    /// Reads `feeds`.
    #[inline]
    pub fn feed(self, feed: Feed) -> i64 {
        let columns = &self.columns.keyed.node_feed;
        keyed(columns, feed.0, self.row, "feeds", "the feed")
    }

    /// The state of what a declared feed says of the node. Reads `feeds`.
    #[inline]
    pub fn feed_state(self, feed: Feed) -> FeedState {
        let columns = &self.columns.keyed.node_feed_state;
        keyed(columns, feed.0, self.row, "feeds", "the feed")
    }

    /// The sum of the requests of pods on the node that the samples of the declared feeds cannot
    /// contain, by the oldest of them. Reads `node: requestedSince`.
    #[inline]
    pub fn requested_since(self, resource: Resource) -> i64 {
        let columns = &self.columns.keyed.node_requested_since;
        keyed(columns, resource.0, self.row, "node", "requestedSince")
    }

    /// The values of a declared column of the node's object: integers, quantities in thousandths,
    /// times in seconds since 1970, or 0 and 1. Reads `objectColumns`.
    #[inline]
    pub fn object_numbers(self, key: ObjectColumn) -> &'c [i64] {
        let k = &self.columns.keyed;
        let spans = &k.node_object_numbers;
        let arenas = &k.node_object_numbers_arena;
        keyed_list(spans, arenas, key.0, self.row, "objectColumns")
    }

    /// The values of a declared column of type string of the node's object. Reads `objectColumns`.
    #[inline]
    pub fn object_texts(self, key: ObjectColumn) -> &'c [Id] {
        let k = &self.columns.keyed;
        let spans = &k.node_object_texts;
        let arenas = &k.node_object_texts_arena;
        keyed_list(spans, arenas, key.0, self.row, "objectColumns")
    }
}

impl<'c> PlacedPod<'c> {
    /// metadata.namespace. Reads `pods: namespace`.
    #[inline]
    pub fn namespace(self) -> Id {
        let column = &self.columns.plain.pod_namespace;
        cell(column, self.slot, "pods", "namespace")
    }

    /// spec.priority. Reads `pods: priority`.
    #[inline]
    pub fn priority(self) -> i32 {
        let column = &self.columns.plain.pod_priority;
        cell(column, self.slot, "pods", "priority")
    }

    /// What the pod requests of a resource. Reads `pods: requests`.
    #[inline]
    pub fn request(self, resource: Resource) -> i64 {
        let columns = &self.columns.keyed.pod_requests;
        keyed(columns, resource.0, self.slot, "pods", "requests")
    }

    /// All labels, unordered. Reads `pods: labels`.
    #[inline]
    pub fn labels(self) -> &'c [Pair] {
        let column = &self.columns.plain.pod_labels;
        column.row(self.slot, "pods", "labels")
    }

    /// The value of any label key, found among all labels; ABSENT if there is none. Reads
    /// `pods: labels`.
    #[inline]
    pub fn label_by_key(self, key: Id) -> Id {
        find(self.labels(), key)
    }

    /// The value of a declared annotation key, what plugins reserved included. Reads
    /// `podAnnotations`.
    #[inline]
    pub fn annotation(self, key: PodAnnotation) -> Id {
        let columns = &self.columns.keyed.pod_annotation;
        keyed(columns, key.0, self.slot, "podAnnotations", "the key")
    }

    /// `Kind/name` of the controlling owner; ABSENT for none. Reads `pods: owner`.
    #[inline]
    pub fn owner(self) -> Id {
        let column = &self.columns.plain.pod_owner;
        cell(column, self.slot, "pods", "owner")
    }

    /// The value of a declared label key. Reads `podLabels`.
    #[inline]
    pub fn label(self, key: PodLabel) -> Id {
        let columns = &self.columns.keyed.pod_label;
        keyed(columns, key.0, self.slot, "podLabels", "the key")
    }

    /// Reports whether the pod is being deleted. Reads `pods: flags`.
    #[inline]
    pub fn terminating(self) -> bool {
        let column = &self.columns.plain.pod_flags;
        cell(column, self.slot, "pods", "flags") & 1 != 0
    }

    /// metadata.uid. Reads `pods: uid`.
    pub fn uid(self) -> &'c str {
        let column = &self.columns.plain.pod_uid;
        utf8(column.row(self.slot, "pods", "uid"))
    }

    /// metadata.name. Reads `pods: name`.
    pub fn name(self) -> &'c str {
        let column = &self.columns.plain.pod_name;
        utf8(column.row(self.slot, "pods", "name"))
    }

    /// How much of a resource the pod may use; −1 if a container has no limit. Reads
    /// `pods: limits`.
    #[inline]
    pub fn limit(self, resource: Resource) -> i64 {
        let columns = &self.columns.keyed.pod_limits;
        keyed(columns, resource.0, self.slot, "pods", "limits")
    }

    /// The QoS class: Guaranteed, Burstable or BestEffort. Reads `pods: qos`.
    #[inline]
    pub fn qos(self) -> Id {
        let column = &self.columns.plain.pod_qos;
        cell(column, self.slot, "pods", "qos")
    }

    /// When the pod got its node, in seconds since 1970: the time of the condition PodScheduled, or
    /// the host's while the API does not say; 0 if neither is known. Reads `pods: assignedAt`.
    #[inline]
    pub fn assigned_at(self) -> i64 {
        let column = &self.columns.plain.pod_assigned_at;
        cell(column, self.slot, "pods", "assignedAt")
    }

    /// metadata.creationTimestamp in seconds since 1970; 0 for none. Reads `pods: createdAt`.
    #[inline]
    pub fn created_at(self) -> i64 {
        let column = &self.columns.plain.pod_created_at;
        cell(column, self.slot, "pods", "createdAt")
    }

    /// Reports whether status.phase is Running. Reads `pods: state`.
    #[inline]
    pub fn running(self) -> bool {
        let column = &self.columns.plain.pod_state;
        cell(column, self.slot, "pods", "state") & 1 != 0
    }

    /// Reports whether the condition Ready is True. Reads `pods: state`.
    #[inline]
    pub fn ready(self) -> bool {
        let column = &self.columns.plain.pod_state;
        cell(column, self.slot, "pods", "state") & 2 != 0
    }
}

impl<'c> Namespace<'c> {
    /// metadata.name; ABSENT for an empty row. Reads `namespaces: name`.
    #[inline]
    pub fn name(self) -> Id {
        let column = &self.columns.plain.namespace_name;
        cell(column, self.row, "namespaces", "name")
    }

    /// All labels, unordered. Reads `namespaces: labels`.
    #[inline]
    pub fn labels(self) -> &'c [Pair] {
        let column = &self.columns.plain.namespace_labels;
        column.row(self.row, "namespaces", "labels")
    }

    /// The value of any label key, found among all labels; ABSENT if there is none. Reads
    /// `namespaces: labels`.
    #[inline]
    pub fn label_by_key(self, key: Id) -> Id {
        find(self.labels(), key)
    }

    /// The value of a declared label key. Reads `namespaceLabels`.
    #[inline]
    pub fn label(self, key: NamespaceLabel) -> Id {
        let columns = &self.columns.keyed.namespace_label;
        keyed(columns, key.0, self.row, "namespaceLabels", "the key")
    }

    /// The sum of the requests of the namespace's pods on nodes; for `pods` their number. Reads
    /// `namespaces: requested`.
    #[inline]
    pub fn requested(self, resource: Resource) -> i64 {
        let columns = &self.columns.keyed.namespace_requested;
        keyed(columns, resource.0, self.row, "namespaces", "requested")
    }

    /// The values of a declared column of the namespace's object: integers, quantities in
    /// thousandths, times in seconds since 1970, or 0 and 1. Reads `objectColumns`.
    #[inline]
    pub fn object_numbers(self, key: ObjectColumn) -> &'c [i64] {
        let k = &self.columns.keyed;
        let spans = &k.namespace_object_numbers;
        let arenas = &k.namespace_object_numbers_arena;
        keyed_list(spans, arenas, key.0, self.row, "objectColumns")
    }

    /// The values of a declared column of type string of the namespace's object. Reads
    /// `objectColumns`.
    #[inline]
    pub fn object_texts(self, key: ObjectColumn) -> &'c [Id] {
        let k = &self.columns.keyed;
        let spans = &k.namespace_object_texts;
        let arenas = &k.namespace_object_texts_arena;
        keyed_list(spans, arenas, key.0, self.row, "objectColumns")
    }
}
