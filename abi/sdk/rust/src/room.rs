//! Room in the linear memory for what the host reads.

use core::mem::{align_of, size_of};

use crate::memory::{Memory, Plain, View};

/// A list in the linear memory, which the host can read. It grows by doubling; its earlier
/// memory is not freed, so it takes at most twice its size.
pub(crate) struct Room<T> {
    view: View<T>,
    capacity: u32,
}

impl<T: Plain> Room<T> {
    pub const fn new() -> Room<T> {
        Room {
            view: View::empty(),
            capacity: 0,
        }
    }

    #[inline]
    pub fn slice(&self) -> &[T] {
        self.view.slice()
    }

    pub fn slice_mut(&mut self) -> &mut [T] {
        unsafe { self.view.slice_mut() } // the room is this list's alone
    }

    pub fn len(&self) -> usize {
        self.view.len as usize
    }

    /// The address for the host; 0 if there is nothing.
    pub fn address(&self, memory: &Memory) -> u32 {
        if self.view.len == 0 {
            return 0;
        }
        memory.address(self.view.at)
    }

    pub fn truncate(&mut self, n: usize) {
        self.view.len = self.view.len.min(n as u32);
    }

    pub fn push(&mut self, memory: &Memory, value: T) {
        if self.view.len == self.capacity {
            self.grow(memory, self.capacity + 1);
        }
        unsafe { self.view.at.add(self.view.len as usize).write(value) }; // below capacity
        self.view.len += 1;
    }

    /// Makes the list n times a value.
    pub fn fill(&mut self, memory: &Memory, n: usize, value: T) {
        self.view.len = 0;
        self.grow(memory, n as u32);
        for _ in 0..n {
            self.push(memory, value);
        }
    }

    #[cold]
    fn grow(&mut self, memory: &Memory, least: u32) {
        if least <= self.capacity {
            return;
        }
        let capacity = least.max(2 * self.capacity).max(8);
        let at: *mut T = room(memory, capacity as usize * size_of::<T>(), align_of::<T>()).cast();
        unsafe { at.copy_from_nonoverlapping(self.view.at, self.view.len as usize) };
        self.view.at = at;
        self.capacity = capacity;
    }
}

/// Room in the linear memory that is never freed.
fn room(memory: &Memory, size: usize, align: usize) -> *mut u8 {
    match memory.alloc(size, align) {
        0 => panic!("berth: out of memory"),
        address => memory.pointer(address),
    }
}

/// Room for bytes that are needed until the next call. Pieces keep their place; the room is
/// used again in each call.
pub(crate) struct Scratch {
    at: *mut u8,
    /// Multiples of 8.
    size: u32,
    used: u32,
}

impl Scratch {
    pub const fn new() -> Scratch {
        Scratch {
            at: core::ptr::NonNull::dangling().as_ptr(),
            size: 0,
            used: 0,
        }
    }

    /// Begins a call.
    pub fn clear(&mut self) {
        self.used = 0;
    }

    /// Makes room for size bytes.
    pub fn reserve(&mut self, memory: &Memory, size: usize) {
        let size = (size as u32 + 7) & !7;
        if size > self.size - self.used {
            // What was returned before in this call stays where it is.
            self.size = size.max(2 * self.size).max(1024);
            self.at = room(memory, self.size as usize, 8);
            self.used = 0;
        }
    }

    /// Returns size bytes, aligned to 8.
    pub fn take(&mut self, memory: &Memory, size: usize) -> *mut u8 {
        self.reserve(memory, size);
        let at = self.at.wrapping_add(self.used as usize);
        self.used += (size as u32 + 7) & !7;
        at
    }

    /// Returns a copy of bytes.
    pub fn copy(&mut self, memory: &Memory, bytes: &[u8]) -> *mut u8 {
        let at = self.take(memory, bytes.len());
        unsafe { at.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        at
    }

    /// The bytes that are left, without taking them.
    pub fn left(&self) -> (*mut u8, u32) {
        (
            self.at.wrapping_add(self.used as usize),
            self.size - self.used,
        )
    }
}

/// Room for bytes that are never freed.
pub(crate) fn keep(memory: &Memory, size: usize) -> *mut u8 {
    room(memory, size, 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(bytes: &mut [u64]) -> Memory {
        Memory::new(bytes.as_mut_ptr().cast(), 8 * bytes.len() as u32, 64)
    }

    #[test]
    fn room() {
        let mut bytes = std::vec![0_u64; 4000];
        let m = memory(&mut bytes);
        let mut room = Room::new();
        assert_eq!((room.address(&m), room.len()), (0, 0));
        for i in 0..1000_u32 {
            room.push(&m, i);
        }
        assert!(room.slice().iter().copied().eq(0..1000) && room.address(&m) % 4 == 0);
        room.truncate(2000);
        room.truncate(10);
        assert!(room.slice().iter().copied().eq(0..10));
        room.fill(&m, 20, 7);
        assert_eq!(room.slice(), [7; 20]);
    }

    /// What was taken in a call stays; the next call uses the room again.
    #[test]
    fn scratch() {
        let mut bytes = std::vec![0_u64; 4000];
        let m = memory(&mut bytes);
        let mut s = Scratch::new();
        for _ in 0..100 {
            s.clear();
            let texts: std::vec::Vec<_> = (1..60).map(|n| std::vec![n as u8; n]).collect();
            let at: std::vec::Vec<_> = texts.iter().map(|text| s.copy(&m, text)).collect();
            for (at, text) in at.iter().zip(&texts) {
                let kept = unsafe { core::slice::from_raw_parts(*at, text.len()) };
                assert_eq!((kept, *at as usize % 8), (text.as_slice(), 0));
            }
        }
        let (_, left) = s.left();
        s.reserve(&m, left as usize);
        assert_eq!(s.left().1, left);
    }

    #[test]
    #[should_panic(expected = "out of memory")]
    fn full() {
        let mut bytes = std::vec![0_u64; 100];
        keep(&memory(&mut bytes), 1000);
    }
}
