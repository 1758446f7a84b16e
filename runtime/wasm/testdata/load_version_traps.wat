;; berth_abi traps.
;; points: {"filter": {}}
(module
  ;;+ memory alloc
  (func (export "berth_abi") (result i32) unreachable)
  (func (export "berth_filter") (param i32 i32 i32) (result i32) (i32.const 0)))
