;; Texts for the log, without end.
;; points: {"filter": {}}
;; host: ["log"]
(module
  (import "berth" "log" (func $log (param i32 i32 i32)))
  (data (i32.const 8) "and again")
  ;;+ memory abi alloc bad judge filter
  (func $misbehave (param $call i32) (result i32)
    (loop $again
      (call $log (i32.const 1) (i32.const 8) (i32.const 9))
      (br $again))
    (i32.const 0)))
