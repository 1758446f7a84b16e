;; filter fails as a whole, with a reason.
;; points: {"filter": {}}
(module
  ;;+ memory abi alloc bad judge filter
  (data (i32.const 3000) "no luck")
  (func $misbehave (param $call i32) (result i32)
    (i32.store offset=64 (local.get $call) (i32.const 1024))
    (i32.store offset=68 (local.get $call) (i32.const 1))
    (i32.store (i32.const 1024) (i32.const 2048))
    (i32.store (i32.const 1028) (i32.const 1))
    (i32.store (i32.const 2048) (i32.const 3000))
    (i32.store (i32.const 2052) (i32.const 7))
    (i32.store offset=84 (local.get $call) (i32.const 1))
    (i32.const 1)))
