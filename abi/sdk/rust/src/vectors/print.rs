//! Views as the vectors write them.

use std::fmt::Display;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use super::text;
use crate::json::Value;
use crate::node::{Node, PlacedPod, Pods};
use crate::{abi, Base, Id, Pair, Pod, Port, Requirement};

/// A guest's strings and lists as the vectors write them.
pub(super) struct Printer<'b>(pub &'b Base);

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
    pub fn cell(&self, table: u32, row: u32, column: &str) -> String {
        let columns = &self.0.columns;
        let node = Node { columns, row };
        let pod = PlacedPod { columns, slot: row };
        let namespaces = self.0.snapshot().namespaces();
        let effects = ["?", "NoSchedule", "PreferNoSchedule", "NoExecute"];
        match (table, column) {
            (abi::table::STRINGS, "192.0") => format!("{:?}", self.0.text(Id(row))),
            (abi::table::PODS, "64.0") => self.id(pod.namespace()),
            (abi::table::PODS, "65.0") => pod.priority().to_string(),
            (abi::table::PODS, "68.0") => self.id(pod.annotation(self.0.pod_annotation("a"))),
            (abi::table::PODS, "75.0") => pod.limit(self.0.resource("cpu")).to_string(),
            (abi::table::PODS, "75.1") => pod.limit(self.0.resource("memory")).to_string(),
            (abi::table::PODS, "76.0") => self.id(pod.qos()),
            (abi::table::PODS, "77.0") => pod.assigned_at().to_string(),
            (abi::table::PODS, "78.0") => pod.created_at().to_string(),
            (abi::table::PODS, "79.0") => {
                (u8::from(pod.running()) + 2 * u8::from(pod.ready())).to_string()
            }
            (abi::table::NAMESPACES, "224.0") => self.id(namespaces.at(row as usize).name()),
            (abi::table::NAMESPACES, "225.0") => self.pairs(namespaces.at(row as usize).labels()),
            (abi::table::NAMESPACES, "226.0") => self.id(namespaces
                .at(row as usize)
                .label(self.0.namespace_label("team"))),
            (abi::table::NAMESPACES, "227.0") => namespaces
                .at(row as usize)
                .requested(self.0.resource("cpu"))
                .to_string(),
            (abi::table::NAMESPACES, "227.1") => namespaces
                .at(row as usize)
                .requested(self.0.resource("memory"))
                .to_string(),
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
            (_, "167.0") => slots(node.nominated()),
            (_, "13.0") => node.generation().to_string(),
            (_, "16.0") => self.id(node.zone()),
            (_, "162.0") => node.capacity(self.0.resource("cpu")).to_string(),
            (_, "162.1") => node.capacity(self.0.resource("memory")).to_string(),
            (_, "163.0") => node.created_at().to_string(),
            (_, "190.0") => node.feed(self.0.feed("node.cpu.usage:milli")).to_string(),
            (_, "191.0") => {
                let state = node.feed_state(self.0.feed("node.cpu.usage:milli"));
                state.0.to_string()
            }
            (_, "193.0") => node.requested_since(self.0.resource("cpu")).to_string(),
            (_, "193.1") => node.requested_since(self.0.resource("memory")).to_string(),
            (_, "14.0") => self.id(node.label(self.0.node_label("pool"))),
            _ => panic!("column {} of table {} is not read here yet", column, table),
        }
    }

    /// Compares a pod with an object of its fields.
    pub fn check_pod(&self, name: &str, pod: Pod<'_>, want: Value<'_>) {
        let mut affinity = false;
        for (field, want) in want.fields().expect("an object") {
            let field = text(field);
            assert_eq!(
                self.field(pod, &field),
                text(want),
                "{}: field {}",
                name,
                field
            );
            affinity |= field == "146.0";
        }
        // Field 146 is absent if there is no required affinity (ABI-6.2).
        assert_eq!(pod.required_terms().is_some(), affinity, "{}", name);
    }

    /// Compares a table with an object of its rows.
    pub fn check_table(&self, name: &str, table: u32, cells: Value<'_>) {
        for (row, cells) in cells.fields().expect("an object") {
            let row = text(row).parse().expect("a number");
            for (column, want) in cells.fields().expect("an object") {
                let column = text(column);
                let got = self.cell(table, row, &column);
                assert_eq!(
                    got,
                    text(want),
                    "{}: table {} row {} {}",
                    name,
                    table,
                    row,
                    column
                );
            }
        }
    }

    /// A field of the pod record, by its `id.arg`.
    pub fn field(&self, pod: Pod<'_>, field: &str) -> String {
        let number = |n: &dyn Display| format!("[{}]", n);
        match field {
            "128.0" => format!("{:?}", pod.name()),
            "129.0" => format!("{:?}", pod.node_name()),
            "134.0" => self.ids(pod.scheduling_gates()),
            "151.0" => self.pairs(pod.namespace_labels()),
            "152.0" => format!("{:?}", pod.uid()),
            "154.0" => number(&pod.created_at()),
            "155.0" => self.ids(&[pod.priority_class()]),
            "156.0" => self.ids(&[pod.service_account()]),
            "157.0" => self.ids(&[pod.preemption_policy()]),
            "158.0" => self.ids(&[pod.group()]),
            "159.0" => number(&pod.limit(self.0.resource("cpu"))),
            "159.1" => number(&pod.limit(self.0.resource("memory"))),
            "160.0" => self.ids(&[pod.qos()]),
            "161.0" => self.ids(pod.claims()),
            "164.0" => number(&pod.now()),
            "165.0" => self.list(pod.containers(), |c| {
                let amounts = ["cpu", "memory"].map(|name| {
                    let resource = self.0.resource(name);
                    let request = pod.container_request(c, resource);
                    format!("/{}/{}", request, pod.container_limit(c, resource))
                });
                let (name, image) = (self.id(c.name), self.id(c.image));
                format!("{}/{}/{}{}", name, c.kind.0, image, amounts.concat())
            }),
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
