;; A log text beyond the memory.
;; points: {"filter": {}}
;; host: ["log"]
(module
  (import "berth" "log" (func $log (param i32 i32 i32)))
  ;;+ memory abi alloc bad judge filter
  (func $misbehave (param $call i32) (result i32)
    (call $log (i32.const 3) (i32.const -8) (i32.const 64))
    (i32.const 0)))
