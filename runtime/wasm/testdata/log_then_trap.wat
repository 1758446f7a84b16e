;; The fault quotes the last that the guest logged.
;; points: {"filter": {}}
;; host: ["log"]
(module
  (import "berth" "log" (func $log (param i32 i32 i32)))
  ;;+ memory abi alloc bad judge filter
  (data (i32.const 3000) "first oddlast")
  (func $misbehave (param $call i32) (result i32)
    (call $log (i32.const 3) (i32.const 3000) (i32.const 9))
    (call $log (i32.const 3) (i32.const 3009) (i32.const 4))
    unreachable))
