//! Limits hold, mistakes panic with a text that says what is wrong, and `testing` finds plugins
//! that break the rules.

use std::panic::{catch_unwind, AssertUnwindSafe};

use berth::testing::{self, Trial};
use berth::{
    Base, Bind, Code, Filter, Id, Key, Node, Plugin, Pod, PreFilter, QueueKey, Queued, Reason,
    Reserve, Rows, Status,
};

fn pod(name: &str) -> testing::Pod {
    testing::Pod {
        name: name.into(),
        ..Default::default()
    }
}

fn nodes(n: usize) -> Vec<testing::Node> {
    let taint = |key: &str| testing::Taint {
        key: key.into(),
        ..Default::default()
    };
    let node = |i| testing::Node {
        name: format!("node-{:04}", i),
        taints: vec![taint("a"), taint("b"), taint("c")],
        ..Default::default()
    };
    (0..n).map(node).collect()
}

/// What a panic said.
fn panic_of<T>(f: impl FnOnce() -> T) -> Option<String> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let result = catch_unwind(AssertUnwindSafe(f));
    std::panic::set_hook(hook);
    let what = result.err()?;
    let text = what.downcast_ref::<String>().cloned();
    text.or_else(|| what.downcast_ref::<&str>().map(ToString::to_string))
}

/// Makes more reasons in a call than fit, and longer ones.
struct Many;

impl Plugin for Many {
    const MANIFEST: &'static str =
        r#"{"points": {"filter": {"scope": "cluster"}}, "reads": {"node": ["name"]}}"#;

    fn new(base: &mut Base) -> Many {
        let lasting = base.reason(&["a"]);
        assert_eq!(base.reason(&["a"]), lasting);
        assert_ne!(base.reason(&["b"]), lasting);
        assert_ne!(base.reason(&["a", "b"]), base.reason(&["ab"]));
        assert_ne!(base.reason(&["a", "bc"]), base.reason(&["ab", "c"]));
        assert_eq!(base.reason(&[]), Reason::NONE);
        Many
    }
}

impl Filter for Many {
    fn filter(&mut self, base: &Base, pod: Pod<'_>, node: Node<'_>) -> Status {
        let _ = pod;
        let text = format!("{}{}", node.name(), "é".repeat(600));
        let reason = base.reason(&[&text]);
        assert_eq!(
            base.reason(&[&text]),
            reason,
            "the same texts are one reason"
        );
        Status::unschedulable(reason)
    }
}

berth::export!(Many: filter);

/// Texts are cut between characters, and beyond the limits there is no reason instead of a fault
/// (ABI-3.8, ABI-10).
#[test]
fn reasons() {
    let mut trial = Trial::<Many>::new("{}");
    trial.nodes = nodes(80);
    // It depends on the order of rows which nodes have no reason; one order is enough here.
    let verdicts = trial.place_once(&pod("p"));
    let longest = verdicts
        .iter()
        .flat_map(|v| &v.reasons)
        .map(String::len)
        .max();
    let none = verdicts.iter().filter(|v| v.reasons.is_empty()).count();
    // 9 bytes of name and 1,200 of é become 9 and 1,014; 10 bytes of reasons last.
    assert_eq!((longest, none), (Some(1023), 80 - (65_536 - 10) / 1023));
    assert!(verdicts.iter().all(|v| v.code == Code::UNSCHEDULABLE));
}

/// Numbers of reasons and directives that are made in a call end with it.
struct Counts;

impl Plugin for Counts {
    const MANIFEST: &'static str = r#"{"points": {"reserve": {}, "bind": {}},
        "directives": {"annotations": ["example.com/"], "bind": true}}"#;

    fn new(_: &mut Base) -> Counts {
        Counts
    }
}

impl Reserve for Counts {
    fn reserve(&mut self, base: &Base, _: Pod<'_>, _: Node<'_>) -> Status {
        let made = (0..2000).filter(|i| base.reason(&[&i.to_string()]) != Reason::NONE);
        let reasons = made.count();
        let directives = (0..300).filter(|i| base.annotate("example.com/a", &i.to_string()));
        let directives = directives.count();
        assert_eq!((reasons, directives), (1024, 256));
        Status::SUCCESS
    }
}

impl Bind for Counts {
    fn bind(&mut self, base: &Base, _: Pod<'_>, _: Node<'_>) -> Status {
        let long = "x".repeat(30_000);
        assert!(base.annotate("example.com/a", &long) && base.annotate("example.com/b", &long));
        assert!(
            !base.annotate("example.com/c", &long),
            "65,536 bytes of texts"
        );
        assert!(base.bind_pod());
        Status::SUCCESS
    }
}

berth::export!(Counts: reserve, bind);

#[test]
fn limits_of_a_call() {
    let trial = Trial::<Counts>::new("{}");
    let node = nodes(1).remove(0);
    let reserved = trial.on_node(berth::abi::Point::RESERVE, &pod("p"), &node);
    assert_eq!(reserved.directives.len(), 256);
    let bound = trial.on_node(berth::abi::Point::BIND, &pod("p"), &node);
    assert_eq!(bound.directives.len(), 3);
}

/// Does what the pod's name says, which it must not.
struct Wrong;

impl Plugin for Wrong {
    const MANIFEST: &'static str = r#"{"points": {"filter": {}, "reserve": {}, "queueSort": {}, "preFilter": {}},
        "reads": {"node": ["name"], "nodeLabels": ["rack"], "pod": ["name"]},
        "directives": {"annotations": ["example.com/"], "bind": true}}"#;

    fn new(_: &mut Base) -> Wrong {
        Wrong
    }
}

impl PreFilter for Wrong {
    fn pre_filter(
        &mut self,
        _: &Base,
        pod: Pod<'_>,
        nodes: berth::Nodes<'_>,
        rows: &mut Rows<'_>,
    ) -> Status {
        if pod.name() == "rows backwards" {
            rows.add(nodes.at(1));
            rows.add(nodes.at(0));
        }
        if pod.name() == "a node that is not there" {
            nodes.at(nodes.len());
        }
        Status::SUCCESS
    }
}

impl Filter for Wrong {
    fn filter(&mut self, base: &Base, pod: Pod<'_>, node: Node<'_>) -> Status {
        match pod.name() {
            "handle" => {
                base.node_label("zone");
            }
            "node field" => {
                node.taints();
            }
            "pod field" => {
                pod.namespace();
            }
            _ => {}
        }
        Status::SUCCESS
    }
}

impl Reserve for Wrong {
    fn reserve(&mut self, base: &Base, pod: Pod<'_>, _: Node<'_>) -> Status {
        match pod.name() {
            "annotate" => base.annotate("other.com/a", "b"),
            "label" => base.label("example.com/a", "b"),
            "allow" => base.allow("u"),
            _ => base.bind_pod(),
        };
        Status::SUCCESS
    }
}

impl QueueKey for Wrong {
    fn queue_key(&mut self, _: &Base, _: Pod<'_>, _: Queued, key: &mut Key) {
        key.append_bytes(&[0; 60]);
        key.append_i64(0);
    }
}

berth::export!(Wrong: filter, reserve, queue_key, pre_filter);

#[test]
fn mistakes() {
    let mut trial = Trial::<Wrong>::new("{}");
    trial.nodes = nodes(2);
    for (name, want) in [
        ("handle", "reads.nodeLabels does not list zone"),
        ("node field", "reads.node does not list taints"),
        ("pod field", "reads.pod does not list namespace"),
        (
            "rows backwards",
            "rows must be added in the order of Nodes, each once",
        ),
        ("a node that is not there", "no such node"),
    ] {
        let said = panic_of(|| trial.place(&pod(name)));
        assert!(
            said.as_ref().map_or(false, |said| said.ends_with(want)),
            "{}: {:?}",
            name,
            said
        );
    }
    for (name, want) in [
        (
            "annotate",
            "Annotate(\"other.com/a\", \"b\") is not declared in the manifest's directives (ABI-13.2)",
        ),
        (
            "label",
            "Label(\"example.com/a\", \"b\") is not declared in the manifest's directives (ABI-13.2)",
        ),
        (
            "allow",
            "Allow(\"u\") is not declared in the manifest's directives (ABI-13.2)",
        ),
        ("bind", "Bind is none of reserve (ABI-13.2)"),
    ] {
        let reserve = || trial.on_node(berth::abi::Point::RESERVE, &pod(name), &trial.nodes[0]);
        let said = panic_of(reserve);
        assert!(
            said.as_ref().map_or(false, |said| said.ends_with(want)),
            "{}: {:?}",
            name,
            said
        );
    }
    let said = panic_of(|| trial.queue_keys(&[(pod("p"), Queued::new(0, 0))]));
    assert!(said.map_or(false, |said| said
        .contains("the queue key has 68 bytes, at most 64 are allowed")));
}

/// Breaks a rule, which the pod's name says.
struct Guilty {
    calls: usize,
    no: Reason,
}

impl Plugin for Guilty {
    const MANIFEST: &'static str = r#"{"points": {"filter": {"scope": "node"}},
        "reads": {"node": ["name", "taints"], "pod": ["name"]}}"#;

    fn new(base: &mut Base) -> Guilty {
        Guilty {
            calls: 0,
            no: base.reason(&["no"]),
        }
    }
}

impl Filter for Guilty {
    fn filter(&mut self, base: &Base, pod: Pod<'_>, node: Node<'_>) -> Status {
        self.calls += 1;
        let bad = match pod.name() {
            "keeps state" => self.calls % 3 == 0,
            "looks at row numbers" => node.row() == 1,
            "looks at the order of taints" => base.text(node.taints()[0].key) == "a",
            "looks at ids" => node.taints().iter().any(|t| t.key == Id(4)),
            "looks at overlay rows" => node.row() as usize >= base.snapshot().nodes().len(),
            _ => false,
        };
        if bad {
            return Status::unschedulable(self.no);
        }
        Status::SUCCESS
    }
}

berth::export!(Guilty: filter);

/// A difference between ways that must agree is found, and none with an innocent plugin.
#[test]
fn guilty_plugins_are_caught() {
    let mut trial = Trial::<Guilty>::new("{}");
    trial.nodes = nodes(5);
    for name in [
        "nothing",
        "keeps state",
        "looks at row numbers",
        "looks at the order of taints",
        "looks at ids",
        "looks at overlay rows",
    ] {
        let said = panic_of(|| trial.place(&pod(name)));
        assert_eq!(
            said.is_some(),
            name != "nothing",
            "a plugin that {}: {:?}",
            name,
            said
        );
    }
}
