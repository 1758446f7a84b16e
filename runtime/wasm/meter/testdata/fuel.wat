;; Functions whose fuel TestFuelOf knows. Each line that sets $n has 4 instructions.
(module
  (global $n (mut i32) (i32.const 0))
  (memory 3 5)
  (table $t 60000 funcref)
  (func $empty (export "empty"))
  (func $calls (export "calls") (call $empty) (call $empty) (call $empty))
  (func (export "calls twice") (call $calls))
  (func (export "straight")
    (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1)))
    (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))))
  (func (export "loop") (local $i i32)
    (local.set $i (i32.const 10))
    (loop $again
      (br_if $again (local.tee $i (i32.sub (local.get $i) (i32.const 1))))))
  (func (export "heavy") (local $i i32)
    (local.set $i (i32.const 10))
    (loop $again
      (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1)))
      (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1)))
      (br_if $again (local.tee $i (i32.sub (local.get $i) (i32.const 1))))))
  (func (export "division")
    (drop (i32.div_u (i32.div_u (i32.div_u (i32.div_u (i32.const 1) (i32.const 2)) (i32.const 3)) (i32.const 4)) (i32.const 5))))
  (func $branches (param $p i32)
    (if (local.get $p) (then
      (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1)))
      (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))))))
  (func (export "branches") (if (i32.const 1) (then
      (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1)))
      (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))))))
  (func (export "not taken") (if (i32.const 0) (then
      (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1)))
      (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))) (global.set $n (i32.add (global.get $n) (i32.const 1))))))
  (func (export "fill") (memory.fill (i32.const 0) (i32.const 1) (i32.const 1000)))
  (func (export "fill pages") (memory.fill (i32.const 0) (i32.const 1) (i32.const 131172)))
  (func (export "grow") (drop (memory.grow (i32.const 2))))
  (func (export "cannot grow") (drop (memory.grow (i32.const 1000))))
  (func (export "copy table") (table.copy $t $t (i32.const 0) (i32.const 1) (i32.const 1000))))
