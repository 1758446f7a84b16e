//! Cluster events, as hint hears of them (ABI-3.10).

use crate::node::Node;
use crate::pod::Pod;

/// Something changed in the cluster. An event has one kind of object: no old one if it was
/// added and no new one if it was deleted.
#[derive(Clone, Copy)]
pub struct Event<'c> {
    /// What kind of object changed.
    pub resource: EventResource,
    /// How.
    pub actions: Actions,
    /// The pod before; its fields are those that the manifest declares.
    pub old_pod: Option<Pod<'c>>,
    /// The pod after.
    pub new_pod: Option<Pod<'c>>,
    /// The node before. It has what comes from the node object, and no pods (ABI-5.12).
    pub old_node: Option<Node<'c>>,
    /// The node after.
    pub new_node: Option<Node<'c>>,
    /// metadata.namespace of an object of another kind.
    pub namespace: &'c str,
    /// metadata.name of an object of another kind.
    pub name: &'c str,
}

/// The resource of a cluster event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventResource(pub u32);

impl EventResource {
    /// Any, or one that is not listed here.
    pub const OTHER: EventResource = EventResource(0);
    /// A pod on a node.
    pub const PLACED_POD: EventResource = EventResource(1);
    /// A pod that is not placed.
    pub const UNPLACED_POD: EventResource = EventResource(2);
    /// Node.
    pub const NODE: EventResource = EventResource(3);
    /// PersistentVolume.
    pub const PERSISTENT_VOLUME: EventResource = EventResource(4);
    /// PersistentVolumeClaim.
    pub const PERSISTENT_VOLUME_CLAIM: EventResource = EventResource(5);
    /// storage.k8s.io/CSINode.
    pub const CSI_NODE: EventResource = EventResource(6);
    /// storage.k8s.io/CSIDriver.
    pub const CSI_DRIVER: EventResource = EventResource(7);
    /// storage.k8s.io/VolumeAttachment.
    pub const VOLUME_ATTACHMENT: EventResource = EventResource(8);
    /// storage.k8s.io/CSIStorageCapacity.
    pub const CSI_STORAGE_CAPACITY: EventResource = EventResource(9);
    /// storage.k8s.io/StorageClass.
    pub const STORAGE_CLASS: EventResource = EventResource(10);
    /// resource.k8s.io/ResourceClaim.
    pub const RESOURCE_CLAIM: EventResource = EventResource(11);
    /// resource.k8s.io/ResourceSlice.
    pub const RESOURCE_SLICE: EventResource = EventResource(12);
    /// resource.k8s.io/DeviceClass.
    pub const DEVICE_CLASS: EventResource = EventResource(13);
}

/// A set of changes to the object of an event, as in k8s.io/kube-scheduler/framework.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Actions(pub u32);

impl Actions {
    /// The object was added.
    pub const ADD: Actions = Actions(1);
    /// The object was deleted.
    pub const DELETE: Actions = Actions(1 << 1);
    /// UpdateNodeAllocatable.
    pub const UPDATE_NODE_ALLOCATABLE: Actions = Actions(1 << 2);
    /// UpdateNodeLabel.
    pub const UPDATE_NODE_LABEL: Actions = Actions(1 << 3);
    /// UpdateNodeTaint.
    pub const UPDATE_NODE_TAINT: Actions = Actions(1 << 4);
    /// UpdateNodeCondition.
    pub const UPDATE_NODE_CONDITION: Actions = Actions(1 << 5);
    /// UpdateNodeAnnotation.
    pub const UPDATE_NODE_ANNOTATION: Actions = Actions(1 << 6);
    /// UpdateNodeDeclaredFeature.
    pub const UPDATE_NODE_DECLARED_FEATURE: Actions = Actions(1 << 7);
    /// UpdatePodLabel.
    pub const UPDATE_POD_LABEL: Actions = Actions(1 << 8);
    /// UpdatePodScaleDown.
    pub const UPDATE_POD_SCALE_DOWN: Actions = Actions(1 << 9);
    /// UpdatePodToleration.
    pub const UPDATE_POD_TOLERATION: Actions = Actions(1 << 10);
    /// UpdatePodSchedulingGatesEliminated.
    pub const UPDATE_POD_SCHEDULING_GATES_ELIMINATED: Actions = Actions(1 << 11);
    /// UpdatePodGeneratedResourceClaim.
    pub const UPDATE_POD_GENERATED_RESOURCE_CLAIM: Actions = Actions(1 << 12);
    /// Another update.
    pub const UPDATE_OTHER: Actions = Actions(1 << 13);

    /// Reports whether one of the other's changes is in this set.
    pub const fn any(self, of: Actions) -> bool {
        self.0 & of.0 != 0
    }
}

impl core::ops::BitOr for Actions {
    type Output = Actions;

    fn bitor(self, other: Actions) -> Actions {
        Actions(self.0 | other.0)
    }
}
