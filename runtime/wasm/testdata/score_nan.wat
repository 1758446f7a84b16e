;; Scores that are the bits of a NaN, with a payload, as integer and as float.
;; points: {"score": {}}
(module
  ;;+ memory abi alloc bad score
  (func $misbehave (param $call i32) (result i32)
    (i64.store (i32.load offset=32 (local.get $call))
      (i64.reinterpret_f64 (f64.add (f64.reinterpret_i64 (i64.const 0x7ff800000000beef)) (f64.const 1))))
    (i32.const 0)))
