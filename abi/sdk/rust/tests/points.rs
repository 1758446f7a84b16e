//! Every point: the pod's name says what the plugin does.

use std::time::Duration;

use berth::testing::{self, Directive, Happened, Native, Outcome, Trial};
use berth::{
    AddPod, Base, Bind, Code, Configure, Const, Error, Event, EventAction, EventKind, Filter, Hint,
    HintResult, Judged, Key, Level, Node, NodeLabel, Nodes, Normalize, Permit, Plugin, Pod,
    PodAnnotation, PostBind, PostFilter, PreBind, PreEnqueue, PreFilter, PreScore, Published,
    QueueKey, Queued, Reason, Reserve, Rows, Score, Status, Unreserve,
};

struct Points {
    zone: NodeLabel,
    gpu: PodAnnotation,
    a: Const,
    nope: Reason,
    other: Published,
}

impl Plugin for Points {
    const MANIFEST: &'static str = include_str!("testdata/points.json");

    fn new(base: &mut Base) -> Points {
        Points {
            zone: base.node_label("zone"),
            gpu: base.pod_annotation("example.com/gpu"),
            a: base.constant("a"),
            nope: base.reason(&["nope", "not at all"]),
            other: base.published("other/key"),
        }
    }
}

impl Configure for Points {
    fn configure(&mut self, _: &mut Base, config: &[u8]) -> Result<(), Error> {
        match config {
            b"{}" => Ok(()),
            _ => Err(Error::from("I wanted {}")),
        }
    }
}

impl PreEnqueue for Points {
    fn pre_enqueue(&mut self, base: &Base, pod: Pod<'_>) -> Status {
        match pod.scheduling_gates() {
            [] => Status::SUCCESS,
            [gate, ..] => Status::unschedulable(base.reason(&["gated by", base.text(*gate)])),
        }
    }
}

impl QueueKey for Points {
    fn queue_key(&mut self, base: &Base, pod: Pod<'_>, queued: Queued, key: &mut Key) {
        key.append_i64_descending(pod.priority());
        key.append_i64(queued.time);
        key.append_bytes(&queued.attempts.to_be_bytes());
        key.append_text(base.text(pod.namespace()));
        key.append_bytes(pod.name().as_bytes());
    }
}

impl Hint for Points {
    fn hint(&mut self, base: &Base, event: Event<'_>, pod: Pod<'_>) -> HintResult {
        assert!(event
            .old_pod()
            .map_or(true, |old| base.pod_object(old).is_none()));
        let worth = match event.resource() {
            EventKind::NODE if event.is(EventKind::NODE, EventAction::UPDATE_NODE_LABEL) => {
                let zone = |node: Option<Node<'_>>| node.map(|node| node.label(self.zone));
                zone(event.old_node()) != zone(event.new_node()) && event.new_node().is_some()
            }
            EventKind::PLACED_POD => {
                let gone = event.new_pod().is_none() && event.actions() == EventAction::DELETE;
                let same = |old: Pod<'_>| old.namespace() == pod.namespace();
                gone && event.old_pod().map_or(false, same)
            }
            _ => event.namespace() == base.text(pod.namespace()) && event.name() == "claim",
        };
        if worth {
            HintResult::Queue
        } else {
            HintResult::QueueSkip
        }
    }
}

fn count(base: &Base, nodes: usize) -> bool {
    base.state_set("sum", &(nodes as u32).to_le_bytes())
}

fn sum(base: &Base) -> Option<u32> {
    let bytes = base.state_get("sum")?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

impl PreFilter for Points {
    fn pre_filter(
        &mut self,
        base: &Base,
        pod: Pod<'_>,
        nodes: Nodes<'_>,
        rows: &mut Rows<'_>,
    ) -> Status {
        if !count(base, nodes.len()) || !base.state_set("empty", &[]) {
            return Status::error(base.reason(&["state cannot be set"]));
        }
        match pod.name() {
            "skip" => return Status::SKIP,
            "reject" => return Status::unschedulable(self.nope),
            "nowhere" => rows.reset(),
            "narrow" => {
                let fit = nodes
                    .iter()
                    .filter(|node| self.a.is(base, node.label(self.zone)));
                fit.for_each(|node| rows.add(node));
                assert_eq!((rows.len(), rows.is_empty()), (2, false));
            }
            _ => {}
        }
        Status::SUCCESS
    }
}

impl AddPod for Points {
    fn add_pod(&mut self, base: &Base, pod: Pod<'_>, added: Pod<'_>, _: Node<'_>) -> Status {
        assert!(base.pod_object(pod).is_none() && base.pod_object(added).is_some());
        count(base, sum(base).unwrap_or(0) as usize + added.name().len());
        Status::SUCCESS
    }

    fn remove_pod(&mut self, base: &Base, _: Pod<'_>, removed: Pod<'_>, node: Node<'_>) -> Status {
        if node.name() == "n" {
            return Status::error(base.reason(&["not from n"]));
        }
        count(base, sum(base).unwrap_or(0) as usize - removed.name().len());
        Status::SUCCESS
    }
}

impl Filter for Points {
    fn filter(&mut self, base: &Base, pod: Pod<'_>, node: Node<'_>) -> Status {
        match pod.name() {
            "what if" => {
                let text = format!("sum {}", sum(base).unwrap_or(0));
                return Status::unschedulable(base.reason(&[&text]));
            }
            "skip" => return Status::error(base.reason(&["called after SKIP"])),
            "pending" => {
                return Status::pending(base.reason(&[&format!("waiting for {}", node.name())]))
            }
            _ => {}
        }
        let kept = sum(base) == Some(base.snapshot().nodes().len() as u32);
        if !kept || base.state_get("empty") != Some(&[]) || base.state_get("never set").is_some() {
            return Status::error(base.reason(&["state is not as it was set"]));
        }
        Status::SUCCESS
    }
}

impl PostFilter for Points {
    fn post_filter(&mut self, base: &Base, pod: Pod<'_>, nodes: Judged<'_>) -> Status {
        if pod.name() == "take back" {
            base.nominate("");
            return Status::SUCCESS;
        }
        for (i, (node, verdict)) in nodes.iter().enumerate() {
            assert_eq!(nodes.code(i), verdict);
            if verdict == Code::UNSCHEDULABLE {
                base.nominate(node.name());
                base.reject("u-9", "it was in the way");
                return Status::SUCCESS;
            }
        }
        base.nominate("nowhere"); // does not count
        Status::unschedulable(self.nope)
    }
}

impl PreScore for Points {
    fn pre_score(&mut self, base: &Base, pod: Pod<'_>, nodes: Nodes<'_>) -> Status {
        if pod.name() == "noscore" {
            return Status::SKIP;
        }
        count(base, nodes.len());
        Status::SUCCESS
    }
}

impl Score for Points {
    fn score(&mut self, base: &Base, _: Pod<'_>, node: Node<'_>) -> i64 {
        node.name().len() as i64 * i64::from(sum(base).unwrap_or(0))
    }
}

impl Normalize for Points {
    fn normalize(
        &mut self,
        base: &Base,
        _: Pod<'_>,
        nodes: Nodes<'_>,
        scores: &mut [i64],
    ) -> Status {
        let snapshot = base.snapshot();
        if nodes.len() != scores.len() || snapshot.seed() == 0 || snapshot.epoch() == 0 {
            return Status::error(Reason::NONE);
        }
        let highest = *scores.iter().max().unwrap();
        for (i, score) in scores.iter_mut().enumerate() {
            *score = 100 * *score / highest;
            if !self.a.is(base, nodes.at(i).label(self.zone)) {
                *score = 1;
            }
        }
        Status::SUCCESS
    }
}

impl Reserve for Points {
    fn reserve(&mut self, base: &Base, pod: Pod<'_>, node: Node<'_>) -> Status {
        if pod.name() == "reject" {
            base.annotate("example.com/gpu", "1"); // does not count
            return Status::unschedulable_and_unresolvable(self.nope);
        }
        assert_eq!(pod.node_name(), node.name());
        base.annotate("example.com/gpu", node.name());
        base.label("example.com/gpu-kind", "");
        base.activate("u-7");
        Status::SUCCESS
    }
}

impl Unreserve for Points {
    fn unreserve(&mut self, base: &Base, _: Pod<'_>, _: Node<'_>) -> Status {
        base.activate("u-8");
        Status::SUCCESS
    }
}

impl Permit for Points {
    fn permit(&mut self, base: &Base, pod: Pod<'_>, _: Node<'_>) -> (Duration, Status) {
        match pod.name() {
            "first" => (Duration::from_micros(1_500_001), Status::WAIT),
            "last" => {
                base.allow("u-1");
                base.allow("u-2");
                (Duration::ZERO, Status::SUCCESS)
            }
            _ => (Duration::from_secs(9), Status::pending(self.nope)),
        }
    }
}

impl PreBind for Points {
    fn pre_bind(&mut self, base: &Base, pod: Pod<'_>, _: Node<'_>) -> Status {
        let known = base.text(pod.annotation(self.gpu));
        base.annotate("example.com/seen", known);
        Status::SUCCESS
    }
}

impl Bind for Points {
    fn bind(&mut self, base: &Base, pod: Pod<'_>, _: Node<'_>) -> Status {
        if pod.name() == "skip" {
            return Status::SKIP;
        }
        base.bind_pod();
        Status::SUCCESS
    }
}

impl PostBind for Points {
    fn post_bind(&mut self, base: &Base, pod: Pod<'_>, node: Node<'_>) -> Status {
        let published = base.published_get(self.other).unwrap_or(b"nothing");
        let pod = base.pod_object(pod).unwrap_or(&[]).len();
        let absent = base.node_object(node).is_none();
        let text = format!("{} {} {}", String::from_utf8_lossy(published), pod, absent);
        base.log(Level::Warning, &text);
        Status::SUCCESS
    }
}

berth::export!(
    Points: configure,
    pre_enqueue,
    queue_key,
    hint,
    pre_filter,
    add_pod,
    remove_pod,
    filter,
    post_filter,
    pre_score,
    score,
    normalize,
    reserve,
    unreserve,
    permit,
    pre_bind,
    bind,
    post_bind,
);

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
