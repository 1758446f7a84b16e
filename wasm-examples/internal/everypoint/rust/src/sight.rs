//! What the SDK reads of the pod, of the node and of all namespaces, as sight.go lists it.

use berth::{Base, Const, Id, Namespace, Node, Pair, PlacedPod, Pod, Port, Requirement, Term};

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

    fn key(&self, key: Const) -> Id {
        key.id(self.base)
    }

    /// Reads the entries of a list, and puts them into the order of their bytes: a list has none.
    fn each<T>(&mut self, all: impl IntoIterator<Item = T>, mut read: impl FnMut(&mut Self, T)) {
        let from = self.all.len();
        for entry in all {
            let at = self.all.len();
            read(self, entry);
            let joined = self.all.split_off(at).join(" ");
            self.all.push(joined);
        }
        self.all[from..].sort();
    }

    fn list(&mut self, all: &[Id]) {
        self.each(all, |seen, id| seen.ids(&[*id]));
    }

    fn pairs(&mut self, all: &[Pair]) {
        self.each(all, |seen, pair| seen.ids(&[pair.key, pair.value]));
    }

    fn ports(&mut self, all: &[Port]) {
        self.each(all, |seen, port| {
            seen.ids(&[port.ip]);
            seen.numbers(&[port.port.into(), port.protocol.0.into()]);
        });
    }

    fn pod(&mut self, pod: Pod<'_>) {
        let (cpu, memory) = pod.non_zero_requested();
        let app = pod.label_by_key(self.key(self.by.keys.app));
        let team = pod.namespace_label_by_key(self.key(self.by.keys.team));
        self.ids(&[pod.namespace(), pod.owner(), app, team]);
        let requests = [pod.request(self.by.cpu), pod.request(self.by.memory)];
        self.numbers(&[pod.priority(), requests[0], requests[1], cpu, memory]);
        let names = [pod.name(), "on", pod.node_name()];
        self.all.extend(names.iter().copied().map(String::from));
        self.pairs(pod.labels());
        self.pairs(pod.namespace_labels());
        self.list(pod.scheduling_gates());
        self.list(pod.images());
        self.ports(pod.host_ports());
        self.requirements(pod, pod.node_selector());
        self.each(pod.tolerations(), |seen, t| {
            seen.ids(&[t.key, t.value]);
            seen.numbers(&[t.operator.0.into(), t.effect.0.into(), t.seconds]);
        });
        let required = pod.required_terms();
        self.numbers(&[required.is_some().into()]);
        self.terms(pod, required.unwrap_or_default());
        self.terms(pod, pod.preferred_terms());
        self.numbers(&[pod.created_at()]);
        self.ids(&[pod.priority_class(), pod.service_account()]);
        self.ids(&[pod.preemption_policy(), pod.group(), pod.qos()]);
        self.numbers(&[pod.limit(self.by.cpu), pod.limit(self.by.memory)]);
        self.list(pod.claims());
        self.numbers(&[pod.now()]);
        let (cpu, memory) = (self.by.cpu, self.by.memory);
        self.each(pod.containers(), |seen, c| {
            seen.ids(&[c.name, c.image]);
            seen.numbers(&[
                c.kind.0.into(),
                pod.container_request(c, cpu),
                pod.container_limit(c, cpu),
            ]);
            seen.numbers(&[
                pod.container_request(c, memory),
                pod.container_limit(c, memory),
            ]);
        });
    }

    fn terms(&mut self, pod: Pod<'_>, all: &[Term]) {
        self.each(all, |seen, t| {
            seen.numbers(&[t.weight.into(), t.unusable().into(), t.has_fields().into()]);
            seen.requirements(pod, pod.requirements(t));
        });
    }

    fn requirements(&mut self, pod: Pod<'_>, all: &[Requirement]) {
        self.each(all, |seen, r| {
            seen.ids(&[r.key]);
            seen.numbers(&[r.operator.0.into(), r.number]);
            seen.list(pod.values(r));
        });
    }

    fn placed(&mut self, pod: PlacedPod<'_>) {
        self.all.push(pod.name().into());
        self.all.push(pod.uid().into());
        let app = pod.label_by_key(self.key(self.by.keys.app));
        let (label, peer) = (pod.label(self.by.app), pod.annotation(self.by.peer));
        self.ids(&[pod.namespace(), pod.owner(), label, app, peer]);
        let requests = [pod.request(self.by.cpu), pod.request(self.by.memory)];
        let (priority, terminating) = (pod.priority().into(), pod.terminating().into());
        self.numbers(&[priority, requests[0], requests[1], terminating]);
        self.pairs(pod.labels());
        self.ids(&[pod.qos()]);
        self.numbers(&[pod.limit(self.by.cpu), pod.limit(self.by.memory)]);
        self.numbers(&[pod.assigned_at(), pod.created_at()]);
        self.numbers(&[pod.running().into(), pod.ready().into()]);
    }

    fn node(&mut self, node: Node<'_>) {
        let (cpu, memory) = node.non_zero_requested();
        let disk = node.label_by_key(self.key(self.by.keys.disk));
        let (label, note) = (node.label(self.by.disk), node.annotation(self.by.note));
        self.ids(&[node.zone(), label, disk, note]);
        self.numbers(&[
            node.unschedulable().into(),
            node.condition(self.by.ready).0.into(),
            node.allocatable(self.by.cpu),
            node.requested(self.by.cpu),
            node.allocatable(self.by.memory),
            node.requested(self.by.memory),
            cpu,
            memory,
            node.capacity(self.by.cpu),
            node.capacity(self.by.memory),
            node.created_at(),
            node.feed(self.by.usage),
            i64::from(node.feed_state(self.by.usage).0),
            node.requested_since(self.by.cpu),
            node.requested_since(self.by.memory),
        ]);
        self.ids(node.object_texts(self.by.slot_names));
        self.numbers(node.object_numbers(self.by.slot_sizes));
        self.pairs(node.labels());
        self.each(node.taints(), |seen, taint| {
            seen.ids(&[taint.key, taint.value]);
            seen.numbers(&[taint.effect.0.into()]);
        });
        self.ports(node.ports());
        self.each(node.images(), |seen, image| {
            seen.ids(&[image.name]);
            seen.numbers(&[image.size]);
        });
        self.each(node.pods().iter(), Seen::placed);
        self.each(node.nominated().iter(), Seen::placed);
    }

    fn namespace(&mut self, n: Namespace<'_>) {
        let team = n.label_by_key(self.key(self.by.keys.team));
        self.ids(&[n.name(), n.label(self.by.team), team]);
        self.pairs(n.labels());
        self.numbers(&[n.requested(self.by.cpu), n.requested(self.by.memory)]);
        self.ids(n.object_texts(self.by.max_keys));
        self.numbers(n.object_numbers(self.by.maxima));
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
    let all = call.base.snapshot().namespaces();
    seen.each(all.iter(), Seen::namespace);
    if let Some(own) = all.find(call.pod.namespace()) {
        seen.namespace(own);
    }
    seen.all.join(" ")
}
