//! Parts of a region, for tests.

use std::string::String;
use std::vec::Vec;

use crate::abi;
use crate::guest::Exported;
use crate::records::{ColumnEntry, Header, TableEntry};
use crate::testing::Native;

/// Puts bytes into the memory, and returns their address.
pub(crate) fn put<P: Exported>(native: &mut Native<P>, bytes: &[u8]) -> u32 {
    let at = native.alloc(bytes.len() as u32, 64);
    native.memory_mut()[at as usize..][..bytes.len()].copy_from_slice(bytes);
    at
}

/// Writes a header with a strings table: ids 1, 2, … are the strings.
pub(crate) fn with_strings<P: Exported>(
    native: &mut Native<P>,
    epoch: u32,
    strings: impl Iterator<Item = String>,
) -> u32 {
    let words = |all: &[u32]| {
        all.iter()
            .flat_map(|n| n.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let (mut spans, mut bytes) = (std::vec![0, 0], Vec::new());
    for text in strings {
        spans.extend([bytes.len() as u32, text.len() as u32]);
        bytes.extend(text.into_bytes());
    }
    let (n, length) = (spans.len() as u32 / 2, bytes.len() as u32);
    let (spans, bytes) = (put(native, &words(&spans)), put(native, &bytes));
    let string = abi::column::STRING;
    let columns = words(&[
        string,
        0,
        abi::element::SPAN,
        spans,
        n,
        n,
        string + abi::column::ARENA,
        0,
        abi::element::BYTES,
        bytes,
        length,
        length,
    ]);
    assert_eq!(columns.len(), 2 * core::mem::size_of::<ColumnEntry>());
    let columns = put(native, &columns);
    let table = words(&[abi::table::STRINGS, n, n, 0, 0, 2, columns, 0]);
    assert_eq!(table.len(), core::mem::size_of::<TableEntry>());
    let table = put(native, &table);
    let mut header = words(&[
        abi::MAGIC,
        abi::MAJOR.into(),
        epoch,
        0,
        1,
        0,
        0,
        0,
        0,
        1,
        table,
        1,
    ]);
    header.resize(core::mem::size_of::<Header>(), 0);
    put(native, &header)
}
