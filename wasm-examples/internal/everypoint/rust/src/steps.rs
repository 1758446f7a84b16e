//! The steps of an annotation.

use berth::{Base, Judged, Level, Node, Pod, PodAnnotation, Reason, Status};

use crate::object::metadata_name;
use crate::sight::sight;
use crate::{text, EveryPoint};

/// The reason where a limit forbids what a step asks for.
pub const NO_ROOM: &str = "no room";

/// What a point is about.
#[derive(Clone, Copy)]
pub struct Call<'c> {
    pub base: &'c Base,
    pub pod: Pod<'c>,
    /// From reserve on.
    pub node: Option<Node<'c>>,
    /// At post_filter.
    pub judged: Option<Judged<'c>>,
}

impl<'c> Call<'c> {
    /// A call about a pod alone.
    pub fn of(base: &'c Base, pod: Pod<'c>) -> Call<'c> {
        Call {
            base,
            pod,
            node: None,
            judged: None,
        }
    }

    /// A call about a pod on a node.
    pub fn on(base: &'c Base, pod: Pod<'c>, node: Node<'c>) -> Call<'c> {
        Call {
            node: Some(node),
            ..Call::of(base, pod)
        }
    }
}

/// Verb and rest of each step.
pub fn steps(value: &str) -> impl Iterator<Item = (&str, &str)> {
    let steps = value.split(';').map(|step| step.trim_matches(' '));
    steps.filter(|step| !step.is_empty()).map(word)
}

/// Cuts off the first word.
pub fn word(text: &str) -> (&str, &str) {
    let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
    (first, rest.trim_start_matches(' '))
}

/// A status; a verb that is none is an error.
pub fn status(base: &Base, verb: &str, reason: &str) -> Status {
    let reason = match reason {
        "" => Reason::NONE,
        reason => base.reason(&reason.split('|').collect::<Vec<_>>()),
    };
    match verb {
        "success" => Status::SUCCESS,
        "skip" => Status::SKIP,
        "error" => Status::error(reason),
        "unschedulable" => Status::unschedulable(reason),
        "unresolvable" => Status::unschedulable_and_unresolvable(reason),
        "pending" => Status::pending(reason),
        verb => Status::error(base.reason(&[&format!("unknown step: {}", verb)])),
    }
}

impl EveryPoint {
    /// Carries out the steps of an annotation.
    pub fn carry_out(&self, call: Call<'_>, key: PodAnnotation) -> Status {
        let all = steps(text(call.base, call.pod, key));
        let mut answers = all.map(|(verb, rest)| self.step(call, verb, rest));
        answers.find_map(|status| status).unwrap_or(Status::SUCCESS)
    }

    /// Carries out one step, and returns the status if it is one.
    pub fn step(&self, call: Call<'_>, verb: &str, rest: &str) -> Option<Status> {
        let (key, text) = word(rest);
        let base = call.base;
        let taken = match verb {
            "set" => base.state_set(key, self.expand(call, text).as_bytes()),
            "publish" => base.state_set("plan", self.expand(call, rest).as_bytes()),
            "log" => {
                base.log(Level::Info, &self.expand(call, rest));
                true
            }
            "trap" => panic!("everypoint: trap"),
            "annotate" => base.annotate(key, &self.expand(call, text)),
            "label" => base.label(key, &self.expand(call, text)),
            "nominate" => base.nominate(key),
            "bind" => base.bind_pod(),
            "allow" => base.allow(key),
            "reject" => base.reject(key, &self.expand(call, text)),
            "activate" => base.activate(key),
            verb => return Some(status(base, verb, &self.expand(call, rest))),
        };
        if taken {
            return None;
        }
        Some(Status::error(base.reason(&[NO_ROOM])))
    }

    /// Replaces what stands between braces.
    pub fn expand(&self, call: Call<'_>, text: &str) -> String {
        let (mut out, mut left) = (String::new(), text);
        while let Some((before, after)) = left.split_once('{') {
            let (name, rest) = match after.split_once('}') {
                Some(found) => found,
                None => break,
            };
            out += before;
            out += &self
                .value(call, name)
                .unwrap_or_else(|| format!("{{{}}}", name));
            left = rest;
        }
        out + left
    }

    /// What a name stands for; None for a name that is none.
    fn value(&self, call: Call<'_>, name: &str) -> Option<String> {
        let base = call.base;
        let bytes = match name {
            "node" => call.node.map(|node| node.name().as_bytes()),
            "uid" => Some(call.pod.uid().as_bytes()),
            "published" => base.published_get(self.published),
            "pod-object" => base.pod_object(call.pod).map(metadata_name),
            "node-object" => {
                let object = call.node.and_then(|node| base.node_object(node));
                object.map(metadata_name)
            }
            "number" => return Some((self.number.to_bits() as i64).to_string()),
            "sight" => return Some(sight(self, call)),
            "verdicts" => return Some(call.judged.map_or("none".into(), verdicts)),
            name => return Some(values(base, name.strip_prefix("state:")?)),
        };
        Some(bytes.map_or("none".into(), |bytes| String::from_utf8_lossy(bytes).into()))
    }
}

/// The values of keys of the state, with spaces between them.
fn values(base: &Base, keys: &str) -> String {
    let value = |key| base.state_get(key).unwrap_or(b"none");
    let all: Vec<&[u8]> = keys.split(' ').map(value).collect();
    String::from_utf8_lossy(&all.join(&b' ')).into()
}

fn verdicts(nodes: Judged<'_>) -> String {
    let one = |(node, code): (Node<'_>, berth::Code)| format!("{}={}", node.name(), code.0);
    let mut all: Vec<String> = nodes.iter().map(one).collect();
    all.sort();
    all.join(",")
}
