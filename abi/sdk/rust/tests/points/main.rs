//! Every point.

mod plugin;

use std::time::Duration;

use berth::testing::{self, Directive, Happened, Native, Outcome, Trial};
use berth::{Code, EventAction, EventKind, Level, Queued};
use plugin::Points;

fn node(name: &str, zone: Option<&str>) -> testing::Node {
    testing::Node {
        name: name.into(),
        labels: zone
            .map(|zone| ("zone".into(), zone.into()))
            .into_iter()
            .collect(),
        ..Default::default()
    }
}

fn pod(namespace: &str, name: &str) -> testing::Pod {
    testing::Pod {
        namespace: namespace.into(),
        name: name.into(),
        ..Default::default()
    }
}

fn trial() -> Trial<Points> {
    let mut trial = Trial::new("{}");
    trial.nodes = vec![
        node("n", Some("a")),
        node("node", Some("b")),
        node("no", Some("a")),
        node("noooooo", None),
    ];
    trial
}

#[test]
fn filter_and_score() {
    for (name, want) in [
        ("plain", "n Success 14; node Success 1; no Success 28; noooooo Success 1"),
        ("skip", "n Success 14; node Success 1; no Success 28; noooooo Success 1"),
        ("noscore", "n Success 0; node Success 0; no Success 0; noooooo Success 0"),
        (
            "narrow",
            "n Success 50; node UnschedulableAndUnresolvable; no Success 100; noooooo UnschedulableAndUnresolvable",
        ),
        (
            "nowhere",
            "n UnschedulableAndUnresolvable; node UnschedulableAndUnresolvable; no UnschedulableAndUnresolvable; noooooo UnschedulableAndUnresolvable",
        ),
        (
            "reject",
            "n Unschedulable: nope, not at all; node Unschedulable: nope, not at all; no Unschedulable: nope, not at all; noooooo Unschedulable: nope, not at all",
        ),
        (
            "pending",
            "n Pending: waiting for n; node Pending: waiting for node; no Pending: waiting for no; noooooo Pending: waiting for noooooo",
        ),
    ] {
        let verdicts = trial().place(&pod("default", name));
        let got: Vec<String> = verdicts.iter().map(ToString::to_string).collect();
        assert_eq!(got.join("; "), want, "{}", name);
    }
}

#[test]
fn configuration() {
    let refused = Trial::<Points>::new("[]").refused();
    assert_eq!(
        refused.as_deref(),
        Some("configuration refused: I wanted {}")
    );
    assert_eq!(trial().refused(), None);
}

#[test]
fn exports() {
    let want = [
        "berth_abi",
        "berth_alloc",
        "berth_configure",
        "berth_pre_enqueue",
        "berth_queue_key",
        "berth_hint",
        "berth_pre_filter",
        "berth_add_pod",
        "berth_remove_pod",
        "berth_filter",
        "berth_post_filter",
        "berth_pre_score",
        "berth_score",
        "berth_normalize",
        "berth_reserve",
        "berth_unreserve",
        "berth_permit",
        "berth_pre_bind",
        "berth_bind",
        "berth_post_bind",
    ];
    assert_eq!(Native::<Points>::exports(), want);
}

#[test]
fn pre_enqueue() {
    let mut gated = pod("default", "gated");
    gated.scheduling_gates = vec!["example.com/a".into(), "example.com/b".into()];
    let got = trial().pre_enqueue(&[pod("default", "free"), gated, pod("default", "free")]);
    let reasons = vec!["gated by".to_string(), "example.com/a".to_string()];
    let want = [
        (Code::SUCCESS, vec![]),
        (Code::UNSCHEDULABLE, reasons),
        (Code::SUCCESS, vec![]),
    ];
    assert_eq!(got, want);
    assert!(trial().pre_enqueue(&[]).is_empty());
}

#[test]
fn queue_keys() {
    let mut all = Vec::new();
    // In the order that is wanted.
    for (priority, time, attempts, namespace) in [
        (7, -1, 0, "a"),
        (7, 1, 0, "a"),
        (0, i64::MIN, 1, "b"),
        (0, i64::MAX, 1, "a"),
        (0, i64::MAX, 2, "a"),
        (0, i64::MAX, 2, "aa"),
        (-1, 0, 0, ""),
        (i32::MIN, 0, 0, ""),
    ] {
        let mut pod = pod(namespace, "p");
        pod.priority = priority;
        all.push((pod, Queued::new(time, attempts)));
    }
    let keys = trial().queue_keys(&all);
    assert!(keys.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", keys);
    assert_eq!(keys[5][16..], [0, 0, 0, 2, b'a', b'a', 0, 1, b'p']);
}

#[test]
fn hint() {
    let pods = [pod("team-a", "x"), pod("team-b", "y")];
    let relabelled = Happened {
        resource: EventKind::NODE.0,
        actions: EventAction::UPDATE_NODE_LABEL.0,
        nodes: [Some(node("n", Some("a"))), Some(node("n", Some("b")))],
        ..Happened::default()
    };
    let unchanged = Happened {
        nodes: [Some(node("n", Some("a"))), Some(node("n", Some("a")))],
        ..relabelled.clone()
    };
    let gone = Happened {
        resource: EventKind::PLACED_POD.0,
        actions: EventAction::DELETE.0,
        pods: [Some(pod("team-b", "old")), None],
        ..Happened::default()
    };
    let added = Happened {
        nodes: [None, Some(node("n", Some("b")))],
        actions: (EventAction::ADD | EventAction::UPDATE_NODE_LABEL).0,
        ..relabelled.clone()
    };
    let claim = Happened {
        resource: EventKind::RESOURCE_CLAIM.0,
        namespace: "team-a".into(),
        name: "claim".into(),
        ..Happened::default()
    };
    for (event, want) in [
        (relabelled, [Code::SUCCESS, Code::SUCCESS]),
        (added, [Code::SUCCESS, Code::SUCCESS]),
        (unchanged, [Code::SKIP, Code::SKIP]),
        (gone, [Code::SKIP, Code::SUCCESS]),
        (claim, [Code::SUCCESS, Code::SKIP]),
    ] {
        assert_eq!(trial().hint(&event, &pods), want, "{:?}", event.resource);
    }
}

#[test]
fn what_if() {
    let trial = trial();
    trial.set_state("sum", &10_u32.to_le_bytes());
    let asked = pod("default", "what if");
    let (code, reasons) = trial.what_if(berth::abi::Point::ADD_POD, &asked, &pod("default", "abc"));
    assert_eq!(
        (code, reasons),
        (Code::UNSCHEDULABLE, vec!["sum 13".to_string()])
    );
    let (_, reasons) = trial.what_if(berth::abi::Point::REMOVE_POD, &asked, &pod("default", "ab"));
    assert_eq!(reasons, ["sum 11"]);
    assert_eq!(trial.state("sum"), Some(11_u32.to_le_bytes().to_vec()));
}

fn outcome(code: Code, directives: Vec<Directive>) -> Outcome {
    Outcome {
        code,
        reasons: Vec::new(),
        directives,
        wait: Duration::ZERO,
    }
}

fn nope(code: Code) -> Outcome {
    Outcome {
        reasons: vec!["nope".into(), "not at all".into()],
        ..outcome(code, Vec::new())
    }
}

#[test]
fn post_filter() {
    let (trial, any) = (trial(), pod("default", "p"));
    let unresolvable = Code::UNSCHEDULABLE_AND_UNRESOLVABLE;
    let verdicts = [
        unresolvable,
        Code::SUCCESS,
        Code::UNSCHEDULABLE,
        Code::UNSCHEDULABLE,
    ];
    let nominated = vec![
        Directive::Nominate("no".into()),
        Directive::Reject("u-9".into(), "it was in the way".into()),
    ];
    assert_eq!(
        trial.post_filter(&any, &verdicts),
        outcome(Code::SUCCESS, nominated)
    );
    assert_eq!(
        trial.post_filter(&any, &[unresolvable; 4]),
        nope(Code::UNSCHEDULABLE)
    );
    let back = vec![Directive::Nominate("".into())];
    let got = trial.post_filter(&pod("default", "take back"), &verdicts);
    assert_eq!(got, outcome(Code::SUCCESS, back));
}

#[test]
fn after_a_node_is_chosen() {
    use berth::abi::Point;
    let (mut trial, chosen) = (trial(), node("n", None));
    trial.published = vec![Some(b"value".to_vec())];
    let mut seen = pod("default", "seen");
    seen.annotations
        .insert("example.com/gpu".into(), "3".into());
    seen.object = vec![0; 9000];
    let reserved = vec![
        Directive::Annotate("example.com/gpu".into(), "n".into()),
        Directive::Label("example.com/gpu-kind".into(), "".into()),
        Directive::Activate("u-7".into()),
    ];
    let allowed = vec![
        Directive::Allow("u-1".into()),
        Directive::Allow("u-2".into()),
    ];
    let annotated = vec![Directive::Annotate("example.com/seen".into(), "3".into())];
    let waiting = Outcome {
        wait: Duration::from_millis(1501), // ABI-3.1: whole milliseconds
        ..outcome(Code::WAIT, Vec::new())
    };
    for (point, name, want) in [
        (Point::RESERVE, "seen", outcome(Code::SUCCESS, reserved)),
        (
            Point::RESERVE,
            "reject",
            nope(Code::UNSCHEDULABLE_AND_UNRESOLVABLE),
        ),
        (
            Point::UNRESERVE,
            "any",
            outcome(Code::SUCCESS, vec![Directive::Activate("u-8".into())]),
        ),
        (Point::PERMIT, "first", waiting),
        (Point::PERMIT, "last", outcome(Code::SUCCESS, allowed)),
        (Point::PERMIT, "any", nope(Code::PENDING)),
        (Point::PRE_BIND, "seen", outcome(Code::SUCCESS, annotated)),
        (
            Point::BIND,
            "any",
            outcome(Code::SUCCESS, vec![Directive::Bind]),
        ),
        (Point::BIND, "skip", outcome(Code::SKIP, Vec::new())),
        (Point::POST_BIND, "seen", outcome(Code::SUCCESS, Vec::new())),
    ] {
        let asked = testing::Pod {
            name: name.into(),
            ..seen.clone()
        };
        assert_eq!(
            trial.on_node(point, &asked, &chosen),
            want,
            "{:?} {}",
            point,
            name
        );
    }
    assert_eq!(
        trial.logged(),
        [(Level::Warning, "value 9000 true".to_string())]
    );
}
