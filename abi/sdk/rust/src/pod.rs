//! The pod of a call, as a view of its record (SPEC.md, section 6).

use crate::base::Base;
use crate::columns::{utf8, Columns};
use crate::manifest::reads;
use crate::memory::View;
use crate::pod_view::{Fields, PodView};
use crate::types::{
    find, Container, Id, Operator, Pair, PodAnnotation, Port, Requirement, Resource, Taint, Term,
    Toleration,
};

/// The pod to be placed, or another one that a call is about.
#[derive(Clone, Copy)]
pub struct Pod<'c> {
    pub(crate) view: &'c PodView,
    pub(crate) columns: &'c Columns,
}

pub(crate) fn first<T: Copy>(view: &View<T>, otherwise: T) -> T {
    view.slice().first().copied().unwrap_or(otherwise)
}

impl<'c> Pod<'c> {
    #[inline]
    pub(crate) fn fields(self, field: usize) -> &'c Fields {
        self.view.need(field);
        &self.view.fields
    }

    /// metadata.name. Reads `pod: name`.
    pub fn name(self) -> &'c str {
        utf8(self.fields(reads::NAME).name.slice())
    }

    /// metadata.uid. Reads `pod: uid`.
    pub fn uid(self) -> &'c str {
        utf8(self.fields(reads::UID).uid.slice())
    }

    /// metadata.namespace. Reads `pod: namespace`.
    pub fn namespace(self) -> Id {
        first(&self.fields(reads::NAMESPACE).namespace, Id::ABSENT)
    }

    /// metadata.labels of the pod's namespace, in no order. Reads `pod: namespaceLabels`.
    pub fn namespace_labels(self) -> &'c [Pair] {
        self.fields(reads::NAMESPACE_LABELS)
            .namespace_labels
            .slice()
    }

    /// The value of a label key of the pod's namespace; ABSENT if it does not have it. Reads
    /// `pod: namespaceLabels`.
    pub fn namespace_label_by_key(self, key: Id) -> Id {
        find(self.namespace_labels(), key)
    }

    /// spec.priority. Reads `pod: priority`.
    pub fn priority(self) -> i64 {
        first(&self.fields(reads::PRIORITY).priority, 0)
    }

    /// What the pod requests of a resource, in milli-CPU, bytes or a count. Reads
    /// `pod: requests`.
    pub fn request(self, resource: Resource) -> i64 {
        self.view.need(reads::REQUESTS);
        self.view.requests.slice()[resource.0 as usize]
    }

    /// Milli-CPU and bytes requested, where a container without a request counts 100 milli-CPU
    /// and 200 MiB. Reads `pod: nonZeroRequested`.
    pub fn non_zero_requested(self) -> (i64, i64) {
        let both = self.fields(reads::NON_ZERO).non_zero.slice();
        (both[0], both[1])
    }

    /// All labels, in no order. Reads `pod: labels`.
    pub fn labels(self) -> &'c [Pair] {
        self.fields(reads::LABELS).labels.slice()
    }

    /// The value of a label key; ABSENT if the pod does not have it. Reads `pod: labels`.
    pub fn label_by_key(self, key: Id) -> Id {
        find(self.labels(), key)
    }

    /// The value of a declared annotation key. Reads `pod: annotations` and `podAnnotations`.
    pub fn annotation(self, key: PodAnnotation) -> Id {
        self.view.need(reads::ANNOTATIONS);
        self.view.annotations.slice()[key.0 as usize]
    }

    /// `Kind/name` of the controlling owner; ABSENT for none. Reads `pod: owner`.
    pub fn owner(self) -> Id {
        first(&self.fields(reads::OWNER).owner, Id::ABSENT)
    }

    /// spec.nodeName; from reserve on the chosen node. Reads `pod: nodeName`.
    pub fn node_name(self) -> &'c str {
        utf8(self.fields(reads::NODE_NAME).node_name.slice())
    }

    /// Names of spec.schedulingGates. Reads `pod: schedulingGates`.
    pub fn scheduling_gates(self) -> &'c [Id] {
        self.fields(reads::SCHEDULING_GATES).gates.slice()
    }

    /// spec.tolerations. Reads `pod: tolerations`.
    pub fn tolerations(self) -> &'c [Toleration] {
        self.fields(reads::TOLERATIONS).tolerations.slice()
    }

    /// Reports whether the pod tolerates a taint. Reads `pod: tolerations`.
    #[inline]
    pub fn tolerates(self, taint: &Taint) -> bool {
        self.tolerations().iter().any(|t| t.tolerates(taint))
    }

    /// spec.nodeSelector: all must hold. Reads `pod: nodeSelector`.
    pub fn node_selector(self) -> &'c [Requirement] {
        self.fields(reads::NODE_SELECTOR).selector.slice()
    }

    /// What a container requests of a resource, in milli-CPU, bytes or a count. Reads
    /// `pod: containers`.
    pub fn container_request(self, container: &Container, resource: Resource) -> i64 {
        self.amounts(container)[2 * resource.0 as usize]
    }

    /// How much a container may use of a resource; −1 for as much as there is. Reads
    /// `pod: containers`.
    pub fn container_limit(self, container: &Container, resource: Resource) -> i64 {
        self.amounts(container)[2 * resource.0 as usize + 1]
    }

    fn amounts(self, container: &Container) -> &'c [i64] {
        let later = &self.fields(reads::CONTAINERS).later;
        &later.container_amounts.slice()[container.first as usize..]
    }

    /// The required node affinity: if there is any, one term must hold. Reads `pod: affinity`.
    pub fn required_terms(self) -> Option<&'c [Term]> {
        self.fields(reads::AFFINITY)
            .required
            .as_ref()
            .map(View::slice)
    }

    /// The preferred node affinity. Reads `pod: affinity`.
    pub fn preferred_terms(self) -> &'c [Term] {
        self.fields(reads::AFFINITY).preferred.slice()
    }

    /// The requirements of a term: all must hold. A term without requirements matches no node,
    /// unless it has_fields. Reads `pod: affinity`.
    pub fn requirements(self, term: &Term) -> &'c [Requirement] {
        let all = self.fields(reads::AFFINITY).requirements.slice();
        part(all, term.first, term.count)
    }

    /// The values of a requirement. Reads `pod: affinity` or `nodeSelector`.
    #[inline]
    pub fn values(self, requirement: &Requirement) -> &'c [Id] {
        part(
            self.view.fields.values.slice(),
            requirement.first,
            requirement.count,
        )
    }

    /// Reports whether a requirement holds for a value of its label; ABSENT for a node without
    /// the label.
    #[inline]
    pub fn holds(self, requirement: &Requirement, value: Id) -> bool {
        if requirement.operator == Operator::IN {
            // nearly all requirements; this much is inlined
            return value != Id::ABSENT && self.values(requirement).contains(&value);
        }
        self.otherwise_holds(requirement, value)
    }

    fn otherwise_holds(self, requirement: &Requirement, value: Id) -> bool {
        let absent = value == Id::ABSENT;
        match requirement.operator {
            Operator::NOT_IN => absent || !self.values(requirement).contains(&value),
            Operator::EXISTS => !absent,
            Operator::DOES_NOT_EXIST => absent,
            Operator::GT | Operator::LT => match self.columns.text(value).parse::<i64>() {
                Ok(n) if requirement.operator == Operator::GT => n > requirement.number,
                Ok(n) => n < requirement.number,
                Err(_) => false,
            },
            _ => false,
        }
    }

    /// The host ports that the pod asks for. Reads `pod: hostPorts`.
    pub fn host_ports(self) -> &'c [Port] {
        self.fields(reads::HOST_PORTS).ports.slice()
    }

    /// The names of the containers' images, as nodes report them. Reads `pod: images`.
    pub fn images(self) -> &'c [Id] {
        self.fields(reads::IMAGES).images.slice()
    }
}

#[inline]
fn part<T>(all: &[T], first: u32, count: u32) -> &[T] {
    if count == 0 {
        return &[]; // first may be anything then
    }
    &all[first as usize..][..count as usize]
}

/// The pods that a call is about.
pub(crate) enum Which {
    /// The pod to be placed, or the pod asked about.
    Asked = 0,
    /// The pod that was added or removed; of an event the old one.
    Other = 1,
    /// Of an event the new one.
    New = 2,
}

impl Base {
    pub(crate) fn pod(&self, which: Which) -> Pod<'_> {
        Pod {
            view: &self.pods[which as usize],
            columns: &self.columns,
        }
    }
}
