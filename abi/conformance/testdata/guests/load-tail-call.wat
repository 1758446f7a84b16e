;; A function returns by a tail call.
;; patch: 10030b 12030b
(module
  (memory (export "memory") 1)
  (func (export "berth_abi") (result i32) (i32.const 0x10000))
  (func (export "berth_alloc") (param i32 i32) (result i32) (i32.const 4096))
  (func (export "berth_filter") (param i32 i32 i32) (result i32) (i32.const 0))
  (func $f (result i32) (i32.const 0))
  (func (export "tail") (result i32) (call $f))
)
