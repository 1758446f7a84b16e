;; berth_configure accepts {} and nothing else.
(module
  (memory (export "memory") 1)
  ;;+ bump yes
  (func (export "berth_configure") (param $at i32) (param $size i32) (result i32)
    (i32.or (i32.ne (local.get $size) (i32.const 2)) (i32.ne (i32.load16_u (local.get $at)) (i32.const 0x7d7b)))))
