//! In a call limits hold, nothing is allocated, and mistakes panic with a text that says what is
//! wrong.

use core::cell::Cell;
use std::alloc::{GlobalAlloc, Layout, System};
use std::format;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::string::{String, ToString};

use super::{file, get, int, text, written};
use crate::json::Value;
use crate::plugin::Rows;
use crate::room::Room;
use crate::{Base, Id, Reason};

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

/// Calls f as in a call of a vector, after what new does.
fn in_call<T>(name: &str, new: impl FnOnce(&mut Base), f: impl FnOnce(&mut Base, u32) -> T) -> T {
    let all = file("regions.json");
    let mut all = Value::parse(&all).unwrap().elements().unwrap();
    let vector = all.find(|v| text(get(*v, "name")).starts_with(name));
    let vector = vector.expect("there is such a vector");
    let mut native = written(vector);
    new(native.base());
    let call = int(vector, "call");
    native.base().begin(call);
    f(native.base(), call)
}

/// Texts are cut between characters, and beyond the limits there is no reason instead of a fault
/// (ABI-3.8, ABI-10). The same texts are one reason.
#[test]
fn reasons() {
    let new = |base: &mut Base| {
        let lasting = base.reason(&["a"]);
        assert_eq!(base.reason(&["a"]), lasting);
        assert_ne!(base.reason(&["b"]), lasting);
        assert_ne!(base.reason(&["a", "b"]), base.reason(&["ab"]));
        assert_ne!(base.reason(&["a", "bc"]), base.reason(&["ab", "c"]));
        assert_eq!(base.reason(&[]), Reason::NONE);
    };
    in_call("a filter call", new, |base, call| {
        let lasting = 1 + 1 + 2 + 2 + 3 + 3;
        let many = |base: &Base| {
            let long = |i| format!("{:04}{}", i, "\u{e9}".repeat(600));
            let kept = (0..80).take_while(|i| base.reason(&[&long(*i)]) != Reason::NONE);
            kept.count()
        };
        // 4 bytes and 1,200 of \u{e9} become 4 and 1,020.
        assert_eq!(many(base), (65_536 - lasting) / 1024);
        assert_eq!(base.reason(&["a"]), Reason(1));
        base.begin(call);
        assert_eq!(many(base), (65_536 - lasting) / 1024, "in the next call");
        base.begin(call);
        let made = (0..2000).filter(|i: &u32| base.reason(&[&i.to_string()]) != Reason::NONE);
        assert_eq!(made.count(), 1024 - 6);
    });
}

/// Directives beyond the limits are not asked for, and those of a call end with it.
#[test]
fn directives() {
    in_call(
        "a reserve call",
        |_| (),
        |base, call| {
            for _ in 0..2 {
                let made =
                    (0..300).filter(|i: &u32| base.annotate("example.com/a", &i.to_string()));
                assert_eq!(made.count(), 256);
                base.begin(call);
            }
            let long = "x".repeat(30_000);
            assert!(base.annotate("example.com/a", &long) && base.annotate("example.com/b", &long));
            let more = base.annotate("example.com/c", &long);
            assert!(!more, "65,536 bytes of texts");
            assert!(base.bind_pod());
        },
    );
}

/// Reading nodes and pods, comparing strings, and reasons and directives take no memory of the
/// heap, and after the first call none of the instance.
#[test]
fn nothing_is_allocated() {
    let new = |base: &mut Base| {
        base.constant("a");
    };
    in_call("every type", new, |base, call| {
        let mut before = (0, 0);
        for i in 0..100 {
            base.begin(call);
            let mut sum = 0;
            for node in base.snapshot().nodes().iter() {
                sum += node.name().len() + node.taints().len() + node.pods().len();
                sum += usize::from(node.label_by_key(Id(1)) == Id::ABSENT);
                base.reason(&["of zone a:", node.name()]);
                base.annotate("example.com/a", node.name());
            }
            assert!(sum > 0);
            let now = (COUNT.with(Cell::get), base.memory.used());
            if i > 0 {
                assert_eq!(now, before, "allocations, and bytes of the linear memory");
            }
            before = now;
        }
    });
}

/// What a panic said.
fn panic_of<T>(f: impl FnOnce() -> T) -> String {
    let what = catch_unwind(AssertUnwindSafe(f)).err().expect("a panic");
    let text = what.downcast_ref::<String>().cloned();
    let text = text.or_else(|| what.downcast_ref::<&str>().map(ToString::to_string));
    text.expect("a panic with a text")
}

#[test]
fn mistakes() {
    in_call(
        "a filter call",
        |_| (),
        |base, _| {
            let nodes = base.nodes(0);
            let mut room = Room::new();
            let mut rows = Rows {
                base,
                rows: &mut room,
                counts: false,
            };
            rows.add(nodes.at(1));
            let said = panic_of(|| rows.add(nodes.at(0)));
            assert_eq!(
                said,
                "berth: rows must be added in the order of Nodes, each once"
            );
            let said = panic_of(|| nodes.at(nodes.len()));
            assert_eq!(said, "berth: no such node");
            let said = panic_of(|| base.node_label("zone"));
            assert!(
                said.ends_with("reads.nodeLabels does not list zone"),
                "{}",
                said
            );
        },
    );
}
