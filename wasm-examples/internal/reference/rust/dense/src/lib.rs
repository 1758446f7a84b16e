//! The reference workload with a column for each label key.

use berth::{Base, Const, Filter, Node, NodeLabel, Plugin, Pod, Requirement, Status};
use reference::{holds, Common};

/// The variant that reads declared label keys.
pub struct Dense {
    common: Common,
    keys: [(Const, NodeLabel); 2],

    // Of this call's pod: whether it has terms, where the checks of each end, and the checks.
    any: bool,
    ends: Vec<usize>,
    checks: Vec<(NodeLabel, Requirement)>,
}

impl Plugin for Dense {
    const MANIFEST: &'static str = include_str!("../../../manifest-dense.json");

    fn new(base: &mut Base) -> Dense {
        let keys = ["topology.kubernetes.io/zone", "example.com/pool"];
        Dense {
            common: Common::new(base),
            keys: keys.map(|key| (base.constant(key), base.node_label(key))),
            any: false,
            ends: Vec::new(),
            checks: Vec::new(),
        }
    }

    /// Resolves the requirements of the pod's affinity.
    fn prepare(&mut self, base: &Base, pod: Pod<'_>) -> Status {
        self.common.prepare(pod);
        self.checks.clear();
        self.ends.clear();
        self.any = pod.required_terms().is_some();
        let terms = pod.required_terms().unwrap_or(&[]);
        for term in terms.iter().filter(|term| !term.unusable()) {
            for requirement in pod.requirements(term) {
                let known = self
                    .keys
                    .iter()
                    .find(|(key, _)| key.is(base, requirement.key));
                match known {
                    Some((_, label)) => self.checks.push((*label, *requirement)),
                    None => {
                        let key = base.text(requirement.key);
                        let text = format!("the label {} is not declared", key);
                        return Status::error(base.reason(&[&text]));
                    }
                }
            }
            self.ends.push(self.checks.len());
        }
        Status::SUCCESS
    }
}

impl Filter for Dense {
    fn filter(&mut self, _: &Base, pod: Pod<'_>, node: Node<'_>) -> Status {
        self.common.judge(pod, node, || {
            let mut from = 0;
            let mut ends = self.ends.iter();
            !self.any
                || ends.any(|end| {
                    let mut checks = self.checks[from..*end].iter();
                    from = *end;
                    checks.all(|(label, r)| holds(pod, r, node.label(*label)))
                })
        })
    }
}

berth::export!(Dense: filter);
