//! What queue_key hears and answers (ABI-3.11, ABI-5.10).

use crate::abi::limit;

/// What queue_key hears of a pod besides its record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Queued {
    /// When the pod was queued, in nanoseconds since 1970. It is the host's clock, an input:
    /// never compare it with the time of the call.
    pub time: i64,
    /// The number of tries so far.
    pub attempts: u32,
}

/// A key of the queue: at most 64 bytes, compared byte by byte, the smaller first. A key that is
/// the beginning of another one comes before it. Numbers are written so that their order is that
/// of the bytes.
pub struct Key<'c> {
    pub(crate) bytes: &'c mut [u8; limit::QUEUE_KEY],
    pub(crate) length: &'c mut u32,
}

impl Key<'_> {
    /// Adds bytes as they are. A name at other than the end wants a zero byte behind it, or
    /// what follows would be compared with other names' bytes.
    ///
    /// # Panics
    ///
    /// If the key has more than 64 bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        let at = *self.length as usize;
        if at + bytes.len() > limit::QUEUE_KEY {
            panic!("berth: the key of the queue has more than 64 bytes");
        }
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        *self.length += bytes.len() as u32;
    }

    /// Adds a number, the smaller first.
    pub fn ascending(&mut self, n: i64) {
        self.push(&((n as u64) ^ 1 << 63).to_be_bytes());
    }

    /// Adds a number, the greater first.
    pub fn descending(&mut self, n: i64) {
        self.ascending(!n);
    }
}
