//! A call for many nodes allocates nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use berth::testing::{self, Trial};
use berth::{Base, Const, Filter, Node, NodeLabel, Plugin, Pod, Reason, Score, Status};

struct Counting;

std::thread_local! {
    #[allow(clippy::declare_interior_mutable_const)] // what the macro makes of it
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        System.alloc(layout)
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        System.dealloc(at, layout);
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Reads columns of several kinds, and refuses some of the nodes.
struct Busy {
    zone: NodeLabel,
    a: Const,
    zone_key: Const,
    lasting: Reason,
}

impl Plugin for Busy {
    const MANIFEST: &'static str = r#"{
        "points": {"filter": {"scope": "node"}, "score": {"scope": "node"}},
        "reads": {"node": ["name", "labels", "taints", "pods"], "nodeLabels": ["zone"], "pods": ["namespace"], "pod": ["name", "tolerations"]}
    }"#;

    fn new(base: &mut Base) -> Busy {
        Busy {
            zone: base.node_label("zone"),
            a: base.constant("a"),
            zone_key: base.constant("zone"),
            lasting: base.reason(&["zone a is full"]),
        }
    }
}

impl Filter for Busy {
    fn filter(&mut self, base: &Base, pod: Pod<'_>, node: Node<'_>) -> Status {
        assert_eq!(
            node.label_by_key(self.zone_key.id(base)),
            node.label(self.zone)
        );
        if node.taints().iter().any(|taint| !pod.tolerates(taint)) || node.pods().len() > 1 {
            return Status::unschedulable(self.lasting);
        }
        if self.a.is(base, node.label(self.zone)) {
            // Made in the call: it is in the plugin's own room, too.
            return Status::unschedulable(base.reason(&["of zone a:", node.name()]));
        }
        Status::SUCCESS
    }
}

impl Score for Busy {
    fn score(&mut self, _: &Base, _: Pod<'_>, node: Node<'_>) -> i64 {
        node.pods().len() as i64
    }
}

berth::export!(Busy: filter, score);

#[test]
fn nothing_is_allocated() {
    let mut trial = Trial::<Busy>::new("{}");
    for i in 0..200 {
        let mut node = testing::Node {
            name: format!("node-{}", i),
            ..Default::default()
        };
        node.labels
            .insert("zone".into(), ["a", "b", "c"][i % 3].into());
        if i % 5 == 0 {
            node.taints.push(testing::Taint {
                key: "x".into(),
                effect: "NoSchedule".into(),
                ..Default::default()
            });
        }
        node.pods = vec![testing::Pod::default(); i % 3];
        trial.nodes.push(node);
    }
    let mut caller = trial.caller(&testing::Pod::default());
    caller.call(); // the first call takes room
    let (before, used) = (COUNT.with(Cell::get), caller.used());
    for _ in 0..100 {
        caller.call();
    }
    assert_eq!(COUNT.with(Cell::get) - before, 0, "from the heap");
    assert_eq!(caller.used() - used, 0, "bytes of the linear memory");
}
