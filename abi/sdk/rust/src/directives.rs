//! Directives: what a plugin asks the host to do (SPEC.md, section 13).
//!
//! The host does it after the call, if the call answers SUCCESS, or WAIT from permit. The manifest
//! lists what a plugin asks for in `directives`, and the user grants it. Asking for anything else,
//! or at a point that does not have the directive, is a fault of the plugin, and nothing of the
//! call is carried out (ABI-13.2). The host may discard directives: a plugin may be run to see what
//! it would do.
//!
//! These methods return false, and request nothing, where the host would refuse: more than 256
//! directives or 65,536 bytes of their texts in a call, or a value that no label may have. A
//! plugin that needs the directive then answers with an error.

use crate::abi::limit;
use crate::base::Base;
use crate::records::{Directive, Text};

const ANNOTATE: u32 = 1;
const LABEL: u32 = 2;
const NOMINATE: u32 = 3;
const BIND: u32 = 4;
const ALLOW: u32 = 5;
const REJECT: u32 = 6;
const ACTIVATE: u32 = 7;

impl Base {
    /// Writes an annotation of the pod, of a prefix that the manifest declares; a later one of
    /// the same key counts. At reserve, pre_bind and bind. Patches of reserve are visible to the
    /// next cycle at once, and are written in the API together with the binding, or not at all
    /// (ABI-5.16).
    pub fn annotate(&self, key: &str, value: &str) -> bool {
        self.direct(ANNOTATE, key, value)
    }

    /// Writes a label of the pod, as annotate does; false for a value that no label has.
    pub fn label(&self, key: &str, value: &str) -> bool {
        is_label_value(value) && self.direct(LABEL, key, value)
    }

    /// Nominates a node for the pod, by its name; an empty name clears the nomination. At
    /// post_filter. Declared as `nominate`.
    pub fn nominate(&self, node: &str) -> bool {
        self.direct(NOMINATE, node, "")
    }

    /// Binds the pod to the chosen node. At bind, whose SUCCESS needs it. Declared as `bind`.
    pub fn bind_pod(&self) -> bool {
        self.direct(BIND, "", "")
    }

    /// Ends the wait that this plugin asked for, of the pod with this UID. At the points from
    /// reserve on, and at post_filter. Declared as `waiting`.
    pub fn allow(&self, uid: &str) -> bool {
        self.direct(ALLOW, uid, "")
    }

    /// Sends a waiting pod back to the queue, with a reason that people read. At the points from
    /// reserve on, and at post_filter. Declared as `waiting`.
    pub fn reject(&self, uid: &str, reason: &str) -> bool {
        self.direct(REJECT, uid, reason)
    }

    /// Moves a parked pod, by its UID, to the active queue at once, if the call's own pod is
    /// placed. At the points from reserve on. Declared as `activate`.
    pub fn activate(&self, uid: &str) -> bool {
        self.direct(ACTIVATE, uid, "")
    }

    fn direct(&self, kind: u32, first: &str, second: &str) -> bool {
        let answers = &mut *self.answers.borrow_mut();
        let size = first.len() + second.len();
        if answers.directives.len() == limit::DIRECTIVES
            || answers.texts + size > limit::DIRECTIVE_TEXTS
        {
            return false;
        }
        answers.texts += size;
        let mut copy = |text: &str| Text {
            address: match text.len() {
                0 => 0,
                _ => self
                    .memory
                    .address(answers.scratch.copy(&self.memory, text.as_bytes())),
            },
            length: text.len() as u32,
        };
        let directive = Directive {
            kind,
            zero: 0,
            first: copy(first),
            second: copy(second),
        };
        answers.directives.push(&self.memory, directive);
        true
    }
}

/// Reports whether a text is a value of a label: empty, or at most 63 letters, digits, dashes, dots
/// and underscores, a letter or digit at both ends.
fn is_label_value(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends = |b: &u8| b.is_ascii_alphanumeric();
    bytes.len() <= 63
        && bytes.iter().all(|b| ends(b) || b"-_.".contains(b))
        && bytes.first().map_or(true, ends)
        && bytes.last().map_or(true, ends)
}

#[cfg(test)]
mod tests {
    use super::is_label_value;

    #[test]
    fn label_values() {
        let (longest, longer) = ("x".repeat(63), "x".repeat(64));
        for good in ["", "a", "A-b_c.9", &longest] {
            assert!(is_label_value(good), "{}", good);
        }
        for bad in [&longer, "-a", "a-", "a b", "é", ".", "a/b"] {
            assert!(!is_label_value(bad), "{}", bad);
        }
    }
}
