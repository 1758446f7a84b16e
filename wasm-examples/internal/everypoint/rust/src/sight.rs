//! What the SDK reads of the pod, of the node and of all namespaces, as sight.go lists it.

use berth::{Base, Id, Node, Pair, PlacedPod, Pod, Port};

use crate::steps::Call;
use crate::EveryPoint;

struct Seen<'c> {
    base: &'c Base,
    by: &'c EveryPoint,
    all: Vec<String>,
}

impl Seen<'_> {
    fn numbers(&mut self, all: &[i64]) {
        self.all.extend(all.iter().map(i64::to_string));
    }

    fn ids(&mut self, all: &[Id]) {
        for id in all {
            self.all.push(match *id {
                Id::ABSENT => "-".into(),
                id => self.base.text(id).into(),
            });
        }
    }

    fn pairs(&mut self, all: &[Pair]) {
        all.iter()
            .for_each(|pair| self.ids(&[pair.key, pair.value]));
    }

    fn ports(&mut self, all: &[Port]) {
        for port in all {
            self.ids(&[port.ip]);
            self.numbers(&[port.port.into(), port.protocol.0.into()]);
        }
    }

    fn pod(&mut self, pod: Pod<'_>) {
        let (cpu, memory) = pod.non_zero_requested();
        self.ids(&[pod.namespace(), pod.owner()]);
        self.numbers(&[pod.priority(), pod.request(self.by.cpu), cpu, memory]);
        let names = [pod.name(), "on", pod.node_name()];
        self.all.extend(names.iter().copied().map(String::from));
        self.pairs(pod.labels());
        self.pairs(pod.namespace_labels());
        self.ids(pod.scheduling_gates());
        self.ids(pod.images());
        self.ports(pod.host_ports());
        for requirement in pod.node_selector() {
            self.ids(&[requirement.key]);
            self.numbers(&[requirement.operator.0.into()]);
            self.ids(pod.values(requirement));
        }
    }

    fn placed(&mut self, pod: PlacedPod<'_>) {
        self.all.push(pod.name().into());
        self.all.push(pod.uid().into());
        let (app, peer) = (pod.label(self.by.app), pod.annotation(self.by.peer));
        self.ids(&[pod.namespace(), pod.owner(), app, peer]);
        let request = pod.request(self.by.cpu);
        self.numbers(&[pod.priority().into(), request, pod.terminating().into()]);
        self.pairs(pod.labels());
    }

    fn node(&mut self, node: Node<'_>) {
        let (cpu, memory) = node.non_zero_requested();
        let (disk, note) = (node.label(self.by.disk), node.annotation(self.by.note));
        self.ids(&[node.zone(), disk, note]);
        self.numbers(&[
            node.unschedulable().into(),
            node.condition(self.by.ready).0.into(),
            node.allocatable(self.by.cpu),
            node.requested(self.by.cpu),
            cpu,
            memory,
        ]);
        self.pairs(node.labels());
        for taint in node.taints() {
            self.ids(&[taint.key, taint.value]);
            self.numbers(&[taint.effect.0.into()]);
        }
        self.ports(node.ports());
        for image in node.images() {
            self.ids(&[image.name]);
            self.numbers(&[image.size]);
        }
        node.pods().iter().for_each(|pod| self.placed(pod));
    }
}

/// The value of `{sight}`.
pub fn sight(by: &EveryPoint, call: Call<'_>) -> String {
    let mut seen = Seen {
        base: call.base,
        by,
        all: Vec::new(),
    };
    seen.pod(call.pod);
    if let Some(node) = call.node {
        seen.node(node);
    }
    for namespace in call.base.snapshot().namespaces().iter() {
        seen.ids(&[namespace.name(), namespace.label(by.team)]);
        seen.pairs(namespace.labels());
    }
    seen.all.join(" ")
}
