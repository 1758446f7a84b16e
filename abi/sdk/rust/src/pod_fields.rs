//! The fields of a pod record since ABI 1.1 (SPEC.md, section 6).

use crate::abi::field;
use crate::manifest::reads;
use crate::memory::{Memory, View};
use crate::pod::{first, Pod};
use crate::records::PodField;
use crate::types::{Container, Id, Resource};

// Generated from abi/fields.
#[derive(Clone, Copy)]
pub(crate) struct LaterFields {
    pub created_at: View<i64>,
    pub priority_class: View<Id>,
    pub service_account: View<Id>,
    pub preemption_policy: View<Id>,
    pub group: View<Id>,
    pub qos: View<Id>,
    pub claims: View<Id>,
    pub now: View<i64>,
    pub containers: View<Container>,
    pub container_amounts: View<i64>,
}

impl LaterFields {
    pub const EMPTY: LaterFields = LaterFields {
        created_at: View::empty(),
        priority_class: View::empty(),
        service_account: View::empty(),
        preemption_policy: View::empty(),
        group: View::empty(),
        qos: View::empty(),
        claims: View::empty(),
        now: View::empty(),
        containers: View::empty(),
        container_amounts: View::empty(),
    };

    /// Sets a field. Unknown ids are skipped (ABI-6.2).
    pub fn set(&mut self, m: &Memory, from: u32, f: &PodField) {
        match f.id {
            field::CREATED_AT => self.created_at = m.view(from, f.count),
            field::PRIORITY_CLASS => self.priority_class = m.view(from, f.count),
            field::SERVICE_ACCOUNT => self.service_account = m.view(from, f.count),
            field::PREEMPTION_POLICY => self.preemption_policy = m.view(from, f.count),
            field::GROUP => self.group = m.view(from, f.count),
            field::QOS => self.qos = m.view(from, f.count),
            field::CLAIMS => self.claims = m.view(from, f.count),
            field::NOW => self.now = m.view(from, f.count),
            field::CONTAINERS => self.containers = m.view(from, f.count),
            field::CONTAINER_AMOUNTS => self.container_amounts = m.view(from, f.count),
            _ => {}
        }
    }
}

impl<'c> Pod<'c> {
    /// metadata.creationTimestamp in seconds since 1970; 0 for none. Reads `pod: createdAt`.
    pub fn created_at(self) -> i64 {
        let later = &self.fields(reads::CREATED_AT).later;
        first(&later.created_at, 0)
    }

    /// spec.priorityClassName; 0 for none. Reads `pod: priorityClass`.
    pub fn priority_class(self) -> Id {
        let later = &self.fields(reads::PRIORITY_CLASS).later;
        first(&later.priority_class, Id::ABSENT)
    }

    /// spec.serviceAccountName; 0 for none. Reads `pod: serviceAccount`.
    pub fn service_account(self) -> Id {
        let later = &self.fields(reads::SERVICE_ACCOUNT).later;
        first(&later.service_account, Id::ABSENT)
    }

    /// spec.preemptionPolicy; PreemptLowerPriority if it is not set. Reads `pod: preemptionPolicy`.
    pub fn preemption_policy(self) -> Id {
        let later = &self.fields(reads::PREEMPTION_POLICY).later;
        first(&later.preemption_policy, Id::ABSENT)
    }

    /// spec.schedulingGroup.podGroupName; 0 for none. Reads `pod: group`.
    pub fn group(self) -> Id {
        let later = &self.fields(reads::GROUP).later;
        first(&later.group, Id::ABSENT)
    }

    /// the QoS class: Guaranteed, Burstable or BestEffort. Reads `pod: qos`.
    pub fn qos(self) -> Id {
        let later = &self.fields(reads::QOS).later;
        first(&later.qos, Id::ABSENT)
    }

    /// the time in seconds since 1970, in steps of `resolution`; 0 at queueSort, hint, unreserve and from preBind on (6.7). Reads `pod: now`.
    pub fn now(self) -> i64 {
        let later = &self.fields(reads::NOW).later;
        first(&later.now, 0)
    }

    /// names of the persistent volume claims of spec.volumes, also of ephemeral ones. Reads `pod: claims`.
    pub fn claims(self) -> &'c [Id] {
        self.fields(reads::CLAIMS).later.claims.slice()
    }

    /// init containers, and then the others, each in the order of spec. Reads `pod: containers`.
    pub fn containers(self) -> &'c [Container] {
        self.fields(reads::CONTAINERS).later.containers.slice()
    }

    /// Of a resource, how much the pod may use; −1 if a container has no limit. Reads
    /// `pod: limits`.
    pub fn limit(self, resource: Resource) -> i64 {
        self.view.need(reads::LIMITS);
        self.view.limits.slice()[resource.0 as usize]
    }
}
