//! The vectors that all SDKs pass (abi/vectors), read with the views that plugins get.

use std::fmt::Display;
use std::format;
use std::rc::Rc;
use std::string::{String, ToString};
use std::vec::Vec;

use crate::fixtures::{put, with_strings};
use crate::json::Value;
use crate::node::{Node, PlacedPod, Pods};
use crate::pod::{Pod, Which};
use crate::records::Text;
use crate::testing::{Native, TestHost};
use crate::{abi, Base, Filter, Id, NodeLabel, Pair, Plugin, Port, Reason, Requirement, Status};

/// Reads all there is. As a plugin it is that of SPEC.md, section 11: it wants nodes of pool gpu.
struct Reader {
    pool: NodeLabel,
    none: Reason,
    taken: Reason,
}

impl Plugin for Reader {
    const MANIFEST: &'static str = r#"{
        "points": {"filter": {"scope": "cluster"}},
        "reads": {
            "node": ["name", "flags", "allocatable", "labels", "taints", "ports", "images", "pods", "generation"],
            "nodeLabels": ["pool"], "resources": ["cpu", "memory"], "podAnnotations": ["a", "b"],
            "pods": ["namespace", "priority"],
            "pod": ["name", "namespace", "priority", "requests", "nonZeroRequested", "labels", "annotations", "owner",
                "tolerations", "nodeSelector", "affinity", "hostPorts", "images"]
        }
    }"#;

    fn new(base: &mut Base) -> Reader {
        Reader {
            pool: base.node_label("pool"),
            none: base.reason(&["no node pool"]),
            taken: base.reason(&["pool taken"]),
        }
    }
}

impl Filter for Reader {
    fn filter(&mut self, base: &Base, _: Pod<'_>, node: Node<'_>) -> Status {
        match base.text(node.label(self.pool)) {
            "gpu" => Status::SUCCESS,
            "" => Status::unschedulable_and_unresolvable(self.none),
            _ => Status::unschedulable(self.taken),
        }
    }
}

crate::export!(Reader: filter);

/// A guest's strings and lists as the vectors write them.
struct Printer<'b>(&'b Base);

impl Printer<'_> {
    fn id(&self, id: Id) -> String {
        match id {
            Id::ABSENT => "-".into(),
            id => format!("{:?}", self.0.text(id)),
        }
    }

    fn list<T>(&self, all: &[T], f: impl Fn(&T) -> String) -> String {
        let all: Vec<String> = all.iter().map(f).collect();
        format!("[{}]", all.join(" "))
    }

    fn ids(&self, ids: &[Id]) -> String {
        self.list(ids, |id| self.id(*id))
    }

    fn pairs(&self, pairs: &[Pair]) -> String {
        self.list(pairs, |p| {
            format!("{}={}", self.id(p.key), self.id(p.value))
        })
    }

    fn ports(&self, ports: &[Port]) -> String {
        let protocols = ["?", "TCP", "UDP", "SCTP"];
        self.list(ports, |p| {
            format!(
                "{}:{}/{}",
                self.id(p.ip),
                p.port,
                protocols[p.protocol.0 as usize]
            )
        })
    }

    fn requirement(&self, pod: Pod<'_>, r: &Requirement) -> String {
        let operators = ["?", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];
        let values: Vec<String> = pod.values(r).iter().map(|v| self.id(*v)).collect();
        format!(
            "{} {} ({}) {}",
            self.id(r.key),
            operators[r.operator.0 as usize],
            values.join(" "),
            r.number
        )
    }

    fn terms(&self, pod: Pod<'_>, terms: &[crate::Term]) -> String {
        self.list(terms, |t| {
            let all = pod.requirements(t);
            let all: Vec<String> = all.iter().map(|r| self.requirement(pod, r)).collect();
            let flags = u32::from(t.unusable()) + 2 * u32::from(t.has_fields());
            format!("{{{} weight={} flags={}}}", all.join(","), t.weight, flags)
        })
    }

    /// A cell of a table, by the column's `id.arg`.
    fn cell(&self, table: u32, row: u32, column: &str) -> String {
        let columns = &self.0.columns;
        let node = Node { columns, row };
        let pod = PlacedPod { columns, slot: row };
        let effects = ["?", "NoSchedule", "PreferNoSchedule", "NoExecute"];
        match (table, column) {
            (abi::table::STRINGS, "192.0") => format!("{:?}", self.0.text(Id(row))),
            (abi::table::PODS, "64.0") => self.id(pod.namespace()),
            (abi::table::PODS, "65.0") => pod.priority().to_string(),
            (_, "1.0") => format!("{:?}", node.name()),
            (_, "2.0") => u8::from(node.unschedulable()).to_string(),
            (_, "3.0") => node.allocatable(self.0.resource("cpu")).to_string(),
            (_, "3.1") => node.allocatable(self.0.resource("memory")).to_string(),
            (_, "6.0") => self.pairs(node.labels()),
            (_, "8.0") => self.list(node.taints(), |t| {
                let effect = effects[t.effect.0 as usize];
                format!("{}={}:{}", self.id(t.key), self.id(t.value), effect)
            }),
            (_, "9.0") => self.ports(node.ports()),
            (_, "10.0") => self.list(node.images(), |i| format!("{}:{}", self.id(i.name), i.size)),
            (_, "12.0") => slots(node.pods()),
            (_, "13.0") => node.generation().to_string(),
            (_, "14.0") => self.id(node.label(self.0.node_label("pool"))),
            _ => panic!("column {} of table {} is not read here yet", column, table),
        }
    }

    /// A field of the pod record, by its `id.arg`.
    fn field(&self, pod: Pod<'_>, field: &str) -> String {
        let number = |n: &dyn Display| format!("[{}]", n);
        match field {
            "128.0" => format!("{:?}", pod.name()),
            "130.0" => self.list(pod.node_selector(), |r| self.requirement(pod, r)),
            "131.0" => self.list(pod.tolerations(), |t| {
                format!(
                    "{}={}/{}/{}/{}",
                    self.id(t.key),
                    self.id(t.value),
                    t.operator.0,
                    t.effect.0,
                    t.seconds
                )
            }),
            "132.0" => self.ports(pod.host_ports()),
            "133.0" => self.ids(pod.images()),
            "140.0" => self.ids(&[pod.namespace()]),
            "141.0" => number(&pod.priority()),
            "142.0" => number(&pod.request(self.0.resource("cpu"))),
            "142.1" => number(&pod.request(self.0.resource("memory"))),
            "143.0" => self.pairs(pod.labels()),
            "144.0" => self.ids(&[pod.annotation(self.0.pod_annotation("a"))]),
            "144.1" => self.ids(&[pod.annotation(self.0.pod_annotation("b"))]),
            "145.0" => self.ids(&[pod.owner()]),
            "146.0" => self.terms(pod, pod.required_terms().expect("there is some")),
            "147.0" => self.terms(pod, pod.preferred_terms()),
            "150.0" => format!(
                "[{} {}]",
                pod.non_zero_requested().0,
                pod.non_zero_requested().1
            ),
            _ => panic!("field {} is not read here yet", field),
        }
    }
}

fn slots(pods: Pods<'_>) -> String {
    let all: Vec<String> = pods.iter().map(|pod| pod.slot.to_string()).collect();
    format!("[{}]", all.join(" "))
}

fn file(name: &str) -> Vec<u8> {
    let path = format!("{}/../../vectors/{}", env!("CARGO_MANIFEST_DIR"), name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {}", path, e))
}

fn hex(value: Value<'_>) -> Vec<u8> {
    let text: String = value.chars().collect();
    let byte = |i| u8::from_str_radix(&text[i..i + 2], 16).expect("hex digits");
    (0..text.len()).step_by(2).map(byte).collect()
}

fn get<'j>(value: Value<'j>, key: &str) -> Value<'j> {
    value.need(key).expect("the vector has it")
}

fn int(value: Value<'_>, key: &str) -> u32 {
    get(value, key).i64().expect("a number") as u32
}

/// The elements of a list; none for null.
fn list<'j>(value: Value<'j>, key: &str) -> Vec<Value<'j>> {
    value.list(key).expect("a list").collect()
}

fn numbers(value: Value<'_>, key: &str) -> Vec<i64> {
    list(value, key)
        .into_iter()
        .map(|v| v.i64().expect("a number"))
        .collect()
}

/// ABI-3 and ABI-4.
#[test]
fn regions() {
    let text = file("regions.json");
    let all: Vec<Value> = Value::parse(&text).unwrap().elements().unwrap().collect();
    assert!(!all.is_empty());
    for vector in all {
        let name: String = get(vector, "name").chars().collect();
        let size = int(vector, "size");
        let mut native = Native::<Reader>::behind(size, Rc::new(TestHost::default()));
        for piece in list(vector, "memory") {
            let (at, bytes) = (int(piece, "address") as usize, hex(get(piece, "hex")));
            native.memory_mut()[at..at + bytes.len()].copy_from_slice(&bytes);
        }
        let (call, want) = (int(vector, "call"), get(vector, "want"));
        native.base().begin(call);
        check_region(&name, native.base(), want);
        let asked = get(want, "call");
        if int(asked, "point") == abi::Point::FILTER.0 {
            check_filter(&name, &mut native, call, asked);
        }
    }
}

fn check_region(name: &str, base: &Base, want: Value<'_>) {
    let call = get(want, "call");
    let record = base.record();
    assert_eq!(record.point, int(call, "point"), "{}", name);
    assert_eq!(record.flags, int(call, "flags"), "{}", name);
    let nodes = base.nodes(0);
    let rows: Vec<i64> = nodes.iter().map(|node| node.row().into()).collect();
    assert_eq!(nodes.len(), int(call, "n_rows") as usize, "{}", name);
    assert_eq!(
        nodes.rows.map_or(Vec::new(), |_| rows),
        numbers(call, "rows"),
        "{}",
        name
    );
    let scores = base.memory.view::<i64>(record.scores, record.n_rows);
    assert_eq!(scores.slice(), numbers(call, "scores"), "{}", name);

    let snapshot = base.snapshot();
    let number = |key| get(want, key).i64().expect("a number") as u64;
    assert_eq!(snapshot.epoch(), number("epoch"), "{}", name);
    assert_eq!(snapshot.generation(), number("generation"), "{}", name);
    assert_eq!(snapshot.seed(), number("seed"), "{}", name);
    for table in list(want, "tables") {
        let id = int(table, "id");
        assert_eq!(
            base.columns.rows(id),
            int(table, "n_rows"),
            "{}: table {}",
            name,
            id
        );
        for (row, cells) in get(table, "cells").fields().unwrap() {
            let row: String = row.chars().collect();
            for (column, want) in cells.fields().unwrap() {
                let column: String = column.chars().collect();
                let got = Printer(base).cell(id, row.parse().unwrap(), &column);
                assert_eq!(
                    got,
                    want.string().unwrap(),
                    "{}: table {} row {} column {}",
                    name,
                    id,
                    row,
                    column
                );
            }
        }
    }
}

/// The plugin gives the answers that the vector has.
fn check_filter(name: &str, native: &mut Native<Reader>, call: u32, want: Value<'_>) {
    let record = native.base().record();
    let n = record.n_rows as usize;
    native.memory_mut()[call as usize + 64..call as usize + 128].fill(0);
    native.memory_mut()[record.codes as usize..][..n].fill(0);
    native.memory_mut()[record.reasons as usize..][..2 * n].fill(0);
    assert_eq!(
        native.call(abi::Point::FILTER, call, 0, n as u32),
        0,
        "{}",
        name
    );
    let record = native.base().record();
    let memory = &native.base().memory;
    let codes = memory.view::<u8>(record.codes, record.n_rows);
    let codes: Vec<i64> = codes.slice().iter().map(|code| (*code).into()).collect();
    assert_eq!(codes, numbers(want, "codes"), "{}", name);
    let reasons = native.memory()[record.reasons as usize..][..2 * n].chunks(2);
    let reasons: Vec<i64> = reasons
        .map(|r| i64::from(r[0]) | i64::from(r[1]) << 8)
        .collect();
    assert_eq!(reasons, numbers(want, "reasons"), "{}", name);
    let memory = &native.base().memory;
    let sets = memory.view::<Text>(record.reason_sets, record.n_reason_sets);
    let want = list(want, "reason_sets");
    assert_eq!(sets.slice().len(), want.len(), "{}", name);
    for (set, want) in sets.slice().iter().zip(want) {
        let texts = memory.view::<Text>(set.address, set.length);
        let texts = texts.slice().iter().map(|text| {
            let bytes = memory.view::<u8>(text.address, text.length);
            String::from_utf8(bytes.slice().to_vec()).unwrap()
        });
        let want = want.elements().unwrap().map(|text| text.string().unwrap());
        assert!(texts.eq(want), "{}: a reason set differs", name);
    }
}

/// ABI-6.
#[test]
fn pods() {
    let text = file("pods.json");
    let all: Vec<Value> = Value::parse(&text).unwrap().elements().unwrap().collect();
    assert!(!all.is_empty());
    for vector in all {
        let name: String = get(vector, "name").chars().collect();
        let mut native = Native::<Reader>::new(Rc::new(TestHost::default()));
        let record = put(&mut native, &hex(get(vector, "hex")));
        let strings = list(vector, "strings")
            .into_iter()
            .map(|text| text.string().unwrap());
        let header = with_strings(&mut native, 1, strings);
        let base = native.base();
        base.columns.refresh(&base.memory, header);
        let size = hex(get(vector, "hex")).len() as u32;
        base.pods[Which::Asked as usize].parse(&base.memory, record, size);
        let pod = base.pod(Which::Asked);
        let mut affinity = false;
        for (field, want) in get(vector, "want").fields().unwrap() {
            let field: String = field.chars().collect();
            let got = Printer(base).field(pod, &field);
            assert_eq!(got, want.string().unwrap(), "{}: field {}", name, field);
            affinity |= field == "146.0";
        }
        // Field 146 is absent if there is no required affinity (ABI-6.2).
        assert_eq!(pod.required_terms().is_some(), affinity, "{}", name);
    }
}
