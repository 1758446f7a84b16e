//! The NUMA nodes of a node, and what they have free.

use berth::{Base, Node, Resource};

use crate::{Numa, Scope, Strategy};

/// What a NUMA node does not have at all.
const NONE: i64 = i64::MIN;

/// How many NUMA nodes of a node count. The kubelet allows eight by default.
const MOST: usize = 64;

/// The NUMA nodes of one node, by their numbers.
#[derive(Default)]
pub struct Zones {
    /// The number of each zone of the object; MOST for those that are no NUMA nodes.
    numbers: Vec<usize>,
    /// What is free, by number and resource, in the resource's unit; NONE for what the NUMA node does not have.
    free: Vec<i64>,
    /// One more than the highest number.
    len: usize,
    /// A bit for each number that a NUMA node has.
    known: u64,
}

impl Numa {
    /// What the node's kubelet aligns to one NUMA node; None for nothing. Attributes count more than the older policies.
    pub(crate) fn scope(&self, base: &Base, node: Node<'_>) -> Option<Scope> {
        let words = &self.words;
        let first = |column| {
            node.object_texts(column)
                .first()
                .copied()
                .unwrap_or_default()
        };
        let (old, policy, scope) = (
            first(self.columns.policies),
            first(self.columns.policy),
            first(self.columns.scope),
        );
        let mut single = words.old_pod.is(base, old) || words.old_container.is(base, old);
        if words.single.is(base, policy) {
            single = true;
        } else if words.policies.iter().any(|p| p.is(base, policy)) {
            single = false;
        }
        if !single {
            return None;
        }
        let by_pod = words.by_pod.is(base, scope)
            || (words.old_pod.is(base, old) && !words.by_container.is(base, scope));
        Some(if by_pod { Scope::Pod } else { Scope::Container })
    }

    /// Reads what the NUMA nodes of a node have free, less what pods that do not run yet will get: from each of them, since nothing says
    /// from which one.
    pub(crate) fn read(&mut self, base: &Base, node: Node<'_>) {
        let (columns, zones, width) = (&self.columns, &mut self.zones, self.tracked.len());
        zones.numbers.clear();
        zones.free.clear();
        (zones.len, zones.known) = (0, 0);
        let kinds = node.object_texts(columns.kind);
        for (i, name) in node.object_texts(columns.zone).iter().enumerate() {
            let is = kinds
                .get(i)
                .map_or(false, |kind| self.words.node.is(base, *kind));
            let number = if is { number(base.text(*name)) } else { MOST };
            if number < MOST {
                zones.len = zones.len.max(number + 1);
                zones.known |= 1 << number;
            }
            zones.numbers.push(number);
        }
        zones.free.resize(zones.len * width, NONE);
        let names = node.object_texts(columns.resource);
        let available = node.object_numbers(columns.available);
        for (i, parent) in node.object_numbers(columns.parent).iter().enumerate() {
            let number = match zones.numbers.get(*parent as usize) {
                Some(number) if *number < MOST => *number,
                _ => continue,
            };
            let found = self.tracked.iter().position(|t| t.name.is(base, names[i]));
            if let Some(k) = found.filter(|_| available[i] != i64::MIN) {
                zones.free[number * width + k] = available[i].max(0) / self.tracked[k].unit;
            }
        }
        if self.ignore_starting {
            return;
        }
        for pod in node.pods().iter() {
            if pod.running() {
                continue;
            }
            let guaranteed = self.guaranteed.is(base, pod.qos());
            for number in 0..self.zones.len {
                self.take(guaranteed, number, |r| pod.request(r));
            }
        }
    }

    /// Takes from a NUMA node what a container or pod gets there.
    pub(crate) fn take(
        &mut self,
        guaranteed: bool,
        number: usize,
        request: impl Fn(Resource) -> i64,
    ) {
        let width = self.tracked.len();
        if number >= self.zones.len {
            return; // all that is requested is the node's
        }
        for (k, t) in self.tracked.iter().enumerate() {
            let free = &mut self.zones.free[number * width + k];
            if *free != NONE && (guaranteed || !t.native) {
                *free = (*free).saturating_sub(request(t.resource)).max(NONE + 1);
            }
        }
    }

    /// The number of the NUMA node that the kubelet takes, which is the lowest with room for everything that it aligns; None if no one has.
    pub(crate) fn zone_for(
        &self,
        node: Node<'_>,
        guaranteed: bool,
        request: impl Fn(Resource) -> i64,
    ) -> Option<usize> {
        let width = self.tracked.len();
        let mut fits = u64::MAX;
        for (k, t) in self.tracked.iter().enumerate() {
            let wanted = request(t.resource);
            if wanted <= 0 || (t.native && !guaranteed) {
                continue;
            }
            if node.allocatable(t.resource) == 0 {
                return None;
            }
            let (mut any, mut room) = (false, 0);
            for number in 0..self.zones.len {
                let free = self.zones.free[number * width + k];
                any |= free != NONE;
                room |= u64::from(free >= wanted) << number;
            }
            if any || t.native {
                fits &= room;
            }
        }
        (fits != 0).then(|| fits.trailing_zeros() as usize)
    }

    /// The lowest points of a NUMA node that has any; 0 if none has.
    pub(crate) fn points(&self, request: impl Fn(Resource) -> i64) -> i64 {
        let mut lowest = 0;
        for number in (0..self.zones.len).filter(|n| self.zones.known >> n & 1 == 1) {
            let points = self.points_of(number, &request);
            if points > 0 && (lowest == 0 || points < lowest) {
                lowest = points;
            }
        }
        lowest
    }

    fn points_of(&self, number: usize, request: &impl Fn(Resource) -> i64) -> i64 {
        let width = self.tracked.len();
        let (mut sum, mut weights) = (0, 0);
        let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0); // Welford's
        for (k, t) in self.tracked.iter().enumerate() {
            let wanted = request(t.resource);
            if wanted <= 0 {
                continue;
            }
            let free = self.zones.free[number * width + k];
            let fits = free > 0 && wanted <= free;
            let part = if free > 0 {
                wanted as f64 / free as f64
            } else {
                1.0
            };
            match self.strategy {
                Strategy::Balanced if part > 1.0 => return 0,
                Strategy::Balanced => {
                    count += 1.0;
                    let off = part - mean;
                    mean += off / count;
                    squares += off * (part - mean);
                }
                Strategy::Most if fits => sum += t.weight * share(wanted, free),
                Strategy::Least if fits => sum += t.weight * share(free - wanted, free),
                _ => {}
            }
            weights += t.weight;
        }
        match self.strategy {
            _ if weights == 0 => 0,
            Strategy::Balanced if count < 2.0 => 100,
            Strategy::Balanced => ((1.0 - squares / (count - 1.0)) * 100.0) as i64,
            _ => sum / weights,
        }
    }
}

/// A part of a whole in percent, without fractions.
fn share(part: i64, whole: i64) -> i64 {
    (i128::from(part) * 100 / i128::from(whole)) as i64
}

/// The number at the end of a zone's name, as in node-1; MOST if it has none, or a higher one.
fn number(name: &str) -> usize {
    let digits = name.strip_prefix("node-").unwrap_or_default();
    digits.parse().map_or(MOST, |n: usize| n.min(MOST))
}
