//! A plugin for tests: it has every extension point, and does at each what the annotations of the
//! pod say. The Go package beside it says what these mean, and is its twin.

mod cycle;
mod object;
mod place;
mod queue;
mod sight;
mod steps;

use berth::json::Value;
use berth::{
    Base, Configure, Const, Error, Feed, Id, NamespaceLabel, NodeAnnotation, NodeCondition,
    NodeLabel, ObjectColumn, Plugin, Pod, PodAnnotation, PodLabel, Published, Reason, Resource,
    Status,
};

/// The plugin.
pub struct EveryPoint {
    published: Published,
    note: NodeAnnotation,
    disk: NodeLabel,
    ready: NodeCondition,
    app: PodLabel,
    team: NamespaceLabel,
    cpu: Resource,
    usage: Feed,
    slot_names: ObjectColumn,
    slot_sizes: ObjectColumn,
    max_keys: ObjectColumn,
    maxima: ObjectColumn,
    memory: Resource,
    peer: PodAnnotation,
    max_peers: PodAnnotation,
    yes: Const,
    keys: Keys,
    too_many: Reason,
    at: At,
    number: f64,
}

/// Keys of labels, whose ids find them.
struct Keys {
    app: Const,
    disk: Const,
    team: Const,
}

/// The annotation of each point.
struct At {
    pre_enqueue: PodAnnotation,
    queue_key: PodAnnotation,
    hint: PodAnnotation,
    pre_filter: PodAnnotation,
    filter: PodAnnotation,
    post_filter: PodAnnotation,
    pre_score: PodAnnotation,
    score: PodAnnotation,
    normalize: PodAnnotation,
    reserve: PodAnnotation,
    unreserve: PodAnnotation,
    permit: PodAnnotation,
    pre_bind: PodAnnotation,
    bind: PodAnnotation,
    post_bind: PodAnnotation,
}

impl Plugin for EveryPoint {
    const MANIFEST: &'static str = include_str!("../../manifest.json");

    fn new(base: &mut Base) -> EveryPoint {
        let yes = base.constant("true");
        let keys = Keys {
            app: base.constant("app"),
            disk: base.constant("disk"),
            team: base.constant("team"),
        };
        let key = |name: &str| base.pod_annotation(&format!("everypoint.berth.dev/{}", name));
        EveryPoint {
            published: base.published("publisher/plan"),
            note: base.node_annotation("everypoint.berth.dev/note"),
            disk: base.node_label("disk"),
            ready: base.node_condition("Ready"),
            app: base.pod_label("app"),
            team: base.namespace_label("team"),
            cpu: base.resource("cpu"),
            usage: base.feed("node.cpu.usage:milli"),
            slot_names: base.object_column("box.spec.slots[*].name:string"),
            slot_sizes: base.object_column("box.spec.slots[*].size:quantity"),
            max_keys: base.object_column("quota.spec.max[*].@key:string"),
            maxima: base.object_column("quota.spec.max[*]:quantity"),
            memory: base.resource("memory"),
            peer: key("peer"),
            max_peers: key("max-peers"),
            yes,
            keys,
            too_many: base.reason(&["too many peers"]),
            at: At {
                pre_enqueue: key("pre-enqueue"),
                queue_key: key("queue-key"),
                hint: key("hint"),
                pre_filter: key("pre-filter"),
                filter: key("filter"),
                post_filter: key("post-filter"),
                pre_score: key("pre-score"),
                score: key("score"),
                normalize: key("normalize"),
                reserve: key("reserve"),
                unreserve: key("unreserve"),
                permit: key("permit"),
                pre_bind: key("pre-bind"),
                bind: key("bind"),
                post_bind: key("post-bind"),
            },
            number: 0.0,
        }
    }

    /// Judges all nodes at once if the first step of filter says so.
    fn prepare(&mut self, base: &Base, pod: Pod<'_>) -> Status {
        match steps::steps(text(base, pod, self.at.filter)).next() {
            Some(("all", rest)) => {
                let (verb, reason) = steps::word(rest);
                steps::status(base, verb, reason)
            }
            _ => Status::SUCCESS,
        }
    }
}

impl Configure for EveryPoint {
    /// Refuses what the configuration must not be.
    fn configure(&mut self, _: &mut Base, config: &[u8]) -> Result<(), Error> {
        let config = Value::parse(config)?;
        config.only(&["numbers", "flags", "number"])?;
        self.number = config.get("number")?.map_or(Ok(0.0), Value::f64)?;
        for n in config.list("numbers")? {
            n.i64()?;
        }
        if let Some(flags) = config.get("flags")? {
            for (_, flag) in flags.fields()? {
                flag.bool()?;
            }
        }
        Ok(())
    }
}

/// The text of an annotation.
fn text<'c>(base: &'c Base, pod: Pod<'_>, key: PodAnnotation) -> &'c str {
    base.text(pod.annotation(key))
}

/// Reports whether the pod has an annotation.
fn has(pod: Pod<'_>, key: PodAnnotation) -> bool {
    pod.annotation(key) != Id::ABSENT
}

/// A decimal number without a sign.
fn unsigned(text: &str) -> Option<u32> {
    if !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

berth::export!(
    EveryPoint: configure,
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
