;; A text begins inside the memory and ends beyond it.
;; points: {"filter": {}}
(module
  ;;+ memory abi alloc bad judge filter
  (func $misbehave (param $call i32) (result i32)
    (i32.store8 (i32.load offset=24 (local.get $call)) (i32.const 2))
    (i32.store16 (i32.load offset=28 (local.get $call)) (i32.const 1))
    (i32.store offset=64 (local.get $call) (i32.const 1024))
    (i32.store offset=68 (local.get $call) (i32.const 1))
    (i32.store (i32.const 1024) (i32.const 2048))
    (i32.store (i32.const 1028) (i32.const 1))
    (i32.store (i32.const 2048) (i32.const -16))
    (i32.store (i32.const 2052) (i32.const 100))
    (i32.const 0)))
