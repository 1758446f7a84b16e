;; A code that is a NaN cut to an integer, which is a trap, and to a saturated one, which is 0.
;; points: {"filter": {}}
(module
  ;;+ memory abi alloc bad judge filter
  (func $misbehave (param $call i32) (result i32)
    (i32.add
      (i32.trunc_sat_f64_u (f64.div (f64.const 0) (f64.const 0)))
      (i32.trunc_f64_s (f64.sqrt (f64.const -1))))))
