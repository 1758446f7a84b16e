;; _initialize calls proc_exit.
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (func (export "berth_abi") (result i32) (i32.const 0x10000))
  (func (export "berth_alloc") (param i32 i32) (result i32) (i32.const 4096))
  (func (export "berth_filter") (param i32 i32 i32) (result i32) (i32.const 0))
  (func (export "_initialize") (call $exit (i32.const 3)))
)
