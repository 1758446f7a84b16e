;; The fault quotes what the guest wrote to stderr, in pieces.
;; points: {"filter": {}}
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  ;;+ memory abi alloc bad judge filter
  (data (i32.const 3000) "panic: oops")
  (func $misbehave (param $call i32) (result i32)
    (i32.store (i32.const 2000) (i32.const 3000))
    (i32.store (i32.const 2004) (i32.const 7))
    (i32.store (i32.const 2008) (i32.const 3007))
    (i32.store (i32.const 2012) (i32.const 4))
    (drop (call $write (i32.const 2) (i32.const 2000) (i32.const 2) (i32.const 1990)))
    unreachable))
