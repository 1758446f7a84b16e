;; A large value is set and read back, without end.
;; points: {"preFilter": {}}
;; host: ["state_get", "state_set"]
(module
  (import "berth" "state_set" (func $set (param i32 i32 i32 i32) (result i32)))
  (import "berth" "state_get" (func $get (param i32 i32 i32 i32) (result i32)))
  ;;+ memory abi alloc bad
  (func (export "berth_pre_filter") (param $call i32) (result i32)
    (if (call $bad (local.get $call))
      (then (loop $again
        (drop (call $set (i32.const 8) (i32.const 8) (i32.const 8) (i32.const 60000)))
        (drop (call $get (i32.const 8) (i32.const 8) (i32.const 8) (i32.const 60000)))
        (br $again))))
    (i32.const 0)))
