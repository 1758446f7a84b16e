;; The address of the reason sets is the bits of a NaN with a payload.
;; points: {"filter": {}}
(module
  ;;+ memory abi alloc bad judge filter
  (func $misbehave (param $call i32) (result i32)
    (i32.store8 (i32.load offset=24 (local.get $call)) (i32.const 2))
    (i32.store16 (i32.load offset=28 (local.get $call)) (i32.const 1))
    (i32.store offset=64 (local.get $call) (i32.reinterpret_f32 (f32.neg (f32.reinterpret_i32 (i32.const 0x7fc0dead)))))
    (i32.store offset=68 (local.get $call) (i32.const 1))
    (i32.const 0)))
