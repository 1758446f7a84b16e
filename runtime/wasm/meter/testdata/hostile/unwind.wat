;; A recursion that ends, all of whose work is done on the way back.
;; fuel: 100000000
(module (global $n (export "g0") (mut i64) (i64.const 0))
  (func $f (param $n i32)
    (if (local.get $n) (then (call $f (i32.sub (local.get $n) (i32.const 1)))))
    (global.set $n (i64.add (global.get $n) (i64.const 1)))
    (global.set $n (i64.add (global.get $n) (i64.const 1)))
    (global.set $n (i64.add (global.get $n) (i64.const 1)))
    (global.set $n (i64.add (global.get $n) (i64.const 1)))
    (global.set $n (i64.add (global.get $n) (i64.const 1))))
  (func (export "run") (loop $again (call $f (i32.const 5000)) (br $again))))
