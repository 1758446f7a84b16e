//! The linear memory: views of what the host wrote, and room for what the host reads.
//!
//! In a module address 0 is pointer 0, and the module's own bounds checks hold. Natively the
//! memory is a slice of bytes that package `testing` owns; it never moves.

use core::mem::{align_of, size_of};

/// Types that any bytes are a value of, so that a view cannot hold a bad one.
///
/// # Safety
///
/// Every bit pattern must be a value, and the layout must be that of SPEC.md.
pub(crate) unsafe trait Plain: Copy {}

macro_rules! plain {
    ($($t:ty)+) => { $(unsafe impl Plain for $t {})+ };
}

plain! {
    u8 u16 u32 u64 i32 i64
    crate::types::Id crate::types::Pair crate::types::Taint crate::types::Port
    crate::types::Image crate::types::Toleration crate::types::Requirement
    crate::types::Term crate::types::Condition crate::types::Span crate::abi::Code
    crate::records::CallRecord crate::records::Header crate::records::TableEntry
    crate::records::ColumnEntry crate::records::PodHeader crate::records::PodField
    crate::records::EventRecord crate::records::PodEntry crate::records::Text
    crate::queue::Queued crate::queue::Key crate::records::Directive
    crate::constants::Constant
}
unsafe impl<T> Plain for View<T> {}

/// The linear memory.
pub(crate) struct Memory {
    #[cfg(not(target_arch = "wasm32"))]
    base: *mut u8,
    #[cfg(not(target_arch = "wasm32"))]
    size: u32,
    #[cfg(not(target_arch = "wasm32"))]
    used: core::cell::Cell<u32>,
}

#[cfg(target_arch = "wasm32")]
impl Memory {
    pub const fn new() -> Memory {
        Memory {}
    }

    fn size(&self) -> u64 {
        1 << 32
    }

    fn pointer(&self, address: u32) -> *mut u8 {
        address as *mut u8
    }

    pub fn address<T>(&self, at: *const T) -> u32 {
        at as u32
    }

    /// Returns room; address 0 if there is none.
    pub fn alloc(&self, size: usize, align: usize) -> u32 {
        crate::heap::alloc(size, align) as u32
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Memory {
    /// A memory over bytes that outlive it, and that nobody else holds a reference to while
    /// a call is under way. Room is given from address `used` on.
    #[cfg(any(test, feature = "testing"))]
    pub fn new(base: *mut u8, size: u32, used: u32) -> Memory {
        Memory {
            base,
            size,
            used: core::cell::Cell::new(used),
        }
    }

    fn size(&self) -> u64 {
        u64::from(self.size)
    }

    fn pointer(&self, address: u32) -> *mut u8 {
        self.base.wrapping_add(address as usize)
    }

    pub fn address<T>(&self, at: *const T) -> u32 {
        (at as usize - self.base as usize) as u32
    }

    /// Returns room; address 0 if there is none.
    pub fn alloc(&self, size: usize, align: usize) -> u32 {
        let align = align.max(1) as u64;
        let from = (u64::from(self.used.get()) + align - 1) / align * align;
        if from.saturating_add(size as u64) > self.size() {
            return 0;
        }
        self.used.set((from + size as u64) as u32);
        from as u32
    }
}

impl Memory {
    /// The T at an address.
    pub fn at<T: Plain>(&self, address: u32) -> *mut T {
        self.checked(address, 1, size_of::<T>(), align_of::<T>())
            .cast()
    }

    /// n elements of T at an address.
    #[inline]
    pub fn view<T: Plain>(&self, address: u32, n: u32) -> View<T> {
        if n == 0 {
            return View::empty();
        }
        View {
            at: self
                .checked(address, n, size_of::<T>(), align_of::<T>())
                .cast(),
            len: n,
        }
    }

    #[inline(never)]
    fn checked(&self, address: u32, n: u32, size: usize, align: usize) -> *mut u8 {
        let end = u64::from(address) + u64::from(n) * size as u64;
        if end > self.size() || address == 0 || address as usize % align != 0 {
            panic!("berth: the host gave an address that is out of bounds or not aligned");
        }
        self.pointer(address)
    }
}

/// A slice without a lifetime. Whoever holds one sees to it that it is made anew when what it
/// covers may have moved: at the start of each call, before anything is borrowed from Base.
pub(crate) struct View<T> {
    at: *mut T,
    len: u32,
}

impl<T> Clone for View<T> {
    fn clone(&self) -> View<T> {
        *self
    }
}

impl<T> Copy for View<T> {}

impl<T> View<T> {
    pub const fn empty() -> View<T> {
        View {
            at: core::ptr::NonNull::dangling().as_ptr(),
            len: 0,
        }
    }

    #[inline]
    pub fn slice(&self) -> &[T] {
        // Views are of memory that the host does not write during a call (ABI-2.6), that
        // Memory::view checked, and that holds T: Plain.
        unsafe { core::slice::from_raw_parts(self.at, self.len as usize) }
    }

    /// The elements, for writing. The caller must hold the only view of them.
    #[inline]
    pub unsafe fn slice_mut<'a>(self) -> &'a mut [T] {
        core::slice::from_raw_parts_mut(self.at, self.len as usize)
    }
}

/// A list in the linear memory, which the host can read. It grows by doubling; what it grew out
/// of is not given back, so it takes at most twice its size.
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

/// Room in the linear memory, for good.
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

    /// Sees to it that size bytes are left.
    pub fn reserve(&mut self, memory: &Memory, size: usize) {
        let size = (size as u32 + 7) & !7;
        if size > self.size - self.used {
            // What was given out before in this call stays where it is.
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

/// Room for bytes that are there for good.
pub(crate) fn keep(memory: &Memory, size: usize) -> *mut u8 {
    room(memory, size, 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(bytes: &mut [u64]) -> Memory {
        Memory::new(bytes.as_mut_ptr().cast(), 8 * bytes.len() as u32, 64)
    }

    /// Pieces are aligned, do not overlap, and end where the memory does.
    #[test]
    fn alloc() {
        let mut bytes = std::vec![0_u64; 1000];
        let m = memory(&mut bytes);
        let mut end = 64;
        for (size, align) in [(1, 1), (100, 64), (8, 8), (0, 16), (3, 1), (64, 64)] {
            let at = m.alloc(size, align);
            assert!(at >= end && at as usize % align == 0, "{} at {}", size, at);
            end = at + size as u32;
        }
        assert_eq!((m.alloc(9000, 1), m.alloc(usize::MAX, 64)), (0, 0));
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
    #[should_panic(expected = "out of bounds or not aligned")]
    fn beyond() {
        let mut bytes = std::vec![0_u64; 100];
        memory(&mut bytes).view::<u64>(792, 2);
    }

    #[test]
    #[should_panic(expected = "out of bounds or not aligned")]
    fn not_aligned() {
        let mut bytes = std::vec![0_u64; 100];
        memory(&mut bytes).view::<u32>(66, 1);
    }

    #[test]
    #[should_panic(expected = "out of memory")]
    fn full() {
        let mut bytes = std::vec![0_u64; 100];
        keep(&memory(&mut bytes), 1000);
    }
}
