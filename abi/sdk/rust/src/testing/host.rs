//! Host functions for a native instance.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::string::String;
use std::vec::Vec;

use crate::abi::limit;
use crate::{Host, Level};

/// The host functions of a native instance. State is that of one pod's cycle.
#[derive(Default)]
pub struct TestHost {
    /// What was logged.
    pub log: RefCell<Vec<(Level, String)>>,
    /// The plugin's state, by key.
    pub state: RefCell<BTreeMap<String, Vec<u8>>>,
    /// What other plugins publish, by index in the manifest's list.
    pub published: Vec<Option<Vec<u8>>>,
    /// The objects of pods, by index.
    pub pods: Vec<Vec<u8>>,
    /// The objects of nodes, by row.
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
        self.log.borrow_mut().push((level, text.into()));
    }

    fn state_get(&self, key: &str, buffer: &mut [u8]) -> i32 {
        give(self.state.borrow().get(key), buffer)
    }

    fn state_set(&self, key: &str, value: &[u8]) -> i32 {
        let state = &mut *self.state.borrow_mut();
        let fits = key.len() <= limit::STATE_KEY && value.len() <= limit::STATE_VALUE;
        if !fits || state.len() >= 64 {
            return -1;
        }
        state.insert(key.into(), value.into());
        0
    }

    fn published_get(&self, index: u32, buffer: &mut [u8]) -> i32 {
        let value = self.published.get(index as usize);
        give(value.and_then(Option::as_ref), buffer)
    }

    fn pod_object(&self, index: u32, buffer: &mut [u8]) -> i32 {
        give(self.pods.get(index as usize), buffer)
    }

    fn node_object(&self, row: u32, buffer: &mut [u8]) -> i32 {
        give(self.nodes.get(row as usize), buffer)
    }
}
