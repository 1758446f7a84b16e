//! A plugin with every point: the pod's name says what it does.

use std::time::Duration;

use berth::{
    AddPod, Base, Bind, Code, Configure, Const, Error, Event, EventAction, EventKind, Filter, Hint,
    HintResult, Judged, Key, Level, Node, NodeLabel, Nodes, Normalize, Permit, Plugin, Pod,
    PodAnnotation, PostBind, PostFilter, PreBind, PreEnqueue, PreFilter, PreScore, Published,
    QueueKey, Queued, Reason, Reserve, Rows, Score, Status, Unreserve,
};

pub struct Points {
    zone: NodeLabel,
    gpu: PodAnnotation,
    a: Const,
    nope: Reason,
    other: Published,
}

impl Plugin for Points {
    const MANIFEST: &'static str = include_str!("../testdata/points.json");

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
