//! Trials of a plugin on a few nodes.

use core::fmt;
use core::marker::PhantomData;
use std::rc::Rc;
use std::string::{String, ToString};
use std::vec::Vec;

use super::bytes::Order;
use super::caller::Caller;
use super::cluster::{Namespace, Node, Pod};
use super::host::TestHost;
use super::image::Numbering;
use super::manifest::Reads;
use super::native::Native;
use super::session::{Session, Ways};
use crate::abi::Point;
use crate::guest::Exported;
use crate::types::Code;
use crate::Level;

/// Tries to place pods on nodes with one plugin, and calls its other points.
pub struct Trial<P> {
    /// The cluster.
    pub nodes: Vec<Node>,
    /// The namespaces that have an object.
    pub namespaces: Vec<Namespace>,
    /// What other plugins published, by index in the manifest's list.
    pub published: Vec<Option<Vec<u8>>>,
    pub(crate) reads: Reads,
    pub(crate) host: Rc<TestHost>,
    config: String,
    plugin: PhantomData<P>,
}

/// What a plugin says of one node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// Its name.
    pub node: String,
    /// Filter's code.
    pub code: Code,
    /// Filter's reason.
    pub reasons: Vec<String>,
    /// The normalised score, if the plugin scores and the node passed.
    pub score: i64,
}

impl fmt::Display for Verdict {
    /// `node Unschedulable: reason, reason` or `node Success 100`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.node, self.code.name())?;
        if self.code == Code::SUCCESS {
            return write!(f, " {}", self.score);
        }
        if !self.reasons.is_empty() {
            write!(f, ": {}", self.reasons.join(", "))?;
        }
        Ok(())
    }
}

impl<P: Exported> Trial<P> {
    /// A trial of a plugin with a configuration.
    ///
    /// # Panics
    ///
    /// If the manifest is not one.
    pub fn new(config: &str) -> Trial<P> {
        Trial {
            nodes: Vec::new(),
            namespaces: Vec::new(),
            published: Vec::new(),
            reads: Reads::of(P::MANIFEST).unwrap_or_else(|why| panic!("manifest.json: {}", why)),
            host: Rc::new(TestHost::default()),
            config: config.into(),
            plugin: PhantomData,
        }
    }

    /// Tries the configuration alone, and returns what the plugin logged if it refused it.
    pub fn refused(&self) -> Option<String> {
        self.instance().err()
    }

    /// Makes an instance and hands it the configuration.
    pub(crate) fn instance(&self) -> Result<Native<P>, String> {
        let mut native = Native::new(self.host.clone());
        if P::CONFIGURE.is_none() {
            return Ok(native);
        }
        let length = self.config.len();
        let address = native.alloc(length as u32, 1);
        native.memory_mut()[address as usize..][..length].copy_from_slice(self.config.as_bytes());
        if native.configure(address, length as u32) == 0 {
            return Ok(native);
        }
        let last = self.host.inner.borrow().log.last().cloned();
        Err(last.map_or("configuration refused".into(), |(_, text)| {
            std::format!("configuration refused: {}", text)
        }))
    }

    /// What the plugin has logged, and forgets it.
    pub fn logged(&self) -> Vec<(Level, String)> {
        core::mem::take(&mut self.host.inner.borrow_mut().log)
    }

    pub(crate) fn exports(&self, point: Point) -> bool {
        P::POINTS.iter().any(|(known, _)| *known == point)
    }

    /// The header's seed: 0 where the plugin must not use it (ABI-4.1).
    pub(crate) fn seed(&self) -> u64 {
        if self.reads.sharded {
            0
        } else {
            42
        }
    }

    pub(crate) fn in_order(&self) -> Numbering {
        Numbering {
            order: (0..self.nodes.len()).collect(),
            ids: Order(0),
            seed: self.seed(),
        }
    }

    /// Tries to place a pod and returns a verdict for each node, in the order of nodes.
    ///
    /// # Panics
    ///
    /// If ways that must agree do not, or the plugin does what a host would call a fault.
    pub fn place(&self, pod: &Pod) -> Vec<Verdict> {
        let once = Ways {
            once: true,
            ..Ways::default()
        };
        let fresh = Ways {
            fresh: true,
            ..once
        };
        let split = Ways::default();
        let want = self.place_once(pod);
        let same = |how: &str, numbering: Numbering, ways: Ways| {
            let got = self.place_so(pod, numbering, ways);
            for (want, got) in want.iter().zip(&got) {
                let (want, got) = (want.to_string(), got.to_string());
                assert_eq!(
                    want, got,
                    "one call in one instance (left), and with {} (right)",
                    how
                );
            }
        };
        same("a fresh instance for every call", self.in_order(), fresh);
        same(
            "calls on a list of rows",
            self.in_order(),
            Ways {
                listed: true,
                ..once
            },
        );
        for seed in 1..4 {
            let mut ids = Order(seed);
            let order = ids.permutation(self.nodes.len());
            let other = Numbering {
                order,
                ids,
                seed: self.seed(),
            };
            same(
                "rows, ids and slots numbered otherwise",
                other.clone(),
                once,
            );
            if self.reads.sharded {
                same("rows split over calls", other.clone(), split);
                let apart = Ways {
                    fresh: true,
                    ..split
                };
                same(
                    "rows split over calls, each in a fresh instance",
                    other,
                    apart,
                );
            }
        }
        if self.reads.sharded && self.exports(Point::FILTER) {
            Session::new(self, pod, self.in_order(), once).overlays(&want);
        }
        want
    }

    /// Tries to place a pod, in one call a point, and in no other way.
    pub fn place_once(&self, pod: &Pod) -> Vec<Verdict> {
        let once = Ways {
            once: true,
            ..Ways::default()
        };
        self.place_so(pod, self.in_order(), once)
    }

    /// One call for all nodes that can be made again and again.
    pub fn caller(&self, pod: &Pod) -> Caller<'_, P> {
        Caller::new(self, pod)
    }

    fn place_so(&self, pod: &Pod, numbering: Numbering, ways: Ways) -> Vec<Verdict> {
        Session::new(self, pod, numbering, ways).place()
    }
}
