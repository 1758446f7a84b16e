//! A plugin that limits how many pods start on a node at the same time, so that images and boots do not storm.

use berth::json::Value;
use berth::{Base, Configure, Error, Filter, Node, Plugin, Pod, Reason, Score, Status};

/// The plugin.
pub struct StartLimit {
    storm: Reason,
    most: i64,
    /// A pod starts until it runs, rather than until it is ready.
    running: bool,
    /// In seconds; 0 for no end.
    longest: i64,
    daemon_sets: bool,
    /// The pod of this call is a DaemonSet's, which has no other node.
    daemon: bool,
    /// The time of this call, in seconds since 1970; 0 if it is not known.
    now: i64,
}

impl Plugin for StartLimit {
    const MANIFEST: &'static str = include_str!("../manifest.json");

    fn new(base: &mut Base) -> StartLimit {
        StartLimit {
            storm: base.reason(&["node(s) had too many starting pods"]),
            most: 3,
            running: false,
            longest: 300,
            daemon_sets: false,
            daemon: false,
            now: 0,
        }
    }

    fn prepare(&mut self, base: &Base, pod: Pod<'_>) -> Status {
        self.daemon = !self.daemon_sets && base.text(pod.owner()).starts_with("DaemonSet/");
        self.now = pod.now();
        Status::SUCCESS
    }
}

impl Configure for StartLimit {
    fn configure(&mut self, _: &mut Base, config: &[u8]) -> Result<(), Error> {
        let config = Value::parse(config)?;
        config.only(&["most", "until", "longest", "daemonSets"])?;
        let number = |key: &str, otherwise: i64, least: i64, most: i64| match config.get(key)? {
            None => Ok(otherwise),
            Some(value) => match value.i64()? {
                n if n < least || n > most => Err(value.error("the number is out of range")),
                n => Ok(n),
            },
        };
        self.most = number("most", 3, 1, 1000)?;
        self.longest = number("longest", 300, 0, 86400)?;
        let until = config.get("until")?;
        self.running = until.map_or(Ok(0), |u| u.one_of(&["ready", "running"]))? == 1;
        self.daemon_sets = config.get("daemonSets")?.map_or(Ok(false), Value::bool)?;
        Ok(())
    }
}

impl StartLimit {
    /// How many pods start on the node, at most the limit.
    fn starting(&self, node: Node<'_>) -> i64 {
        let mut n = 0;
        for pod in node.pods().iter() {
            let started = pod.ready() || (self.running && pod.running());
            if started || pod.terminating() || self.late(pod.assigned_at()) {
                continue;
            }
            n += 1;
            if n == self.most {
                break;
            }
        }
        n
    }

    /// Reports whether a pod that got its node then no longer counts.
    fn late(&self, assigned_at: i64) -> bool {
        self.longest > 0 && assigned_at > 0 && self.now.saturating_sub(assigned_at) >= self.longest
    }
}

impl Filter for StartLimit {
    /// Rejects a node where too many pods start. No pod is worth evicting for that: it passes soon.
    fn filter(&mut self, _: &Base, _: Pod<'_>, node: Node<'_>) -> Status {
        if !self.daemon && self.starting(node) == self.most {
            return Status::unschedulable_and_unresolvable(self.storm);
        }
        Status::SUCCESS
    }
}

impl Score for StartLimit {
    /// Prefers nodes where few pods start.
    fn score(&mut self, _: &Base, _: Pod<'_>, node: Node<'_>) -> i64 {
        100 - 100 * self.starting(node) / self.most
    }
}

berth::export!(StartLimit: configure, filter, score);
