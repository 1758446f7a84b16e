//! A plugin that compares what it is given with a vector, and gives the answers that the vector
//! has.

use core::cell::RefCell;
use std::string::String;
use std::time::Duration;
use std::vec::Vec;

use super::print::Printer;
use super::{get, hex, int, list, numbers, text};
use crate::abi::Code;
use crate::json::Value;
use crate::{
    Base, Event, EventAction, EventKind, Filter, Hint, HintResult, Judged, Key, Node, Nodes,
    Permit, Plugin, Pod, PostFilter, PreEnqueue, PreFilter, QueueKey, Queued, Reason, Reserve,
    Rows, Score, Status,
};

std::thread_local! {
    /// The text of the vector's want.call.
    #[allow(clippy::declare_interior_mutable_const)] // what the macro makes of it
    pub(super) static CALL: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Answers the n-th row or pod with what the vector has for it.
pub(super) struct Replay {
    n: usize,
}

impl Plugin for Replay {
    const MANIFEST: &'static str = r#"{
        "points": {
            "preEnqueue": {}, "queueSort": {}, "hint": {}, "preFilter": {}, "filter": {}, "postFilter": {}, "score": {},
            "reserve": {}, "permit": {}
        },
        "reads": {
            "node": ["name", "flags", "allocatable", "labels", "taints", "ports", "images", "pods", "generation", "zone",
                "capacity", "createdAt", "requestedSince", "nominated"],
            "feeds": ["node.cpu.usage:milli"],
            "nodeLabels": ["pool"], "resources": ["cpu", "memory"], "podAnnotations": ["a", "b"],
            "pods": ["namespace", "priority", "limits", "qos", "assignedAt", "createdAt", "state"], "namespaces": ["name", "labels", "requested"], "namespaceLabels": ["team"],
            "pod": [
                "name", "namespace", "priority", "requests", "nonZeroRequested", "labels", "annotations", "owner", "tolerations",
                "nodeSelector", "affinity", "hostPorts", "images", "nodeName", "schedulingGates", "namespaceLabels", "uid",
                "createdAt", "priorityClass", "serviceAccount", "preemptionPolicy", "group", "limits", "qos", "claims", "now", "containers"
            ], "resolution": ["60s"]
        },
        "directives": {"annotations": ["example.com/"], "nominate": true, "waiting": true, "activate": true}
    }"#;

    fn new(_: &mut Base) -> Replay {
        Replay { n: 0 }
    }
}

/// Lets f look at the vector.
fn look<T>(f: impl FnOnce(Value<'_>) -> T) -> T {
    CALL.with(|call| f(Value::parse(&call.borrow()).expect("a part of a vector")))
}

/// Makes the reason sets of the vector, whose numbers follow from their order.
fn reasons(base: &Base, call: Value<'_>) -> Vec<Reason> {
    let sets = list(call, "reason_sets").into_iter().map(|set| {
        let texts: Vec<String> = set.elements().expect("a list").map(text).collect();
        base.reason(&texts.iter().map(String::as_str).collect::<Vec<&str>>())
    });
    core::iter::once(Reason::NONE).chain(sets).collect()
}

impl Replay {
    /// The answer for the next row or pod.
    fn next(&mut self, base: &Base) -> Status {
        self.n += 1;
        look(|call| {
            let code = numbers(call, "codes")[self.n - 1] as u8;
            let reason = numbers(call, "reasons")[self.n - 1] as usize;
            Status::of(Code(code), reasons(base, call)[reason])
        })
    }

    /// Compares the next pod of the list.
    fn check_listed(&self, base: &Base, pod: Pod<'_>) {
        look(|call| Printer(base).check_pod("listed", pod, list(call, "pods")[self.n]));
    }
}

fn check_pod(base: &Base, pod: Pod<'_>) {
    look(|call| {
        if let Some(want) = call.get("pod").expect("an object") {
            Printer(base).check_pod("pod", pod, want);
        }
    });
}

/// Asks for the directives of the vector, and returns the result of the call.
fn direct(base: &Base) -> Status {
    look(|call| {
        for directive in list(call, "directives") {
            let part = |key| text(get(directive, key));
            let (first, second) = (part("first"), part("second"));
            assert!(match part("kind").as_str() {
                "annotate" => base.annotate(&first, &second),
                "nominate" => base.nominate(&first),
                "allow" => base.allow(&first),
                "reject" => base.reject(&first, &second),
                "activate" => base.activate(&first),
                kind => panic!("directive {} is not replayed yet", kind),
            });
        }
        let reason = call.get("status_reason").expect("an object");
        let reason = reason.map_or(0, |n| n.i64().expect("a number"));
        Status::of(Code::SUCCESS, reasons(base, call)[reason as usize])
    })
}

impl PreEnqueue for Replay {
    fn pre_enqueue(&mut self, base: &Base, pod: Pod<'_>) -> Status {
        self.check_listed(base, pod);
        let after = look(|call| numbers(call, "scores")[self.n]);
        base.retry_after(Duration::from_millis(after as u64));
        self.next(base)
    }
}

impl QueueKey for Replay {
    fn queue_key(&mut self, base: &Base, pod: Pod<'_>, queued: Queued, key: &mut Key) {
        self.check_listed(base, pod);
        look(|call| {
            let want = list(call, "queue")[self.n];
            let time = get(want, "time").i64().expect("a number");
            assert_eq!(queued, Queued::new(time, int(want, "attempts")));
            key.append_bytes(&hex(get(want, "key")));
        });
        self.n += 1;
    }
}

impl Hint for Replay {
    fn hint(&mut self, base: &Base, event: Event<'_>, pod: Pod<'_>) -> HintResult {
        self.check_listed(base, pod);
        look(|call| {
            let want = get(call, "event");
            assert_eq!(event.resource(), EventKind(int(want, "resource")));
            assert_eq!(event.actions(), EventAction(int(want, "actions")));
            for (pod, key) in [(event.old_pod(), "old_pod"), (event.new_pod(), "new_pod")] {
                match (pod, want.get(key).expect("an object")) {
                    (Some(pod), Some(want)) => Printer(base).check_pod(key, pod, want),
                    (pod, want) => assert_eq!(pod.is_some(), want.is_some(), "{}", key),
                }
            }
            for (node, key) in [
                (event.old_node(), "old_node"),
                (event.new_node(), "new_node"),
            ] {
                assert_eq!(node.map_or(u32::MAX, Node::row), int(want, key), "{}", key);
            }
            let name = |key| {
                want.get(key)
                    .expect("an object")
                    .map_or(String::new(), text)
            };
            assert_eq!(
                (event.namespace(), event.name()),
                (&*name("namespace"), &*name("name"))
            );
        });
        match self.next(base).code() {
            Code::SUCCESS => HintResult::Queue,
            _ => HintResult::QueueSkip,
        }
    }
}

impl PreFilter for Replay {
    fn pre_filter(
        &mut self,
        base: &Base,
        pod: Pod<'_>,
        nodes: Nodes<'_>,
        rows: &mut Rows<'_>,
    ) -> Status {
        check_pod(base, pod);
        look(|call| {
            for row in numbers(call, "row_set") {
                rows.add(nodes.at(row as usize));
            }
        });
        direct(base)
    }
}

impl Filter for Replay {
    fn filter(&mut self, base: &Base, pod: Pod<'_>, _: Node<'_>) -> Status {
        check_pod(base, pod);
        self.next(base)
    }
}

impl PostFilter for Replay {
    fn post_filter(&mut self, base: &Base, pod: Pod<'_>, nodes: Judged<'_>) -> Status {
        check_pod(base, pod);
        let codes: Vec<i64> = nodes.iter().map(|(_, code)| code.0.into()).collect();
        assert_eq!(codes, look(|call| numbers(call, "codes")));
        direct(base)
    }
}

impl Score for Replay {
    fn score(&mut self, _: &Base, _: Pod<'_>, node: Node<'_>) -> i64 {
        self.n += 1;
        look(|call| {
            assert_eq!(i64::from(node.row()), numbers(call, "rows")[self.n - 1]);
            numbers(call, "scores")[self.n - 1]
        })
    }
}

impl Reserve for Replay {
    fn reserve(&mut self, base: &Base, pod: Pod<'_>, _: Node<'_>) -> Status {
        check_pod(base, pod);
        direct(base)
    }
}

impl Permit for Replay {
    fn permit(&mut self, base: &Base, pod: Pod<'_>, _: Node<'_>) -> (Duration, Status) {
        check_pod(base, pod);
        direct(base);
        let wait = look(|call| int(call, "wait"));
        let after = look(|call| int(call, "retry_after"));
        base.retry_after(Duration::from_millis(after.into()));
        (Duration::from_millis(wait.into()), Status::WAIT)
    }
}

crate::export!(
    Replay: pre_enqueue,
    queue_key,
    hint,
    pre_filter,
    filter,
    post_filter,
    score,
    reserve,
    permit,
);
