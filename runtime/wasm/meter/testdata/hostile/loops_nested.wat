;; Loops in one another, of which only the middle one never ends.
(module (global $n (export "g0") (mut i32) (i32.const 0))
  (func (export "run") (local $i i32)
  (loop $outer
    (loop $middle
      (local.set $i (i32.const 3))
      (loop $inner
        (global.set $n (i32.add (global.get $n) (i32.const 1)))
        (br_if $inner (local.tee $i (i32.sub (local.get $i) (i32.const 1)))))
      (br $middle))
    (br $outer))))
