;; An import that nobody serves.
;; points: {"filter": {}}
(module
  (import "berth" "launch" (func (param i32)))
  ;;+ memory abi alloc
  (func (export "berth_filter") (param i32 i32 i32) (result i32) (i32.const 0)))
