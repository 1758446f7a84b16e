//! The points after a node was chosen.

use std::time::Duration;

use berth::{Base, Bind, Node, Permit, Pod, PostBind, PreBind, Reserve, Status, Unreserve};

use crate::steps::{steps, Call};
use crate::{text, unsigned, EveryPoint};

impl Reserve for EveryPoint {
    /// Carries out steps, as do the following.
    fn reserve(&mut self, base: &Base, pod: Pod<'_>, node: Node<'_>) -> Status {
        self.carry_out(Call::on(base, pod, node), self.at.reserve)
    }
}

impl Unreserve for EveryPoint {
    fn unreserve(&mut self, base: &Base, pod: Pod<'_>, node: Node<'_>) -> Status {
        self.carry_out(Call::on(base, pod, node), self.at.unreserve)
    }
}

impl Permit for EveryPoint {
    /// Carries out steps, of which wait is one.
    fn permit(&mut self, base: &Base, pod: Pod<'_>, node: Node<'_>) -> (Duration, Status) {
        for (verb, rest) in steps(text(base, pod, self.at.permit)) {
            if verb == "wait" {
                return (duration(rest), Status::WAIT);
            }
            if let Some(status) = self.step(Call::on(base, pod, node), verb, rest) {
                return (Duration::ZERO, status);
            }
        }
        (Duration::ZERO, Status::SUCCESS)
    }
}

/// A number and a unit; zero if it is none.
fn duration(text: &str) -> Duration {
    let digits = text.trim_end_matches(['m', 's']);
    let n = match unsigned(digits) {
        Some(n) if n < 1 << 31 => u64::from(n),
        _ => return Duration::ZERO,
    };
    match &text[digits.len()..] {
        "ms" => Duration::from_millis(n),
        "s" => Duration::from_secs(n),
        "m" => Duration::from_secs(60 * n),
        _ => Duration::ZERO,
    }
}

impl PreBind for EveryPoint {
    fn pre_bind(&mut self, base: &Base, pod: Pod<'_>, node: Node<'_>) -> Status {
        self.carry_out(Call::on(base, pod, node), self.at.pre_bind)
    }
}

impl Bind for EveryPoint {
    /// Carries out steps; unless one of them is bind, it leaves the pod to the next plugin.
    fn bind(&mut self, base: &Base, pod: Pod<'_>, node: Node<'_>) -> Status {
        let mut answer = Status::SKIP;
        for (verb, rest) in steps(text(base, pod, self.at.bind)) {
            if let Some(status) = self.step(Call::on(base, pod, node), verb, rest) {
                return status;
            }
            if verb == "bind" {
                answer = Status::SUCCESS;
            }
        }
        answer
    }
}

impl PostBind for EveryPoint {
    fn post_bind(&mut self, base: &Base, pod: Pod<'_>, node: Node<'_>) -> Status {
        self.carry_out(Call::on(base, pod, node), self.at.post_bind)
    }
}
