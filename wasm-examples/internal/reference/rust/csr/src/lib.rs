//! The reference workload with the labels of each node as a list.

use berth::{Base, Filter, Node, Plugin, Pod, Status};
use reference::{holds, Common};

/// The variant that reads all labels.
pub struct Csr {
    common: Common,
}

impl Plugin for Csr {
    const MANIFEST: &'static str = include_str!("../../../manifest-csr.json");

    fn new(base: &mut Base) -> Csr {
        Csr {
            common: Common::new(base),
        }
    }

    fn prepare(&mut self, _: &Base, pod: Pod<'_>) -> Status {
        self.common.prepare(pod);
        Status::SUCCESS
    }
}

impl Filter for Csr {
    fn filter(&mut self, _: &Base, pod: Pod<'_>, node: Node<'_>) -> Status {
        self.common.judge(pod, node, || match pod.required_terms() {
            None => true,
            Some(terms) => terms.iter().any(|term| {
                let mut all = pod.requirements(term).iter();
                !term.unusable() && all.all(|r| holds(pod, r, node.label_by_key(r.key)))
            }),
        })
    }
}

berth::export!(Csr: filter);
