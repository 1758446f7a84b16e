;; Every point sets the key "k" to the value of the global, if write is 1, and reads it back: set is what state_set
;; returned, length what state_get did, and value what it read.
;; points: {"preFilter": {}, "filter": {}, "preScore": {}, "score": {}}
;; host: ["state_get", "state_set"]
(module
  (import "berth" "state_get" (func $get (param i32 i32 i32 i32) (result i32)))
  (import "berth" "state_set" (func $put (param i32 i32 i32 i32) (result i32)))
  ;;+ memory abi alloc
  (global $value (export "value") (mut i32) (i32.const 0))
  (global $write (export "write") (mut i32) (i32.const 0))
  (global $set (export "set") (mut i32) (i32.const 9))
  (global $length (export "length") (mut i32) (i32.const 9))
  (data (i32.const 1024) "k")
  (func $work (result i32)
    (i32.store (i32.const 1032) (global.get $value))
    (if (global.get $write)
      (then (global.set $set (call $put (i32.const 1024) (i32.const 1) (i32.const 1032) (i32.const 4)))))
    (i32.store (i32.const 1032) (i32.const 0))
    (global.set $length (call $get (i32.const 1024) (i32.const 1) (i32.const 1032) (i32.const 4)))
    (global.set $value (i32.load (i32.const 1032)))
    (i32.const 0))
  (func (export "berth_pre_filter") (param i32) (result i32) (call $work))
  (func (export "berth_filter") (param i32 i32 i32) (result i32) (call $work))
  (func (export "berth_pre_score") (param i32 i32 i32) (result i32) (call $work))
  (func (export "berth_score") (param i32 i32 i32) (result i32) (call $work)))
