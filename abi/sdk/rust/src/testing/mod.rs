//! Runs a plugin natively, behind the functions that its module has, for unit tests:
//!
//! ```
//! # use berth::{Base, Configure, Error, Filter, Node, Plugin, Pod, Status};
//! # struct Easy;
//! # impl Plugin for Easy {
//! #     const MANIFEST: &'static str = r#"{"name": "easy", "version": "1.0.0", "abi": "1.0",
//! #         "points": {"filter": {"scope": "node"}}, "reads": {"node": ["name"]}, "host": ["log"]}"#;
//! #     fn new(_: &mut Base) -> Easy { Easy }
//! # }
//! # impl Configure for Easy {
//! #     fn configure(&mut self, _: &mut Base, config: &[u8]) -> Result<(), Error> {
//! #         berth::json::Value::parse(config)?.only(&["easy"])
//! #     }
//! # }
//! # impl Filter for Easy {
//! #     fn filter(&mut self, _: &Base, _: Pod<'_>, _: Node<'_>) -> Status { Status::SUCCESS }
//! # }
//! # berth::export!(Easy: configure, filter);
//! use berth::testing::{Native, TestHost};
//!
//! let host = std::rc::Rc::new(TestHost::default());
//! let mut native = Native::<Easy>::new(host.clone());
//! let config = br#"{"hard": true}"#;
//! let at = native.alloc(config.len() as u32, 1);
//! native.memory_mut()[at as usize..][..config.len()].copy_from_slice(config);
//! assert_ne!(native.configure(at, config.len() as u32), 0);
//! assert_eq!(host.log.borrow()[0].1, "hard: there is no such field; there are easy");
//! ```
//!
//! What a plugin decides about pods and nodes is said in scenario files, which
//! `berth plugin test` runs with the module.

mod host;
mod native;

pub use host::TestHost;
pub use native::Native;
