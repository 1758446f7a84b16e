//! The points before a cycle.

use berth::{Base, Event, Hint, HintResult, Key, Pod, PreEnqueue, QueueKey, Queued, Status};

use crate::steps::{steps, Call};
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
        key.append_i64(value.parse().unwrap_or(0));
        key.append_i64(queued.time);
    }
}

impl Hint for EveryPoint {
    /// Answers what the first step says.
    fn hint(&mut self, base: &Base, event: Event<'_>, pod: Pod<'_>) -> HintResult {
        match steps(text(base, pod, self.at.hint)).next() {
            Some(("skip", _)) => HintResult::QueueSkip,
            Some(("on", name)) if object(event) != name => HintResult::QueueSkip,
            _ => HintResult::Queue,
        }
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
