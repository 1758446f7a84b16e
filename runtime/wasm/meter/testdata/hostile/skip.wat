;; Blocks that are left before their end, where a check could hide in dead code.
(module (global $n (export "g0") (mut i32) (i32.const 0))
  (func $work
    (block (global.set $n (i32.add (global.get $n) (i32.const 1))) (br 0) (drop (i32.const 1)) (drop (i32.const 1)))
    (block (global.set $n (i32.add (global.get $n) (i32.const 1))) (br 0) (drop (i32.const 1)) (drop (i32.const 1)))
    (block (global.set $n (i32.add (global.get $n) (i32.const 1))) (br 0) (drop (i32.const 1)) (drop (i32.const 1)))
    (block (global.set $n (i32.add (global.get $n) (i32.const 1))) (br 0) (drop (i32.const 1)) (drop (i32.const 1))))
  (func (export "run") (loop $again (call $work) (br $again))))
