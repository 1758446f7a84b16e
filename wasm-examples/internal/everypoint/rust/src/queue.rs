//! The points before a cycle.

use berth::{
    Base, Event, EventAction, EventKind, Hint, HintResult, Key, Pod, PreEnqueue, QueueKey, Queued,
    Status,
};

use crate::steps::{steps, word, Call};
use crate::{text, EveryPoint};

impl PreEnqueue for EveryPoint {
    /// Answers the status.
    fn pre_enqueue(&mut self, base: &Base, pod: Pod<'_>) -> Status {
        self.carry_out(Call::of(base, pod), self.at.pre_enqueue)
    }
}

impl QueueKey for EveryPoint {
    /// Orders by the number, then by time.
    fn queue_key(&mut self, base: &Base, pod: Pod<'_>, queued: Queued, key: &mut Key) {
        let value = text(base, pod, self.at.queue_key);
        if value == "long" {
            return key.append_bytes(&[0; 65]);
        }
        steps(value).for_each(|(verb, rest)| part(key, verb, rest, queued));
        if key.room() == 64 {
            key.append_i64(value.parse().unwrap_or(0));
            key.append_i64(queued.time);
        }
    }
}

/// Appends a part of a key; nothing for a step that is none.
fn part(key: &mut Key, verb: &str, rest: &str, queued: Queued) {
    let signed: i64 = rest.parse().unwrap_or(0);
    match verb {
        "u64" => key.append_u64(signed as u64),
        "-u64" => key.append_u64_descending(signed as u64),
        "i64" => key.append_i64(signed),
        "-i64" => key.append_i64_descending(signed),
        "bytes" => key.append_bytes(rest.as_bytes()),
        "-bytes" => key.append_bytes_descending(rest.as_bytes()),
        "text" => key.append_text(&rest.replace('|', "\0")),
        "-text" => key.append_text_descending(&rest.replace('|', "\0")),
        "attempts" => key.append_u64(queued.attempts.into()),
        _ => {}
    }
}

impl Hint for EveryPoint {
    /// Answers what the first step says.
    fn hint(&mut self, base: &Base, event: Event<'_>, pod: Pod<'_>) -> HintResult {
        match steps(text(base, pod, self.at.hint)).next() {
            Some((verb, rest)) if !concerns(event, verb, rest) => HintResult::QueueSkip,
            Some(("whole", _)) if !self.wholes(base, event, pod) => HintResult::QueueSkip,
            _ => HintResult::Queue,
        }
    }
}

impl EveryPoint {
    /// Reports whether there is a whole object of the pod that waits, and none of the pods of an event.
    fn wholes(&self, base: &Base, event: Event<'_>, waiting: Pod<'_>) -> bool {
        let mut pods = event.new_pod().into_iter().chain(event.old_pod());
        pods.all(|pod| self.whole(base, pod) == "none")
            && self.whole(base, waiting) == waiting.name()
    }
}

/// Reports whether the pod of a step is to be tried again.
fn concerns(event: Event<'_>, verb: &str, rest: &str) -> bool {
    match verb {
        "skip" => false,
        "on" => object(event) == rest,
        "was" => old(event) == rest,
        "in" => event.namespace() == rest,
        "is" => {
            let (resource, actions) = word(rest);
            let number = |text: &str| text.parse().unwrap_or(0);
            event.is(EventKind(number(resource)), EventAction(number(actions)))
        }
        _ => true,
    }
}

/// The name of the old node or pod of an event; empty if there is none.
fn old(event: Event<'_>) -> &str {
    match (event.old_node(), event.old_pod()) {
        (Some(node), _) => node.name(),
        (None, Some(pod)) => pod.name(),
        (None, None) => "",
    }
}

/// The name of what an event is about.
fn object(event: Event<'_>) -> &str {
    let node = event.new_node().or_else(|| event.old_node());
    let pod = event.new_pod().or_else(|| event.old_pod());
    match (node, pod) {
        (Some(node), _) => node.name(),
        (None, Some(pod)) => pod.name(),
        (None, None) => event.name(),
    }
}
