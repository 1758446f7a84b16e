//! Nodes and the pods on them, as views of columns.

use crate::columns::Columns;

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
}

/// A list of pods on a node, in no order.
#[derive(Clone, Copy)]
pub struct Pods<'c> {
    pub(crate) columns: &'c Columns,
    pub(crate) slots: &'c [u32],
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
