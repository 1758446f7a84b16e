;; Calls of WASI that are long by their arguments: random bytes for most of the memory, again and again.
;; points: {"filter": {}}
(module
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  ;;+ memory abi alloc bad judge filter
  (func $misbehave (param $call i32) (result i32)
    (loop $again
      (drop (call $random (i32.const 8) (i32.const 4000)))
      (br $again))
    (i32.const 0)))
