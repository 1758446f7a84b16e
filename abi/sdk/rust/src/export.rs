//! export!, which makes a plugin the module's functions.

/// Makes a plugin the functions of a module, one for each name, and puts its manifest into the
/// section `berth.manifest`:
///
/// ```ignore
/// berth::export!(Maintenance: configure, filter, score);
/// ```
///
/// The names are those of the traits' methods. The exports of a module are its points, so the
/// names must be those of the manifest's `points`, and `configure` for a plugin with a
/// configuration; a difference does not compile, and neither does a name whose trait the plugin
/// lacks.
#[macro_export]
macro_rules! export {
    ($plugin:ty: $($name:ident),+ $(,)?) => {
        impl $crate::guest::Exported for $plugin {
            const POINTS: &'static [($crate::abi::Point, $crate::guest::Serve<$plugin>)] =
                $crate::__points!([] $plugin: $($name),+);
            const CONFIGURE: ::core::option::Option<$crate::guest::ServeConfigure<$plugin>> =
                $crate::__configure!($plugin: $($name),+);
        }

        const _: () = $crate::guest::check(
            $crate::Manifest::new(<$plugin as $crate::Plugin>::MANIFEST),
            $crate::__numbers!([] $($name),+),
        );

        #[cfg(target_arch = "wasm32")]
        const _: () = {
            static GUEST: $crate::guest::Guest<$plugin> = $crate::guest::Guest::new();

            #[link_section = "berth.manifest"]
            #[used]
            static MANIFEST: [u8; <$plugin as $crate::Plugin>::MANIFEST.len()] =
                $crate::Manifest::new(<$plugin as $crate::Plugin>::MANIFEST).bytes();

            #[no_mangle]
            extern "C" fn berth_abi() -> u32 {
                GUEST.version()
            }

            #[no_mangle]
            extern "C" fn berth_alloc(size: u32, align: u32) -> u32 {
                $crate::guest::alloc(size, align)
            }

            $($crate::__function!(GUEST $plugin: $name);)+
            $crate::__runtime!($plugin);
        };
    };
}

/// The points of export!, as (number, function) each.
#[doc(hidden)]
#[macro_export]
macro_rules! __points {
    ([$($done:tt)*] $p:ty: configure $(, $($rest:ident),*)?) => {
        $crate::__points!([$($done)*] $p: $($($rest),*)?)
    };
    ([$($done:tt)*] $p:ty: $name:ident $(, $($rest:ident),*)?) => {
        $crate::__points!(
            [$($done)* ($crate::__number!($name), $crate::serve::$name::<$p>),] $p: $($($rest),*)?
        )
    };
    ([$($done:tt)*] $p:ty:) => { &[$($done)*] };
}

/// The points of export! as numbers.
#[doc(hidden)]
#[macro_export]
macro_rules! __numbers {
    ([$($done:tt)*] configure $(, $($rest:ident),*)?) => {
        $crate::__numbers!([$($done)*] $($($rest),*)?)
    };
    ([$($done:tt)*] $name:ident $(, $($rest:ident),*)?) => {
        $crate::__numbers!([$($done)* $crate::__number!($name),] $($($rest),*)?)
    };
    ([$($done:tt)*]) => { &[$($done)*] };
}

/// The number of a point.
#[doc(hidden)]
#[macro_export]
macro_rules! __number {
    (pre_enqueue) => {
        $crate::abi::Point::PRE_ENQUEUE
    };
    (queue_key) => {
        $crate::abi::Point::QUEUE_SORT
    };
    (hint) => {
        $crate::abi::Point::HINT
    };
    (pre_filter) => {
        $crate::abi::Point::PRE_FILTER
    };
    (add_pod) => {
        $crate::abi::Point::ADD_POD
    };
    (remove_pod) => {
        $crate::abi::Point::REMOVE_POD
    };
    (filter) => {
        $crate::abi::Point::FILTER
    };
    (post_filter) => {
        $crate::abi::Point::POST_FILTER
    };
    (pre_score) => {
        $crate::abi::Point::PRE_SCORE
    };
    (score) => {
        $crate::abi::Point::SCORE
    };
    (normalize) => {
        $crate::abi::Point::NORMALIZE
    };
    (reserve) => {
        $crate::abi::Point::RESERVE
    };
    (unreserve) => {
        $crate::abi::Point::UNRESERVE
    };
    (permit) => {
        $crate::abi::Point::PERMIT
    };
    (pre_bind) => {
        $crate::abi::Point::PRE_BIND
    };
    (bind) => {
        $crate::abi::Point::BIND
    };
    (post_bind) => {
        $crate::abi::Point::POST_BIND
    };
    ($other:ident) => {
        compile_error!(concat!(
            "berth: there is no point ",
            stringify!($other),
            "; export! takes configure, pre_enqueue, queue_key, hint, pre_filter, add_pod, ",
            "remove_pod, filter, post_filter, pre_score, score, normalize, reserve, unreserve, ",
            "permit, pre_bind, bind and post_bind"
        ))
    };
}

/// berth_configure, if it is among the names.
#[doc(hidden)]
#[macro_export]
macro_rules! __configure {
    ($p:ty: configure $(, $rest:ident)*) => {
        ::core::option::Option::Some($crate::serve::configure::<$p>)
    };
    ($p:ty: $other:ident $(, $rest:ident)*) => { $crate::__configure!($p: $($rest),*) };
    ($p:ty:) => { ::core::option::Option::None };
}

/// The exported function of a point, with the signature of SPEC.md, section 5.
#[doc(hidden)]
#[macro_export]
macro_rules! __function {
    ($g:ident $p:ty: configure) => {
        #[no_mangle]
        extern "C" fn berth_configure(address: u32, length: u32) -> i32 {
            $g.configure($crate::serve::configure::<$p>, address, length)
        }
    };
    ($g:ident $p:ty: pre_enqueue) => { $crate::__rows!($g $p: pre_enqueue berth_pre_enqueue); };
    ($g:ident $p:ty: queue_key) => { $crate::__rows!($g $p: queue_key berth_queue_key); };
    ($g:ident $p:ty: hint) => { $crate::__rows!($g $p: hint berth_hint); };
    ($g:ident $p:ty: pre_filter) => { $crate::__pod!($g $p: pre_filter berth_pre_filter); };
    ($g:ident $p:ty: add_pod) => { $crate::__rows!($g $p: add_pod berth_add_pod); };
    ($g:ident $p:ty: remove_pod) => { $crate::__rows!($g $p: remove_pod berth_remove_pod); };
    ($g:ident $p:ty: filter) => { $crate::__rows!($g $p: filter berth_filter); };
    ($g:ident $p:ty: post_filter) => { $crate::__rows!($g $p: post_filter berth_post_filter); };
    ($g:ident $p:ty: pre_score) => { $crate::__rows!($g $p: pre_score berth_pre_score); };
    ($g:ident $p:ty: score) => { $crate::__rows!($g $p: score berth_score); };
    ($g:ident $p:ty: normalize) => { $crate::__rows!($g $p: normalize berth_normalize); };
    ($g:ident $p:ty: reserve) => { $crate::__pod!($g $p: reserve berth_reserve); };
    ($g:ident $p:ty: unreserve) => { $crate::__pod!($g $p: unreserve berth_unreserve); };
    ($g:ident $p:ty: permit) => { $crate::__pod!($g $p: permit berth_permit); };
    ($g:ident $p:ty: pre_bind) => { $crate::__pod!($g $p: pre_bind berth_pre_bind); };
    ($g:ident $p:ty: bind) => { $crate::__pod!($g $p: bind berth_bind); };
    ($g:ident $p:ty: post_bind) => { $crate::__pod!($g $p: post_bind berth_post_bind); };
    ($g:ident $p:ty: $other:ident) => {}; // __number says what is wrong
}

#[doc(hidden)]
#[macro_export]
macro_rules! __rows {
    ($g:ident $p:ty: $name:ident $export:ident) => {
        #[no_mangle]
        extern "C" fn $export(call: u32, lo: u32, hi: u32) -> i32 {
            $g.call($crate::serve::$name::<$p>, call, lo, hi)
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __pod {
    ($g:ident $p:ty: $name:ident $export:ident) => {
        #[no_mangle]
        extern "C" fn $export(call: u32) -> i32 {
            $g.call($crate::serve::$name::<$p>, call, 0, 0)
        }
    };
}

/// The panic handler of a module without std. It is in the plugin's crate, so that it knows
/// whether the manifest has `log`.
#[doc(hidden)]
#[macro_export]
#[cfg(not(feature = "std"))]
macro_rules! __runtime {
    ($p:ty) => {
        #[panic_handler]
        fn panic(info: &::core::panic::PanicInfo<'_>) -> ! {
            $crate::guest::panicked::<$p>(info);
            ::core::arch::wasm32::unreachable()
        }
    };
}

#[doc(hidden)]
#[macro_export]
#[cfg(feature = "std")]
macro_rules! __runtime {
    ($p:ty) => {};
}
