;; filter has two parameters.
;; points: {"filter": {}}
(module
  ;;+ memory abi alloc
  (func (export "berth_filter") (param i32 i32) (result i32) (i32.const 0)))
