;; The guest ends itself by WASI.
;; points: {"filter": {}}
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  ;;+ memory abi alloc bad judge filter
  (func $misbehave (param $call i32) (result i32)
    (call $exit (i32.const 3))
    (i32.const 0)))
