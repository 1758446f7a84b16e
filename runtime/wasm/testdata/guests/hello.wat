;; A filter that says hello.
;; points: {"filter": {}}
;; reads: {}
;; host: ["log"]
(module
  (import "berth" "log" (func $log (param i32 i32 i32)))
  ;;+ memory abi alloc
  (data (i32.const 16) "hello")
  (func (export "berth_filter") (param i32 i32 i32) (result i32)
    (call $log (i32.const 1) (i32.const 16) (i32.const 5))
    (i32.const 0)))
