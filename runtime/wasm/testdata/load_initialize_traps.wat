;; _initialize traps after it has said why.
;; points: {"filter": {}}
;; host: ["log"]
(module
  (import "berth" "log" (func $log (param i32 i32 i32)))
  ;;+ memory abi alloc
  (data (i32.const 3000) "no heap")
  (func (export "_initialize") (call $log (i32.const 3) (i32.const 3000) (i32.const 7)) unreachable)
  (func (export "berth_filter") (param i32 i32 i32) (result i32) (i32.const 0)))
