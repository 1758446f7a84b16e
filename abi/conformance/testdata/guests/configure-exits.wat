;; berth_configure calls proc_exit.
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  ;;+ bump
  ;;+ yes
  (func (export "berth_configure") (param i32 i32) (result i32)
    (call $exit (i32.const 0))
    (i32.const 0))
)
