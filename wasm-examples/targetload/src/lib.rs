//! A plugin that fills nodes up to a target of their CPU's usage, and spreads pods beyond it. It decides as
//! TargetLoadPacking of Trimaran does (kubernetes-sigs/scheduler-plugins, pkg/trimaran/targetloadpacking,
//! v0.32), with a feed in place of the load watcher and requestedSince in place of its cache of pods.

use berth::json::Value;
use berth::{Base, Configure, Error, Feed, FeedState, Node, Plugin, Pod, Resource, Score, Status};

/// The plugin.
pub struct TargetLoadPacking {
    cpu: Resource,
    usage: Feed,
    target: i64,
    requests_percent: i64,
    otherwise: i64,
    ignore_since: bool,
    /// What the pod will use, in milli-CPU.
    pod: f64,
}

impl Plugin for TargetLoadPacking {
    const MANIFEST: &'static str = include_str!("../manifest.json");

    fn new(base: &mut Base) -> TargetLoadPacking {
        TargetLoadPacking {
            cpu: base.resource("cpu"),
            usage: base.feed("node.cpu.usage:milli"),
            target: 40,
            requests_percent: 150,
            otherwise: 1000,
            ignore_since: false,
            pod: 0.0,
        }
    }

    /// Predicts what the pod will use, once for many nodes: its limit, or a multiple of its request.
    fn prepare(&mut self, _: &Base, pod: Pod<'_>) -> Status {
        let (limit, request) = (pod.limit(self.cpu), pod.request(self.cpu));
        self.pod = match (limit, request) {
            (0.., _) => limit as f64,
            (_, 0) => self.otherwise as f64,
            _ => self.part(request),
        };
        Status::SUCCESS
    }
}

impl Configure for TargetLoadPacking {
    fn configure(&mut self, _: &mut Base, config: &[u8]) -> Result<(), Error> {
        let config = Value::parse(config)?;
        config.only(&["target", "requestsPercent", "otherwise", "ignoreSince"])?;
        let number = |key: &str, otherwise: i64, least: i64, most: i64| {
            let value = match config.get(key)? {
                Some(value) => value,
                None => return Ok(otherwise),
            };
            match value.i64()? {
                n if n < least || n > most => Err(value.error("the number is out of range")),
                n => Ok(n),
            }
        };
        self.target = number("target", 40, 1, 99)?;
        self.requests_percent = number("requestsPercent", 150, 1, 1000)?;
        self.otherwise = number("otherwise", 1000, 0, 1_000_000)?;
        self.ignore_since = config.get("ignoreSince")?.map_or(Ok(false), Value::bool)?;
        Ok(())
    }
}

impl TargetLoadPacking {
    /// What pods with such requests will use.
    fn part(&self, request: i64) -> f64 {
        (request as f64 * self.requests_percent as f64 / 100.0).round()
    }
}

impl Score for TargetLoadPacking {
    /// The more the closer the node's usage comes to the target from below, up to 100, and the less
    /// beyond it. A node whose usage is not known, or would exceed its capacity, gets 0.
    fn score(&mut self, _: &Base, _: Pod<'_>, node: Node<'_>) -> i64 {
        let capacity = node.capacity(self.cpu);
        if node.feed_state(self.usage) != FeedState::FRESH || capacity <= 0 {
            return 0;
        }
        let mut used = node.feed(self.usage).max(0) as f64 + self.pod;
        if !self.ignore_since {
            used += self.part(node.requested_since(self.cpu));
        }
        let (percent, target) = (100.0 * used / capacity as f64, self.target as f64);
        if percent > 100.0 {
            return 0;
        }
        if percent > target {
            return (target * (100.0 - percent) / (100.0 - target)).round() as i64;
        }
        ((100.0 - target) * percent / target + target).round() as i64
    }
}

berth::export!(TargetLoadPacking: configure, score);
