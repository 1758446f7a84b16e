//! The columns of nodes, of pods on them and of namespaces, and what sets them.

use crate::abi::{column, element};
use crate::columns::{clear, empty, key, of_key, one, Columns, Keyed, Lists};
use crate::declared::Declared;
use crate::memory::{Memory, View};
use crate::records::ColumnEntry;
use crate::types::{Condition, FeedState, Id, Image, Pair, Port, Span, Taint};

// Generated from abi/fields.
/// The columns without keys.
pub(crate) struct PlainColumns {
    pub node_name: Lists<u8>,
    pub node_flags: View<u8>,
    pub node_non_zero_requested: [View<i64>; 2],
    pub node_labels: Lists<Pair>,
    pub node_taints: Lists<Taint>,
    pub node_ports: Lists<Port>,
    pub node_images: Lists<Image>,
    pub node_pods: Lists<u32>,
    pub node_generation: View<u64>,
    pub node_zone: View<Id>,
    pub node_created_at: View<i64>,
    pub node_nominated: Lists<u32>,
    pub pod_namespace: View<Id>,
    pub pod_priority: View<i32>,
    pub pod_labels: Lists<Pair>,
    pub pod_owner: View<Id>,
    pub pod_flags: View<u8>,
    pub pod_uid: Lists<u8>,
    pub pod_name: Lists<u8>,
    pub pod_qos: View<Id>,
    pub pod_assigned_at: View<i64>,
    pub pod_created_at: View<i64>,
    pub pod_state: View<u8>,
    pub namespace_name: View<Id>,
    pub namespace_labels: Lists<Pair>,
}

impl PlainColumns {
    pub const EMPTY: PlainColumns = PlainColumns {
        node_name: Lists::EMPTY,
        node_flags: View::empty(),
        node_non_zero_requested: [View::empty(); 2],
        node_labels: Lists::EMPTY,
        node_taints: Lists::EMPTY,
        node_ports: Lists::EMPTY,
        node_images: Lists::EMPTY,
        node_pods: Lists::EMPTY,
        node_generation: View::empty(),
        node_zone: View::empty(),
        node_created_at: View::empty(),
        node_nominated: Lists::EMPTY,
        pod_namespace: View::empty(),
        pod_priority: View::empty(),
        pod_labels: Lists::EMPTY,
        pod_owner: View::empty(),
        pod_flags: View::empty(),
        pod_uid: Lists::EMPTY,
        pod_name: Lists::EMPTY,
        pod_qos: View::empty(),
        pod_assigned_at: View::empty(),
        pod_created_at: View::empty(),
        pod_state: View::empty(),
        namespace_name: View::empty(),
        namespace_labels: Lists::EMPTY,
    };
}

/// The columns by declared key, the key's index first.
pub(crate) struct KeyedColumns {
    pub node_allocatable: Keyed<i64>,
    pub node_requested: Keyed<i64>,
    pub node_annotation: Keyed<Id>,
    pub node_condition: Keyed<Condition>,
    pub node_label: Keyed<Id>,
    pub node_capacity: Keyed<i64>,
    pub node_feed: Keyed<i64>,
    pub node_feed_state: Keyed<FeedState>,
    pub node_requested_since: Keyed<i64>,
    pub node_object_numbers: Keyed<Span>,
    pub node_object_numbers_arena: Keyed<i64>,
    pub node_object_texts: Keyed<Span>,
    pub node_object_texts_arena: Keyed<Id>,
    pub pod_requests: Keyed<i64>,
    pub pod_annotation: Keyed<Id>,
    pub pod_label: Keyed<Id>,
    pub pod_limits: Keyed<i64>,
    pub namespace_label: Keyed<Id>,
    pub namespace_requested: Keyed<i64>,
    pub namespace_object_numbers: Keyed<Span>,
    pub namespace_object_numbers_arena: Keyed<i64>,
    pub namespace_object_texts: Keyed<Span>,
    pub namespace_object_texts_arena: Keyed<Id>,
}

impl KeyedColumns {
    /// Allocates the columns.
    pub fn new(memory: &Memory, declared: &Declared) -> KeyedColumns {
        KeyedColumns {
            node_allocatable: empty(memory, declared.length("resources")),
            node_requested: empty(memory, declared.length("resources")),
            node_annotation: empty(memory, declared.length("nodeAnnotations")),
            node_condition: empty(memory, declared.length("nodeConditions")),
            node_label: empty(memory, declared.length("nodeLabels")),
            node_capacity: empty(memory, declared.length("resources")),
            node_feed: empty(memory, declared.length("feeds")),
            node_feed_state: empty(memory, declared.length("feeds")),
            node_requested_since: empty(memory, declared.length("resources")),
            node_object_numbers: empty(memory, declared.length("objectColumns")),
            node_object_numbers_arena: empty(memory, declared.length("objectColumns")),
            node_object_texts: empty(memory, declared.length("objectColumns")),
            node_object_texts_arena: empty(memory, declared.length("objectColumns")),
            pod_requests: empty(memory, declared.length("resources")),
            pod_annotation: empty(memory, declared.length("podAnnotations")),
            pod_label: empty(memory, declared.length("podLabels")),
            pod_limits: empty(memory, declared.length("resources")),
            namespace_label: empty(memory, declared.length("namespaceLabels")),
            namespace_requested: empty(memory, declared.length("resources")),
            namespace_object_numbers: empty(memory, declared.length("objectColumns")),
            namespace_object_numbers_arena: empty(memory, declared.length("objectColumns")),
            namespace_object_texts: empty(memory, declared.length("objectColumns")),
            namespace_object_texts_arena: empty(memory, declared.length("objectColumns")),
        }
    }

    pub fn forget(&mut self) {
        clear(&mut self.node_allocatable);
        clear(&mut self.node_requested);
        clear(&mut self.node_annotation);
        clear(&mut self.node_condition);
        clear(&mut self.node_label);
        clear(&mut self.node_capacity);
        clear(&mut self.node_feed);
        clear(&mut self.node_feed_state);
        clear(&mut self.node_requested_since);
        clear(&mut self.node_object_numbers);
        clear(&mut self.node_object_numbers_arena);
        clear(&mut self.node_object_texts);
        clear(&mut self.node_object_texts_arena);
        clear(&mut self.pod_requests);
        clear(&mut self.pod_annotation);
        clear(&mut self.pod_label);
        clear(&mut self.pod_limits);
        clear(&mut self.namespace_label);
        clear(&mut self.namespace_requested);
        clear(&mut self.namespace_object_numbers);
        clear(&mut self.namespace_object_numbers_arena);
        clear(&mut self.namespace_object_texts);
        clear(&mut self.namespace_object_texts_arena);
    }
}

impl Columns {
    /// Sets a column. Unknown columns and types are skipped (ABI-4.5).
    pub(crate) fn set(&mut self, m: &Memory, e: &ColumnEntry) {
        let (p, k) = (&mut self.plain, &mut self.keyed);
        match e.id {
            column::NODE_NAME => p.node_name.set(m, e),
            column::NODE_FLAGS => one(m, e, element::U8, &mut p.node_flags),
            column::NODE_ALLOCATABLE => of_key(m, e, element::I64, &mut k.node_allocatable),
            column::NODE_REQUESTED => of_key(m, e, element::I64, &mut k.node_requested),
            column::NODE_NON_ZERO_REQUESTED => {
                key(m, e, element::I64, &mut p.node_non_zero_requested)
            }
            column::NODE_LABELS => p.node_labels.set(m, e),
            column::NODE_ANNOTATION => of_key(m, e, element::U32, &mut k.node_annotation),
            column::NODE_TAINTS => p.node_taints.set(m, e),
            column::NODE_PORTS => p.node_ports.set(m, e),
            column::NODE_IMAGES => p.node_images.set(m, e),
            column::NODE_CONDITION => of_key(m, e, element::U8, &mut k.node_condition),
            column::NODE_PODS => p.node_pods.set(m, e),
            column::NODE_GENERATION => one(m, e, element::U64, &mut p.node_generation),
            column::NODE_LABEL => of_key(m, e, element::U32, &mut k.node_label),
            column::NODE_ZONE => one(m, e, element::U32, &mut p.node_zone),
            column::NODE_CAPACITY => of_key(m, e, element::I64, &mut k.node_capacity),
            column::NODE_CREATED_AT => one(m, e, element::I64, &mut p.node_created_at),
            column::NODE_NOMINATED => p.node_nominated.set(m, e),
            column::NODE_FEED => of_key(m, e, element::I64, &mut k.node_feed),
            column::NODE_FEED_STATE => of_key(m, e, element::U8, &mut k.node_feed_state),
            column::NODE_REQUESTED_SINCE => of_key(m, e, element::I64, &mut k.node_requested_since),
            column::NODE_OBJECT_NUMBERS => of_key(m, e, element::SPAN, &mut k.node_object_numbers),
            column::NODE_OBJECT_TEXTS => of_key(m, e, element::SPAN, &mut k.node_object_texts),
            column::POD_NAMESPACE => one(m, e, element::U32, &mut p.pod_namespace),
            column::POD_PRIORITY => one(m, e, element::I32, &mut p.pod_priority),
            column::POD_REQUESTS => of_key(m, e, element::I64, &mut k.pod_requests),
            column::POD_LABELS => p.pod_labels.set(m, e),
            column::POD_ANNOTATION => of_key(m, e, element::U32, &mut k.pod_annotation),
            column::POD_OWNER => one(m, e, element::U32, &mut p.pod_owner),
            column::POD_LABEL => of_key(m, e, element::U32, &mut k.pod_label),
            column::POD_FLAGS => one(m, e, element::U8, &mut p.pod_flags),
            column::POD_UID => p.pod_uid.set(m, e),
            column::POD_NAME => p.pod_name.set(m, e),
            column::POD_LIMITS => of_key(m, e, element::I64, &mut k.pod_limits),
            column::POD_QOS => one(m, e, element::U32, &mut p.pod_qos),
            column::POD_ASSIGNED_AT => one(m, e, element::I64, &mut p.pod_assigned_at),
            column::POD_CREATED_AT => one(m, e, element::I64, &mut p.pod_created_at),
            column::POD_STATE => one(m, e, element::U8, &mut p.pod_state),
            column::NAMESPACE_NAME => one(m, e, element::U32, &mut p.namespace_name),
            column::NAMESPACE_LABELS => p.namespace_labels.set(m, e),
            column::NAMESPACE_LABEL => of_key(m, e, element::U32, &mut k.namespace_label),
            column::NAMESPACE_REQUESTED => of_key(m, e, element::I64, &mut k.namespace_requested),
            column::NAMESPACE_OBJECT_NUMBERS => {
                of_key(m, e, element::SPAN, &mut k.namespace_object_numbers)
            }
            column::NAMESPACE_OBJECT_TEXTS => {
                of_key(m, e, element::SPAN, &mut k.namespace_object_texts)
            }
            column::STRING => self.strings.set(m, e),
            id if id > column::ARENA => self.arena(m, e),
            _ => {}
        }
    }

    /// Arenas have the id of their column plus 256 (ABI-4.8).
    fn arena(&mut self, m: &Memory, e: &ColumnEntry) {
        let (p, k) = (&mut self.plain, &mut self.keyed);
        match e.id - column::ARENA {
            column::NODE_NAME => one(m, e, element::BYTES, &mut p.node_name.arena),
            column::NODE_LABELS => one(m, e, element::PAIR, &mut p.node_labels.arena),
            column::NODE_TAINTS => one(m, e, element::TAINT, &mut p.node_taints.arena),
            column::NODE_PORTS => one(m, e, element::PORT, &mut p.node_ports.arena),
            column::NODE_IMAGES => one(m, e, element::IMAGE, &mut p.node_images.arena),
            column::NODE_PODS => one(m, e, element::U32, &mut p.node_pods.arena),
            column::NODE_NOMINATED => one(m, e, element::U32, &mut p.node_nominated.arena),
            column::NODE_OBJECT_NUMBERS => {
                of_key(m, e, element::I64, &mut k.node_object_numbers_arena)
            }
            column::NODE_OBJECT_TEXTS => of_key(m, e, element::U32, &mut k.node_object_texts_arena),
            column::POD_LABELS => one(m, e, element::PAIR, &mut p.pod_labels.arena),
            column::POD_UID => one(m, e, element::BYTES, &mut p.pod_uid.arena),
            column::POD_NAME => one(m, e, element::BYTES, &mut p.pod_name.arena),
            column::NAMESPACE_LABELS => one(m, e, element::PAIR, &mut p.namespace_labels.arena),
            column::NAMESPACE_OBJECT_NUMBERS => {
                of_key(m, e, element::I64, &mut k.namespace_object_numbers_arena)
            }
            column::NAMESPACE_OBJECT_TEXTS => {
                of_key(m, e, element::U32, &mut k.namespace_object_texts_arena)
            }
            column::STRING => one(m, e, element::BYTES, &mut self.strings.arena),
            _ => {}
        }
    }
}
