;; Takes all the memory that it gets for a pod of priority 1, and rejects each row of a pod if it got less than 10 MiB or
;; more than it may have; for another pod it takes nothing.
;; points: {"preFilter": {}, "filter": {"scope": "node"}, "reserve": {}, "preBind": {}}
(module
  ;;+ memory abi alloc bad judge
  (func $hoard (result i32) (local $before i32)
    (local.set $before (memory.size))
    (loop $again
      (br_if $again (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
    (loop $again
      (br_if $again (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
    (memory.fill (i32.mul (local.get $before) (i32.const 65536)) (i32.const 7)
      (i32.mul (i32.sub (memory.size) (local.get $before)) (i32.const 65536)))
    (memory.size))
  (func (export "berth_pre_filter") (param $call i32) (result i32)
    (if (call $bad (local.get $call)) (then (drop (call $hoard))))
    (i32.const 0))
  (func (export "berth_filter") (param $call i32) (param $lo i32) (param $hi i32) (result i32)
    (if (call $bad (local.get $call)) (then
      (if (i32.lt_u (call $hoard) (i32.const 160)) (then unreachable))))
    (call $judge (local.get $call) (local.get $lo) (local.get $hi)))
  (func (export "berth_reserve") (param $call i32) (result i32)
    (if (call $bad (local.get $call)) (then
      (if (i32.lt_u (call $hoard) (i32.const 160)) (then unreachable))))
    (i32.const 0))
  (func (export "berth_pre_bind") (param $call i32) (result i32)
    (if (call $bad (local.get $call)) (then
      (if (i32.lt_u (call $hoard) (i32.const 160)) (then unreachable))))
    (i32.const 0)))
