(module
  (import "berth" "pod_object" (func (param i32 i32 i32) (result i32)))
  (import "berth" "node_object" (func (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "berth_abi") (result i32) (i32.const 0x10000))
  (func (export "berth_alloc") (param i32 i32) (result i32) (i32.const 64))
  (func (export "berth_reserve") (param i32) (result i32) (i32.const 0)))
