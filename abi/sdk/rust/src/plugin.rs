//! What a plugin is: a type with a trait for each extension point that it takes part in
//! (SPEC.md, section 5).

use core::time::Duration;

use crate::base::Base;
use crate::error::Error;
use crate::event::{Event, HintResult};
use crate::node::Node;
use crate::pod::Pod;
use crate::queue::{Key, Queued};
use crate::room::Room;
use crate::snapshot::{Judged, Nodes};
use crate::status::Status;

/// A plugin.
pub trait Plugin: Sized + 'static {
    /// The text of manifest.json: `include_str!("../manifest.json")`.
    const MANIFEST: &'static str;

    /// Makes the plugin, once an instance: handles, constants and reasons.
    fn new(base: &mut Base) -> Self;

    /// Looks at the pod once before the nodes of a call of filter or score. It is where a plugin
    /// looks up what does not depend on the node; fields that it sets must not depend on earlier
    /// calls.
    ///
    /// SUCCESS goes on to the nodes. SKIP means that the plugin has no objection to any node, or
    /// scores all of them 0. An error fails the call. Another status is filter's answer for
    /// every node of the call.
    fn prepare(&mut self, base: &Base, pod: Pod<'_>) -> Status {
        let _ = (base, pod);
        Status::SUCCESS
    }
}

/// A plugin with a configuration. Exported as `configure`.
pub trait Configure: Plugin {
    /// Gets the configuration as JSON, once, before any point. The host has checked it against
    /// the manifest's schema; [`json::Value::parse`](crate::json::Value::parse) reads it. An
    /// error refuses it and is shown to the user.
    fn configure(&mut self, base: &mut Base, config: &[u8]) -> Result<(), Error>;
}

/// The point PreEnqueue: `pre_enqueue`.
pub trait PreEnqueue: Plugin {
    /// Lets a pod into the queue with SUCCESS, or holds it back until an event that the manifest
    /// registers: UNSCHEDULABLE and so on, with a reason. There is no snapshot and no state
    /// (ABI-5.9).
    fn pre_enqueue(&mut self, base: &Base, pod: Pod<'_>) -> Status;
}

/// The point QueueSort: `queue_key`.
pub trait QueueKey: Plugin {
    /// Appends the pod's place in the queue to an empty key. It must depend on the pod, on queued
    /// and on the configuration alone. Pods of equal keys are in the order of their times
    /// (ABI-5.10).
    fn queue_key(&mut self, base: &Base, pod: Pod<'_>, queued: Queued, key: &mut Key);
}

/// The point QueueingHint: `hint`.
pub trait Hint: Plugin {
    /// Says whether after an event that the manifest lists another try may succeed for a pod
    /// that the plugin rejected (ABI-5.12).
    fn hint(&mut self, base: &Base, event: Event<'_>, pod: Pod<'_>) -> HintResult;
}

/// The point PreFilter: `pre_filter`.
pub trait PreFilter: Plugin {
    /// Looks at the pod once before nodes are filtered. It may narrow the nodes down to rows; if
    /// rows is left alone, it is all of them. SKIP leaves out filter for this pod. If all points
    /// of the plugin are of scope node, nodes is empty and rows must be left alone.
    fn pre_filter(
        &mut self,
        base: &Base,
        pod: Pod<'_>,
        nodes: Nodes<'_>,
        rows: &mut Rows<'_>,
    ) -> Status;
}

/// The points PreFilterExtensionAddPod and RemovePod: `add_pod` and `remove_pod`. They bring up to
/// date what pre_filter put into the state, when the host wants to know what would be with
/// another pod on a node, or without one. The node's columns show it already; state is a copy for
/// this node (ABI-5.13). A plugin whose filter reads columns only needs neither.
pub trait AddPod: Plugin {
    /// A pod was added to the node: SUCCESS or ERROR.
    fn add_pod(&mut self, base: &Base, pod: Pod<'_>, added: Pod<'_>, node: Node<'_>) -> Status;

    /// A pod was removed from it.
    fn remove_pod(&mut self, base: &Base, pod: Pod<'_>, removed: Pod<'_>, node: Node<'_>)
        -> Status;
}

/// The point Filter: `filter`.
pub trait Filter: Plugin {
    /// Judges a node: SUCCESS, UNSCHEDULABLE, UNSCHEDULABLE_AND_UNRESOLVABLE, PENDING or ERROR.
    fn filter(&mut self, base: &Base, pod: Pod<'_>, node: Node<'_>) -> Status;
}

/// The point PostFilter: `post_filter`.
pub trait PostFilter: Plugin {
    /// No node fits; nodes has what the filters of all plugins said of each. SUCCESS with
    /// [`Base::nominate`] promises the pod a node, and like UNSCHEDULABLE_AND_UNRESOLVABLE keeps
    /// other plugins from trying; UNSCHEDULABLE lets them (ABI-5.14).
    fn post_filter(&mut self, base: &Base, pod: Pod<'_>, nodes: Judged<'_>) -> Status;
}

/// The point PreScore: `pre_score`.
pub trait PreScore: Plugin {
    /// Looks at the nodes that passed all filters, once before they are scored. SKIP leaves out
    /// score for this pod.
    fn pre_score(&mut self, base: &Base, pod: Pod<'_>, nodes: Nodes<'_>) -> Status;
}

/// The point Score: `score`.
pub trait Score: Plugin {
    /// Rates a node: 0 to 100, or any number if scores are normalised, or NO_SCORE if the host
    /// normalises them.
    fn score(&mut self, base: &Base, pod: Pod<'_>, node: Node<'_>) -> i64;
}

/// The point Normalize: `normalize`.
pub trait Normalize: Plugin {
    /// Brings the scores of all nodes, one a node, to 0 … 100.
    fn normalize(
        &mut self,
        base: &Base,
        pod: Pod<'_>,
        nodes: Nodes<'_>,
        scores: &mut [i64],
    ) -> Status;
}

/// The point Reserve: `reserve`.
pub trait Reserve: Plugin {
    /// Takes what the pod needs on the node, which is as it was in the cycle that chose it.
    /// [`Base::annotate`] and [`Base::label`] are visible to the next cycle at once (ABI-5.16).
    fn reserve(&mut self, base: &Base, pod: Pod<'_>, node: Node<'_>) -> Status;
}

/// The point Unreserve: `unreserve`.
pub trait Unreserve: Plugin {
    /// The pod does not get the node after all, whether or not this plugin's reserve was called;
    /// it must be idempotent. The host drops reserve's patches itself (ABI-5.17).
    fn unreserve(&mut self, base: &Base, pod: Pod<'_>, node: Node<'_>) -> Status;
}

/// The point Permit: `permit`.
pub trait Permit: Plugin {
    /// SUCCESS, or WAIT to hold the pod back until [`Base::allow`] names it in a call for another
    /// pod, at most as long as the time says (rounded up to milliseconds) and at most 15 minutes;
    /// then the pod is rejected (ABI-5.18). With another status the time means nothing.
    fn permit(&mut self, base: &Base, pod: Pod<'_>, node: Node<'_>) -> (Duration, Status);
}

/// The point PreBind: `pre_bind`.
pub trait PreBind: Plugin {
    /// The last step before binding. It may patch the pod, in the API only (ABI-5.19).
    fn pre_bind(&mut self, base: &Base, pod: Pod<'_>, node: Node<'_>) -> Status;
}

/// The point Bind: `bind`.
pub trait Bind: Plugin {
    /// SKIP leaves the pod to the next plugin; SUCCESS wants [`Base::bind_pod`] (ABI-5.19).
    fn bind(&mut self, base: &Base, pod: Pod<'_>, node: Node<'_>) -> Status;
}

/// The point PostBind: `post_bind`.
pub trait PostBind: Plugin {
    /// The pod is bound.
    fn post_bind(&mut self, base: &Base, pod: Pod<'_>, node: Node<'_>) -> Status;
}

/// The nodes that pre_filter narrows down to. Left alone, it is all of them.
pub struct Rows<'c> {
    pub(crate) base: &'c Base,
    pub(crate) rows: &'c mut Room<u32>,
    pub(crate) counts: bool,
}

impl Rows<'_> {
    /// Empties the list: no node can fit except those that are added later.
    pub fn reset(&mut self) {
        self.rows.truncate(0);
        self.counts = true;
    }

    /// Adds a node. Nodes are added in the order of their row numbers, which is that of Nodes.
    ///
    /// # Panics
    ///
    /// If they are not.
    pub fn add(&mut self, node: Node<'_>) {
        if let Some(last) = self.rows.slice().last() {
            if *last >= node.row {
                panic!("berth: rows must be added in the order of Nodes, each once");
            }
        }
        self.counts = true;
        self.rows.push(&self.base.memory, node.row);
    }

    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Reports whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
