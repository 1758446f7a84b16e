//! Writes the tables of nodes, pods and namespaces (SPEC.md, section 4).

use std::string::String;
use std::vec::Vec;

use super::bytes::{Bytes, Order};
use super::cluster::{Namespace, Node, Pod};
use super::manifest::Reads;
use super::tables::{
    effect, Dictionary, Table, BYTES, I32, I64, IMAGE, OVERLAYS, PAIR, PORT, SPARE, TAINT, U32,
    U64, U8,
};

/// The pods on nodes by slot, and the slots of each node's pods.
pub(crate) struct Slots<'t> {
    pub by_slot: Vec<Option<&'t Pod>>,
    by_node: Vec<Vec<u32>>,
}

/// Gives each pod on a node a slot; some slots stay free.
pub(crate) fn place<'t>(nodes: &'t [Node], order: &mut Order) -> Slots<'t> {
    let n: usize = nodes.iter().map(|node| node.pods.len()).sum();
    let free = if order.shuffled() { 2 } else { 0 };
    let mut slots = order.permutation(n + free).into_iter();
    let mut by_slot = std::vec![None; n + free];
    let by_node = nodes.iter().map(|node| {
        node.pods
            .iter()
            .map(|pod| {
                let slot = slots.next().expect("there is one for each pod");
                by_slot[slot] = Some(pod);
                slot as u32
            })
            .collect()
    });
    let by_node = by_node.collect();
    Slots { by_slot, by_node }
}

fn requested(node: &Node, resource: &str) -> i64 {
    if resource == "pods" {
        return node.pods.len() as i64;
    }
    node.pods.iter().map(|pod| request(pod, resource)).sum()
}

pub(crate) fn request(pod: &Pod, resource: &str) -> i64 {
    pod.requests.get(resource).copied().unwrap_or(0)
}

pub(crate) fn non_zero(pod: &Pod) -> [i64; 2] {
    let mut both = pod.non_zero;
    for (value, resource) in both.iter_mut().zip(["cpu", "memory"]) {
        if *value == 0 {
            *value = request(pod, resource);
        }
    }
    both
}

/// The nodes table. rows has the index of the node in each row, spare and overlay rows included.
pub(crate) fn nodes(
    reads: &Reads,
    d: &mut Dictionary,
    order: &mut Order,
    all: &[Node],
    rows: &[Option<usize>],
    slots: &Slots<'_>,
) -> Table {
    let n = rows.len() - SPARE - OVERLAYS;
    let mut t = Table::new(1, n, SPARE, OVERLAYS);
    let of: Vec<Option<&Node>> = rows.iter().map(|row| row.map(|i| &all[i])).collect();
    if reads.has("node", "name") {
        t.lists(1, BYTES, &of, |node| node.name.clone().into_bytes());
    }
    if reads.has("node", "flags") {
        t.each((2, 0, U8), &of, |to, node| {
            to.push(node.unschedulable.into())
        });
    }
    for (i, resource) in reads.list("resources").iter().enumerate() {
        if reads.has("node", "allocatable") {
            t.each((3, i, I64), &of, |to, node| {
                to.u64(node.allocatable.get(resource).copied().unwrap_or(0) as u64);
            });
        }
        if reads.has("node", "requested") {
            t.each((4, i, I64), &of, |to, node| {
                to.u64(requested(node, resource) as u64)
            });
        }
    }
    if reads.has("node", "nonZeroRequested") {
        for i in 0..2 {
            t.each((5, i, I64), &of, |to, node| {
                to.u64(node.pods.iter().map(|pod| non_zero(pod)[i]).sum::<i64>() as u64);
            });
        }
    }
    if reads.has("node", "labels") {
        t.lists(6, PAIR, &of, |node| d.pairs(&node.labels, order));
    }
    for (i, key) in reads.list("nodeAnnotations").iter().enumerate() {
        t.each((7, i, U32), &of, |to, node| {
            to.u32(d.value(&node.annotations, key))
        });
    }
    if reads.has("node", "taints") {
        t.lists(8, TAINT, &of, |node| {
            let mut out = Vec::new();
            for i in order.permutation(node.taints.len()) {
                let taint = &node.taints[i];
                out.u32(d.id(&taint.key));
                out.u32(d.id(&taint.value));
                out.u32(effect(&taint.effect));
            }
            out
        });
    }
    if reads.has("node", "ports") {
        t.lists(9, PORT, &of, |node| {
            let mut out = Vec::new();
            node.pods
                .iter()
                .for_each(|pod| d.ports(&mut out, &pod.host_ports));
            out
        });
    }
    if reads.has("node", "images") {
        t.lists(10, IMAGE, &of, |node| {
            let mut out = Vec::new();
            for (name, size) in &node.images {
                out.u32(d.id(name));
                out.u32(0);
                out.u64(*size as u64);
            }
            out
        });
    }
    for (i, kind) in reads.list("nodeConditions").iter().enumerate() {
        t.each((11, i, U8), &of, |to, node| {
            to.push(match node.conditions.get(kind).map(String::as_str) {
                None => 0,
                Some("True") => 1,
                Some("False") => 2,
                Some(_) => 3,
            });
        });
    }
    if reads.has("node", "pods") {
        t.lists(12, U32, rows_of(rows).as_slice(), |i| {
            let mut out = Vec::new();
            for k in order.permutation(slots.by_node[*i].len()) {
                out.u32(slots.by_node[*i][k]);
            }
            out
        });
    }
    if reads.has("node", "generation") {
        let mut generation = 0;
        t.each((13, 0, U64), &of, |to, _| {
            generation += 1;
            to.u64(generation);
        });
    }
    for (i, key) in reads.list("nodeLabels").iter().enumerate() {
        t.each((14, i, U32), &of, |to, node| {
            to.u32(d.value(&node.labels, key))
        });
    }
    if reads.has("node", "zone") {
        t.each((16, 0, U32), &of, |to, node| {
            let zone = d.value(&node.labels, "topology.kubernetes.io/zone");
            to.u32(match zone {
                0 => d.value(&node.labels, "failure-domain.beta.kubernetes.io/zone"),
                zone => zone,
            });
        });
    }
    t
}

fn rows_of(rows: &[Option<usize>]) -> Vec<Option<&usize>> {
    rows.iter().map(Option::as_ref).collect()
}

/// The pods table.
pub(crate) fn pods(
    reads: &Reads,
    d: &mut Dictionary,
    order: &mut Order,
    slots: &Slots<'_>,
) -> Table {
    let of = &slots.by_slot;
    let mut t = Table::new(2, of.len(), 0, 0);
    if reads.has("pods", "namespace") {
        t.each((64, 0, U32), of, |to, pod| to.u32(d.id(&pod.namespace)));
    }
    if reads.has("pods", "priority") {
        t.each((65, 0, I32), of, |to, pod| to.u32(pod.priority as u32));
    }
    if reads.has("pods", "requests") {
        for (i, resource) in reads.list("resources").iter().enumerate() {
            t.each((66, i, I64), of, |to, pod| {
                to.u64(request(pod, resource) as u64)
            });
        }
    }
    if reads.has("pods", "labels") {
        t.lists(67, PAIR, of, |pod| d.pairs(&pod.labels, order));
    }
    for (i, key) in reads.list("podAnnotations").iter().enumerate() {
        t.each((68, i, U32), of, |to, pod| {
            to.u32(d.value(&pod.annotations, key))
        });
    }
    if reads.has("pods", "owner") {
        t.each((69, 0, U32), of, |to, pod| to.u32(d.optional(&pod.owner)));
    }
    for (i, key) in reads.list("podLabels").iter().enumerate() {
        t.each((70, i, U32), of, |to, pod| {
            to.u32(d.value(&pod.labels, key))
        });
    }
    if reads.has("pods", "flags") {
        t.each((71, 0, U8), of, |to, pod| to.push(pod.terminating.into()));
    }
    if reads.has("pods", "uid") {
        t.lists(73, BYTES, of, |pod| pod.uid().into_bytes());
    }
    if reads.has("pods", "name") {
        t.lists(74, BYTES, of, |pod| pod.name.clone().into_bytes());
    }
    t
}

/// The namespaces table, with an empty row.
pub(crate) fn namespaces(
    reads: &Reads,
    d: &mut Dictionary,
    order: &mut Order,
    all: &[Namespace],
) -> Table {
    let mut of: Vec<Option<&Namespace>> = std::vec![None];
    of.extend(
        order
            .permutation(all.len())
            .into_iter()
            .map(|i| Some(&all[i])),
    );
    let mut t = Table::new(4, of.len(), 0, 0);
    if reads.has("namespaces", "name") {
        t.each((224, 0, U32), &of, |to, namespace| {
            to.u32(d.id(&namespace.name))
        });
    }
    if reads.has("namespaces", "labels") {
        t.lists(225, PAIR, &of, |namespace| {
            d.pairs(&namespace.labels, order)
        });
    }
    for (i, key) in reads.list("namespaceLabels").iter().enumerate() {
        t.each((226, i, U32), &of, |to, namespace| {
            to.u32(d.value(&namespace.labels, key))
        });
    }
    t
}
