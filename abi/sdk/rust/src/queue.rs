//! Input and output of queue_key (ABI-3.11, ABI-5.10).

use crate::abi::limit;

/// How a pod stands in the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Queued {
    /// When the pod was queued, in nanoseconds since 1970.
    pub time: i64,
    /// The number of tries so far.
    pub attempts: u32,
    pub(crate) zero: u32,
}

impl Queued {
    /// A pod that was queued at a time, for tests.
    pub fn new(time: i64, attempts: u32) -> Queued {
        Queued {
            time,
            attempts,
            zero: 0,
        }
    }
}

/// The place of a pod in the queue: up to 64 bytes, to which queue_key appends one part after the
/// other, the most important first. Keys are compared byte by byte, and the smaller one is tried
/// first. The parts below are made so that their own order is that of the bytes; the descending
/// ones reverse it.
///
/// A key that becomes longer than 64 bytes fails the call. Where a part may be long, see `room`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Key {
    /// As appended, so it may be more than there is.
    length: u32,
    bytes: [u8; limit::QUEUE_KEY],
}

impl Key {
    pub(crate) const EMPTY: Key = Key {
        length: 0,
        bytes: [0; limit::QUEUE_KEY],
    };

    pub(crate) fn length(&self) -> usize {
        self.length as usize
    }

    /// How many bytes still fit.
    pub fn room(&self) -> usize {
        limit::QUEUE_KEY.saturating_sub(self.length())
    }

    /// Appends 8 bytes: a smaller number comes first.
    pub fn append_u64(&mut self, v: u64) {
        self.append_bytes(&v.to_be_bytes());
    }

    /// Appends 8 bytes: a larger number comes first.
    pub fn append_u64_descending(&mut self, v: u64) {
        self.append_u64(!v);
    }

    /// Appends 8 bytes: a smaller number comes first, negative ones before 0.
    pub fn append_i64(&mut self, v: i64) {
        self.append_u64(v as u64 ^ 1 << 63);
    }

    /// Appends 8 bytes: a larger number comes first.
    pub fn append_i64_descending(&mut self, v: i64) {
        self.append_i64(!v);
    }

    /// Appends bytes as they are: a part of a fixed length, or the last one.
    pub fn append_bytes(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.put(*b, 0));
    }

    /// Appends inverted bytes: a larger one comes first.
    pub fn append_bytes_descending(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.put(*b, 0xFF));
    }

    /// Appends a text of any length and two bytes that end it, so that parts after it do not mix
    /// with it: texts are in the order of their bytes, a beginning of another one before it. A
    /// zero byte in it takes two.
    pub fn append_text(&mut self, text: &str) {
        self.text(text, 0);
    }

    /// `append_text` with inverted bytes.
    pub fn append_text_descending(&mut self, text: &str) {
        self.text(text, 0xFF);
    }

    // The end of a text is 0 1 and a zero byte in it 0 255, so that the end is less than anything
    // that goes on.
    fn text(&mut self, text: &str, mask: u8) {
        for b in text.bytes() {
            self.put(b, mask);
            if b == 0 {
                self.put(0xFF, mask);
            }
        }
        self.put(0, mask);
        self.put(1, mask);
    }

    fn put(&mut self, v: u8, mask: u8) {
        if let Some(b) = self.bytes.get_mut(self.length as usize) {
            *b = v ^ mask;
        }
        self.length += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(f: impl FnOnce(&mut Key)) -> std::vec::Vec<u8> {
        let mut key = Key::EMPTY;
        f(&mut key);
        key.bytes[..key.length()].to_vec()
    }

    /// The order of keys is that of their parts, and the reverse for descending ones.
    #[test]
    fn order() {
        let numbers = [i64::MIN, -2, -1, 0, 1, 2, i64::MAX];
        let texts = ["", "\0", "\0\0", "\0a", "a", "a\0", "a\0b", "aa", "b", "é"];
        for (i, a) in numbers.iter().enumerate() {
            for (j, b) in numbers.iter().enumerate() {
                let up = |n: i64| bytes(|key| key.append_i64(n));
                let down = |n: i64| bytes(|key| key.append_i64_descending(n));
                assert_eq!(up(*a).cmp(&up(*b)), i.cmp(&j));
                assert_eq!(down(*a).cmp(&down(*b)), j.cmp(&i));
                let (a, b) = (*a as u64, *b as u64);
                let down = |n: u64| bytes(|key| key.append_u64_descending(n));
                assert_eq!(down(a).cmp(&down(b)), b.cmp(&a));
            }
        }
        // What follows a text does not mix with it.
        for (i, a) in texts.iter().enumerate() {
            for (j, b) in texts.iter().enumerate() {
                let up = |text: &str, last: u8| {
                    bytes(|key| {
                        key.append_text(text);
                        key.append_bytes(&[last]);
                    })
                };
                let down = |text: &str, last: u8| {
                    bytes(|key| {
                        key.append_text_descending(text);
                        key.append_bytes_descending(&[last]);
                    })
                };
                assert_eq!(
                    up(a, 0xFF).cmp(&up(b, 0)),
                    i.cmp(&j).then(1.cmp(&0)),
                    "{:?} {:?}",
                    a,
                    b
                );
                assert_eq!(
                    down(a, 0xFF).cmp(&down(b, 0)),
                    j.cmp(&i).then(0.cmp(&1)),
                    "{:?} {:?}",
                    a,
                    b
                );
            }
        }
    }

    #[test]
    fn too_long() {
        let mut key = Key::EMPTY;
        key.append_bytes(&[7; 60]);
        assert_eq!(key.room(), 4);
        key.append_u64(1);
        assert_eq!((key.room(), key.length()), (0, 68));
    }
}
