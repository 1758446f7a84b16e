//! Constant strings whose ids are known in every call.

use crate::base::Base;
use crate::columns::Columns;
use crate::memory::{Memory, View};
use crate::room::{keep, Room};
use crate::types::Id;

/// A constant string, whose id is known in every call. Create it with the plugin or in
/// configure, by [`Base::constant`](crate::Base::constant).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Const(pub(crate) u32);

impl Const {
    /// The string's id in this call; ABSENT if nothing in the snapshot, and not the pod, has
    /// the string. Compare with care: ABSENT is also the id of a label that is not there, see
    /// `is`.
    #[inline]
    pub fn id(self, base: &Base) -> Id {
        base.constants.all.slice()[self.0 as usize].id
    }

    /// Reports whether an id is that of the constant. ABSENT never is.
    #[inline]
    pub fn is(self, base: &Base, id: Id) -> bool {
        id != Id::ABSENT && id == self.id(base)
    }

    /// The string.
    pub fn text(self, base: &Base) -> &str {
        base.constants.all.slice()[self.0 as usize].text()
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Constant {
    text: View<u8>,
    hash: u32,
    pub id: Id,
}

impl Constant {
    fn text(&self) -> &str {
        unsafe { core::str::from_utf8_unchecked(self.text.slice()) } // add took a str
    }
}

/// Resolves strings to ids. The dictionary only grows within an epoch (ABI-4.6), so a call looks
/// at strings that are new since the last.
pub(crate) struct Constants {
    all: Room<Constant>,
    /// Indices plus 1 by hash, at most half full.
    places: Room<u32>,
    /// Bit n: there is a constant of n bytes; bit 63: or more.
    lengths: u64,
    scanned: u32,
    epoch: u64,
}

/// FNV-1a.
fn hash(text: &[u8]) -> u32 {
    let mut h = 0x811c_9dc5_u32;
    for b in text {
        h = (h ^ u32::from(*b)).wrapping_mul(0x0100_0193);
    }
    h
}

impl Constants {
    pub const fn new() -> Constants {
        Constants {
            all: Room::new(),
            places: Room::new(),
            lengths: 0,
            scanned: 0,
            epoch: 0,
        }
    }

    /// The place of a text: that of its constant, or a free one.
    fn place(&self, text: &[u8], hash: u32) -> usize {
        let places = self.places.slice();
        let mut at = hash as usize & (places.len() - 1);
        loop {
            match places[at] {
                0 => return at,
                n => {
                    let known = &self.all.slice()[n as usize - 1];
                    if known.hash == hash && known.text.slice() == text {
                        return at;
                    }
                }
            }
            at = (at + 1) & (places.len() - 1);
        }
    }

    pub fn add(&mut self, memory: &Memory, text: &str) -> Const {
        if 2 * (self.all.len() + 1) > self.places.len() {
            self.places
                .fill(memory, (4 * self.all.len()).next_power_of_two().max(16), 0);
            for i in 0..self.all.len() {
                let known = self.all.slice()[i];
                let at = self.place(known.text.slice(), known.hash);
                self.places.slice_mut()[at] = i as u32 + 1;
            }
        }
        let hash = hash(text.as_bytes());
        let at = self.place(text.as_bytes(), hash);
        if self.places.slice()[at] == 0 {
            let kept = keep(memory, text.len());
            unsafe { kept.copy_from_nonoverlapping(text.as_ptr(), text.len()) };
            self.all.push(
                memory,
                Constant {
                    text: memory.view(memory.address(kept), text.len() as u32),
                    hash,
                    id: Id::ABSENT,
                },
            );
            self.places.slice_mut()[at] = self.all.len() as u32;
            self.lengths |= 1 << text.len().min(63);
            self.scanned = 0; // look at all strings again
        }
        Const(self.places.slice()[at] - 1)
    }

    /// Looks at the strings that are new.
    pub fn resolve(&mut self, columns: &Columns) {
        let rows = columns.n_strings();
        if self.lengths == 0 || rows == 0 {
            return;
        }
        if self.epoch != columns.epoch() || rows < self.scanned {
            for known in self.all.slice_mut() {
                known.id = Id::ABSENT;
            }
            self.scanned = 0;
            self.epoch = columns.epoch();
        }
        for id in self.scanned.max(1)..rows {
            if self.lengths >> columns.text_length(id).min(63) & 1 == 0 {
                continue;
            }
            let text = columns.bytes(id);
            match self.places.slice()[self.place(text, hash(text))] {
                0 => {}
                n => self.all.slice_mut()[n as usize - 1].id = Id(id),
            }
        }
        self.scanned = rows;
    }
}

#[cfg(all(test, feature = "testing"))]
mod tests {
    use std::rc::Rc;
    use std::string::String;
    use std::vec::Vec;

    use super::Const;
    use crate::fixtures::with_strings;
    use crate::testing::{Native, TestHost};
    use crate::{Base, Id, Plugin};

    struct Nothing;

    impl Plugin for Nothing {
        const MANIFEST: &'static str = r#"{"points": {}}"#;

        fn new(_: &mut Base) -> Nothing {
            Nothing
        }
    }

    impl crate::guest::Exported for Nothing {
        const POINTS: &'static [(crate::abi::Point, crate::guest::Serve<Nothing>)] = &[];
        const CONFIGURE: Option<crate::guest::ServeConfigure<Nothing>> = None;
    }

    /// A snapshot with these strings, as ids 1, 2, …
    fn resolve(native: &mut Native<Nothing>, epoch: u32, strings: &[&str]) {
        let strings = strings.iter().map(|text| String::from(*text));
        let header = with_strings(native, epoch, strings);
        let base = native.base();
        base.columns.refresh(&base.memory, header);
        base.constants.resolve(&base.columns);
    }

    fn check(native: &mut Native<Nothing>, when: &str, want: &[(Const, u32)]) {
        let base = native.base();
        for (constant, id) in want {
            assert_eq!(
                constant.id(base),
                Id(*id),
                "{}: {:?}",
                when,
                constant.text(base)
            );
            assert_eq!(
                constant.is(base, Id(*id)),
                *id != 0,
                "{}: {:?}",
                when,
                constant.text(base)
            );
        }
    }

    /// Ids are those of the epoch, and strings that are new are found.
    #[test]
    fn ids() {
        let mut native = Native::<Nothing>::new(Rc::new(TestHost::default()));
        let (x, y) = ("x".repeat(100), "x".repeat(99));
        let (a, empty, long) = {
            let base = native.base();
            (base.constant("a"), base.constant(""), base.constant(&x))
        };
        assert_eq!(native.base().constant("a"), a);
        resolve(&mut native, 1, &["b", "a"]);
        check(&mut native, "first call", &[(a, 2), (empty, 0), (long, 0)]);
        resolve(&mut native, 1, &["b", "a", "", &y]);
        check(&mut native, "two more", &[(a, 2), (empty, 3), (long, 0)]);
        resolve(&mut native, 1, &["b", "a", "", &y, &x]);
        check(&mut native, "one more", &[(a, 2), (empty, 3), (long, 5)]);
        resolve(&mut native, 2, &["a", "c"]);
        check(&mut native, "a new epoch", &[(a, 1), (empty, 0), (long, 0)]);
        let late = native.base().constant("c");
        resolve(&mut native, 2, &["a", "c"]);
        check(
            &mut native,
            "a constant that came late",
            &[(a, 1), (late, 2)],
        );
    }

    /// Many constants, as of a long list in a configuration.
    #[test]
    fn many() {
        let mut native = Native::<Nothing>::new(Rc::new(TestHost::default()));
        let texts: Vec<String> = (0..3000).map(|i| std::format!("tenant-{}", i)).collect();
        let base = native.base();
        let all = texts.iter().map(|text| base.constant(text));
        let want: Vec<(Const, u32)> = all.zip((1..3001).rev()).collect();
        let strings: Vec<&str> = texts.iter().rev().map(String::as_str).collect();
        resolve(&mut native, 1, &strings);
        check(&mut native, "in reverse", &want);
    }
}
