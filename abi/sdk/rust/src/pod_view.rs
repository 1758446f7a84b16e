//! The fields of a pod record (SPEC.md, section 6).

use crate::abi::field;
use crate::declared::Declared;
use crate::manifest::{reads, undeclared, POD_READS};
use crate::memory::{Memory, Plain, View};
use crate::pod_fields::LaterFields;
use crate::records::{PodField, PodHeader, POD_HEADER};
use crate::room::Room;
use crate::types::{Id, Pair, Port, Requirement, Term, Toleration};

/// The fields of a pod record as slices. It is rebuilt in each call.
pub(crate) struct PodView {
    declared: u32,
    /// The pod's place for pod_object; None for one that is not the call's own.
    pub index: Option<u32>,
    pub requests: Room<i64>,
    pub limits: Room<i64>,
    pub annotations: Room<Id>,
    pub fields: Fields,
}

#[derive(Clone, Copy)]
pub(crate) struct Fields {
    pub name: View<u8>,
    pub uid: View<u8>,
    pub node_name: View<u8>,
    pub namespace: View<Id>,
    pub namespace_labels: View<Pair>,
    pub priority: View<i64>,
    pub labels: View<Pair>,
    pub owner: View<Id>,
    pub tolerations: View<Toleration>,
    pub selector: View<Requirement>,
    pub required: Option<View<Term>>,
    pub preferred: View<Term>,
    pub requirements: View<Requirement>,
    pub values: View<Id>,
    pub ports: View<Port>,
    pub images: View<Id>,
    pub gates: View<Id>,
    pub non_zero: View<i64>,
    pub later: LaterFields,
}

impl Fields {
    const EMPTY: Fields = Fields {
        name: View::empty(),
        uid: View::empty(),
        node_name: View::empty(),
        namespace: View::empty(),
        namespace_labels: View::empty(),
        priority: View::empty(),
        labels: View::empty(),
        owner: View::empty(),
        tolerations: View::empty(),
        selector: View::empty(),
        required: None,
        preferred: View::empty(),
        requirements: View::empty(),
        values: View::empty(),
        ports: View::empty(),
        images: View::empty(),
        gates: View::empty(),
        non_zero: View::empty(),
        later: LaterFields::EMPTY,
    };
}

impl PodView {
    pub fn new(memory: &Memory, declared: &Declared) -> PodView {
        let mut view = PodView {
            declared: declared.manifest.pod(),
            index: None,
            requests: Room::new(),
            limits: Room::new(),
            annotations: Room::new(),
            fields: Fields::EMPTY,
        };
        view.requests.fill(memory, declared.length("resources"), 0);
        if view.declared >> reads::LIMITS & 1 != 0 {
            view.limits.fill(memory, declared.length("resources"), 0);
        }
        view.annotations
            .fill(memory, declared.length("podAnnotations"), Id::ABSENT);
        view
    }

    /// Reads a pod record.
    pub fn parse(&mut self, m: &Memory, address: u32, size: u32, index: Option<u32>) {
        self.index = index;
        self.fields = Fields::EMPTY;
        self.requests.slice_mut().fill(0);
        self.limits.slice_mut().fill(0);
        self.annotations.slice_mut().fill(Id::ABSENT);
        if size == 0 {
            return; // there is no record
        }
        let header: *const PodHeader = m.at(address);
        let fields = m.view::<PodField>(address + POD_HEADER, unsafe { (*header).n_fields });
        for f in fields.slice() {
            let from = address + f.offset;
            let v = &mut self.fields;
            match f.id {
                field::NAME => v.name = m.view(from, f.count),
                field::NODE_NAME => v.node_name = m.view(from, f.count),
                field::NODE_SELECTOR => v.selector = m.view(from, f.count),
                field::TOLERATIONS => v.tolerations = m.view(from, f.count),
                field::HOST_PORTS => v.ports = m.view(from, f.count),
                field::IMAGES => v.images = m.view(from, f.count),
                field::SCHEDULING_GATES => v.gates = m.view(from, f.count),
                field::NAMESPACE => v.namespace = m.view(from, f.count),
                field::PRIORITY => v.priority = m.view(from, f.count),
                field::REQUESTS => single(m, from, f, self.requests.slice_mut()),
                field::LIMITS => single(m, from, f, self.limits.slice_mut()),
                field::LABELS => v.labels = m.view(from, f.count),
                field::ANNOTATIONS => single(m, from, f, self.annotations.slice_mut()),
                field::OWNER => v.owner = m.view(from, f.count),
                field::REQUIRED_TERMS => v.required = Some(m.view(from, f.count)),
                field::PREFERRED_TERMS => v.preferred = m.view(from, f.count),
                field::REQUIREMENTS => v.requirements = m.view(from, f.count),
                field::REQUIREMENT_VALUES => v.values = m.view(from, f.count),
                field::NON_ZERO_REQUESTED => v.non_zero = m.view(from, f.count),
                field::NAMESPACE_LABELS => v.namespace_labels = m.view(from, f.count),
                field::UID => v.uid = m.view(from, f.count),
                _ => v.later.set(m, from, f),
            }
        }
    }

    /// Ends a plugin that reads a field which its manifest does not declare.
    #[inline]
    pub fn need(&self, field: usize) {
        if self.declared >> field & 1 == 0 {
            undeclared("pod", POD_READS[field]);
        }
    }
}

/// Stores a field of one element by its arg.
fn single<T: Plain>(m: &Memory, from: u32, f: &PodField, to: &mut [T]) {
    if let (Some(to), Some(value)) = (
        to.get_mut(f.arg as usize),
        m.view(from, f.count).slice().first(),
    ) {
        *to = *value;
    }
}
