;; A loop of divisions and square roots.
(module (func (export "run") (local $i i64) (local $f f64)
  (loop $again
    (local.set $i (i64.div_u (i64.const -1) (i64.or (local.get $i) (i64.const 3))))
    (local.set $f (f64.sqrt (f64.add (local.get $f) (f64.const 2))))
    (local.set $i (i64.rem_s (i64.const 1234567890123) (i64.or (local.get $i) (i64.const 3))))
    (local.set $f (f64.div (f64.const 1) (f64.sqrt (f64.add (local.get $f) (f64.const 2)))))
    (br $again))))
