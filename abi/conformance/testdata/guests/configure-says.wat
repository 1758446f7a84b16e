;; berth_configure writes why to stderr and refuses.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  ;;+ bump
  ;;+ yes
  (data (i32.const 64) "no such pool: blue\0a")
  (data (i32.const 128) "\40\00\00\00\13\00\00\00")
  (func (export "berth_configure") (param i32 i32) (result i32)
    (drop (call $write (i32.const 2) (i32.const 128) (i32.const 1) (i32.const 136)))
    (i32.const -1))
)
