//! What a manifest declares (SPEC.md, section 9): the lists that give handles their numbers, the
//! fields of the pod record, the points and the host functions.

use crate::abi::Point;
use crate::error::Error;
use crate::json::Value;
use crate::scan::{self, NONE};

/// The text of a manifest. Its functions are const, so that mistakes are found when the plugin
/// is compiled.
#[derive(Clone, Copy)]
pub struct Manifest {
    text: &'static [u8],
}

impl Manifest {
    /// A manifest.json, as `include_str!` gives it.
    pub const fn new(text: &'static str) -> Manifest {
        Manifest {
            text: text.as_bytes(),
        }
    }

    /// The text, as an array for the module's section.
    #[doc(hidden)]
    pub const fn bytes<const N: usize>(&self) -> [u8; N] {
        let mut out = [0; N];
        let mut i = 0;
        while i < N {
            out[i] = self.text[i];
            i += 1;
        }
        out
    }

    /// Reports whether the module may import a host function (ABI-9.6).
    pub const fn host(&self, function: &str) -> bool {
        let list = scan::member(self.text, 0, "host");
        list != NONE && scan::index(self.text, list, function) != NONE
    }

    /// The points that are declared (ABI-9.3), as bits by their numbers. The text is read once: the compiler
    /// does not run for long.
    pub const fn points(&self) -> u32 {
        let points = scan::member(self.text, 0, "points");
        let (mut bits, mut i) = (0, 0);
        while points != NONE && i < Point::COUNT {
            let point = Point::nth(i);
            if scan::member(self.text, points, point.name()) != NONE {
                bits |= 1 << point.0;
            }
            i += 1;
        }
        bits
    }

    /// Reports whether the configuration has names of a list of `reads` (ABI-9.15).
    pub(crate) const fn brings(&self) -> bool {
        let s = self.text;
        let reads = scan::member(s, 0, "reads");
        let mut list = match reads {
            NONE => NONE,
            reads => scan::first(s, reads),
        };
        while list != NONE {
            let names = scan::value(s, list);
            let mut at = scan::first(s, names);
            while at != NONE {
                if s[at] == b'{' {
                    return true;
                }
                at = scan::next(s, scan::skip(s, at));
            }
            list = scan::next(s, scan::skip(s, names));
        }
        false
    }

    /// The manifest as a value.
    pub(crate) fn parse(&self) -> Result<Value<'static>, Error> {
        Value::parse(self.text)
    }

    /// Where a list of `reads` is; NONE if it is not there.
    pub(crate) const fn list(&self, name: &str) -> usize {
        match scan::member(self.text, 0, "reads") {
            NONE => NONE,
            reads => scan::member(self.text, reads, name),
        }
    }

    /// The number of names that the manifest has in a list of `reads`.
    pub(crate) const fn length(&self, list: &str) -> usize {
        match self.list(list) {
            NONE => 0,
            at => scan::length(self.text, at),
        }
    }

    /// The index of a name that the manifest has in a list of `reads`.
    pub(crate) const fn index(&self, list: &str, name: &str) -> Option<u32> {
        match self.list(list) {
            NONE => None,
            at => match scan::index(self.text, at, name) {
                NONE => None,
                i => Some(i as u32),
            },
        }
    }

    /// The fields of the pod record that are declared, as bits of PodReads.
    pub(crate) fn pod(&self) -> u32 {
        let mut bits = 0;
        let list = self.list("pod");
        for (i, name) in POD_READS.iter().enumerate() {
            if list != NONE && scan::index(self.text, list, name) != NONE {
                bits |= 1 << i;
            }
        }
        bits
    }
}

/// Names of the list `pod`; a field's bit is its place here.
pub(crate) const POD_READS: [&str; 27] = [
    "name",
    "namespace",
    "priority",
    "requests",
    "nonZeroRequested",
    "labels",
    "annotations",
    "owner",
    "tolerations",
    "nodeSelector",
    "affinity",
    "hostPorts",
    "images",
    "nodeName",
    "schedulingGates",
    "namespaceLabels",
    "uid",
    "createdAt",
    "priorityClass",
    "serviceAccount",
    "preemptionPolicy",
    "group",
    "limits",
    "qos",
    "claims",
    "now",
    "containers",
];

/// Numbers of fields in POD_READS.
pub(crate) mod reads {
    pub const NAME: usize = 0;
    pub const NAMESPACE: usize = 1;
    pub const PRIORITY: usize = 2;
    pub const REQUESTS: usize = 3;
    pub const NON_ZERO: usize = 4;
    pub const LABELS: usize = 5;
    pub const ANNOTATIONS: usize = 6;
    pub const OWNER: usize = 7;
    pub const TOLERATIONS: usize = 8;
    pub const NODE_SELECTOR: usize = 9;
    pub const AFFINITY: usize = 10;
    pub const HOST_PORTS: usize = 11;
    pub const IMAGES: usize = 12;
    pub const NODE_NAME: usize = 13;
    pub const SCHEDULING_GATES: usize = 14;
    pub const NAMESPACE_LABELS: usize = 15;
    pub const UID: usize = 16;
    // Generated from abi/fields.
    pub const CREATED_AT: usize = 17;
    pub const PRIORITY_CLASS: usize = 18;
    pub const SERVICE_ACCOUNT: usize = 19;
    pub const PREEMPTION_POLICY: usize = 20;
    pub const GROUP: usize = 21;
    pub const LIMITS: usize = 22;
    pub const QOS: usize = 23;
    pub const CLAIMS: usize = 24;
    pub const NOW: usize = 25;
    pub const CONTAINERS: usize = 26;
}

/// Ends a plugin that reads a column that its manifest does not list.
#[cold]
#[inline(never)]
pub(crate) fn undeclared(list: &str, name: &str) -> ! {
    panic!(
        "berth: manifest.json: reads.{} does not list {}",
        list, name
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#" {"name":"x\"y\\","points":{"filter":{"scope":"node"},"n":[1,-2.5e+3,true,null,[],{}]},
        "reads":{"nodeLabels":["a\/b","\u00e9\ud83d\ude00", "plain"],"pod":["labels","namespace"],"resources":[]},
        "host":["log"]} "#;
    const M: Manifest = Manifest::new(TEXT);
    // The same when compiling.
    const _: () = assert!(M.host("log") && M.points() == 1 << Point::FILTER.0);

    #[test]
    fn lists() {
        assert!(M.host("log") && !M.host("state_get"));
        assert_eq!(M.index("nodeLabels", "a/b"), Some(0));
        assert_eq!(M.index("nodeLabels", "é😀"), Some(1));
        assert_eq!(M.index("nodeLabels", "plain"), Some(2));
        for absent in ["", "plai", "plain ", "é", "a\\/b"] {
            assert_eq!(M.index("nodeLabels", absent), None, "{}", absent);
        }
        assert_eq!(
            (
                M.length("nodeLabels"),
                M.length("resources"),
                M.length("podLabels")
            ),
            (3, 0, 0)
        );
        assert_eq!(M.pod(), 1 << reads::LABELS | 1 << reads::NAMESPACE);
    }

    #[test]
    fn pod_reads() {
        for (number, name) in [
            (reads::NAME, "name"),
            (reads::NAMESPACE, "namespace"),
            (reads::PRIORITY, "priority"),
            (reads::REQUESTS, "requests"),
            (reads::NON_ZERO, "nonZeroRequested"),
            (reads::LABELS, "labels"),
            (reads::ANNOTATIONS, "annotations"),
            (reads::OWNER, "owner"),
            (reads::TOLERATIONS, "tolerations"),
            (reads::NODE_SELECTOR, "nodeSelector"),
            (reads::AFFINITY, "affinity"),
            (reads::HOST_PORTS, "hostPorts"),
            (reads::IMAGES, "images"),
            (reads::NODE_NAME, "nodeName"),
            (reads::SCHEDULING_GATES, "schedulingGates"),
            (reads::NAMESPACE_LABELS, "namespaceLabels"),
            (reads::UID, "uid"),
        ] {
            assert_eq!(POD_READS[number], name);
        }
    }

    #[test]
    fn mistakes() {
        extern crate std;
        for bad in [
            "",
            "{",
            "[]",
            r#"{"reads":{"nodeLabels":"a"}}"#,
            r#"{"reads":{"nodeLabels":["a"}}"#,
            r#"{"a":"\u12"}"#,
            r#"{"a" 1}"#,
            r#"{"a":}"#,
            r#"{"a":"b"#,
            r#"{"reads":1}"#,
        ] {
            let read = std::panic::catch_unwind(|| Manifest::new(bad).index("nodeLabels", "é"));
            assert!(!matches!(read, Ok(Some(_))), "{}", bad);
        }
    }
}
