//! The columns of a snapshot as slices (SPEC.md, section 4).

use crate::abi::{self, column, element, table};
use crate::manifest::{undeclared, Manifest};
use crate::memory::{Memory, Plain, View};
use crate::records::{ColumnEntry, Header, TableEntry};
use crate::room::Room;
use crate::types::{Condition, FeedState, Id, Image, Pair, Port, Span, Taint};

/// Columns by declared key, the key's index first.
type Keyed<T> = Room<View<T>>;

/// A column of spans and its arena.
pub(crate) struct Lists<T> {
    spans: View<Span>,
    arena: View<T>,
}

impl<T: Plain> Lists<T> {
    const EMPTY: Lists<T> = Lists {
        spans: View::empty(),
        arena: View::empty(),
    };

    /// Sets the column of spans.
    fn set(&mut self, memory: &Memory, e: &ColumnEntry) {
        one(memory, e, element::SPAN, &mut self.spans);
    }

    /// The elements of a row.
    #[inline]
    pub fn row(&self, row: u32, list: &'static str, name: &'static str) -> &[T] {
        let span = cell(&self.spans, row, list, name);
        if span.length == 0 {
            return &[]; // a span of length 0 may have any start (ABI-4.8)
        }
        let start = span.start as usize;
        &self.arena.slice()[start..start + span.length as usize]
    }
}

/// The element of a row. A column that the manifest does not declare has none.
#[inline]
pub(crate) fn cell<T: Copy>(
    column: &View<T>,
    row: u32,
    list: &'static str,
    name: &'static str,
) -> T {
    match column.slice().get(row as usize) {
        Some(value) => *value,
        None => undeclared(list, name),
    }
}

/// The element of a row in the column of a key.
#[inline]
pub(crate) fn keyed<T: Plain>(
    columns: &Keyed<T>,
    key: u32,
    row: u32,
    list: &'static str,
    name: &'static str,
) -> T {
    match columns.slice().get(key as usize) {
        Some(column) => cell(column, row, list, name),
        None => undeclared(list, name),
    }
}

/// The columns of a snapshot. They cover the whole capacity, overlay rows included, so they
/// change with the layout only.
pub(crate) struct Columns {
    header: *const Header,
    layout: u32,
    tables: [*const TableEntry; 5],
    pub plain: PlainColumns,

    pub allocatable: Keyed<i64>,
    pub capacity: Keyed<i64>,
    pub requested: Keyed<i64>,
    pub annotation: Keyed<Id>,
    pub condition: Keyed<Condition>,
    pub feed: Keyed<i64>,
    pub feed_state: Keyed<FeedState>,
    pub requested_since: Keyed<i64>,
    pub label: Keyed<Id>,
    pub pod_requests: Keyed<i64>,
    pub pod_limits: Keyed<i64>,
    pub pod_annotation: Keyed<Id>,
    pub pod_label: Keyed<Id>,
    pub namespace_label: Keyed<Id>,
}

/// The columns without keys.
pub(crate) struct PlainColumns {
    pub name: Lists<u8>,
    pub flags: View<u8>,
    pub non_zero: [View<i64>; 2],
    pub labels: Lists<Pair>,
    pub taints: Lists<Taint>,
    pub ports: Lists<Port>,
    pub images: Lists<Image>,
    pub pods: Lists<u32>,
    pub generation: View<u64>,
    pub zone: View<Id>,
    pub created_at: View<i64>,

    pub pod_namespace: View<Id>,
    pub pod_priority: View<i32>,
    pub pod_labels: Lists<Pair>,
    pub pod_owner: View<Id>,
    pub pod_flags: View<u8>,
    pub pod_qos: View<Id>,
    pub pod_assigned: View<i64>,
    pub pod_created: View<i64>,
    pub pod_state: View<u8>,
    pub pod_uid: Lists<u8>,
    pub pod_name: Lists<u8>,

    strings: Lists<u8>,

    pub namespace_name: View<Id>,
    pub namespace_labels: Lists<Pair>,
}

impl PlainColumns {
    const EMPTY: PlainColumns = PlainColumns {
        name: Lists::EMPTY,
        flags: View::empty(),
        non_zero: [View::empty(); 2],
        labels: Lists::EMPTY,
        taints: Lists::EMPTY,
        ports: Lists::EMPTY,
        images: Lists::EMPTY,
        pods: Lists::EMPTY,
        generation: View::empty(),
        zone: View::empty(),
        created_at: View::empty(),
        pod_namespace: View::empty(),
        pod_priority: View::empty(),
        pod_labels: Lists::EMPTY,
        pod_owner: View::empty(),
        pod_flags: View::empty(),
        pod_qos: View::empty(),
        pod_assigned: View::empty(),
        pod_created: View::empty(),
        pod_state: View::empty(),
        pod_uid: Lists::EMPTY,
        pod_name: Lists::EMPTY,
        strings: Lists::EMPTY,
        namespace_name: View::empty(),
        namespace_labels: Lists::EMPTY,
    };
}

impl Columns {
    /// Allocates the columns of declared keys, once.
    pub fn new(memory: &Memory, manifest: &Manifest) -> Columns {
        fn keyed<T: Plain>(memory: &Memory, n: usize) -> Keyed<T> {
            let mut room = Room::new();
            room.fill(memory, n, View::empty());
            room
        }
        let resources = manifest.length("resources");
        let ids = |list| keyed(memory, manifest.length(list));
        Columns {
            header: core::ptr::null(),
            layout: 0,
            tables: [core::ptr::null(); 5],
            plain: PlainColumns::EMPTY,
            allocatable: keyed(memory, resources),
            capacity: keyed(memory, resources),
            requested: keyed(memory, resources),
            annotation: ids("nodeAnnotations"),
            condition: keyed(memory, manifest.length("nodeConditions")),
            feed: keyed(memory, manifest.length("feeds")),
            feed_state: keyed(memory, manifest.length("feeds")),
            requested_since: keyed(memory, resources),
            label: ids("nodeLabels"),
            pod_requests: keyed(memory, resources),
            pod_limits: keyed(memory, resources),
            pod_annotation: ids("podAnnotations"),
            pod_label: ids("podLabels"),
            namespace_label: ids("namespaceLabels"),
        }
    }

    /// Rebuilds the columns if the layout changed.
    pub fn refresh(&mut self, memory: &Memory, address: u32) {
        let header: *const Header = memory.at(address);
        let h = unsafe { &*header };
        if self.header == header && self.layout == h.layout {
            return;
        }
        if h.magic != abi::MAGIC || h.major != abi::MAJOR {
            panic!("berth: the host's snapshot is of another ABI");
        }
        self.forget();
        self.header = header;
        self.layout = h.layout;
        let tables = memory.view::<TableEntry>(h.tables, h.n_tables);
        for t in tables.slice() {
            // Unknown tables, columns and types are skipped (ABI-4.5).
            if t.id as usize >= self.tables.len() {
                continue;
            }
            self.tables[t.id as usize] = t;
            let columns = memory.view::<ColumnEntry>(t.columns, t.n_columns);
            for e in columns.slice() {
                self.set(memory, e);
            }
        }
    }

    fn forget(&mut self) {
        fn clear<T: Plain>(room: &mut Keyed<T>) {
            for column in room.slice_mut() {
                *column = View::empty();
            }
        }
        self.tables = [core::ptr::null(); 5];
        self.plain = PlainColumns::EMPTY;
        clear(&mut self.allocatable);
        clear(&mut self.capacity);
        clear(&mut self.requested);
        clear(&mut self.annotation);
        clear(&mut self.condition);
        clear(&mut self.feed);
        clear(&mut self.feed_state);
        clear(&mut self.requested_since);
        clear(&mut self.label);
        clear(&mut self.pod_requests);
        clear(&mut self.pod_limits);
        clear(&mut self.pod_annotation);
        clear(&mut self.pod_label);
        clear(&mut self.namespace_label);
    }

    fn set(&mut self, m: &Memory, e: &ColumnEntry) {
        let p = &mut self.plain;
        match e.id {
            column::NODE_NAME => p.name.set(m, e),
            column::NODE_FLAGS => one(m, e, element::U8, &mut p.flags),
            column::NODE_ALLOCATABLE => key(m, e, element::I64, self.allocatable.slice_mut()),
            column::NODE_REQUESTED => key(m, e, element::I64, self.requested.slice_mut()),
            column::NODE_NON_ZERO_REQUESTED => key(m, e, element::I64, &mut p.non_zero),
            column::NODE_LABELS => p.labels.set(m, e),
            column::NODE_ANNOTATION => key(m, e, element::U32, self.annotation.slice_mut()),
            column::NODE_TAINTS => p.taints.set(m, e),
            column::NODE_PORTS => p.ports.set(m, e),
            column::NODE_IMAGES => p.images.set(m, e),
            column::NODE_CONDITION => key(m, e, element::U8, self.condition.slice_mut()),
            column::NODE_PODS => p.pods.set(m, e),
            column::NODE_GENERATION => one(m, e, element::U64, &mut p.generation),
            column::NODE_LABEL => key(m, e, element::U32, self.label.slice_mut()),
            column::NODE_ZONE => one(m, e, element::U32, &mut p.zone),
            column::NODE_CAPACITY => key(m, e, element::I64, self.capacity.slice_mut()),
            column::NODE_CREATED_AT => one(m, e, element::I64, &mut p.created_at),
            column::NODE_FEED => key(m, e, element::I64, self.feed.slice_mut()),
            column::NODE_FEED_STATE => key(m, e, element::U8, self.feed_state.slice_mut()),
            column::NODE_REQUESTED_SINCE => {
                key(m, e, element::I64, self.requested_since.slice_mut())
            }
            column::POD_NAMESPACE => one(m, e, element::U32, &mut p.pod_namespace),
            column::POD_PRIORITY => one(m, e, element::I32, &mut p.pod_priority),
            column::POD_REQUESTS => key(m, e, element::I64, self.pod_requests.slice_mut()),
            column::POD_LABELS => p.pod_labels.set(m, e),
            column::POD_ANNOTATION => key(m, e, element::U32, self.pod_annotation.slice_mut()),
            column::POD_OWNER => one(m, e, element::U32, &mut p.pod_owner),
            column::POD_LABEL => key(m, e, element::U32, self.pod_label.slice_mut()),
            column::POD_FLAGS => one(m, e, element::U8, &mut p.pod_flags),
            column::POD_UID => p.pod_uid.set(m, e),
            column::POD_NAME => p.pod_name.set(m, e),
            column::POD_LIMITS => key(m, e, element::I64, self.pod_limits.slice_mut()),
            column::POD_QOS => one(m, e, element::U32, &mut p.pod_qos),
            column::POD_ASSIGNED_AT => one(m, e, element::I64, &mut p.pod_assigned),
            column::POD_CREATED_AT => one(m, e, element::I64, &mut p.pod_created),
            column::POD_STATE => one(m, e, element::U8, &mut p.pod_state),
            column::STRING => p.strings.set(m, e),
            column::NAMESPACE_NAME => one(m, e, element::U32, &mut p.namespace_name),
            column::NAMESPACE_LABELS => p.namespace_labels.set(m, e),
            column::NAMESPACE_LABEL => key(m, e, element::U32, self.namespace_label.slice_mut()),
            id if id > column::ARENA => self.arena(m, e),
            _ => {}
        }
    }

    /// Arenas have the id of their column plus 256 (ABI-4.8).
    fn arena(&mut self, m: &Memory, e: &ColumnEntry) {
        let p = &mut self.plain;
        match e.id - column::ARENA {
            column::NODE_NAME => one(m, e, element::BYTES, &mut p.name.arena),
            column::NODE_LABELS => one(m, e, element::PAIR, &mut p.labels.arena),
            column::NODE_TAINTS => one(m, e, element::TAINT, &mut p.taints.arena),
            column::NODE_PORTS => one(m, e, element::PORT, &mut p.ports.arena),
            column::NODE_IMAGES => one(m, e, element::IMAGE, &mut p.images.arena),
            column::NODE_PODS => one(m, e, element::U32, &mut p.pods.arena),
            column::POD_LABELS => one(m, e, element::PAIR, &mut p.pod_labels.arena),
            column::POD_UID => one(m, e, element::BYTES, &mut p.pod_uid.arena),
            column::POD_NAME => one(m, e, element::BYTES, &mut p.pod_name.arena),
            column::STRING => one(m, e, element::BYTES, &mut p.strings.arena),
            column::NAMESPACE_LABELS => one(m, e, element::PAIR, &mut p.namespace_labels.arena),
            _ => {}
        }
    }

    pub fn header(&self) -> &Header {
        // refresh has set it: there are no views before a call.
        unsafe { &*self.header }
    }

    /// The rows of a table; 0 if it is not there.
    pub fn rows(&self, table: u32) -> u32 {
        let entry = self.tables[table as usize];
        if entry.is_null() {
            return 0;
        }
        unsafe { (*entry).n_rows }
    }

    /// The string of an id.
    pub fn text(&self, id: Id) -> &str {
        if id == Id::ABSENT {
            return "";
        }
        utf8(self.bytes(id.0))
    }

    /// The bytes of a string, by its row.
    pub fn bytes(&self, id: u32) -> &[u8] {
        self.plain.strings.row(id, "strings", "the id")
    }

    /// The number of bytes of a string.
    pub fn text_length(&self, id: u32) -> u32 {
        cell(&self.plain.strings.spans, id, "strings", "the id").length
    }

    pub fn n_strings(&self) -> u32 {
        self.rows(table::STRINGS)
    }

    pub fn epoch(&self) -> u64 {
        self.header().epoch
    }
}

/// Bytes of the host as a string. Kubernetes' own checks make all of them UTF-8.
pub(crate) fn utf8(bytes: &[u8]) -> &str {
    match core::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("berth: the host gave a string that is not UTF-8"),
    }
}

#[inline(never)]
fn one<T: Plain>(memory: &Memory, e: &ColumnEntry, kind: u32, to: &mut View<T>) {
    if e.kind == kind {
        *to = memory.view(e.address, e.capacity);
    }
}

fn key<T: Plain>(memory: &Memory, e: &ColumnEntry, kind: u32, to: &mut [View<T>]) {
    if let Some(to) = to.get_mut(e.arg as usize) {
        one(memory, e, kind, to);
    }
}
