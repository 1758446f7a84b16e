;; Rows 2 and 0.
;; points: {"preFilter": {}}
(module
  ;;+ memory abi alloc bad prefilter
  (func $misbehave (param $call i32) (result i32)
    (i32.store offset=72 (local.get $call) (i32.const 1024))
    (i32.store offset=76 (local.get $call) (i32.const 2))
    (i32.store offset=80 (local.get $call) (i32.const 1))
    (i32.store (i32.const 1024) (i32.const 2))
    (i32.store (i32.const 1028) (i32.const 0))
    (i32.const 0)))
