//! Tables, their columns and the strings in them, as SPEC.md, section 4 says, with numbers of its
//! own: it must not share a mistake with the code that reads them.

use std::collections::BTreeMap;
use std::string::String;
use std::vec::Vec;

use super::bytes::{Bytes, Order};
use super::cluster::{Labels, Port};

/// Element types (ABI-4.7) and their sizes in bytes.
pub(crate) const U8: u32 = 1;
pub(crate) const U32: u32 = 3;
pub(crate) const U64: u32 = 4;
pub(crate) const I32: u32 = 5;
pub(crate) const I64: u32 = 6;
pub(crate) const SPAN: u32 = 7;
pub(crate) const PAIR: u32 = 8;
pub(crate) const TAINT: u32 = 9;
pub(crate) const PORT: u32 = 10;
pub(crate) const IMAGE: u32 = 11;
pub(crate) const BYTES: u32 = 12;

pub(crate) fn size(kind: u32) -> usize {
    [0, 1, 2, 4, 8, 4, 8, 8, 8, 12, 8, 16, 1][kind as usize]
}

/// Rows that no node has, and overlay rows.
pub(crate) const SPARE: usize = 3;
pub(crate) const OVERLAYS: usize = 2;

/// The strings of an image; an id is an index.
pub(crate) struct Dictionary {
    ids: BTreeMap<String, u32>,
    pub texts: Vec<String>,
}

impl Dictionary {
    pub fn new(order: &mut Order) -> Dictionary {
        let mut d = Dictionary {
            ids: BTreeMap::new(),
            texts: std::vec![String::new()],
        };
        if order.shuffled() {
            // Other ids for the same strings.
            for i in 0..=order.permutation(5)[0] {
                d.id(&std::format!("testing-{}", i));
            }
            d.id("");
        }
        d
    }

    pub fn id(&mut self, text: &str) -> u32 {
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        let id = self.texts.len() as u32;
        self.ids.insert(text.into(), id);
        self.texts.push(text.into());
        id
    }

    /// The id of a label's value; 0 if there is no such label.
    pub fn value(&mut self, labels: &Labels, key: &str) -> u32 {
        labels.get(key).map_or(0, |value| self.id(value))
    }

    /// 0 for an empty text.
    pub fn optional(&mut self, text: &str) -> u32 {
        if text.is_empty() {
            return 0;
        }
        self.id(text)
    }

    pub fn pairs(&mut self, labels: &Labels, order: &mut Order) -> Vec<u8> {
        let all: Vec<_> = labels.iter().collect();
        let mut out = Vec::new();
        for i in order.permutation(all.len()) {
            out.u32(self.id(all[i].0));
            out.u32(self.id(all[i].1));
        }
        out
    }

    pub fn ports(&mut self, out: &mut Vec<u8>, ports: &[Port]) {
        for port in ports {
            let ip = if port.ip.is_empty() {
                "0.0.0.0"
            } else {
                &port.ip
            };
            out.u32(self.id(ip));
            out.u16(port.port);
            out.push(match port.protocol.as_str() {
                "" | "TCP" => 1,
                "UDP" => 2,
                "SCTP" => 3,
                other => panic!("testing: unknown protocol {}", other),
            });
            out.push(0);
        }
    }
}

pub(crate) fn effect(name: &str) -> u32 {
    match name {
        "" => 0,
        "NoSchedule" => 1,
        "PreferNoSchedule" => 2,
        "NoExecute" => 3,
        other => panic!("testing: unknown taint effect {}", other),
    }
}

pub(crate) struct Column {
    pub id: u32,
    pub arg: u32,
    pub kind: u32,
    pub data: Vec<u8>,
    /// One element a row; false for an arena.
    pub per_row: bool,
    pub length: usize,
}

pub(crate) struct Table {
    pub id: u32,
    pub rows: usize,
    pub capacity: usize,
    pub overlays: usize,
    pub columns: Vec<Column>,
}

impl Table {
    pub fn new(id: u32, rows: usize, spare: usize, overlays: usize) -> Table {
        Table {
            id,
            rows,
            capacity: rows + spare,
            overlays,
            columns: Vec::new(),
        }
    }

    /// Adds a column; f appends the element of a row. Rows that nothing is in are zero.
    pub fn each<T>(
        &mut self,
        ids: (u32, usize, u32),
        all: &[Option<&T>],
        mut f: impl FnMut(&mut Vec<u8>, &T),
    ) {
        let (id, arg, kind) = ids;
        let mut data = Vec::new();
        for row in all {
            match row {
                Some(row) => f(&mut data, row),
                None => data.resize(data.len() + size(kind), 0),
            }
        }
        assert_eq!(data.len(), all.len() * size(kind), "column {}", id);
        self.columns.push(Column {
            id,
            arg: arg as u32,
            kind,
            data,
            per_row: true,
            length: self.rows,
        });
    }

    /// Adds a column of spans and its arena; f returns the elements of a row.
    pub fn lists<T>(
        &mut self,
        id: u32,
        kind: u32,
        all: &[Option<&T>],
        mut f: impl FnMut(&T) -> Vec<u8>,
    ) {
        let mut index = Vec::new();
        let mut arena = std::vec![0xEE; 2 * size(kind)]; // stale entries that no span covers
        for row in all {
            let elements = row.map_or(Vec::new(), &mut f);
            index.u32(match elements.is_empty() {
                true => u32::MAX, // any start will do (ABI-4.8)
                false => (arena.len() / size(kind)) as u32,
            });
            index.u32((elements.len() / size(kind)) as u32);
            arena.extend(elements);
        }
        for (id, kind, data, per_row) in [(id, SPAN, index, true), (id + 256, kind, arena, false)] {
            self.columns.push(Column {
                id,
                arg: 0,
                kind,
                per_row,
                length: if per_row {
                    self.rows
                } else {
                    data.len() / size(kind)
                },
                data,
            });
        }
    }
}
