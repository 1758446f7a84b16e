//! The host functions of a trial.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::string::String;
use std::vec::Vec;

use crate::abi::limit;
use crate::{Host, Level};

/// The host functions of a trial. State is that of one pod's cycle.
#[derive(Default)]
pub struct TestHost {
    pub(crate) inner: RefCell<Inner>,
}

#[derive(Default)]
pub(crate) struct Inner {
    /// What was logged, the level in front.
    pub log: Vec<(Level, String)>,
    pub state: BTreeMap<String, Vec<u8>>,
    /// Whether state may be written.
    pub writable: bool,
    /// By index in the manifest's list.
    pub published: Vec<Option<Vec<u8>>>,
    pub pods: Vec<Vec<u8>>,
    pub nodes: Vec<Vec<u8>>,
}

/// Copies a value if it fits, and returns its length.
fn give(value: Option<&Vec<u8>>, buffer: &mut [u8]) -> i32 {
    match value {
        None => -1,
        Some(value) => {
            if value.len() <= buffer.len() {
                buffer[..value.len()].copy_from_slice(value);
            }
            value.len() as i32
        }
    }
}

impl Host for TestHost {
    fn log(&self, level: Level, text: &str) {
        self.inner.borrow_mut().log.push((level, text.into()));
    }

    fn state_get(&self, key: &str, buffer: &mut [u8]) -> i32 {
        give(self.inner.borrow().state.get(key), buffer)
    }

    fn state_set(&self, key: &str, value: &[u8]) -> i32 {
        let inner = &mut *self.inner.borrow_mut();
        let fits = key.len() <= limit::STATE_KEY && value.len() <= limit::STATE_VALUE;
        if !inner.writable || !fits || inner.state.len() >= 64 {
            return -1;
        }
        inner.state.insert(key.into(), value.into());
        0
    }

    fn published_get(&self, index: u32, buffer: &mut [u8]) -> i32 {
        let inner = self.inner.borrow();
        give(
            inner.published.get(index as usize).and_then(Option::as_ref),
            buffer,
        )
    }

    fn pod_object(&self, index: u32, buffer: &mut [u8]) -> i32 {
        give(self.inner.borrow().pods.get(index as usize), buffer)
    }

    fn node_object(&self, row: u32, buffer: &mut [u8]) -> i32 {
        give(self.inner.borrow().nodes.get(row as usize), buffer)
    }
}
