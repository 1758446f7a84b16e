//! Host functions (SPEC.md, section 7). The linker leaves out an import that nothing refers to,
//! so a module imports what its plugin uses.

use crate::base::Base;
use crate::node::Node;
use crate::pod::Pod;
use crate::types::Published;

/// How important a text of a log is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// Debug.
    Debug = 0,
    /// Info.
    Info = 1,
    /// Warning.
    Warning = 2,
    /// Failure.
    Failure = 3,
}

#[cfg(target_arch = "wasm32")]
mod imports {
    #[link(wasm_import_module = "berth")]
    extern "C" {
        pub fn log(level: i32, address: *const u8, length: usize);
        pub fn state_get(key: *const u8, key_length: usize, buffer: *mut u8, capacity: u32) -> i32;
        pub fn state_set(key: *const u8, key_length: usize, value: *const u8, length: usize)
            -> i32;
        pub fn published_get(index: u32, buffer: *mut u8, capacity: u32) -> i32;
        pub fn pod_object(index: u32, buffer: *mut u8, capacity: u32) -> i32;
        pub fn node_object(row: u32, buffer: *mut u8, capacity: u32) -> i32;
    }
}

/// Writes to the log of the module, which may have no instance yet.
#[cfg(target_arch = "wasm32")]
pub(crate) fn log(level: Level, text: &str) {
    unsafe { imports::log(level as i32, text.as_ptr(), text.len()) }
}

/// The host functions of a native instance, with the meaning of section 7: what is got is
/// copied to buffer if it fits, and the result is its length, or −1 if there is none.
#[cfg(not(target_arch = "wasm32"))]
#[allow(missing_docs)] // SPEC.md says what they do
pub trait Host {
    fn log(&self, level: Level, text: &str);
    fn state_get(&self, key: &str, buffer: &mut [u8]) -> i32;
    fn state_set(&self, key: &str, value: &[u8]) -> i32;
    fn published_get(&self, index: u32, buffer: &mut [u8]) -> i32;
    fn pod_object(&self, index: u32, buffer: &mut [u8]) -> i32;
    fn node_object(&self, row: u32, buffer: &mut [u8]) -> i32;
}

#[cfg(not(target_arch = "wasm32"))]
impl Base {
    fn host(&self) -> &dyn Host {
        match self.host {
            Some(host) => unsafe { &*host }, // it lives as long as the instance
            None => {
                panic!("berth: there is no host here; run the plugin with berth::testing::Native")
            }
        }
    }
}

/// The room for an answer, as a native host wants it.
#[cfg(not(target_arch = "wasm32"))]
unsafe fn buffer<'a>(at: *mut u8, capacity: u32) -> &'a mut [u8] {
    core::slice::from_raw_parts_mut(at, capacity as usize)
}

impl Base {
    /// Writes to the plugin's log. It needs `log` in the manifest's list `host`.
    pub fn log(&self, level: Level, text: &str) {
        #[cfg(target_arch = "wasm32")]
        log(level, text);
        #[cfg(not(target_arch = "wasm32"))]
        self.host().log(level, text);
    }

    /// The value of a key of the plugin's state of this pod's cycle. It needs `state_get` in the
    /// list `host`.
    pub fn state_get(&self, key: &str) -> Option<&[u8]> {
        #[cfg(target_arch = "wasm32")]
        return self
            .fetch(|at, room| unsafe { imports::state_get(key.as_ptr(), key.len(), at, room) });
        #[cfg(not(target_arch = "wasm32"))]
        self.fetch(|at, room| self.host().state_get(key, unsafe { buffer(at, room) }))
    }

    /// Sets the value of a key, and reports whether the limits allow it. State outlives
    /// instances and must not hold ids or row numbers. In a plugin of scope node only
    /// pre_filter may set state. It needs `state_set` in the list `host`.
    pub fn state_set(&self, key: &str, value: &[u8]) -> bool {
        #[cfg(target_arch = "wasm32")]
        return 0
            == unsafe { imports::state_set(key.as_ptr(), key.len(), value.as_ptr(), value.len()) };
        #[cfg(not(target_arch = "wasm32"))]
        return 0 == self.host().state_set(key, value);
    }

    /// The value that another plugin of the profile published in this pod's cycle; None if there
    /// is none, as in calls of scope node. It needs `published_get` in the list `host`.
    pub fn published_get(&self, key: Published) -> Option<&[u8]> {
        #[cfg(target_arch = "wasm32")]
        return self.fetch(|at, room| unsafe { imports::published_get(key.0, at, room) });
        #[cfg(not(target_arch = "wasm32"))]
        self.fetch(|at, room| {
            self.host()
                .published_get(key.0, unsafe { buffer(at, room) })
        })
    }

    /// The whole Pod as Kubernetes protobuf (k8s.io/api/core/v1, without the envelope and without
    /// managedFields). Use it for what no field has: the host encodes the object for each call. None for
    /// a pod that is not the call's own: a pod of an event, and in add_pod and remove_pod the pod
    /// to be placed. It needs `pod_object` in the list `host`.
    pub fn pod_object(&self, pod: Pod<'_>) -> Option<&[u8]> {
        let index = pod.view.index?;
        #[cfg(target_arch = "wasm32")]
        return self.fetch(|at, room| unsafe { imports::pod_object(index, at, room) });
        #[cfg(not(target_arch = "wasm32"))]
        self.fetch(|at, room| self.host().pod_object(index, unsafe { buffer(at, room) }))
    }

    /// The whole Node as Kubernetes protobuf. It needs `node_object` in the list `host`.
    pub fn node_object(&self, node: Node<'_>) -> Option<&[u8]> {
        #[cfg(target_arch = "wasm32")]
        return self.fetch(|at, room| unsafe { imports::node_object(node.row, at, room) });
        #[cfg(not(target_arch = "wasm32"))]
        self.fetch(|at, room| {
            self.host()
                .node_object(node.row, unsafe { buffer(at, room) })
        })
    }
}
