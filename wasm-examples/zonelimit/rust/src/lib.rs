//! A plugin that limits how many pods of one app are in a zone. pre_filter counts them once, and the
//! answer for a node depends on other nodes: the counts are the plugin's state, which add_pod and
//! remove_pod keep right when the host asks about pods that are not there. It is the twin of the Go
//! package beside it.

use std::collections::BTreeMap;

use berth::json::Value;
use berth::{
    AddPod, Base, Configure, Const, Error, Filter, Id, Node, NodeLabel, Nodes, Plugin, Pod,
    PodLabel, PreFilter, Reason, Rows, Status,
};

/// The reason for rejecting a node.
pub const REASON_FULL: &str = "node(s) were in a zone with enough pods of the app";

/// The key of the state. The value has for each zone, in the order of their names, the number as
/// four bytes, the length of the name as one, and the name. It has no ids: the next call may run in
/// another instance, where these mean other strings.
const KEY: &str = "zones";

/// The plugin. Pods of one app are those of a namespace with the same label app.
pub struct ZoneLimit {
    zone: NodeLabel,
    app: PodLabel,
    app_key: Const,
    full: Reason,
    no_room: Reason,

    most: i64,
    /// Of this call.
    zones: BTreeMap<String, u32>,
}

impl Plugin for ZoneLimit {
    const MANIFEST: &'static str = include_str!("../../manifest.json");

    fn new(base: &mut Base) -> ZoneLimit {
        ZoneLimit {
            zone: base.node_label("topology.kubernetes.io/zone"),
            app: base.pod_label("app"),
            app_key: base.constant("app"),
            full: base.reason(&[REASON_FULL]),
            no_room: base.reason(&["there is no room for the number of pods in each zone"]),
            most: 1,
            zones: BTreeMap::new(),
        }
    }

    /// Reads the counts, once for many nodes.
    fn prepare(&mut self, base: &Base, _: Pod<'_>) -> Status {
        self.load(base);
        Status::SUCCESS
    }
}

impl Configure for ZoneLimit {
    fn configure(&mut self, _: &mut Base, config: &[u8]) -> Result<(), Error> {
        let config = Value::parse(config)?;
        config.only(&["most"])?;
        self.most = config.get("most")?.map_or(Ok(1), Value::i64)?;
        Ok(())
    }
}

impl ZoneLimit {
    /// The app of a pod.
    fn app_of(&self, base: &Base, pod: Pod<'_>) -> Id {
        pod.label_by_key(self.app_key.id(base))
    }

    /// Counts one pod of a zone more or less.
    fn change(
        &mut self,
        base: &Base,
        pod: Pod<'_>,
        other: Pod<'_>,
        node: Node<'_>,
        by: u32,
    ) -> Status {
        let zone = node.label(self.zone);
        let same = self.app_of(base, other) == self.app_of(base, pod)
            && other.namespace() == pod.namespace();
        if zone == Id::ABSENT || !same {
            return Status::SUCCESS;
        }
        self.load(base);
        let count = self.zones.entry(base.text(zone).to_string()).or_default();
        *count = count.wrapping_add(by);
        self.save(base)
    }

    /// Writes the numbers into the state of the pod's cycle. Zones without pods are left out, so
    /// that a pod that came and went leaves nothing behind.
    fn save(&self, base: &Base) -> Status {
        let mut value = Vec::new();
        for (zone, n) in self.zones.iter().filter(|(_, n)| **n > 0) {
            value.extend(n.to_le_bytes());
            value.push(zone.len() as u8);
            value.extend(zone.as_bytes());
        }
        match base.state_set(KEY, &value) {
            true => Status::SUCCESS,
            false => Status::error(self.no_room),
        }
    }

    /// Reads them.
    fn load(&mut self, base: &Base) {
        self.zones.clear();
        let mut value = base.state_get(KEY).unwrap_or_default();
        while value.len() > 5 {
            let (head, rest) = value.split_at(5);
            let (name, rest) = rest.split_at(head[4].into());
            let n = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
            self.zones
                .insert(String::from_utf8_lossy(name).into_owned(), n);
            value = rest;
        }
    }
}

impl PreFilter for ZoneLimit {
    /// Counts the pods of the app. A pod without an app fits everywhere.
    fn pre_filter(
        &mut self,
        base: &Base,
        pod: Pod<'_>,
        nodes: Nodes<'_>,
        _: &mut Rows<'_>,
    ) -> Status {
        let (app, namespace) = (self.app_of(base, pod), pod.namespace());
        if app == Id::ABSENT {
            return Status::SKIP;
        }
        self.zones.clear();
        for node in nodes.iter() {
            let pods = node.pods();
            let same =
                |p: &berth::PlacedPod<'_>| p.label(self.app) == app && p.namespace() == namespace;
            let (zone, n) = (node.label(self.zone), pods.iter().filter(same).count());
            if zone != Id::ABSENT && n > 0 {
                *self.zones.entry(base.text(zone).to_string()).or_default() += n as u32;
            }
        }
        self.save(base)
    }
}

impl AddPod for ZoneLimit {
    /// Counts a pod that is not there yet, such as one with a nominated node.
    fn add_pod(&mut self, base: &Base, pod: Pod<'_>, added: Pod<'_>, node: Node<'_>) -> Status {
        self.change(base, pod, added, node, 1)
    }

    /// Counts a pod no more, such as one that would be preempted.
    fn remove_pod(
        &mut self,
        base: &Base,
        pod: Pod<'_>,
        removed: Pod<'_>,
        node: Node<'_>,
    ) -> Status {
        self.change(base, pod, removed, node, u32::MAX)
    }
}

impl Filter for ZoneLimit {
    /// Rejects nodes of zones with enough pods. Preemption can help: such pods may leave.
    fn filter(&mut self, base: &Base, _: Pod<'_>, node: Node<'_>) -> Status {
        let zone = node.label(self.zone);
        let count = self.zones.get(base.text(zone)).copied().unwrap_or(0);
        if zone != Id::ABSENT && i64::from(count) >= self.most {
            return Status::unschedulable(self.full);
        }
        Status::SUCCESS
    }
}

berth::export!(
    ZoneLimit: configure,
    pre_filter,
    add_pod,
    remove_pod,
    filter
);
