//! Memory of a module: one end that only moves up, by `memory.grow`.
//!
//! What the host asks for with `berth_alloc`, and what the SDK keeps, is taken from it for
//! good. With the features `alloc` and `runtime` it is the global allocator too, which gives
//! pieces back to lists by size: a power of two each. So a plugin that formats a text in each
//! call does not grow, and there is nothing to search, which keeps a call's cost its own.

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
            // Somebody else grew the memory, such as another allocator: begin behind it.
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

    /// The smallest piece, and the largest that is a power of two.
    const LEAST: usize = 16;
    const CLASSES: usize = 32;

    /// Lists of free pieces; a piece's first bytes are the address of the next.
    struct Pieces(UnsafeCell<[usize; CLASSES]>);

    unsafe impl Sync for Pieces {}

    #[global_allocator]
    static PIECES: Pieces = Pieces(UnsafeCell::new([0; CLASSES]));

    fn size(layout: Layout) -> usize {
        layout
            .size()
            .max(layout.align())
            .max(LEAST)
            .next_power_of_two()
    }

    unsafe impl GlobalAlloc for Pieces {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            let size = size(layout);
            let free = &mut (*self.0.get())[size.trailing_zeros() as usize];
            if *free == 0 {
                return super::alloc(size, layout.align().max(8));
            }
            let piece = *free as *mut usize;
            *free = piece.read();
            piece.cast()
        }

        unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
            let free = &mut (*self.0.get())[size(layout).trailing_zeros() as usize];
            at.cast::<usize>().write(*free);
            *free = at as usize;
        }

        unsafe fn realloc(&self, at: *mut u8, layout: Layout, new: usize) -> *mut u8 {
            let wanted = Layout::from_size_align_unchecked(new, layout.align());
            if size(wanted) == size(layout) {
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
