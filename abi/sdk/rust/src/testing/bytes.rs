//! Little-endian bytes, and numbers in an order that a seed gives.

use std::vec::Vec;

pub(crate) trait Bytes {
    fn u16(&mut self, v: u16);
    fn u32(&mut self, v: u32);
    fn u64(&mut self, v: u64);
    fn set_u32(&mut self, at: usize, v: u32);
    fn get_u32(&self, at: usize) -> u32;
}

impl Bytes for Vec<u8> {
    fn u16(&mut self, v: u16) {
        self.extend_from_slice(&v.to_le_bytes());
    }

    fn u32(&mut self, v: u32) {
        self.extend_from_slice(&v.to_le_bytes());
    }

    fn u64(&mut self, v: u64) {
        self.extend_from_slice(&v.to_le_bytes());
    }

    fn set_u32(&mut self, at: usize, v: u32) {
        self[at..at + 4].copy_from_slice(&v.to_le_bytes());
    }

    fn get_u32(&self, at: usize) -> u32 {
        read_u32(self, at)
    }
}

pub(crate) fn read_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

pub(crate) fn read_u64(bytes: &[u8], at: usize) -> u64 {
    u64::from(read_u32(bytes, at)) | u64::from(read_u32(bytes, at + 4)) << 32
}

/// In what order things get numbers. Seed 0 is the order of appearance.
#[derive(Clone)]
pub(crate) struct Order(pub u64);

impl Order {
    pub fn shuffled(&self) -> bool {
        self.0 != 0
    }

    /// splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// Returns 0 … n − 1.
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..n).collect();
        if self.shuffled() {
            for i in (1..n).rev() {
                all.swap(i, (self.next() % (i as u64 + 1)) as usize);
            }
        }
        all
    }
}
