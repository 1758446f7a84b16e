//! Reason sets (ABI-3.6), within the limits of section 10: what does not fit has no reason, so
//! that it is not a fault (ABI-3.8).

use crate::abi::limit;
use crate::memory::Memory;
use crate::records::Text;
use crate::room::{keep, Room, Scratch};
use crate::status::Reason;

/// The reason sets of a plugin, where the host reads them.
pub(crate) struct Reasons {
    sets: Room<Text>,
    /// Of the sets' texts, to find one again.
    hashes: Room<u32>,
    /// Sets that were not made in a call.
    lasting: usize,
    /// Sets that a call told the host of.
    told: usize,
    /// Bytes of all texts, and of those that last.
    bytes: usize,
    lasting_bytes: usize,
}

impl Reasons {
    pub const fn new() -> Reasons {
        Reasons {
            sets: Room::new(),
            hashes: Room::new(),
            lasting: 0,
            told: 0,
            bytes: 0,
            lasting_bytes: 0,
        }
    }

    /// Adds a set: for this call with scratch, otherwise for the life of the plugin.
    pub fn add(
        &mut self,
        memory: &Memory,
        scratch: Option<&mut Scratch>,
        texts: &[&str],
    ) -> Reason {
        let texts = &texts[..texts.len().min(limit::REASON_TEXTS)];
        if texts.is_empty() {
            return Reason::NONE;
        }
        let (mut size, mut hash) = (0, 0_u32);
        for text in texts {
            let text = cut(text);
            size += text.len();
            for b in text.as_bytes() {
                hash = (hash ^ u32::from(*b)).wrapping_mul(0x0100_0193);
            }
            hash = hash.wrapping_add(1); // "ab", "c" is not "a", "bc"
        }
        if let Some(known) = self.find(memory, hash, texts) {
            return known;
        }
        if self.sets.len() == limit::REASON_SETS || self.bytes + size > limit::TEXTS {
            return Reason::NONE;
        }
        let lasts = scratch.is_none();
        let room = match scratch {
            Some(scratch) => scratch.take(memory, 8 * texts.len() + size),
            None => keep(memory, 8 * texts.len() + size),
        };
        let mut at = room.wrapping_add(8 * texts.len());
        for (i, text) in texts.iter().enumerate() {
            let text = cut(text);
            unsafe {
                at.copy_from_nonoverlapping(text.as_ptr(), text.len());
                room.cast::<Text>().add(i).write(Text {
                    address: memory.address(at),
                    length: text.len() as u32,
                });
            }
            at = at.wrapping_add(text.len());
        }
        self.sets.push(
            memory,
            Text {
                address: memory.address(room),
                length: texts.len() as u32,
            },
        );
        self.hashes.push(memory, hash);
        self.bytes += size;
        if lasts {
            self.lasting = self.sets.len();
            self.lasting_bytes = self.bytes;
        }
        Reason(self.sets.len() as u16)
    }

    fn find(&self, memory: &Memory, hash: u32, texts: &[&str]) -> Option<Reason> {
        for (i, known) in self.hashes.slice().iter().enumerate() {
            if *known == hash && self.same(memory, self.sets.slice()[i], texts) {
                return Some(Reason(i as u16 + 1));
            }
        }
        None
    }

    fn same(&self, memory: &Memory, set: Text, texts: &[&str]) -> bool {
        let known = memory.view::<Text>(set.address, set.length);
        known.slice().len() == texts.len()
            && known.slice().iter().zip(texts).all(|(known, text)| {
                memory.view::<u8>(known.address, known.length).slice() == cut(text).as_bytes()
            })
    }

    /// Forgets the reasons of the last call.
    pub fn begin(&mut self) {
        self.sets.truncate(self.lasting);
        self.hashes.truncate(self.lasting);
        self.bytes = self.lasting_bytes;
    }

    /// Whether there is a set that no call told the host of: each is told once even if nothing has
    /// it, so that the conformance kit can name those that never come up.
    pub fn untold(&self) -> bool {
        self.told < self.sets.len()
    }

    /// The address and the number of the sets, for the host.
    pub fn table(&mut self, memory: &Memory) -> (u32, u32) {
        self.told = self.sets.len();
        (self.sets.address(memory), self.sets.len() as u32)
    }
}

/// A text that is not too long, cut between characters.
pub(crate) fn cut(text: &str) -> &str {
    if text.len() <= limit::TEXT {
        return text;
    }
    let mut end = limit::TEXT;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
