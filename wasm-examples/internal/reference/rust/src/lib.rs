//! The reference workload of Berth's benchmarks: taints against tolerations, required node
//! affinity, and resources, with the verdicts and reasons of kube-scheduler's plugins. It is what
//! the crates csr and dense have in common, and the twin of the Go package beside it.

use berth::{
    Base, Effect, Id, Node, Operator, Pod, Reason, Requirement, Resource, Status, Taint, Toleration,
};

/// What both variants do.
pub struct Common {
    cpu: Resource,
    memory: Resource,
    pods: Resource,
    tainted: Reason,
    mismatched: Reason,
    /// By bits: pods, cpu, memory.
    lacking: [Reason; 8],

    // Of this call's pod.
    need_cpu: i64,
    need_bytes: i64,
}

impl Common {
    /// Handles and reasons.
    pub fn new(base: &mut Base) -> Common {
        let mut lacking = [Reason::NONE; 8];
        for (bits, reason) in lacking.iter_mut().enumerate() {
            let texts = ["Too many pods", "Insufficient cpu", "Insufficient memory"];
            let texts = texts.iter().enumerate();
            let lacks: Vec<&str> = texts
                .filter(|(i, _)| bits >> i & 1 != 0)
                .map(|(_, text)| *text)
                .collect();
            *reason = base.reason(&lacks);
        }
        Common {
            cpu: base.resource("cpu"),
            memory: base.resource("memory"),
            pods: base.resource("pods"),
            tainted: base.reason(&["node(s) had untolerated taint(s)"]),
            mismatched: base.reason(&["node(s) didn't match Pod's node affinity/selector"]),
            lacking,
            need_cpu: 0,
            need_bytes: 0,
        }
    }

    /// Looks at the pod.
    pub fn prepare(&mut self, pod: Pod<'_>) {
        self.need_cpu = pod.request(self.cpu);
        self.need_bytes = pod.request(self.memory);
    }

    /// Judges a node; matches tells whether the node is what the affinity wants.
    #[inline]
    pub fn judge(&self, pod: Pod<'_>, node: Node<'_>, matches: impl FnOnce() -> bool) -> Status {
        if !tolerated(pod.tolerations(), node.taints()) {
            return Status::unschedulable_and_unresolvable(self.tainted);
        }
        if !matches() {
            return Status::unschedulable_and_unresolvable(self.mismatched);
        }
        self.fits(node)
    }

    /// Judges the node's resources.
    #[inline]
    fn fits(&self, node: Node<'_>) -> Status {
        let (mut lacks, mut never) = (0, false);
        if node.requested(self.pods) + 1 > node.allocatable(self.pods) {
            lacks |= 1;
        }
        if self.need_cpu > 0 {
            let has = node.allocatable(self.cpu);
            if self.need_cpu > has - node.requested(self.cpu) {
                lacks |= 2;
                never = self.need_cpu > has;
            }
        }
        if self.need_bytes > 0 {
            let has = node.allocatable(self.memory);
            if self.need_bytes > has - node.requested(self.memory) {
                lacks |= 4;
                never |= self.need_bytes > has;
            }
        }
        match lacks {
            0 => Status::SUCCESS,
            _ if never => Status::unschedulable_and_unresolvable(self.lacking[lacks]),
            _ => Status::unschedulable(self.lacking[lacks]),
        }
    }
}

/// Reports whether the pod tolerates the taints of a node that keep pods away.
#[inline]
fn tolerated(tolerations: &[Toleration], taints: &[Taint]) -> bool {
    taints.iter().all(|taint| {
        taint.effect == Effect::PREFER_NO_SCHEDULE || tolerations.iter().any(|t| t.tolerates(taint))
    })
}

/// Pod::holds, with the usual operator inlined.
#[inline]
pub fn holds(pod: Pod<'_>, requirement: &Requirement, value: Id) -> bool {
    if requirement.operator != Operator::IN {
        return pod.holds(requirement, value);
    }
    pod.values(requirement).contains(&value)
}
