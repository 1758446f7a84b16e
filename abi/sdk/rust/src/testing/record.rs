//! Writes the pod record (SPEC.md, section 6).

use std::vec::Vec;

use super::bytes::{Bytes, Order};
use super::cluster::{Labels, Pod, Requirement, Toleration};
use super::manifest::Reads;
use super::snapshot::{non_zero, request};
use super::tables::{effect, Dictionary};

struct Field {
    id: u32,
    arg: usize,
    count: usize,
    data: Vec<u8>,
}

/// The record of a pod. namespace is the labels of its namespace.
pub(crate) fn record(reads: &Reads, d: &mut Dictionary, pod: &Pod, namespace: &Labels) -> Vec<u8> {
    let mut fields: Vec<Field> = Vec::new();
    let mut add = |id, arg, count, data| {
        fields.push(Field {
            id,
            arg,
            count,
            data,
        });
    };
    let has = |name| reads.has("pod", name);
    let ids = |d: &mut Dictionary, names: &[std::string::String]| {
        let mut out = Vec::new();
        names.iter().for_each(|name| out.u32(d.id(name)));
        out
    };
    let mut one_by_one = Order(0);
    for (name, id, text) in [
        ("name", 128, pod.name.clone()),
        ("nodeName", 129, pod.node_name.clone()),
        ("uid", 152, pod.uid()),
    ] {
        if has(name) {
            add(id, 0, text.len(), text.into_bytes());
        }
    }
    if has("tolerations") {
        add(
            131,
            0,
            pod.tolerations.len(),
            tolerations(d, &pod.tolerations),
        );
    }
    if has("hostPorts") {
        let mut out = Vec::new();
        d.ports(&mut out, &pod.host_ports);
        add(132, 0, pod.host_ports.len(), out);
    }
    if has("images") {
        add(133, 0, pod.images.len(), ids(d, &pod.images));
    }
    if has("schedulingGates") {
        add(
            134,
            0,
            pod.scheduling_gates.len(),
            ids(d, &pod.scheduling_gates),
        );
    }
    if has("namespace") {
        add(140, 0, 1, word(d.id(&pod.namespace)));
    }
    if has("priority") {
        add(141, 0, 1, long(i64::from(pod.priority)));
    }
    if has("requests") {
        for (i, resource) in reads.list("resources").iter().enumerate() {
            add(142, i, 1, long(request(pod, resource)));
        }
    }
    if has("labels") {
        add(
            143,
            0,
            pod.labels.len(),
            d.pairs(&pod.labels, &mut one_by_one),
        );
    }
    if has("annotations") {
        for (i, key) in reads.list("podAnnotations").iter().enumerate() {
            add(144, i, 1, word(d.value(&pod.annotations, key)));
        }
    }
    if has("owner") {
        add(145, 0, 1, word(d.optional(&pod.owner)));
    }
    if has("nonZeroRequested") {
        let [cpu, memory] = non_zero(pod);
        let mut out = long(cpu);
        out.u64(memory as u64);
        add(150, 0, 2, out);
    }
    if has("namespaceLabels") {
        add(151, 0, namespace.len(), d.pairs(namespace, &mut one_by_one));
    }
    let mut selectors = Selectors::default();
    if has("nodeSelector") {
        let all: Vec<Requirement> = pod
            .node_selector
            .iter()
            .map(|(key, value)| Requirement {
                key: key.clone(),
                operator: "In".into(),
                values: std::vec![value.clone()],
            })
            .collect();
        add(130, 0, all.len(), selectors.write(d, &all));
    }
    if has("affinity") {
        if let Some(terms) = &pod.required {
            let terms: Vec<_> = terms.iter().map(|term| (term.as_slice(), 0)).collect();
            add(146, 0, terms.len(), selectors.terms(d, &terms));
        }
        let terms: Vec<_> = pod
            .preferred
            .iter()
            .map(|term| (term.requirements.as_slice(), term.weight))
            .collect();
        add(147, 0, terms.len(), selectors.terms(d, &terms));
    }
    if has("affinity") || has("nodeSelector") {
        add(
            148,
            0,
            selectors.requirements.len() / 24,
            selectors.requirements,
        );
        add(149, 0, selectors.values.len() / 4, selectors.values);
    }
    lay(fields)
}

/// The fields in ascending order, and their data at multiples of 8 (ABI-6.1, ABI-6.2).
fn lay(mut fields: Vec<Field>) -> Vec<u8> {
    fields.sort_by_key(|field| (field.id, field.arg));
    let start = 8 + 16 * fields.len();
    let (mut head, mut data) = (Vec::new(), Vec::new());
    head.u32(fields.len() as u32);
    head.u32(0);
    for field in fields {
        data.resize((data.len() + 7) / 8 * 8, 0);
        head.u32(field.id);
        head.u32(field.arg as u32);
        head.u32((start + data.len()) as u32);
        head.u32(field.count as u32);
        data.extend(field.data);
    }
    head.set_u32(4, (start + data.len()) as u32);
    head.extend(data);
    head
}

fn word(v: u32) -> Vec<u8> {
    v.to_le_bytes().to_vec()
}

fn long(v: i64) -> Vec<u8> {
    v.to_le_bytes().to_vec()
}

fn tolerations(d: &mut Dictionary, all: &[Toleration]) -> Vec<u8> {
    let mut out = Vec::new();
    for t in all {
        let exists = t.operator == "Exists";
        out.u32(d.optional(&t.key));
        out.u32(if exists { 0 } else { d.id(&t.value) });
        out.u32(if exists { 2 } else { 1 });
        out.u32(effect(&t.effect));
        out.u64(t.seconds.unwrap_or(-1) as u64);
    }
    out
}

/// Requirements of terms, and the ids that requirements refer to.
#[derive(Default)]
struct Selectors {
    requirements: Vec<u8>,
    values: Vec<u8>,
}

impl Selectors {
    fn write(&mut self, d: &mut Dictionary, all: &[Requirement]) -> Vec<u8> {
        let mut out = Vec::new();
        for r in all {
            let operators = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];
            let operator = match operators.iter().position(|name| *name == r.operator) {
                Some(i) => i as u32 + 1,
                None => panic!("testing: unknown operator {}", r.operator),
            };
            let first = self.values.len() / 4;
            let mut number = 0;
            if operator >= 5 {
                number = r.values[0].parse().expect("Gt and Lt want a number");
            } else {
                r.values
                    .iter()
                    .for_each(|value| self.values.u32(d.id(value)));
            }
            out.u32(d.id(&r.key));
            out.u32(operator);
            out.u32(first as u32);
            out.u32((self.values.len() / 4 - first) as u32);
            out.u64(number as u64);
        }
        out
    }

    fn terms(&mut self, d: &mut Dictionary, all: &[(&[Requirement], i32)]) -> Vec<u8> {
        let mut out = Vec::new();
        for (requirements, weight) in all {
            let written = self.write(d, requirements);
            out.u32((self.requirements.len() / 24) as u32);
            out.u32(requirements.len() as u32);
            out.u32(*weight as u32);
            out.u32(0);
            self.requirements.extend(written);
        }
        out
    }
}
