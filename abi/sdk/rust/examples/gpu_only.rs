//! The smallest plugin: no std, no heap. The module is 29 KB, and half of that is the texts of
//! panics:
//!
//! ```text
//! cargo build --release --example gpu_only --no-default-features --target wasm32-unknown-unknown
//! ```

#![cfg_attr(target_arch = "wasm32", no_std)]

use berth::{Base, Filter, Id, Node, NodeLabel, Plugin, Pod, Reason, Status};

/// Keeps pods off nodes without the label example.com/gpu.
pub struct GpuOnly {
    gpu: NodeLabel,
    none: Reason,
}

impl Plugin for GpuOnly {
    const MANIFEST: &'static str = include_str!("gpu_only.json");

    fn new(base: &mut Base) -> GpuOnly {
        GpuOnly {
            gpu: base.node_label("example.com/gpu"),
            none: base.reason(&["node(s) had no gpu"]),
        }
    }
}

impl Filter for GpuOnly {
    fn filter(&mut self, _: &Base, _: Pod<'_>, node: Node<'_>) -> Status {
        if node.label(self.gpu) == Id::ABSENT {
            return Status::unschedulable_and_unresolvable(self.none);
        }
        Status::SUCCESS
    }
}

berth::export!(GpuOnly: filter);
