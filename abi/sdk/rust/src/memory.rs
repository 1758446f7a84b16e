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
    crate::types::Term crate::types::Container crate::types::Condition crate::types::FeedState crate::types::Span crate::abi::Code
    crate::records::CallRecord crate::records::Header crate::records::TableEntry
    crate::records::ColumnEntry crate::records::PodHeader crate::records::PodField
    crate::records::EventRecord crate::records::PodEntry crate::records::Text
    crate::queue::Queued crate::queue::Key crate::records::Directive
    crate::constants::Constant crate::declared::Brought
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

    pub fn pointer(&self, address: u32) -> *mut u8 {
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

    /// The end of what is taken.
    #[cfg(any(test, feature = "testing"))]
    pub fn used(&self) -> u32 {
        self.used.get()
    }

    fn size(&self) -> u64 {
        u64::from(self.size)
    }

    pub fn pointer(&self, address: u32) -> *mut u8 {
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

/// A slice without a lifetime. Its holder must create a new one when the memory that it covers
/// may have moved: at the start of each call, before anything is borrowed from Base.
pub(crate) struct View<T> {
    pub at: *mut T,
    pub len: u32,
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
}
