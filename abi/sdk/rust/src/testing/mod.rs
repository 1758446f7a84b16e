//! Runs a plugin natively on a few nodes and shows what it decides:
//!
//! ```
//! # use berth::{Base, Filter, Node, Plugin, Pod, Status};
//! # struct Easy;
//! # impl Plugin for Easy {
//! #     const MANIFEST: &'static str = r#"{"name": "easy", "version": "1.0.0", "abi": "1.0",
//! #         "points": {"filter": {"scope": "node"}}, "reads": {"node": ["name"]}}"#;
//! #     fn new(_: &mut Base) -> Easy { Easy }
//! # }
//! # impl Filter for Easy {
//! #     fn filter(&mut self, _: &Base, _: Pod<'_>, _: Node<'_>) -> Status { Status::SUCCESS }
//! # }
//! # berth::export!(Easy: filter);
//! use berth::testing::{self, Trial};
//!
//! let mut trial = Trial::<Easy>::new("{}");
//! trial.nodes.push(testing::Node { name: "a".into(), ..Default::default() });
//! let verdicts = trial.place(&testing::Pod { namespace: "default".into(), ..Default::default() });
//! assert_eq!(verdicts[0].to_string(), "a Success 0");
//! ```
//!
//! `place` tries each case in several ways that must not matter: in one instance; with a fresh
//! instance for every call; with rows, ids and slots numbered otherwise and rows split over
//! several calls; and on overlay rows. A difference panics. The other points are called one by
//! one, see [`Trial`].
//!
//! [`Scenarios`] does the same with cases in text files. The memory that plugins see is written
//! from abi/SPEC.md alone, with numbers of its own, so that one tests the other.

mod bytes;
mod caller;
mod cluster;
mod directives;
mod host;
mod image;
mod manifest;
mod native;
mod normalize;
mod points;
mod record;
mod scenario;
mod session;
mod snapshot;
mod tables;
mod trial;

pub use caller::Caller;
pub use cluster::{
    Happened, Labels, Namespace, Node, Numbers, Pod, Port, Preferred, Requirement, Taint,
    Toleration,
};
pub use directives::Directive;
pub use host::TestHost;
pub use native::Native;
pub use points::Outcome;
pub use scenario::Scenarios;
pub use trial::{Trial, Verdict};
