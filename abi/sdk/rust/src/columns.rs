//! The columns of a snapshot as slices (SPEC.md, section 4).

use crate::abi::{self, element, table};
use crate::column_fields::{KeyedColumns, PlainColumns};
use crate::declared::Declared;
use crate::manifest::undeclared;
use crate::memory::{Memory, Plain, View};
use crate::records::{ColumnEntry, Header, TableEntry};
use crate::room::Room;
use crate::types::{Id, Span};

/// Columns by declared key, the key's index first.
pub(crate) type Keyed<T> = Room<View<T>>;

/// A column of spans and its arena.
pub(crate) struct Lists<T> {
    spans: View<Span>,
    pub arena: View<T>,
}

impl<T: Plain> Lists<T> {
    pub const EMPTY: Lists<T> = Lists {
        spans: View::empty(),
        arena: View::empty(),
    };

    /// Sets the column of spans.
    pub fn set(&mut self, memory: &Memory, e: &ColumnEntry) {
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

/// The elements of a row in the column of a key.
#[inline]
pub(crate) fn keyed_list<'c, T: Plain>(
    spans: &Keyed<Span>,
    arenas: &'c Keyed<T>,
    key: u32,
    row: u32,
    list: &'static str,
) -> &'c [T] {
    const NAME: &str = "the column, or with another type";
    let span = keyed(spans, key, row, list, NAME);
    if span.length == 0 {
        return &[]; // a span of length 0 may have any start (ABI-4.8)
    }
    let (start, n) = (span.start as usize, span.length as usize);
    &arenas.slice()[key as usize].slice()[start..start + n]
}

/// The columns of a snapshot. They cover the whole capacity, overlay rows included, so they
/// change with the layout only.
pub(crate) struct Columns {
    header: *const Header,
    layout: u32,
    tables: [*const TableEntry; 5],
    pub plain: PlainColumns,
    pub keyed: KeyedColumns,
    pub strings: Lists<u8>,
}

impl Columns {
    /// Allocates the columns of declared keys.
    pub fn new(memory: &Memory, declared: &Declared) -> Columns {
        Columns {
            header: core::ptr::null(),
            layout: 0,
            tables: [core::ptr::null(); 5],
            plain: PlainColumns::EMPTY,
            keyed: KeyedColumns::new(memory, declared),
            strings: Lists::EMPTY,
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
        self.tables = [core::ptr::null(); 5];
        self.plain = PlainColumns::EMPTY;
        self.keyed.forget();
        self.strings = Lists::EMPTY;
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
        self.strings.row(id, "strings", "the id")
    }

    /// The number of bytes of a string.
    pub fn text_length(&self, id: u32) -> u32 {
        cell(&self.strings.spans, id, "strings", "the id").length
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

/// Room for the columns of n keys.
pub(crate) fn empty<T: Plain>(memory: &Memory, n: usize) -> Keyed<T> {
    let mut room = Room::new();
    room.fill(memory, n, View::empty());
    room
}

pub(crate) fn clear<T: Plain>(columns: &mut Keyed<T>) {
    for column in columns.slice_mut() {
        *column = View::empty();
    }
}

#[inline(never)]
pub(crate) fn one<T: Plain>(memory: &Memory, e: &ColumnEntry, kind: u32, to: &mut View<T>) {
    if e.kind == kind {
        *to = memory.view(e.address, e.capacity);
    }
}

pub(crate) fn of_key<T: Plain>(memory: &Memory, e: &ColumnEntry, kind: u32, to: &mut Keyed<T>) {
    key(memory, e, kind, to.slice_mut());
}

pub(crate) fn key<T: Plain>(memory: &Memory, e: &ColumnEntry, kind: u32, to: &mut [View<T>]) {
    if let Some(to) = to.get_mut(e.arg as usize) {
        one(memory, e, kind, to);
    }
}
