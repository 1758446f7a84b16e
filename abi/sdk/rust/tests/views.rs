//! Reads every column and every field.

use std::fmt::Write;

use berth::testing::{self, Labels, Trial};
use berth::{
    Base, Const, Filter, Id, NamespaceLabel, Node, NodeAnnotation, NodeCondition, NodeLabel, Pair,
    PlacedPod, Plugin, Pod, PodAnnotation, PodLabel, Port, Requirement, Resource, Status,
};

/// Refuses every node and says all that it read as reasons.
struct Reader {
    zone: NodeLabel,
    rack: NodeLabel,
    note: NodeAnnotation,
    ready: NodeCondition,
    disk: NodeCondition,
    cpu: Resource,
    memory: Resource,
    pods: Resource,
    app: PodLabel,
    gpu: PodAnnotation,
    team: NamespaceLabel,
    app_key: Const,
    zone_key: Const,
    team_key: Const,
    no_key: Const,
}

impl Plugin for Reader {
    const MANIFEST: &'static str = include_str!("testdata/reader.json");

    fn new(base: &mut Base) -> Reader {
        Reader {
            zone: base.node_label("zone"),
            rack: base.node_label("rack"),
            note: base.node_annotation("note"),
            ready: base.node_condition("Ready"),
            disk: base.node_condition("DiskPressure"),
            cpu: base.resource("cpu"),
            memory: base.resource("memory"),
            pods: base.resource("pods"),
            app: base.pod_label("app"),
            gpu: base.pod_annotation("gpu"),
            team: base.namespace_label("team"),
            app_key: base.constant("app"),
            zone_key: base.constant("zone"),
            team_key: base.constant("team"),
            no_key: base.constant("no such key"),
        }
    }
}

impl Filter for Reader {
    fn filter(&mut self, base: &Base, pod: Pod<'_>, node: Node<'_>) -> Status {
        let all = [
            self.pod(base, pod),
            self.node(base, node),
            self.namespaces(base),
        ];
        let texts: Vec<&str> = all.iter().map(String::as_str).collect();
        Status::unschedulable(base.reason(&texts))
    }
}

berth::export!(Reader: filter);

/// Texts in the order of the alphabet: lists have none.
fn sorted(mut all: Vec<String>) -> String {
    all.sort();
    all.join(",")
}

fn pairs(base: &Base, pairs: &[Pair]) -> String {
    let one = |p: &Pair| format!("{}={}", base.text(p.key), base.text(p.value));
    sorted(pairs.iter().map(one).collect())
}

fn ports(base: &Base, ports: &[Port]) -> String {
    let one = |p: &Port| format!("{}:{}/{}", base.text(p.ip), p.port, p.protocol.0);
    sorted(ports.iter().map(one).collect())
}

fn ids(base: &Base, ids: &[Id]) -> String {
    sorted(ids.iter().map(|id| base.text(*id).into()).collect())
}

impl Reader {
    fn node(&self, base: &Base, n: Node<'_>) -> String {
        let mut s = String::new();
        let generation = n.generation() > 0;
        writeln!(s, "{} {} {}", n.name(), n.unschedulable(), generation).unwrap();
        let of = |r| format!("{} of {}", n.requested(r), n.allocatable(r));
        writeln!(s, "cpu {} pods {}", of(self.cpu), of(self.pods)).unwrap();
        writeln!(
            s,
            "nonzero {:?} zone {}",
            n.non_zero_requested(),
            base.text(n.zone())
        )
        .unwrap();
        let zone = base.text(n.label(self.zone));
        writeln!(
            s,
            "labels {} zone {} {}",
            pairs(base, n.labels()),
            zone,
            self.keys(base, n)
        )
        .unwrap();
        let (ready, disk) = (n.condition(self.ready).0, n.condition(self.disk).0);
        writeln!(
            s,
            "note {} ready {} disk {}",
            base.text(n.annotation(self.note)),
            ready,
            disk
        )
        .unwrap();
        let taints = n
            .taints()
            .iter()
            .map(|t| format!("{}={}:{}", base.text(t.key), base.text(t.value), t.effect.0));
        let images = n
            .images()
            .iter()
            .map(|i| format!("{} {}", base.text(i.name), i.size));
        writeln!(
            s,
            "taints {} ports {} images {}",
            sorted(taints.collect()),
            ports(base, n.ports()),
            sorted(images.collect())
        )
        .unwrap();
        let mut pods: Vec<String> = n.pods().iter().map(|pod| self.placed(base, pod)).collect();
        assert_eq!(
            (pods.len(), pods.is_empty()),
            (n.pods().len(), n.pods().is_empty())
        );
        pods.sort();
        s + &pods.concat()
    }

    fn keys(&self, base: &Base, n: Node<'_>) -> String {
        let same = n.label_by_key(self.zone_key.id(base)) == n.label(self.zone);
        let none = n.label_by_key(self.no_key.id(base)) == Id::ABSENT;
        format!("{} {} {}", n.label(self.rack) == Id::ABSENT, same, none)
    }

    fn placed(&self, base: &Base, pod: PlacedPod<'_>) -> String {
        let same = pod.label_by_key(self.app_key.id(base)) == pod.label(self.app);
        format!(
            "pod {} {} in {} priority {} cpu {} labels {} app {} {} gpu {} owner {} {}\n",
            pod.name(),
            pod.uid(),
            base.text(pod.namespace()),
            pod.priority(),
            pod.request(self.cpu),
            pairs(base, pod.labels()),
            base.text(pod.label(self.app)),
            same,
            base.text(pod.annotation(self.gpu)),
            base.text(pod.owner()),
            pod.terminating()
        )
    }

    fn pod(&self, base: &Base, pod: Pod<'_>) -> String {
        let mut s = String::new();
        writeln!(
            s,
            "{} {} {} priority {} cpu {} memory {} nonzero {:?} on {}",
            base.text(pod.namespace()),
            pod.name(),
            pod.uid(),
            pod.priority(),
            pod.request(self.cpu),
            pod.request(self.memory),
            pod.non_zero_requested(),
            pod.node_name()
        )
        .unwrap();
        writeln!(
            s,
            "labels {} app {} gpu {} owner {} namespace {}",
            pairs(base, pod.labels()),
            base.text(pod.label_by_key(self.app_key.id(base))),
            base.text(pod.annotation(self.gpu)),
            base.text(pod.owner()),
            pairs(base, pod.namespace_labels())
        )
        .unwrap();
        for t in pod.tolerations() {
            let (key, value) = (base.text(t.key), base.text(t.value));
            let (operator, effect) = (t.operator.0, t.effect.0);
            writeln!(
                s,
                "tolerates {} {} {} {} {}",
                key, operator, value, effect, t.seconds
            )
            .unwrap();
        }
        let write = |s: &mut String, what: &str, all: &[Requirement]| {
            for r in all {
                let values = ids(base, pod.values(r));
                let (key, operator) = (base.text(r.key), r.operator.0);
                writeln!(s, "{}: {} {} {} {}", what, key, operator, values, r.number).unwrap();
            }
        };
        write(&mut s, "selector", pod.node_selector());
        for t in pod.required_terms().unwrap_or(&[]) {
            let what = format!("required {} {}", t.unusable(), t.has_fields());
            write(&mut s, &what, pod.requirements(t));
        }
        for t in pod.preferred_terms() {
            write(
                &mut s,
                &format!("preferred {}", t.weight),
                pod.requirements(t),
            );
        }
        assert_eq!(
            base.text(pod.namespace_label_by_key(self.team_key.id(base))),
            "a"
        );
        let (images, gates) = (ids(base, pod.images()), ids(base, pod.scheduling_gates()));
        writeln!(
            s,
            "ports {} images {} gates {}",
            ports(base, pod.host_ports()),
            images,
            gates
        )
        .unwrap();
        s
    }

    fn namespaces(&self, base: &Base) -> String {
        let all = base.snapshot().namespaces();
        let empty = (0..all.len())
            .filter(|i| all.at(*i).name() == Id::ABSENT)
            .count();
        let one = |n: berth::Namespace<'_>| {
            assert!(all.find(n.name()).is_some());
            assert_eq!(n.label_by_key(self.team_key.id(base)), n.label(self.team));
            format!(
                "{} {} {}",
                base.text(n.name()),
                pairs(base, n.labels()),
                base.text(n.label(self.team))
            )
        };
        format!("{} empty, {}", empty, sorted(all.iter().map(one).collect()))
    }
}

const WANT_POD: &str = "\
team-a web team-a/web priority 5 cpu 250 memory 0 nonzero (250, 7) on 
labels app=web app web gpu  owner ReplicaSet/web namespace team=a
tolerates dedicated 1 ml 1 -1
tolerates  2  0 30
selector: zone 1 a 0
required false false: zone 1 a,b 0
required false false: cores 5  16
preferred 10: rack 4  0
ports 0.0.0.0:8080/1 images img:1,img:2 gates example.com/wait
";

const WANT_NODES: [&str; 2] = [
    "\
n1 true true
cpu 1500 of 4000 pods 2 of 110
nonzero (1500, 256) zone old
labels empty=,failure-domain.beta.kubernetes.io/zone=old,zone=a zone a true true true
note hello ready 1 disk 2
taints =:3,dedicated=ml:1 ports 0.0.0.0:80/3,10.0.0.1:533/2 images img:1 100,img:2 200
pod one u-1 in team-a priority -7 cpu 1000 labels app=web,tier= app web true gpu 3 owner ReplicaSet/web true
pod two team-b/two in team-b priority 0 cpu 500 labels  app  true gpu  owner  false
",
    "\
n2 false true
cpu 0 of 0 pods 0 of 0
nonzero (0, 0) zone 
labels  zone  true true true
note  ready 0 disk 0
taints  ports  images 
",
];

fn labels(all: &[(&str, &str)]) -> Labels {
    all.iter()
        .map(|(k, v)| ((*k).into(), (*v).into()))
        .collect()
}

fn numbers(all: &[(&str, i64)]) -> testing::Numbers {
    all.iter().map(|(k, v)| ((*k).into(), *v)).collect()
}

fn requirement(key: &str, operator: &str, values: &[&str]) -> testing::Requirement {
    testing::Requirement {
        key: key.into(),
        operator: operator.into(),
        values: values.iter().map(|v| (*v).into()).collect(),
    }
}

fn port(ip: &str, port: u16, protocol: &str) -> testing::Port {
    testing::Port {
        ip: ip.into(),
        port,
        protocol: protocol.into(),
    }
}

fn taint(key: &str, value: &str, effect: &str) -> testing::Taint {
    testing::Taint {
        key: key.into(),
        value: value.into(),
        effect: effect.into(),
    }
}

fn busy() -> testing::Node {
    testing::Node {
        name: "n1".into(),
        unschedulable: true,
        allocatable: numbers(&[("cpu", 4000), ("pods", 110)]),
        labels: labels(&[
            ("zone", "a"),
            ("empty", ""),
            ("failure-domain.beta.kubernetes.io/zone", "old"),
        ]),
        annotations: labels(&[("note", "hello"), ("secret", "x")]),
        taints: vec![
            taint("dedicated", "ml", "NoSchedule"),
            taint("", "", "NoExecute"),
        ],
        conditions: labels(&[("Ready", "True"), ("DiskPressure", "False")]),
        images: numbers(&[("img:1", 100), ("img:2", 200)]),
        pods: vec![
            testing::Pod {
                namespace: "team-a".into(),
                name: "one".into(),
                uid: "u-1".into(),
                labels: labels(&[("app", "web"), ("tier", "")]),
                annotations: labels(&[("gpu", "3")]),
                priority: -7,
                owner: "ReplicaSet/web".into(),
                requests: numbers(&[("cpu", 1000), ("memory", 256)]),
                terminating: true,
                host_ports: vec![port("10.0.0.1", 533, "UDP")],
                ..Default::default()
            },
            testing::Pod {
                namespace: "team-b".into(),
                name: "two".into(),
                requests: numbers(&[("cpu", 500)]),
                host_ports: vec![port("", 80, "SCTP")],
                ..Default::default()
            },
        ],
    }
}

fn incoming() -> testing::Pod {
    testing::Pod {
        namespace: "team-a".into(),
        name: "web".into(),
        priority: 5,
        owner: "ReplicaSet/web".into(),
        labels: labels(&[("app", "web")]),
        requests: numbers(&[("cpu", 250)]),
        non_zero: [0, 7],
        host_ports: vec![port("", 8080, "")],
        images: vec!["img:1".into(), "img:2".into()],
        scheduling_gates: vec!["example.com/wait".into()],
        tolerations: vec![
            testing::Toleration {
                key: "dedicated".into(),
                value: "ml".into(),
                effect: "NoSchedule".into(),
                ..Default::default()
            },
            testing::Toleration {
                operator: "Exists".into(),
                seconds: Some(30),
                ..Default::default()
            },
        ],
        node_selector: labels(&[("zone", "a")]),
        required: Some(vec![
            vec![requirement("zone", "In", &["a", "b"])],
            vec![requirement("cores", "Gt", &["16"])],
        ]),
        preferred: vec![testing::Preferred {
            weight: 10,
            requirements: vec![requirement("rack", "DoesNotExist", &[])],
        }],
        ..Default::default()
    }
}

#[test]
fn everything_is_read() {
    let mut trial = Trial::<Reader>::new("{}");
    trial.nodes = vec![
        busy(),
        testing::Node {
            name: "n2".into(),
            ..Default::default()
        },
    ];
    trial.namespaces = [("team-a", "a"), ("team-c", "c")]
        .iter()
        .map(|(name, team)| testing::Namespace {
            name: (*name).into(),
            labels: labels(&[("team", team)]),
        })
        .collect();
    for (verdict, want) in trial.place(&incoming()).iter().zip(WANT_NODES) {
        assert_eq!(
            verdict.reasons[0], WANT_POD,
            "the pod as seen from {}",
            verdict.node
        );
        assert_eq!(verdict.reasons[1], want);
        assert_eq!(
            verdict.reasons[2],
            "1 empty, team-a team=a a,team-c team=c c"
        );
    }
}
