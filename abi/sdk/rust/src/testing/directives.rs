//! Directives as a host reads and checks them (SPEC.md, section 13).

use std::string::String;
use std::vec::Vec;

use super::manifest::Reads;
use crate::abi::Point;

/// A directive (ABI-13.1).
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Directive {
    Annotate(String, String),
    Label(String, String),
    Nominate(String),
    Bind,
    Allow(String),
    Reject(String, String),
    Activate(String),
}

/// What a manifest declares under `directives` (ABI-9.11).
#[derive(Default)]
pub(crate) struct Declared {
    pub annotations: Vec<String>,
    pub labels: Vec<String>,
    /// nominate, bind, waiting and activate, as far as they are true.
    pub others: Vec<String>,
}

impl Directive {
    /// Makes a directive of its number and texts.
    pub(crate) fn of(kind: u32, first: String, second: String) -> Directive {
        match kind {
            1 => Directive::Annotate(first, second),
            2 => Directive::Label(first, second),
            3 => Directive::Nominate(first),
            4 => Directive::Bind,
            5 => Directive::Allow(first),
            6 => Directive::Reject(first, second),
            7 => Directive::Activate(first),
            kind => panic!("there is no directive {} (ABI-13.2)", kind),
        }
    }

    /// Panics where a host would call it a fault: at a point that does not have the directive, or
    /// if the manifest does not declare it (ABI-13.2).
    pub(crate) fn check(&self, point: Point, reads: &Reads) {
        let chosen = point.0 >= Point::RESERVE.0;
        let patches = matches!(point, Point::RESERVE | Point::PRE_BIND | Point::BIND);
        let d = &reads.directives;
        let begins = |prefixes: &[String], key: &str| prefixes.iter().any(|p| key.starts_with(p));
        let has = |name: &str| d.others.iter().any(|known| known == name);
        let (is_for, declared) = match self {
            Directive::Annotate(key, _) => (patches, begins(&d.annotations, key)),
            Directive::Label(key, _) => (patches, begins(&d.labels, key)),
            Directive::Nominate(_) => (point == Point::POST_FILTER, has("nominate")),
            Directive::Bind => (point == Point::BIND, has("bind")),
            Directive::Allow(_) | Directive::Reject(..) => {
                (chosen || point == Point::POST_FILTER, has("waiting"))
            }
            Directive::Activate(_) => (chosen, has("activate")),
        };
        assert!(is_for, "{:?} is none of {} (ABI-13.2)", self, point.name());
        assert!(
            declared,
            "{:?} is not declared in the manifest's directives (ABI-13.2)",
            self
        );
    }
}
