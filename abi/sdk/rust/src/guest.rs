//! The plugin of a module, and what export! makes of it.

use crate::abi::Point;
use crate::base::Base;
use crate::manifest::Manifest;
use crate::memory::Memory;
use crate::plugin::Plugin;
use crate::room::Room;

/// An instance of a plugin: it serves one call at a time.
pub struct Instance<P> {
    pub(crate) base: Base,
    pub(crate) plugin: P,
    pub(crate) rows: Room<u32>,
}

impl<P: Plugin> Instance<P> {
    const MANIFEST: Manifest = Manifest::new(P::MANIFEST);
    /// Whether the module may log: it must not import a function that the manifest does not
    /// list (ABI-9.6).
    pub(crate) const LOGS: bool = Self::MANIFEST.host("log");
    /// Whether the configuration has names of reads. A module without them has no code for it.
    pub(crate) const BRINGS: bool = Self::MANIFEST.brings();

    pub(crate) fn new(memory: Memory) -> Instance<P> {
        let mut base = Base::new(memory, Self::MANIFEST);
        let plugin = P::new(&mut base);
        Instance {
            base,
            plugin,
            rows: Room::new(),
        }
    }
}

/// A function of a point: the call record's address, lo and hi.
pub type Serve<P> = fn(&mut Instance<P>, u32, u32, u32) -> i32;

/// berth_configure: address and length.
pub type ServeConfigure<P> = fn(&mut Instance<P>, u32, u32) -> i32;

/// What a module of the plugin exports. export! implements it.
pub trait Exported: Plugin {
    /// The points, in no order.
    const POINTS: &'static [(Point, Serve<Self>)];
    /// berth_configure, if it is exported.
    const CONFIGURE: Option<ServeConfigure<Self>>;
}

/// Compares the exports with the manifest (ABI-9.3), when the plugin is compiled.
pub const fn check(manifest: Manifest, exported: &[Point]) {
    let declared = manifest.points();
    let mut i = 0;
    while i < Point::COUNT {
        let point = Point::nth(i);
        let mut is = false;
        let mut k = 0;
        while k < exported.len() {
            is |= exported[k].0 == point.0;
            k += 1;
        }
        match (is, declared >> point.0 & 1 != 0) {
            (true, false) => panic!("berth: export! has a point that manifest.json does not"),
            (false, true) => panic!("berth: manifest.json has a point that export! does not"),
            _ => i += 1,
        }
    }
}

#[cfg(target_arch = "wasm32")]
pub use module::*;

#[cfg(target_arch = "wasm32")]
mod module {
    use core::cell::UnsafeCell;

    use super::{Exported, Instance, Memory, Serve, ServeConfigure};
    use crate::abi;

    /// The one plugin of a module, made at its first call, which is berth_abi.
    pub struct Guest<P>(UnsafeCell<Option<Instance<P>>>);

    // A module has one thread (ABI-1.1).
    unsafe impl<P> Sync for Guest<P> {}

    impl<P: Exported> Guest<P> {
        /// No instance yet.
        pub const fn new() -> Guest<P> {
            Guest(UnsafeCell::new(None))
        }

        #[allow(clippy::mut_from_ref)] // the host calls one function at a time
        fn instance(&self) -> &mut Instance<P> {
            let instance = unsafe { &mut *self.0.get() };
            instance.get_or_insert_with(|| {
                #[cfg(feature = "std")]
                std::panic::set_hook(std::boxed::Box::new(|info| panicked::<P>(info)));
                Instance::new(Memory::new())
            })
        }

        /// berth_abi.
        pub fn version(&self) -> u32 {
            self.instance();
            abi::VERSION
        }

        /// A point.
        #[inline(always)]
        pub fn call(&self, serve: Serve<P>, call: u32, lo: u32, hi: u32) -> i32 {
            serve(self.instance(), call, lo, hi)
        }

        /// berth_configure.
        #[inline(always)]
        pub fn configure(&self, serve: ServeConfigure<P>, address: u32, length: u32) -> i32 {
            serve(self.instance(), address, length)
        }
    }

    /// berth_alloc. Regions are never freed (ABI-2.4).
    pub fn alloc(size: u32, align: u32) -> u32 {
        crate::heap::alloc(size as usize, align as usize) as u32
    }

    /// Says why the plugin panicked, if it may log. Then the module traps; there is no unwinding,
    /// and the instance is not called again (ABI-2.10).
    pub fn panicked<P: Exported>(info: &dyn core::fmt::Display) {
        use core::fmt::Write;
        if Instance::<P>::LOGS {
            let mut text = crate::error::Text::<500>::default();
            let _ = write!(text, "{}", info);
            crate::host::log(crate::Level::Failure, text.as_str());
        }
    }
}
