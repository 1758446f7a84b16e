//! Pieces of memory that are used again: lists by size, each a power of two. There is nothing to
//! search, so a call costs the same whatever was freed before it, and a plugin that formats a text
//! in each call does not grow.

use core::alloc::Layout;

/// The smallest piece in bytes: room for the address of the next free one.
const LEAST: usize = 16;

/// Lists of free pieces by the logarithm of their size. A free piece's first bytes are the address
/// of the next one, 0 for none.
pub(crate) struct Pieces {
    free: [usize; usize::BITS as usize],
}

fn size(layout: Layout) -> usize {
    layout
        .size()
        .max(layout.align())
        .max(LEAST)
        .next_power_of_two()
}

impl Pieces {
    pub const fn new() -> Pieces {
        Pieces {
            free: [0; usize::BITS as usize],
        }
    }

    fn list(&mut self, layout: Layout) -> &mut usize {
        &mut self.free[size(layout).trailing_zeros() as usize]
    }

    /// Returns a piece that was freed, or else a new one of the size and alignment that more gets.
    ///
    /// # Safety
    ///
    /// Pieces that were freed must be there still.
    pub unsafe fn alloc(
        &mut self,
        layout: Layout,
        more: impl FnOnce(usize, usize) -> *mut u8,
    ) -> *mut u8 {
        let free = self.list(layout);
        if *free == 0 {
            // As aligned as anything of this size may want to be.
            return more(size(layout), layout.align().max(LEAST));
        }
        let piece = *free as *mut usize;
        *free = piece.read();
        piece.cast()
    }

    /// Gives a piece back.
    ///
    /// # Safety
    ///
    /// It must be one of alloc for the same layout.
    pub unsafe fn dealloc(&mut self, at: *mut u8, layout: Layout) {
        let free = self.list(layout);
        at.cast::<usize>().write(*free);
        *free = at as usize;
    }

    /// Reports whether a piece has room for another size.
    pub fn fits(layout: Layout, wanted: Layout) -> bool {
        size(wanted) == size(layout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// Pieces come back, and only for what fits into them.
    #[test]
    fn pieces_are_used_again() {
        let mut room = std::vec![0_u128; 10_000];
        let (start, mut used) = (room.as_mut_ptr() as usize, 0);
        let mut pieces = Pieces::new();
        let mut held: Vec<(*mut u8, Layout)> = Vec::new();
        let mut peak = 0;
        for round in 0..2000_usize {
            let layout = Layout::from_size_align(round * 7 % 200 + 1, 1 << (round % 5)).unwrap();
            let at = unsafe {
                pieces.alloc(layout, |size, align| {
                    used = (used + align - 1) / align * align + size;
                    (start + used - size) as *mut u8
                })
            };
            assert_eq!(at as usize % layout.align(), 0);
            let end = at as usize + layout.size();
            for (other, of) in &held {
                let other = *other as usize;
                assert!(
                    end <= other || other + of.size() <= at as usize,
                    "pieces overlap"
                );
            }
            unsafe { at.write_bytes(0xFF, layout.size()) };
            held.push((at, layout));
            if held.len() > 20 {
                let (at, layout) = held.remove(round % 20);
                unsafe { pieces.dealloc(at, layout) };
            }
            if round == 1000 {
                peak = used;
            }
        }
        assert!(
            used <= peak + 1024,
            "{} bytes, {} after half of the rounds",
            used,
            peak
        );
        assert!(used <= 16 * room.len());
    }

    #[test]
    fn fits() {
        let of = |size| Layout::from_size_align(size, 1).unwrap();
        assert!(Pieces::fits(of(17), of(32)) && Pieces::fits(of(1), of(16)));
        assert!(!Pieces::fits(of(32), of(33)) && !Pieces::fits(of(32), of(16)));
    }
}
