;; _initialize ends the guest by WASI, as if all were well.
;; points: {"filter": {}}
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  ;;+ memory abi alloc
  (func (export "_initialize") (call $exit (i32.const 0)))
  (func (export "berth_filter") (param i32 i32 i32) (result i32) (i32.const 0)))
