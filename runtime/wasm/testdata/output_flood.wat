;; A list of WASI with two hundred entries of a page each, written without end.
;; points: {"filter": {}}
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  ;;+ memory abi alloc bad judge filter
  (func $misbehave (param $call i32) (result i32) (local $i i32)
    (loop $entry ;; of 4,096 bytes at 0
      (i32.store offset=1028 (i32.shl (local.get $i) (i32.const 3)) (i32.const 4096))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $entry (i32.lt_u (local.get $i) (i32.const 200))))
    (loop $again
      (drop (call $write (i32.const 1) (i32.const 1024) (i32.const 200) (i32.const 8)))
      (br $again))
    (i32.const 0)))
