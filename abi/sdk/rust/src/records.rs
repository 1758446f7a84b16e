//! Structures of SPEC.md, sections 3, 4, 6 and 13. Tests compare them with its offsets.

use crate::types::Id;

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct CallRecord {
    pub header: u32,
    pub pod: u32,
    pub pod_size: u32,
    pub point: u32,
    pub rows: u32,
    pub n_rows: u32,
    pub codes: u32,
    pub reasons: u32,
    pub scores: u32,
    pub flags: u32,
    pub pods: u32,
    pub event: u32,
    pub queue: u32,
    pub keys: u32,
    zero: [u32; 2],
    pub reason_sets: u32,
    pub n_reason_sets: u32,
    pub row_set: u32,
    pub n_row_set: u32,
    pub has_row_set: u32,
    pub status_reason: u32,
    pub directives: u32,
    pub n_directives: u32,
    pub wait: u64,
    pub retry_after: u64,
    zeroes: [u32; 4],
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Header {
    pub magic: u32,
    pub major: u16,
    pub minor: u16,
    pub epoch: u64,
    pub generation: u64,
    pub seed: u64,
    pub state: u32,
    pub n_tables: u32,
    pub tables: u32,
    pub layout: u32,
    zero: [u32; 4],
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct TableEntry {
    pub id: u32,
    pub n_rows: u32,
    pub row_capacity: u32,
    pub row_base: u32,
    pub overlay_capacity: u32,
    pub n_columns: u32,
    pub columns: u32,
    zero: u32,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct ColumnEntry {
    pub id: u32,
    pub arg: u32,
    pub kind: u32,
    pub address: u32,
    pub capacity: u32,
    pub length: u32,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct PodHeader {
    pub n_fields: u32,
    pub size: u32,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct PodField {
    pub id: u32,
    pub arg: u32,
    pub offset: u32,
    pub count: u32,
}

/// An entry of the pod list.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct PodEntry {
    pub address: u32,
    pub size: u32,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct EventRecord {
    pub resource: u32,
    pub actions: u32,
    pub old_pod: PodEntry,
    pub new_pod: PodEntry,
    pub old_node: u32,
    pub new_node: u32,
    pub namespace: Text,
    pub name: Text,
    zero: [u32; 4],
}

/// An address and a length: a text, or a reason set's texts.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Text {
    pub address: u32,
    pub length: u32,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Directive {
    pub kind: u32,
    pub zero: u32,
    pub first: Text,
    pub second: Text,
}

/// The row of a node that an event does not have (ABI-3.10).
pub(crate) const NO_NODE: u32 = 0xffff_ffff;

/// The shortest pod record: its header.
pub(crate) const POD_HEADER: u32 = core::mem::size_of::<PodHeader>() as u32;

const _: () = assert!(core::mem::size_of::<Id>() == 4);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::{Key, Queued};
    use crate::types::{Image, Pair, Port, Requirement, Span, Taint, Term, Toleration};
    use core::mem::size_of;

    macro_rules! offset {
        ($t:ty, $($field:tt)+) => {{
            let value = core::mem::MaybeUninit::<$t>::uninit();
            let at = value.as_ptr();
            unsafe { core::ptr::addr_of!((*at).$($field)+) as usize - at as usize }
        }};
    }

    #[test]
    fn sizes() {
        for (name, got, want) in [
            ("call record, ABI-3.1", size_of::<CallRecord>(), 128),
            ("event record, ABI-3.10", size_of::<EventRecord>(), 64),
            ("queue entry, ABI-3.11", size_of::<Queued>(), 16),
            ("key, ABI-3.11", size_of::<Key>(), 68),
            ("header, ABI-4.1", size_of::<Header>(), 64),
            ("table entry, ABI-4.2", size_of::<TableEntry>(), 32),
            ("column entry, ABI-4.3", size_of::<ColumnEntry>(), 24),
            ("span, ABI-4.7", size_of::<Span>(), 8),
            ("pair, ABI-4.7", size_of::<Pair>(), 8),
            ("taint, ABI-4.7", size_of::<Taint>(), 12),
            ("port, ABI-4.7", size_of::<Port>(), 8),
            ("image, ABI-4.7", size_of::<Image>(), 16),
            ("pod header, ABI-6.1", size_of::<PodHeader>(), 8),
            ("pod field, ABI-6.1", size_of::<PodField>(), 16),
            ("toleration, ABI-6.2", size_of::<Toleration>(), 24),
            ("requirement, ABI-6.3", size_of::<Requirement>(), 24),
            ("term, ABI-6.3", size_of::<Term>(), 16),
            ("directive, ABI-13.1", size_of::<Directive>(), 24),
        ] {
            assert_eq!(got, want, "{}", name);
        }
    }

    #[test]
    fn offsets() {
        for (name, got, want) in [
            ("call.point", offset!(CallRecord, point), 12),
            ("call.n_rows", offset!(CallRecord, n_rows), 20),
            ("call.scores", offset!(CallRecord, scores), 32),
            ("call.pods", offset!(CallRecord, pods), 40),
            ("call.keys", offset!(CallRecord, keys), 52),
            ("call.reason_sets", offset!(CallRecord, reason_sets), 64),
            ("call.status_reason", offset!(CallRecord, status_reason), 84),
            ("call.n_directives", offset!(CallRecord, n_directives), 92),
            ("call.wait", offset!(CallRecord, wait), 96),
            ("call.retry_after", offset!(CallRecord, retry_after), 104),
            ("header.epoch", offset!(Header, epoch), 8),
            ("header.seed", offset!(Header, seed), 24),
            ("header.layout", offset!(Header, layout), 44),
            ("table.n_columns", offset!(TableEntry, n_columns), 20),
            ("table.columns", offset!(TableEntry, columns), 24),
            ("column.kind", offset!(ColumnEntry, kind), 8),
            ("column.capacity", offset!(ColumnEntry, capacity), 16),
            ("event.new_pod", offset!(EventRecord, new_pod), 16),
            ("event.old_node", offset!(EventRecord, old_node), 24),
            ("event.namespace", offset!(EventRecord, namespace), 32),
            ("event.name", offset!(EventRecord, name), 40),
            ("queue.attempts", offset!(Queued, attempts), 8),
            ("directive.first", offset!(Directive, first), 8),
            ("directive.second", offset!(Directive, second), 16),
            ("port.protocol", offset!(Port, protocol), 6),
            ("image.size", offset!(Image, size), 8),
            ("toleration.seconds", offset!(Toleration, seconds), 16),
            ("requirement.number", offset!(Requirement, number), 16),
            ("term.weight", offset!(Term, weight), 8),
        ] {
            assert_eq!(got, want, "{}", name);
        }
    }
}
