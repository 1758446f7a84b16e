;; berth_abi returns 1.99, a minor version above that of the host.
(module
  (memory (export "memory") 1)
  (func (export "berth_abi") (result i32) (i32.const 0x10063))
  (func (export "berth_alloc") (param i32 i32) (result i32) (i32.const 4096))
  (func (export "berth_filter") (param i32 i32 i32) (result i32) (i32.const 0))
)
