//! Lays what a call is about into one region (ABI-2.4), and the call record (ABI-3).

use std::vec::Vec;

use super::bytes::{Bytes, Order};
use super::cluster::{Happened, Labels, Namespace, Node, Pod};
use super::manifest::Reads;
use super::record::record;
use super::snapshot;
use super::tables::{self, size, Dictionary, Table, OVERLAYS, SPARE};
use crate::abi::Point;
use crate::Queued;

/// What a call is about.
#[derive(Default)]
pub(crate) struct About<'t> {
    pub nodes: &'t [Node],
    pub namespaces: &'t [Namespace],
    /// The pod of the call.
    pub pod: Option<&'t Pod>,
    /// The pod list.
    pub pods: &'t [Pod],
    pub queue: &'t [Queued],
    pub event: Option<&'t Happened>,
}

/// In what order things get numbers.
#[derive(Clone)]
pub(crate) struct Numbering {
    /// order[row] is the index of the node.
    pub order: Vec<usize>,
    /// Of ids and slots.
    pub ids: Order,
    /// The header's seed.
    pub seed: u64,
}

/// A region, and where things are in it: offsets from its start.
pub(crate) struct Image {
    pub data: Vec<u8>,
    /// Its address; fixups are the offsets of addresses in it.
    pub base: u32,
    fixups: Vec<usize>,
    pub rows: usize,
    pub capacity: usize,
    /// overlay[i] is the row that overlay row i repeats.
    pub overlay: Vec<usize>,
    /// Of the nodes table's n_rows.
    pub rows_at: usize,
    header: usize,
    pod: (usize, usize),
    row_set: usize,
    pub codes: usize,
    pub reasons: usize,
    pub scores: usize,
    pub keys: usize,
    pods: usize,
    n_pods: usize,
    event: usize,
    queue: usize,
    pub call: usize,
    /// What a guest must not write.
    pub read_only: core::ops::Range<usize>,
}

const CALL_SIZE: usize = 128;

impl Image {
    pub fn new(reads: &Reads, about: &About<'_>, n: &Numbering) -> Image {
        let mut order = n.ids.clone();
        let d = &mut Dictionary::new(&mut order);
        let slots = snapshot::place(about.nodes, &mut order);
        let count = n.order.len();
        let mut rows: Vec<Option<usize>> = n.order.iter().map(|i| Some(*i)).collect();
        rows.resize(count + SPARE, None);
        let overlay: Vec<usize> = (0..OVERLAYS.min(count)).map(|i| count - 1 - i).collect();
        rows.extend(overlay.iter().map(|row| Some(n.order[*row])));
        rows.resize(count + SPARE + OVERLAYS, None);
        let mut all = std::vec![
            snapshot::nodes(reads, d, &mut order, about.nodes, &rows, &slots),
            snapshot::pods(reads, d, &mut order, &slots),
            snapshot::namespaces(reads, d, &mut order, about.namespaces),
        ];
        let labels = |pod: &Pod| {
            let of = about
                .namespaces
                .iter()
                .find(|known| known.name == pod.namespace);
            of.map_or(Labels::new(), |of| of.labels.clone())
        };
        let mut write = |pod: &Pod| record(reads, d, pod, &labels(pod));
        let asked = about.pod.map_or(Vec::new(), &mut write);
        let listed: Vec<Vec<u8>> = about.pods.iter().map(&mut write).collect();
        let changed = about.event.map(|event| {
            event
                .pods
                .iter()
                .map(|pod| pod.as_ref().map(&mut write))
                .collect::<Vec<_>>()
        });
        all.insert(0, strings(d));
        let mut image = Image {
            data: Vec::new(),
            base: 0,
            fixups: Vec::new(),
            rows: count,
            capacity: count + SPARE,
            overlay,
            rows_at: 0,
            header: 0,
            pod: (0, 0),
            row_set: 0,
            codes: 0,
            reasons: 0,
            scores: 0,
            keys: 0,
            pods: 0,
            n_pods: about.pods.len(),
            event: 0,
            queue: 0,
            call: 0,
            read_only: 0..0,
        };
        image.call = image.put(&[0; CALL_SIZE]);
        let room = (count + SPARE + OVERLAYS).max(about.pods.len());
        image.codes = image.zeroes(room);
        image.reasons = image.zeroes(2 * room);
        image.scores = image.zeroes(8 * room);
        image.keys = image.zeroes(68 * about.pods.len());
        image.row_set = image.zeroes(4 * room);
        let from = image.align();
        image.pod = (image.put(&asked), asked.len());
        image.list(&listed, about.queue);
        if let (Some(event), Some(changed)) = (about.event, changed) {
            image.happened(event, &changed);
        }
        image.lay(&all, n.seed);
        image.read_only = from..image.data.len();
        image
    }

    fn align(&mut self) -> usize {
        self.data.resize((self.data.len() + 63) / 64 * 64, 0);
        self.data.len()
    }

    fn put(&mut self, bytes: &[u8]) -> usize {
        let at = self.align();
        self.data.extend_from_slice(bytes);
        at
    }

    fn zeroes(&mut self, n: usize) -> usize {
        let at = self.align();
        self.data.resize(at + n, 0);
        at
    }

    /// Writes the address of an offset.
    fn refer(&mut self, at: usize, to: usize) {
        self.data.set_u32(at, self.base + to as u32);
        self.fixups.push(at);
    }

    /// The pod list and the queue entries.
    fn list(&mut self, records: &[Vec<u8>], queue: &[Queued]) {
        self.pods = self.zeroes(8 * records.len());
        for (i, record) in records.iter().enumerate() {
            let (entry, offset) = (self.pods + 8 * i, self.put(record));
            self.refer(entry, offset);
            self.data.set_u32(entry + 4, record.len() as u32);
        }
        let mut entries = Vec::new();
        for queued in queue {
            entries.u64(queued.time as u64);
            entries.u32(queued.attempts);
            entries.u32(0);
        }
        self.queue = self.put(&entries);
    }

    /// The event record (ABI-3.10). Its nodes are rows 0 and 1, or row 0 if there is one.
    fn happened(&mut self, event: &Happened, pods: &[Option<Vec<u8>>]) {
        let parts = [
            pods[0].as_deref(),
            pods[1].as_deref(),
            Some(event.namespace.as_bytes()),
            Some(event.name.as_bytes()),
        ];
        let offsets: Vec<usize> = parts
            .iter()
            .map(|part| self.put(part.unwrap_or(&[])))
            .collect();
        self.event = self.zeroes(64);
        let at = self.event;
        self.data.set_u32(at, event.resource);
        self.data.set_u32(at + 4, event.actions);
        for (i, field) in [8, 16, 32, 40].into_iter().enumerate() {
            if let Some(part) = parts[i].filter(|part| !part.is_empty()) {
                self.refer(at + field, offsets[i]);
                self.data.set_u32(at + field + 4, part.len() as u32);
            }
        }
        let mut row = 0;
        for (node, field) in event.nodes.iter().zip([24, 28]) {
            self.data
                .set_u32(at + field, if node.is_some() { row } else { u32::MAX });
            row += u32::from(node.is_some());
        }
    }

    /// The tables, among one that no guest knows, and the header.
    fn lay(&mut self, all: &[Table], seed: u64) {
        let n = all.len() + 1;
        let unknown = self.put(&[1]);
        let columns = self.zeroes(24);
        for (i, value) in [9, 0, 99, 0, 1, 1].into_iter().enumerate() {
            self.data.set_u32(columns + 4 * i, value);
        }
        self.refer(columns + 12, unknown);
        let directory = self.zeroes(32 * n);
        self.table(directory, [999, 1, 1, 0, 0, 1], columns);
        for (i, t) in all.iter().enumerate() {
            let data: Vec<usize> = t
                .columns
                .iter()
                .map(|column| self.put(&column.data))
                .collect();
            let columns = self.zeroes(24 * t.columns.len());
            for (k, column) in t.columns.iter().enumerate() {
                let entry = columns + 24 * k;
                let capacity = match column.per_row {
                    true => t.capacity + t.overlays,
                    false => column.data.len() / size(column.kind),
                };
                for (at, value) in [
                    (0, column.id),
                    (4, column.arg),
                    (8, column.kind),
                    (16, capacity as u32),
                    (20, column.length as u32),
                ] {
                    self.data.set_u32(entry + at, value);
                }
                self.refer(entry + 12, data[k]);
            }
            let entry = directory + 32 * (i + 1);
            let numbers = [
                t.id,
                t.rows as u32,
                t.capacity as u32,
                0,
                t.overlays as u32,
                t.columns.len() as u32,
            ];
            self.table(entry, numbers, columns);
            if t.id == 1 {
                self.rows_at = entry + 4;
            }
        }
        let mut header = Vec::new();
        header.extend_from_slice(b"BRTH");
        header.u16(1);
        header.u16(0);
        header.u64(7); // epoch
        header.u64(11); // generation
        header.u64(seed);
        header.u32(1); // state
        header.u32(n as u32);
        header.u32(0);
        header.u32(1); // layout
        header.resize(64, 0);
        self.header = self.put(&header);
        self.refer(self.header + 40, directory);
    }

    fn table(&mut self, entry: usize, numbers: [u32; 6], columns: usize) {
        for (i, value) in numbers.into_iter().enumerate() {
            self.data.set_u32(entry + 4 * i, value);
        }
        self.refer(entry + 24, columns);
    }

    /// Moves the region to an address.
    pub fn move_to(&mut self, base: u32) {
        for at in &self.fixups {
            let address = self.data.get_u32(*at) - self.base + base;
            self.data.set_u32(*at, address);
        }
        self.base = base;
    }

    /// Writes the call record (ABI-3.1), and zeroes what the host zeroes (ABI-3.2). rows is None
    /// for lo … lo + n − 1.
    pub fn set_call(&mut self, point: Point, n: usize, rows: Option<&[u32]>, overlay: bool) {
        let end = self.row_set;
        self.data[self.call..end].fill(0);
        let address = |offset: usize| self.base + offset as u32;
        let mut record = Vec::new();
        record.u32(address(self.header));
        record.u32(if self.pod.1 == 0 {
            0
        } else {
            address(self.pod.0)
        });
        record.u32(self.pod.1 as u32);
        record.u32(point.0);
        record.u32(rows.map_or(0, |_| address(self.row_set)));
        record.u32(n as u32);
        record.u32(address(self.codes));
        record.u32(address(self.reasons));
        record.u32(address(self.scores));
        record.u32(overlay.into());
        let optional = |offset: usize, is: bool| if is { address(offset) } else { 0 };
        record.u32(optional(self.pods, self.n_pods > 0));
        record.u32(optional(self.event, point == Point::HINT));
        record.u32(optional(self.queue, point == Point::QUEUE_SORT));
        record.u32(optional(self.keys, point == Point::QUEUE_SORT));
        self.data[self.call..self.call + record.len()].copy_from_slice(&record);
        for (i, row) in rows.unwrap_or(&[]).iter().enumerate() {
            self.data.set_u32(self.row_set + 4 * i, *row);
        }
    }
}

fn strings(d: &Dictionary) -> Table {
    let all: Vec<_> = d.texts.iter().map(Some).collect();
    let mut t = Table::new(3, all.len(), 0, 0);
    t.lists(192, tables::BYTES, &all, |text| text.clone().into_bytes());
    t
}
