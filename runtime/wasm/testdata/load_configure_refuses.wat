;; configure refuses, and says why.
;; points: {"filter": {}}
;; host: ["log"]
(module
  (import "berth" "log" (func $log (param i32 i32 i32)))
  ;;+ memory abi alloc
  (data (i32.const 3000) "pools: at least one")
  (func (export "berth_configure") (param i32 i32) (result i32)
    (call $log (i32.const 3) (i32.const 3000) (i32.const 19)) (i32.const 1))
  (func (export "berth_filter") (param i32 i32 i32) (result i32) (i32.const 0)))
