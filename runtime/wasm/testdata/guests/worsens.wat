;; Each call takes twice as long as the one before it, and a page of memory more.
;; points: {"filter": {}}
(module
  ;;+ memory abi alloc judge
  (global $rounds (mut i32) (i32.const 1000))
  (func (export "berth_filter") (param $call i32) (param $lo i32) (param $hi i32) (result i32) (local $n i32)
    (global.set $rounds (i32.mul (global.get $rounds) (i32.const 2)))
    (drop (memory.grow (i32.const 1)))
    (local.set $n (global.get $rounds))
    (loop $again
      (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (call $judge (local.get $call) (local.get $lo) (local.get $hi))))
