//! A plugin that places pods on nodes where one NUMA node has room for each of their containers, or for the whole pod, as the topology
//! manager of the kubelet wants it with the policy single-numa-node. NodeResourceTopology objects say what is free.

mod config;
mod zones;

use berth::{
    Base, Const, ContainerKind, Filter, Node, ObjectColumn, Plugin, Pod, Reason, Resource, Score,
    Status,
};

/// How NUMA nodes are scored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strategy {
    Least,
    Most,
    Balanced,
}

/// What the topology manager aligns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    Container,
    Pod,
}

/// A resource that comes from a NUMA node.
pub(crate) struct Tracked {
    resource: Resource,
    name: Const,
    /// Thousandths for each unit of the resource: quantities are in thousandths, amounts of cpu too, and all others are whole.
    unit: i64,
    /// Every NUMA node has its own, of which only Guaranteed pods get a part of one NUMA node. Others may be the node's alone.
    native: bool,
    weight: i64,
}

/// Handles of columns.
struct Columns {
    policies: ObjectColumn,
    policy: ObjectColumn,
    scope: ObjectColumn,
    zone: ObjectColumn,
    kind: ObjectColumn,
    parent: ObjectColumn,
    resource: ObjectColumn,
    available: ObjectColumn,
}

/// Texts of NodeResourceTopology objects.
struct Words {
    single: Const,
    by_pod: Const,
    by_container: Const,
    old_pod: Const,
    old_container: Const,
    node: Const,
    policies: [Const; 3],
}

/// The plugin.
pub struct Numa {
    columns: Columns,
    words: Words,
    guaranteed: Const,
    container: Reason,
    init: Reason,
    pod: Reason,
    tracked: Vec<Tracked>,
    strategy: Strategy,
    ignore_starting: bool,
    /// Of the node that is looked at, kept for its memory alone.
    zones: zones::Zones,
}

impl Plugin for Numa {
    const MANIFEST: &'static str = include_str!("../manifest.json");

    fn new(base: &mut Base) -> Numa {
        let tracked = |base: &mut Base, name: &str, unit| Tracked {
            resource: base.resource(name),
            name: base.constant(name),
            unit,
            native: true,
            weight: 1,
        };
        Numa {
            columns: Columns {
                policies: base.object_column("nrt.topologyPolicies[*]:string"),
                policy: base
                    .object_column("nrt.attributes[name=topologyManagerPolicy].value:string"),
                scope: base.object_column("nrt.attributes[name=topologyManagerScope].value:string"),
                zone: base.object_column("nrt.zones[*].name:string"),
                kind: base.object_column("nrt.zones[*].type:string"),
                parent: base.object_column("nrt.zones[*].resources[*].@parent:integer"),
                resource: base.object_column("nrt.zones[*].resources[*].name:string"),
                available: base.object_column("nrt.zones[*].resources[*].available:quantity"),
            },
            words: Words {
                single: base.constant("single-numa-node"),
                by_pod: base.constant("pod"),
                by_container: base.constant("container"),
                old_pod: base.constant("SingleNUMANodePodLevel"),
                old_container: base.constant("SingleNUMANodeContainerLevel"),
                node: base.constant("Node"),
                policies: ["none", "best-effort", "restricted"].map(|p| base.constant(p)),
            },
            guaranteed: base.constant("Guaranteed"),
            container: base.reason(&["node(s) cannot align container"]),
            init: base.reason(&["node(s) cannot align init container"]),
            pod: base.reason(&["node(s) cannot align pod"]),
            tracked: vec![
                tracked(base, "cpu", 1),
                tracked(base, "memory", 1000),
                tracked(base, "hugepages-2Mi", 1000),
                tracked(base, "hugepages-1Gi", 1000),
            ],
            strategy: Strategy::Least,
            ignore_starting: false,
            zones: zones::Zones::default(),
        }
    }
}

impl Filter for Numa {
    fn filter(&mut self, base: &Base, pod: Pod<'_>, node: Node<'_>) -> Status {
        let guaranteed = self.guaranteed.is(base, pod.qos());
        let scope = match self.scope(base, node) {
            Some(scope) => scope,
            None => return Status::SUCCESS,
        };
        self.read(base, node);
        if scope == Scope::Pod {
            let zone = self.zone_for(node, guaranteed, |r| pod.request(r));
            return if zone.is_some() {
                Status::SUCCESS
            } else {
                Status::unschedulable(self.pod)
            };
        }
        for container in pod.containers() {
            let request = |r| pod.container_request(container, r);
            let zone = match self.zone_for(node, guaranteed, request) {
                Some(zone) => zone,
                None if container.kind == ContainerKind::APP => {
                    return Status::unschedulable(self.container)
                }
                None => return Status::unschedulable(self.init),
            };
            // Init containers run one after the other, and are gone before the others run. Sidecars stay.
            if container.kind != ContainerKind::INIT {
                self.take(guaranteed, zone, request);
            }
        }
        Status::SUCCESS
    }
}

impl Score for Numa {
    fn score(&mut self, base: &Base, pod: Pod<'_>, node: Node<'_>) -> i64 {
        if !self.guaranteed.is(base, pod.qos()) {
            return 100; // every node is as good, since the kubelet aligns nothing
        }
        let scope = match self.scope(base, node) {
            Some(scope) => scope,
            None => return 0,
        };
        self.read(base, node);
        if scope == Scope::Pod {
            return self.points(|r| pod.request(r));
        }
        let containers = pod.containers();
        let sum: i64 = containers
            .iter()
            .map(|c| self.points(|r| pod.container_request(c, r)))
            .sum();
        sum / containers.len().max(1) as i64
    }
}

berth::export!(Numa: configure, filter, score);
