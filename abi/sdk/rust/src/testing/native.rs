//! A plugin as native code behind the functions of a module.

use std::alloc::{alloc_zeroed, dealloc, Layout};
use std::rc::Rc;
use std::vec::Vec;

use crate::abi::{Point, REGION_ALIGN};
use crate::guest::{Exported, Instance};
use crate::memory::Memory;
use crate::Host;

/// The size of the linear memory. The system gives pages when they are written.
const SIZE: u32 = 64 << 20;

/// Runs a plugin as native code behind the ABI of a module: over bytes as its linear memory,
/// with the same call records and columns. It serves one call at a time, and belongs on a
/// little-endian machine.
pub struct Native<P: Exported> {
    instance: Instance<P>,
    memory: Owned,
    _host: Rc<dyn Host>,
}

/// Bytes that keep their place and that nothing else points to.
struct Owned {
    all: *mut u8,
    base: *mut u8,
}

impl Owned {
    // 16 and not 64, so that the system zeroes pages when they are used, not all now.
    fn layout() -> Layout {
        Layout::from_size_align((SIZE + REGION_ALIGN) as usize, 16).expect("a fixed layout")
    }

    fn new() -> Owned {
        let all = unsafe { alloc_zeroed(Owned::layout()) };
        assert!(!all.is_null(), "berth: no memory for an instance");
        Owned {
            all,
            base: all.wrapping_add(all.align_offset(REGION_ALIGN as usize)),
        }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        unsafe { dealloc(self.all, Owned::layout()) }
    }
}

impl<P: Exported> Native<P> {
    /// Makes an instance of a plugin.
    pub fn new(host: Rc<dyn Host>) -> Native<P> {
        Native::from(REGION_ALIGN, host)
    }

    /// Room is given from an address on; 0 is none.
    fn from(address: u32, host: Rc<dyn Host>) -> Native<P> {
        let memory = Owned::new();
        let linear = Memory::new(memory.base, SIZE, address);
        let mut instance = Instance::new(linear);
        instance.base.host = Some(Rc::as_ptr(&host));
        Native {
            instance,
            memory,
            _host: host,
        }
    }

    /// The linear memory.
    pub fn memory(&self) -> &[u8] {
        unsafe { core::slice::from_raw_parts(self.memory.base, SIZE as usize) }
    }

    /// The linear memory, to be written as a host does.
    pub fn memory_mut(&mut self) -> &mut [u8] {
        unsafe { core::slice::from_raw_parts_mut(self.memory.base, SIZE as usize) }
    }

    /// berth_alloc.
    pub fn alloc(&mut self, size: u32, align: u32) -> u32 {
        self.instance
            .base
            .memory
            .alloc(size as usize, align as usize)
    }

    /// How many bytes of the memory are taken.
    pub fn used(&self) -> u32 {
        self.instance.base.memory.used()
    }

    /// berth_configure; 0 if the plugin does not export it.
    pub fn configure(&mut self, address: u32, length: u32) -> i32 {
        match P::CONFIGURE {
            Some(serve) => serve(&mut self.instance, address, length),
            None => 0,
        }
    }

    /// Calls a point.
    ///
    /// # Panics
    ///
    /// If the plugin does not export it.
    pub fn call(&mut self, point: Point, call: u32, lo: u32, hi: u32) -> i32 {
        match P::POINTS.iter().find(|(known, _)| *known == point) {
            Some((_, serve)) => serve(&mut self.instance, call, lo, hi),
            None => panic!("berth: the plugin does not export {}", point.export()),
        }
    }

    /// The names of the functions that a module of this plugin has, in the order of a pod's
    /// path.
    pub fn exports() -> Vec<&'static str> {
        let mut names = std::vec!["berth_abi", "berth_alloc"];
        if P::CONFIGURE.is_some() {
            names.push("berth_configure");
        }
        for point in (0..Point::COUNT).map(Point::nth) {
            if P::POINTS.iter().any(|(known, _)| *known == point) {
                names.push(point.export());
            }
        }
        names
    }
}

#[cfg(test)]
impl<P: Exported> Native<P> {
    /// Makes an instance that leaves the first bytes of its memory alone.
    pub(crate) fn behind(bytes: u32, host: Rc<dyn Host>) -> Native<P> {
        Native::from(bytes, host)
    }

    /// What the plugin is given.
    pub(crate) fn base(&mut self) -> &mut crate::Base {
        &mut self.instance.base
    }
}
