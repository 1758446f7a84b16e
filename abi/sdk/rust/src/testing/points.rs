//! The points beside filter and score, one call each.

use core::time::Duration;
use std::string::String;
use std::vec::Vec;

use super::bytes::{read_u32, read_u64, Bytes};
use super::cluster::{Happened, Node, Pod};
use super::directives::Directive;
use super::image::{About, Numbering};
use super::session::{Session, Ways};
use super::trial::Trial;
use crate::abi::Point;
use crate::guest::Exported;
use crate::types::Code;
use crate::Queued;

/// What a call answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The result.
    pub code: Code,
    /// Its reason.
    pub reasons: Vec<String>,
    /// What is to be done; none if it does not count (ABI-13.3).
    pub directives: Vec<Directive>,
    /// Of permit.
    pub wait: Duration,
}

impl<P: Exported> Session<'_, P> {
    fn outcome(&self, point: Point, code: Code) -> Outcome {
        let counts = code == Code::SUCCESS || code == Code::WAIT && point == Point::PERMIT;
        let n = if counts { self.answer(92) } else { 0 };
        let wait = u64::from(self.answer(96)) | u64::from(self.answer(100)) << 32;
        Outcome {
            code,
            reasons: self.reason_set(self.answer(84)),
            directives: (0..n)
                .map(|i| self.directive(point, self.answer(88) + 24 * i))
                .collect(),
            wait: Duration::from_millis(wait),
        }
    }

    fn directive(&self, point: Point, at: u32) -> Directive {
        let memory = self.guest.as_ref().expect("there was a call").memory();
        let (first, second) = (self.text(at + 8), self.text(at + 16));
        let directive = Directive::of(read_u32(memory, at as usize), first, second);
        directive.check(point, self.reads());
        directive
    }
}

impl<P: Exported> Trial<P> {
    /// Sets a key of the plugin's state, as an earlier call of the same cycle would.
    pub fn set_state(&self, key: &str, value: &[u8]) {
        self.host
            .inner
            .borrow_mut()
            .state
            .insert(key.into(), value.into());
    }

    /// The value of a key of the plugin's state after the last call.
    pub fn state(&self, key: &str) -> Option<Vec<u8>> {
        self.host.inner.borrow().state.get(key).cloned()
    }

    /// Forgets the state, as a new cycle does.
    pub fn clear_state(&self) {
        self.host.inner.borrow_mut().state.clear();
    }

    fn numbering(&self, nodes: usize) -> Numbering {
        Numbering {
            order: (0..nodes).collect(),
            ids: super::bytes::Order(0),
            seed: self.seed(),
        }
    }

    /// Makes a session in an aux instance, whose nodes are those named (ABI-2.11).
    fn aux<'t>(&'t self, about: &About<'_>) -> Session<'t, P> {
        let host = &mut *self.host.inner.borrow_mut();
        host.published = self.published.clone();
        // A position in the pod list; 0 where a point has none (ABI-7.7).
        host.pods = match about.pods {
            [] => about.pod.iter().map(|pod| pod.object.clone()).collect(),
            listed => listed.iter().map(|pod| pod.object.clone()).collect(),
        };
        host.writable = true;
        Session::about(
            self,
            about,
            self.numbering(about.nodes.len()),
            Ways::default(),
        )
    }

    /// Calls pre_enqueue: a code and reasons for each pod.
    pub fn pre_enqueue(&self, pods: &[Pod]) -> Vec<(Code, Vec<String>)> {
        let about = About {
            pods,
            namespaces: &self.namespaces,
            ..About::default()
        };
        let mut session = self.aux(&about);
        let code = session.call(Point::PRE_ENQUEUE, 0, pods.len(), None, false);
        assert_eq!(
            code,
            Code::SUCCESS,
            "{:?}",
            session.reason_set(session.answer(84))
        );
        (0..pods.len()).map(|i| session.judged(i)).collect()
    }

    /// Calls queue_key: a key for each pod.
    pub fn queue_keys(&self, pods: &[(Pod, Queued)]) -> Vec<Vec<u8>> {
        let queue: Vec<Queued> = pods.iter().map(|(_, queued)| *queued).collect();
        let pods: Vec<Pod> = pods.iter().map(|(pod, _)| pod.clone()).collect();
        let about = About {
            pods: &pods,
            queue: &queue,
            namespaces: &self.namespaces,
            ..About::default()
        };
        let mut session = self.aux(&about);
        let code = session.call(Point::QUEUE_SORT, 0, pods.len(), None, false);
        assert_eq!(
            code,
            Code::SUCCESS,
            "{:?}",
            session.reason_set(session.answer(84))
        );
        let key = |i: usize| {
            let at = session.image.keys + 68 * i;
            let length = session.image.data.get_u32(at) as usize;
            assert!(length <= 64, "a key of {} bytes (ABI-5.10)", length);
            session.image.data[at + 4..at + 4 + length].to_vec()
        };
        (0..pods.len()).map(key).collect()
    }

    /// Calls hint: SUCCESS or SKIP for each pod.
    pub fn hint(&self, event: &Happened, pods: &[Pod]) -> Vec<Code> {
        let nodes: Vec<Node> = event.nodes.iter().flatten().cloned().collect();
        let about = About {
            nodes: &nodes,
            namespaces: &self.namespaces,
            pods,
            event: Some(event),
            ..About::default()
        };
        let mut session = self.aux(&about);
        let code = session.call(Point::HINT, 0, pods.len(), None, false);
        assert_eq!(
            code,
            Code::SUCCESS,
            "{:?}",
            session.reason_set(session.answer(84))
        );
        (0..pods.len()).map(|i| session.judged(i).0).collect()
    }

    /// Calls add_pod, or remove_pod, for the overlay row that repeats the last node, and filter
    /// for it; returns filter's answer for the row. State is that of the last place.
    pub fn what_if(&self, point: Point, pod: &Pod, other: &Pod) -> (Code, Vec<String>) {
        let about = About {
            nodes: &self.nodes,
            namespaces: &self.namespaces,
            pod: Some(pod),
            pods: core::slice::from_ref(other),
            ..About::default()
        };
        let mut session = self.aux(&about);
        let row = session.image.capacity as u32;
        let code = session.call(point, row, 1, None, true);
        assert_eq!(
            code,
            Code::SUCCESS,
            "{:?}",
            session.reason_set(session.answer(84))
        );
        let code = session.call(Point::FILTER, row, 1, None, true);
        assert_eq!(
            code,
            Code::SUCCESS,
            "{:?}",
            session.reason_set(session.answer(84))
        );
        session.judged(0)
    }

    /// Calls post_filter with the verdicts of all nodes.
    pub fn post_filter(&self, pod: &Pod, verdicts: &[Code]) -> Outcome {
        let about = About {
            nodes: &self.nodes,
            namespaces: &self.namespaces,
            pod: Some(pod),
            ..About::default()
        };
        let mut session = self.aux(&about);
        let code = session.call_with(Point::POST_FILTER, verdicts);
        session.outcome(Point::POST_FILTER, code)
    }

    /// Calls a point from reserve on: the pod and the node that was chosen for it.
    pub fn on_node(&self, point: Point, pod: &Pod, node: &Node) -> Outcome {
        let mut pod = pod.clone();
        pod.node_name = node.name.clone();
        let about = About {
            nodes: core::slice::from_ref(node),
            pod: Some(&pod),
            ..About::default()
        };
        let mut session = self.aux(&about);
        let code = session.call(point, 0, 0, None, false);
        session.outcome(point, code)
    }

    /// The scores that a call of score answers before they are normalised, one a node.
    pub fn raw_scores(&self, pod: &Pod) -> Vec<i64> {
        let mut session = Session::new(self, pod, self.in_order(), Ways::default());
        let n = self.nodes.len();
        let code = session.call(Point::SCORE, 0, n, None, false);
        assert_eq!(
            code,
            Code::SUCCESS,
            "{:?}",
            session.reason_set(session.answer(84))
        );
        let at = session.image.scores;
        (0..n)
            .map(|i| read_u64(&session.image.data, at + 8 * i) as i64)
            .collect()
    }
}
