;; A key of state beyond the memory.
;; points: {"filter": {}}
;; host: ["state_get"]
(module
  (import "berth" "state_get" (func $get (param i32 i32 i32 i32) (result i32)))
  ;;+ memory abi alloc bad judge filter
  (func $misbehave (param $call i32) (result i32)
    (call $get (i32.const -2) (i32.const 8) (i32.const 0) (i32.const 0))))
