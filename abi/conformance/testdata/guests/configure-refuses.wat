;; berth_configure logs why and refuses.
(module
  (import "berth" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 1)
  ;;+ bump
  ;;+ yes
  (data (i32.const 64) "no such pool: blue")
  (func (export "berth_configure") (param i32 i32) (result i32)
    (call $log (i32.const 3) (i32.const 64) (i32.const 18))
    (i32.const 1))
)
