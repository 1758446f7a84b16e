//! A plugin that places pods by what nodes use. Its filter and its mode `spread` decide as LoadAwareScheduling of Koordinator does
//! (koordinator-sh/koordinator, pkg/scheduler/plugins/loadaware), `pack` as TargetLoadPacking and `risk` as
//! LoadVariationRiskBalancing of Trimaran (kubernetes-sigs/scheduler-plugins, pkg/trimaran), with feeds in place of NodeMetric objects
//! and the load watcher, and requestedSince in place of caches of pods.

mod config;

use berth::json::Value;
use berth::{
    Base, Feed, FeedState, Filter, Node, NodeAnnotation, Plugin, Pod, Reason, Resource, Score,
    Status,
};

/// Bounds what is reported of a node, so that no sum of a few overflows, and all of it is exact as a float.
const MOST: i64 = 1 << 53;

/// The CPU or the memory.
pub struct Kind {
    name: &'static str,
    resource: Resource,
    usage: Option<Feed>,
    deviation: Option<Feed>,
    exceeds: Reason,
    /// What a pod without a request and a limit is expected to use.
    otherwise: i64,
    /// Percent of what is allocatable; 0 for none.
    threshold: i64,
    estimate: i64,
    weight: i64,
    /// What the pod of this call requests, and is expected to use.
    request: i64,
    expected: i64,
}

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Spread,
    Pack,
    Risk,
}

/// The plugin.
pub struct LoadAware {
    kinds: [Kind; 2],
    thresholds: NodeAnnotation,
    stale: Reason,
    stale_fits: bool,
    mode: Mode,
    dominant: i64,
    target: i64,
    requests_percent: i64,
    cpu_otherwise: i64,
    margin: f64,
    sensitivity: f64,
    ignore_since: bool,
    /// The pod is a DaemonSet's, which has no other node.
    daemon: bool,
    /// What the pod will use of the CPU in mode pack.
    packed: i64,
}

impl Plugin for LoadAware {
    const MANIFEST: &'static str = include_str!("../manifest.json");

    fn new(base: &mut Base) -> LoadAware {
        let kind = |name, exceeds: &str, otherwise, estimate| Kind {
            name,
            resource: base.resource(name),
            usage: None,
            deviation: None,
            exceeds: base.reason(&[exceeds]),
            otherwise,
            threshold: 0,
            estimate,
            weight: 1,
            request: 0,
            expected: 0,
        };
        LoadAware {
            kinds: [
                kind("cpu", "node(s) used too much CPU", 250, 85),
                kind("memory", "node(s) used too much memory", 200 << 20, 70),
            ],
            thresholds: base.node_annotation("scheduling.koordinator.sh/usage-thresholds"),
            stale: base.reason(&["node(s) had a usage that is stale"]),
            stale_fits: false,
            mode: Mode::Spread,
            dominant: 0,
            target: 40,
            requests_percent: 150,
            cpu_otherwise: 1000,
            margin: 1.0,
            sensitivity: 1.0,
            ignore_since: false,
            daemon: false,
            packed: 0,
        }
    }

    /// Predicts what the pod will use, once for many nodes.
    fn prepare(&mut self, base: &Base, pod: Pod<'_>) -> Status {
        self.daemon = base.text(pod.owner()).starts_with("DaemonSet/");
        for k in &mut self.kinds {
            let limit = pod.limit(k.resource).min(MOST);
            k.request = pod.request(k.resource).clamp(0, MOST);
            k.expected = match k.request.max(limit) {
                0 => k.otherwise,
                most => part(most, k.estimate),
            };
        }
        let (limit, request) = (pod.limit(self.kinds[0].resource), self.kinds[0].request);
        self.packed = match (limit, request) {
            (0.., _) => limit.min(MOST),
            (_, 0) => self.cpu_otherwise,
            _ => part(request, self.requests_percent),
        };
        Status::SUCCESS
    }
}

/// A percentage of an amount, rounded.
fn part(amount: i64, percent: i64) -> i64 {
    (amount.clamp(0, MOST) * percent + 50) / 100
}

impl Filter for LoadAware {
    /// Rejects a node that would use more than a threshold. A node of which nothing is known passes: the plugin only improves.
    fn filter(&mut self, base: &Base, _: Pod<'_>, node: Node<'_>) -> Status {
        if self.daemon {
            return Status::SUCCESS;
        }
        let thresholds = self
            .own(base, node)
            .unwrap_or([self.kinds[0].threshold, self.kinds[1].threshold]);
        if thresholds == [0, 0] {
            return Status::SUCCESS;
        }
        match self.state(node) {
            FeedState::FRESH => {}
            FeedState::STALE if !self.stale_fits => return Status::unschedulable(self.stale),
            _ => return Status::SUCCESS,
        }
        for (k, threshold) in self.kinds.iter().zip(thresholds) {
            let allocatable = node.allocatable(k.resource);
            if k.usage.is_none() || threshold == 0 || allocatable <= 0 {
                continue;
            }
            let percent = (self.used(k, node) as f64 / allocatable as f64 * 100.0).round();
            if percent > threshold as f64 {
                return Status::unschedulable(k.exceeds);
            }
        }
        Status::SUCCESS
    }
}

impl Score for LoadAware {
    fn score(&mut self, _: &Base, _: Pod<'_>, node: Node<'_>) -> i64 {
        match self.mode {
            Mode::Spread => self.spread(node),
            Mode::Pack => self.pack(node),
            Mode::Risk => self.risk(node),
        }
    }
}

impl LoadAware {
    /// The worst state of what is known of the node's usage.
    fn state(&self, node: Node<'_>) -> FeedState {
        let mut worst = FeedState::FRESH;
        for feed in self.kinds.iter().filter_map(|k| k.usage) {
            match node.feed_state(feed) {
                FeedState::FRESH => {}
                FeedState::STALE => worst = FeedState::STALE,
                none => return none,
            }
        }
        worst
    }

    /// What the node is expected to use with the pod: the last sample, pods that it cannot contain, and the pod.
    fn used(&self, k: &Kind, node: Node<'_>) -> i64 {
        sample(k.usage, node) + self.since(k, node, k.estimate) + k.expected
    }

    /// What pods that the sample cannot contain are expected to use, by a percentage of their requests.
    fn since(&self, k: &Kind, node: Node<'_>, percent: i64) -> i64 {
        if self.ignore_since {
            return 0;
        }
        part(node.requested_since(k.resource), percent)
    }

    /// The thresholds that an annotation gives the node instead, by resource; none if it has none, or is not understood.
    fn own(&self, base: &Base, node: Node<'_>) -> Option<[i64; 2]> {
        let text = base.text(node.annotation(self.thresholds));
        if text.is_empty() {
            return None;
        }
        let usage = Value::parse(text.as_bytes())
            .ok()?
            .get("usageThresholds")
            .ok()??;
        let mut own = [0; 2];
        for (k, own) in self.kinds.iter().zip(&mut own) {
            if let Some(value) = usage.get(k.name).ok()? {
                *own = value.i64().ok().filter(|n| (0..=100).contains(n))?;
            }
        }
        Some(own).filter(|own| *own != [0, 0])
    }

    /// What the node would have left, in percent: the mean of both resources, and the lower of them once more by its weight.
    fn spread(&self, node: Node<'_>) -> i64 {
        if self.state(node) != FeedState::FRESH {
            return 0;
        }
        let (mut sum, mut weights, mut least) = (0, self.dominant, 100);
        for k in self.kinds.iter().filter(|k| k.usage.is_some()) {
            let all = node.allocatable(k.resource).min(MOST);
            let free = all - self.used(k, node);
            let percent = if free > 0 { free * 100 / all } else { 0 };
            sum += percent * k.weight;
            weights += k.weight;
            least = least.min(percent);
        }
        (sum + least * self.dominant) / weights.max(1)
    }

    /// The more the closer the usage of the CPU comes to the target from below, up to 100, and the less beyond it. A node whose
    /// usage is not known, or would exceed its capacity, gets 0.
    fn pack(&self, node: Node<'_>) -> i64 {
        let cpu = &self.kinds[0];
        let capacity = node.capacity(cpu.resource);
        if self.state(node) != FeedState::FRESH || capacity <= 0 {
            return 0;
        }
        let used =
            sample(cpu.usage, node) + self.packed + self.since(cpu, node, self.requests_percent);
        let (percent, target) = (100.0 * used as f64 / capacity as f64, self.target as f64);
        if percent > 100.0 {
            return 0;
        }
        if percent > target {
            return (target * (100.0 - percent) / (100.0 - target)).round() as i64;
        }
        ((100.0 - target) * percent / target + target).round() as i64
    }

    /// How little the node risks, by the resource that risks more. A resource of which nothing is known does not count.
    fn risk(&self, node: Node<'_>) -> i64 {
        let scores = self.kinds.iter().filter_map(|k| self.risk_of(k, node));
        scores
            .fold(None, |least: Option<f64>, score| {
                Some(least.map_or(score, |l| l.min(score)))
            })
            .unwrap_or(0.0)
            .round() as i64
    }

    /// The same for a resource: the mean of what is used of it, and of a root of the deviation, both as a part of what is
    /// allocatable, subtracted from 1.
    fn risk_of(&self, k: &Kind, node: Node<'_>) -> Option<f64> {
        if node.feed_state(k.usage?) != FeedState::FRESH {
            return None;
        }
        let allocatable = node.allocatable(k.resource);
        if allocatable <= 0 {
            return Some(0.0);
        }
        let used = sample(k.usage, node).min(allocatable) + k.request + self.since(k, node, 100);
        let mean = (used as f64 / allocatable as f64).min(1.0);
        let known = k
            .deviation
            .filter(|d| node.feed_state(*d) == FeedState::FRESH);
        let deviation = (sample(known, node) as f64 / allocatable as f64).min(1.0);
        let deviation = (deviation.powf(1.0 / self.sensitivity) * self.margin).min(1.0);
        Some((1.0 - (mean + deviation) / 2.0) * 100.0)
    }
}

/// The last value of a feed; 0 for none.
fn sample(feed: Option<Feed>, node: Node<'_>) -> i64 {
    feed.map_or(0, |f| node.feed(f).clamp(0, MOST))
}

berth::export!(LoadAware: configure, filter, score);
