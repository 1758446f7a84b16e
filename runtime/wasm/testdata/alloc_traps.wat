;; The allocator traps.
;; points: {"filter": {}}
(module
  ;;+ memory abi
  (func (export "berth_alloc") (param $size i32) (param $align i32) (result i32)
    unreachable)
  (func (export "berth_filter") (param i32 i32 i32) (result i32) (i32.const 0)))
