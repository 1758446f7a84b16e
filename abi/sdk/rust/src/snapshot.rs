//! The snapshot, its nodes and its namespaces.

use crate::abi::table;
use crate::columns::Columns;
use crate::node::Node;
use crate::types::{Code, Id};

/// The cluster as of this call.
#[derive(Clone, Copy)]
pub struct Snapshot<'c> {
    pub(crate) columns: &'c Columns,
}

impl<'c> Snapshot<'c> {
    /// Names the dictionary of string ids.
    pub fn epoch(self) -> u64 {
        self.columns.header().epoch
    }

    /// Grows with each change of the snapshot.
    pub fn generation(self) -> u64 {
        self.columns.header().generation
    }

    /// This cycle's random number, the only randomness that an answer may depend on; 0 for
    /// points of scope node.
    pub fn seed(self) -> u64 {
        self.columns.header().seed
    }

    /// All nodes that the instance holds.
    pub fn nodes(self) -> Nodes<'c> {
        Nodes {
            columns: self.columns,
            rows: None,
            lo: 0,
            n: self.columns.rows(table::NODES),
        }
    }

    /// The namespaces that have an object. A point of scope node must not let an answer depend
    /// on them (ABI-4.15). Reads `namespaces`.
    pub fn namespaces(self) -> Namespaces<'c> {
        Namespaces {
            columns: self.columns,
            n: self.columns.rows(table::NAMESPACES),
        }
    }
}

/// A list of nodes.
#[derive(Clone, Copy)]
pub struct Nodes<'c> {
    pub(crate) columns: &'c Columns,
    /// None: the rows lo … lo + n − 1.
    pub(crate) rows: Option<&'c [u32]>,
    pub(crate) lo: u32,
    pub(crate) n: u32,
}

impl<'c> Nodes<'c> {
    /// The number of nodes.
    pub fn len(self) -> usize {
        self.n as usize
    }

    /// Reports whether there is none.
    pub fn is_empty(self) -> bool {
        self.n == 0
    }

    /// The i-th node.
    #[inline]
    pub fn at(self, i: usize) -> Node<'c> {
        let row = match self.rows {
            Some(rows) => rows[i],
            None if i < self.n as usize => self.lo + i as u32,
            None => panic!("berth: no such node"),
        };
        Node {
            columns: self.columns,
            row,
        }
    }

    /// All of them.
    pub fn iter(self) -> impl ExactSizeIterator<Item = Node<'c>> {
        (0..self.n as usize).map(move |i| self.at(i))
    }
}

/// The nodes of post_filter and what filters said of them.
#[derive(Clone, Copy)]
pub struct Judged<'c> {
    /// The nodes.
    pub nodes: Nodes<'c>,
    pub(crate) codes: &'c [Code],
}

impl<'c> Judged<'c> {
    /// The verdict of the i-th node: why it is out, or SUCCESS for a node that no filter judged.
    pub fn code(self, i: usize) -> Code {
        self.codes[i]
    }

    /// All nodes and verdicts.
    pub fn iter(self) -> impl Iterator<Item = (Node<'c>, Code)> {
        self.nodes.iter().zip(self.codes.iter().copied())
    }
}

/// The namespaces, in no order. Rows may be empty.
#[derive(Clone, Copy)]
pub struct Namespaces<'c> {
    columns: &'c Columns,
    n: u32,
}

impl<'c> Namespaces<'c> {
    /// The number of rows, the empty ones included.
    pub fn len(self) -> usize {
        self.n as usize
    }

    /// Reports whether there is none.
    pub fn is_empty(self) -> bool {
        self.n == 0
    }

    /// The i-th row. It is empty if its name is ABSENT (ABI-4.14).
    pub fn at(self, i: usize) -> Namespace<'c> {
        if i >= self.n as usize {
            panic!("berth: no such namespace");
        }
        Namespace {
            columns: self.columns,
            row: i as u32,
        }
    }

    /// All rows that are not empty. Reads `namespaces: name`.
    pub fn iter(self) -> impl Iterator<Item = Namespace<'c>> {
        let all = (0..self.n as usize).map(move |i| self.at(i));
        all.filter(|namespace| namespace.name() != Id::ABSENT)
    }

    /// The namespace of a name, such as that of a pod; None if it has no object. It looks at all
    /// rows. Reads `namespaces: name`.
    pub fn find(self, name: Id) -> Option<Namespace<'c>> {
        self.iter().find(|namespace| namespace.name() == name)
    }
}

/// A namespace, as a view of its row.
#[derive(Clone, Copy)]
pub struct Namespace<'c> {
    pub(crate) columns: &'c Columns,
    pub(crate) row: u32,
}
