//! Cluster events, as hint gets them (ABI-3.10).

use crate::base::Base;
use crate::columns::utf8;
use crate::node::Node;
use crate::pod::{Pod, Which};
use crate::records::{EventRecord, PodEntry, Text, NO_NODE};

/// The answer of hint, in the words of k8s.io/kube-scheduler/framework.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HintResult {
    /// After the event another try may succeed.
    Queue = 0,
    /// The pod stays parked.
    QueueSkip = 5,
}

/// A cluster event. It has objects of one kind: no old one if it was added, no new one if it was
/// deleted.
#[derive(Clone, Copy)]
pub struct Event<'c> {
    base: &'c Base,
    record: &'c EventRecord,
}

impl<'c> Event<'c> {
    /// The kind of the object.
    pub fn resource(self) -> EventKind {
        EventKind(self.record.resource)
    }

    /// What happened to it. An update may have several.
    pub fn actions(self) -> EventAction {
        EventAction(self.record.actions)
    }

    /// Reports whether the event is of a resource and has one of some actions.
    pub fn is(self, resource: EventKind, actions: EventAction) -> bool {
        self.resource() == resource && self.record.actions & actions.0 != 0
    }

    /// The pod as it was; its fields are those that the manifest lists of `pod`.
    pub fn old_pod(self) -> Option<Pod<'c>> {
        self.pod(self.record.old_pod, Which::Other)
    }

    /// The pod as it is.
    pub fn new_pod(self) -> Option<Pod<'c>> {
        self.pod(self.record.new_pod, Which::New)
    }

    fn pod(self, entry: PodEntry, which: Which) -> Option<Pod<'c>> {
        if entry.address == 0 {
            return None;
        }
        Some(self.base.pod(which))
    }

    /// The node as it was, with what the manifest lists of it except the pods on it and what is
    /// computed from them (ABI-5.12).
    pub fn old_node(self) -> Option<Node<'c>> {
        self.node(self.record.old_node)
    }

    /// The node as it is.
    pub fn new_node(self) -> Option<Node<'c>> {
        self.node(self.record.new_node)
    }

    fn node(self, row: u32) -> Option<Node<'c>> {
        match row {
            NO_NODE => None,
            row => Some(self.base.node(row)),
        }
    }

    /// metadata.namespace of an object that is neither a pod nor a node.
    pub fn namespace(self) -> &'c str {
        self.text(self.record.namespace)
    }

    /// metadata.name of an object that is neither a pod nor a node.
    pub fn name(self) -> &'c str {
        self.text(self.record.name)
    }

    fn text(self, text: Text) -> &'c str {
        if text.address == 0 {
            return "";
        }
        let bytes = self.base.memory.view::<u8>(text.address, text.length);
        utf8(unsafe { &*bytes.slice_mut() }) // it stays as it is during the call
    }
}

impl Base {
    /// Reads the records of an event's pods.
    pub(crate) fn event_pods(&mut self) {
        let event = *self.event_record();
        for (entry, which) in [(event.old_pod, Which::Other), (event.new_pod, Which::New)] {
            if entry.address != 0 {
                self.pods[which as usize].parse(&self.memory, entry.address, entry.size, None);
            }
        }
    }

    fn event_record(&self) -> &EventRecord {
        unsafe { &*self.memory.at(self.record().event) } // it stays as it is during the call
    }

    pub(crate) fn event(&self) -> Event<'_> {
        Event {
            base: self,
            record: self.event_record(),
        }
    }
}

/// The resource of a cluster event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventKind(pub u32);

impl EventKind {
    // Generated from abi/fields.
    /// Any, or one that is not listed.
    pub const OTHER: EventKind = EventKind(0);
    /// Pod on a node.
    pub const PLACED_POD: EventKind = EventKind(1);
    /// Pod that is not placed.
    pub const UNPLACED_POD: EventKind = EventKind(2);
    /// Node.
    pub const NODE: EventKind = EventKind(3);
    /// PersistentVolume.
    pub const PERSISTENT_VOLUME: EventKind = EventKind(4);
    /// PersistentVolumeClaim.
    pub const PERSISTENT_VOLUME_CLAIM: EventKind = EventKind(5);
    /// storage.k8s.io/CSINode.
    pub const CSI_NODE: EventKind = EventKind(6);
    /// storage.k8s.io/CSIDriver.
    pub const CSI_DRIVER: EventKind = EventKind(7);
    /// storage.k8s.io/VolumeAttachment.
    pub const VOLUME_ATTACHMENT: EventKind = EventKind(8);
    /// storage.k8s.io/CSIStorageCapacity.
    pub const CSI_STORAGE_CAPACITY: EventKind = EventKind(9);
    /// storage.k8s.io/StorageClass.
    pub const STORAGE_CLASS: EventKind = EventKind(10);
    /// resource.k8s.io/ResourceClaim.
    pub const RESOURCE_CLAIM: EventKind = EventKind(11);
    /// resource.k8s.io/ResourceSlice.
    pub const RESOURCE_SLICE: EventKind = EventKind(12);
    /// resource.k8s.io/DeviceClass.
    pub const DEVICE_CLASS: EventKind = EventKind(13);
    /// Namespace.
    pub const NAMESPACE_OBJECT: EventKind = EventKind(14);
}

/// A set of changes to the object of an event, as in k8s.io/kube-scheduler/framework.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventAction(pub u32);

impl EventAction {
    // Generated from abi/fields.
    /// Add.
    pub const ADD: EventAction = EventAction(1);
    /// Delete.
    pub const DELETE: EventAction = EventAction(1 << 1);
    /// UpdateNodeAllocatable.
    pub const UPDATE_NODE_ALLOCATABLE: EventAction = EventAction(1 << 2);
    /// UpdateNodeLabel.
    pub const UPDATE_NODE_LABEL: EventAction = EventAction(1 << 3);
    /// UpdateNodeTaint.
    pub const UPDATE_NODE_TAINT: EventAction = EventAction(1 << 4);
    /// UpdateNodeCondition.
    pub const UPDATE_NODE_CONDITION: EventAction = EventAction(1 << 5);
    /// UpdateNodeAnnotation.
    pub const UPDATE_NODE_ANNOTATION: EventAction = EventAction(1 << 6);
    /// UpdateNodeDeclaredFeature.
    pub const UPDATE_NODE_DECLARED_FEATURE: EventAction = EventAction(1 << 7);
    /// UpdatePodLabel.
    pub const UPDATE_POD_LABEL: EventAction = EventAction(1 << 8);
    /// UpdatePodScaleDown.
    pub const UPDATE_POD_SCALE_DOWN: EventAction = EventAction(1 << 9);
    /// UpdatePodToleration.
    pub const UPDATE_POD_TOLERATION: EventAction = EventAction(1 << 10);
    /// UpdatePodSchedulingGatesEliminated.
    pub const UPDATE_POD_SCHEDULING_GATES_ELIMINATED: EventAction = EventAction(1 << 11);
    /// UpdatePodGeneratedResourceClaim.
    pub const UPDATE_POD_GENERATED_RESOURCE_CLAIM: EventAction = EventAction(1 << 12);
    /// Another update.
    pub const UPDATE_OTHER: EventAction = EventAction(1 << 13);
    /// UpdatePodReady.
    pub const UPDATE_POD_READY: EventAction = EventAction(1 << 14);
    /// UpdateNamespaceLabel.
    pub const UPDATE_NAMESPACE_LABEL: EventAction = EventAction(1 << 15);
}

impl core::ops::BitOr for EventAction {
    type Output = EventAction;

    fn bitor(self, other: EventAction) -> EventAction {
        EventAction(self.0 | other.0)
    }
}
