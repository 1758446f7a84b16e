//! What a trial is about: nodes, pods, namespaces, events.

use std::collections::BTreeMap;
use std::string::String;
use std::vec::Vec;

/// Labels or annotations.
pub type Labels = BTreeMap<String, String>;

/// Numbers by name: of resources in milli-CPU, bytes or a count.
pub type Numbers = BTreeMap<String, i64>;

/// A node and the pods on it. What the host computes from pods, such as requested resources and
/// ports in use, is computed here too.
#[derive(Clone, Default)]
pub struct Node {
    /// metadata.name.
    pub name: String,
    /// spec.unschedulable.
    pub unschedulable: bool,
    /// status.allocatable.
    pub allocatable: Numbers,
    /// metadata.labels.
    pub labels: Labels,
    /// metadata.annotations.
    pub annotations: Labels,
    /// spec.taints.
    pub taints: Vec<Taint>,
    /// `True`, `False` or `Unknown` by type.
    pub conditions: Labels,
    /// Sizes in bytes by name.
    pub images: Numbers,
    /// The pods on it.
    pub pods: Vec<Pod>,
}

/// A taint; the effect is NoSchedule, PreferNoSchedule or NoExecute.
#[derive(Clone, Default)]
#[allow(missing_docs)]
pub struct Taint {
    pub key: String,
    pub value: String,
    pub effect: String,
}

/// A pod, on a node or to be placed.
#[derive(Clone, Default)]
pub struct Pod {
    /// metadata.namespace.
    pub namespace: String,
    /// metadata.name.
    pub name: String,
    /// metadata.uid; namespace/name if it is empty.
    pub uid: String,
    /// metadata.labels.
    pub labels: Labels,
    /// metadata.annotations.
    pub annotations: Labels,
    /// spec.priority.
    pub priority: i32,
    /// `Kind/name`.
    pub owner: String,
    /// What it requests.
    pub requests: Numbers,
    /// cpu and memory with kube-scheduler's values for containers without a request; 0 is as
    /// requests.
    pub non_zero: [i64; 2],
    /// Host ports.
    pub host_ports: Vec<Port>,
    /// Whether it is being deleted.
    pub terminating: bool,

    // The following count for a pod that a call is about only.
    /// spec.nodeName.
    pub node_name: String,
    /// Names of images.
    pub images: Vec<String>,
    /// Names of scheduling gates.
    pub scheduling_gates: Vec<String>,
    /// spec.tolerations.
    pub tolerations: Vec<Toleration>,
    /// spec.nodeSelector.
    pub node_selector: Labels,
    /// Terms of which one must hold; None is no required affinity.
    pub required: Option<Vec<Vec<Requirement>>>,
    /// Preferred terms.
    pub preferred: Vec<Preferred>,
    /// The whole Pod, for pod_object.
    pub object: Vec<u8>,
}

impl Pod {
    /// The UID, whichever it is.
    pub fn uid(&self) -> String {
        if self.uid.is_empty() {
            return std::format!("{}/{}", self.namespace, self.name);
        }
        self.uid.clone()
    }
}

/// A host port. An empty IP is 0.0.0.0, an empty protocol TCP.
#[derive(Clone, Default)]
#[allow(missing_docs)]
pub struct Port {
    pub ip: String,
    pub port: u16,
    pub protocol: String,
}

/// A toleration. An empty operator is Equal, an empty effect all.
#[derive(Clone, Default)]
#[allow(missing_docs)]
pub struct Toleration {
    pub key: String,
    pub operator: String,
    pub value: String,
    pub effect: String,
    pub seconds: Option<i64>,
}

/// A requirement on a label. The operator is In, NotIn, Exists, DoesNotExist, Gt or Lt.
#[derive(Clone, Default)]
#[allow(missing_docs)]
pub struct Requirement {
    pub key: String,
    pub operator: String,
    pub values: Vec<String>,
}

/// A preferred term.
#[derive(Clone, Default)]
#[allow(missing_docs)]
pub struct Preferred {
    pub weight: i32,
    pub requirements: Vec<Requirement>,
}

/// A namespace that has an object.
#[derive(Clone, Default)]
#[allow(missing_docs)]
pub struct Namespace {
    pub name: String,
    pub labels: Labels,
}

/// A cluster event, for hint.
#[derive(Clone, Default)]
pub struct Happened {
    /// As EventKind.
    pub resource: u32,
    /// As EventAction.
    pub actions: u32,
    /// The pod before and after.
    pub pods: [Option<Pod>; 2],
    /// The node before and after.
    pub nodes: [Option<Node>; 2],
    /// metadata.namespace of an object of another kind.
    pub namespace: String,
    /// Its metadata.name.
    pub name: String,
}
