;; berth_alloc never ends.
;; points: {"filter": {}}
(module
  ;;+ memory abi
  (func (export "berth_alloc") (param i32 i32) (result i32) (loop $again (br $again)) (i32.const 0))
  (func (export "berth_filter") (param i32 i32 i32) (result i32) (i32.const 0)))
