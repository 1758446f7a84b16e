;; The memory is imported.
;; points: {"filter": {}}
(module
  (import "env" "memory" (memory 1))
  ;;+ abi alloc
  (export "memory" (memory 0))
  (func (export "berth_filter") (param i32 i32 i32) (result i32) (i32.const 0)))
