;; _initialize never ends.
;; points: {"filter": {}}
(module
  ;;+ memory abi alloc
  (func (export "_initialize") (loop $again (br $again)))
  (func (export "berth_filter") (param i32 i32 i32) (result i32) (i32.const 0)))
