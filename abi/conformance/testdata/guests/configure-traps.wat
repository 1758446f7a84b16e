;; berth_configure traps.
(module
  (memory (export "memory") 1)
  ;;+ bump
  ;;+ yes
  (func (export "berth_configure") (param i32 i32) (result i32) unreachable)
)
