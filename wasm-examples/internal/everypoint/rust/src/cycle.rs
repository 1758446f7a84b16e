//! The points of a cycle.

use berth::{
    AddPod, Base, Filter, Judged, Node, Nodes, Normalize, Pod, PodAnnotation, PostFilter,
    PreFilter, PreScore, Rows, Score, Status,
};

use crate::steps::{status, steps, word, Call, NO_ROOM};
use crate::{has, text, unsigned, EveryPoint};

const PEERS: &str = "peers";

fn set_peers(base: &Base, n: u32) -> Status {
    if !base.state_set(PEERS, &n.to_le_bytes()) {
        return Status::error(base.reason(&[NO_ROOM]));
    }
    Status::SUCCESS
}

fn peers(base: &Base) -> u32 {
    let bytes = base.state_get(PEERS).and_then(|b| b.try_into().ok());
    bytes.map_or(0, u32::from_le_bytes)
}

impl PreFilter for EveryPoint {
    /// Counts peers and carries out steps.
    fn pre_filter(
        &mut self,
        base: &Base,
        pod: Pod<'_>,
        nodes: Nodes<'_>,
        rows: &mut Rows<'_>,
    ) -> Status {
        let on_nodes = nodes.iter().flat_map(|node| node.pods().iter());
        let count = on_nodes.filter(|p| self.yes.is(base, p.annotation(self.peer)));
        let counted = set_peers(base, count.count() as u32);
        if counted != Status::SUCCESS {
            return counted;
        }
        for (verb, rest) in steps(text(base, pod, self.at.pre_filter)) {
            if verb == "only" {
                rows.reset();
                let named = |node: &Node<'_>| rest.split_whitespace().any(|n| n == node.name());
                nodes.iter().filter(named).for_each(|node| rows.add(node));
            } else if let Some(status) = self.step(Call::of(base, pod), verb, rest) {
                return status;
            }
        }
        Status::SUCCESS
    }
}

impl AddPod for EveryPoint {
    /// Counts a peer.
    fn add_pod(&mut self, base: &Base, pod: Pod<'_>, added: Pod<'_>, _: Node<'_>) -> Status {
        self.change(base, pod, added, 1)
    }

    /// Does not count it any more.
    fn remove_pod(&mut self, base: &Base, pod: Pod<'_>, removed: Pod<'_>, _: Node<'_>) -> Status {
        self.change(base, pod, removed, u32::MAX)
    }
}

impl EveryPoint {
    /// The name in the whole object of a pod, or `none`.
    pub(crate) fn whole(&self, base: &Base, pod: Pod<'_>) -> String {
        self.expand(Call::of(base, pod), "{pod-object}")
    }

    fn change(&self, base: &Base, pod: Pod<'_>, changed: Pod<'_>, by: u32) -> Status {
        if self.whole(base, pod) != "none" || self.whole(base, changed) != changed.name() {
            return Status::error(base.reason(&["wrong object"]));
        }
        if !self.yes.is(base, changed.annotation(self.peer)) {
            return Status::SUCCESS;
        }
        set_peers(base, peers(base).wrapping_add(by))
    }

    /// What the first step for a node says.
    fn of<'c>(
        &self,
        base: &'c Base,
        pod: Pod<'_>,
        key: PodAnnotation,
        node: Node<'_>,
    ) -> Option<&'c str> {
        if !has(pod, key) {
            return None;
        }
        let mut all = steps(text(base, pod, key));
        let found = all.find(|(name, _)| *name == "*" || *name == node.name());
        found.map(|(_, rest)| rest)
    }
}

impl Filter for EveryPoint {
    /// Judges a node by peers, then by the steps.
    fn filter(&mut self, base: &Base, pod: Pod<'_>, node: Node<'_>) -> Status {
        let limit = unsigned(text(base, pod, self.max_peers));
        if limit.map_or(false, |limit| peers(base) >= limit) {
            return Status::unschedulable(self.too_many);
        }
        match self.of(base, pod, self.at.filter, node) {
            None => Status::SUCCESS,
            Some(rest) => {
                let (verb, reason) = word(rest);
                status(base, verb, &self.expand(Call::on(base, pod, node), reason))
            }
        }
    }
}

impl PostFilter for EveryPoint {
    /// Carries out steps.
    fn post_filter(&mut self, base: &Base, pod: Pod<'_>, nodes: Judged<'_>) -> Status {
        let call = Call {
            judged: Some(nodes),
            ..Call::of(base, pod)
        };
        self.carry_out(call, self.at.post_filter)
    }
}

impl PreScore for EveryPoint {
    /// Carries out steps.
    fn pre_score(&mut self, base: &Base, pod: Pod<'_>, _: Nodes<'_>) -> Status {
        self.carry_out(Call::of(base, pod), self.at.pre_score)
    }
}

impl Score for EveryPoint {
    /// The number of the first step for the node.
    fn score(&mut self, base: &Base, pod: Pod<'_>, node: Node<'_>) -> i64 {
        let rest = self.of(base, pod, self.at.score, node);
        rest.and_then(|rest| rest.parse().ok()).unwrap_or(0)
    }
}

impl Normalize for EveryPoint {
    /// Brings scores to 0 … 100, reversed or not.
    fn normalize(&mut self, base: &Base, pod: Pod<'_>, _: Nodes<'_>, scores: &mut [i64]) -> Status {
        let value = text(base, pod, self.at.normalize);
        let reverse = value.trim_matches([' ', ';'].as_ref()) == "reverse";
        let highest = scores.iter().copied().max().unwrap_or(0);
        let status = match reverse {
            true => Status::SUCCESS,
            false => self.carry_out(Call::of(base, pod), self.at.normalize),
        };
        for score in scores {
            if reverse {
                *score = highest.wrapping_sub(*score);
            }
            *score = (*score).clamp(0, 100);
        }
        status
    }
}
