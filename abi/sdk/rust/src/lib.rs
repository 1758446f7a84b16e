//! The Rust SDK for plugins of the Berth scheduler.
//!
//! A plugin is a type with a trait for each extension point that it takes part in, such as
//! [`Filter`] and [`Score`], and a line that exports them:
//!
//! ```
//! use berth::{Base, Filter, Node, NodeLabel, Plugin, Pod, Reason, Status};
//!
//! pub struct GpuOnly {
//!     gpu: NodeLabel,
//!     reason: Reason,
//! }
//!
//! impl Plugin for GpuOnly {
//!     // include_str!("../manifest.json"), as a rule
//!     const MANIFEST: &'static str = r#"{
//!         "name": "gpu-only", "version": "1.0.0", "abi": "1.0",
//!         "points": {"filter": {"scope": "node"}},
//!         "reads": {"nodeLabels": ["example.com/gpu"]}
//!     }"#;
//!
//!     fn new(base: &mut Base) -> GpuOnly {
//!         GpuOnly {
//!             gpu: base.node_label("example.com/gpu"),
//!             reason: base.reason(&["node(s) had no gpu"]),
//!         }
//!     }
//! }
//!
//! impl Filter for GpuOnly {
//!     fn filter(&mut self, _: &Base, _: Pod<'_>, node: Node<'_>) -> Status {
//!         if node.label(self.gpu) == berth::Id::ABSENT {
//!             return Status::unschedulable_and_unresolvable(self.reason);
//!         }
//!         Status::SUCCESS
//!     }
//! }
//!
//! berth::export!(GpuOnly: filter);
//! ```
//!
//! `berth plugin test` runs scenarios with the module. Module `testing` runs the same code
//! natively, for unit tests.
//!
//! Pods and nodes are views of columns in the memory that the host fills (abi/SPEC.md). Reading
//! them does not allocate and copies nothing, and their lifetimes end with the call. A plugin
//! must not keep anything from one call to the next that changes a result: the host may use a
//! fresh instance for any call.
//!
//! What a plugin reads is listed in its manifest. Reading what the manifest does not list
//! panics, which the host reports as a fault of the plugin.
//!
//! # Features
//!
//! The crate is `no_std` and has no dependencies.
//!
//! - `std` (default): a plugin with std.
//! - `alloc`, which std has: what needs a heap, such as [`json::Value::string`].
//! - `testing`: module `testing`, for dev-dependencies.

#![no_std]
#![warn(missing_docs)]
// Nothing makes an instance in a native build without `testing`.
#![cfg_attr(
    not(any(target_arch = "wasm32", feature = "testing")),
    allow(dead_code)
)]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(any(test, feature = "std", feature = "testing"))]
extern crate std;

pub mod abi;
mod base;
mod column_fields;
mod columns;
mod constants;
mod declared;
mod directives;
mod error;
mod event;
mod export;
#[cfg(all(test, feature = "testing"))]
mod fixtures;
#[doc(hidden)]
pub mod guest;
#[cfg(target_arch = "wasm32")]
mod heap;
mod host;
pub mod json;
mod manifest;
mod memory;
mod node;
mod node_fields;
#[cfg(any(test, all(feature = "alloc", target_arch = "wasm32")))]
mod pieces;
mod plugin;
mod pod;
mod pod_fields;
mod pod_view;
mod queue;
mod reasons;
mod records;
mod room;
mod scan;
mod serve_pods;
mod serve_rows;
mod snapshot;
mod status;
#[cfg(all(feature = "testing", not(target_arch = "wasm32")))]
pub mod testing;
mod types;
#[cfg(all(test, feature = "testing"))]
mod vectors;

pub use base::Base;
pub use constants::Const;
pub use error::Error;
pub use event::{Event, EventAction, EventKind, HintResult};
#[cfg(not(target_arch = "wasm32"))]
pub use host::Host;
pub use host::Level;
pub use manifest::Manifest;
pub use node::{Node, PlacedPod, Pods};
pub use plugin::{
    AddPod, Bind, Configure, Filter, Hint, Normalize, Permit, Plugin, PostBind, PostFilter,
    PreBind, PreEnqueue, PreFilter, PreScore, QueueKey, Reserve, Rows, Score, Unreserve,
};
pub use pod::Pod;
pub use queue::{Key, Queued};
pub use snapshot::{Judged, Namespace, Namespaces, Nodes, Snapshot};
pub use status::{Reason, Status};
pub use types::{
    Code, Condition, Container, ContainerKind, Effect, Feed, FeedState, Id, Image, NamespaceLabel,
    NodeAnnotation, NodeCondition, NodeLabel, ObjectColumn, Operator, Pair, PodAnnotation,
    PodLabel, Port, Protocol, Published, Requirement, Resource, Taint, Term, Toleration,
    TolerationOperator, NO_SCORE,
};

/// The functions that a module exports. export! and `testing` call them; plugins do not.
#[doc(hidden)]
pub mod serve {
    pub use crate::serve_pods::{hint, pre_enqueue, queue_key};
    pub use crate::serve_rows::{
        add_pod, bind, configure, filter, normalize, permit, post_bind, post_filter, pre_bind,
        pre_filter, pre_score, remove_pod, reserve, score, unreserve,
    };
}
