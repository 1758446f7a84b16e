//! Memory of a module: one end that only moves up, by `memory.grow`.
//!
//! What the host asks for with `berth_alloc`, and what the SDK keeps, is taken from it for
//! good. With the feature `alloc` it is the global allocator too, which uses pieces again.

use core::cell::UnsafeCell;

const PAGE: usize = 65_536;

/// The bytes that are free, from next to end. A module has one thread (ABI-1.1).
struct Heap {
    next: UnsafeCell<usize>,
    end: UnsafeCell<usize>,
}

unsafe impl Sync for Heap {}

static HEAP: Heap = Heap {
    next: UnsafeCell::new(0),
    end: UnsafeCell::new(0),
};

extern "C" {
    /// Where the linker's data ends.
    static __heap_base: u8;
}

/// Returns size bytes at a multiple of align, which is a power of two; null if there is no room.
pub(crate) fn alloc(size: usize, align: usize) -> *mut u8 {
    let (next, end) = unsafe { (&mut *HEAP.next.get(), &mut *HEAP.end.get()) };
    if *next == 0 {
        *next = unsafe { &__heap_base as *const u8 as usize };
        *end = core::arch::wasm32::memory_size(0) * PAGE;
    }
    let mask = align.max(1) - 1;
    let room = || -> Option<(usize, usize)> {
        let at = next.checked_add(mask)? & !mask;
        Some((at, at.checked_add(size)?))
    };
    let (at, after) = match room() {
        Some(found) => found,
        None => return core::ptr::null_mut(),
    };
    if after > *end {
        let pages = (after - *end + PAGE - 1) / PAGE;
        let grown = core::arch::wasm32::memory_grow(0, pages);
        if grown == usize::MAX {
            return core::ptr::null_mut();
        }
        if grown * PAGE != *end {
            // Other code grew the memory, such as another allocator: begin after it.
            *next = grown * PAGE;
            *end = (grown + pages) * PAGE;
            return alloc(size, align);
        }
        *end += pages * PAGE;
    }
    *next = after;
    at as *mut u8
}

#[cfg(feature = "alloc")]
mod global {
    use core::alloc::{GlobalAlloc, Layout};
    use core::cell::UnsafeCell;

    use crate::pieces::Pieces;

    struct Global(UnsafeCell<Pieces>);

    unsafe impl Sync for Global {}

    #[global_allocator]
    static GLOBAL: Global = Global(UnsafeCell::new(Pieces::new()));

    unsafe impl GlobalAlloc for Global {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            (*self.0.get()).alloc(layout, super::alloc)
        }

        unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
            (*self.0.get()).dealloc(at, layout);
        }

        unsafe fn realloc(&self, at: *mut u8, layout: Layout, new: usize) -> *mut u8 {
            let wanted = Layout::from_size_align_unchecked(new, layout.align());
            if Pieces::fits(layout, wanted) {
                return at;
            }
            let to = self.alloc(wanted);
            if !to.is_null() {
                to.copy_from_nonoverlapping(at, layout.size().min(new));
                self.dealloc(at, layout);
            }
            to
        }
    }
}
