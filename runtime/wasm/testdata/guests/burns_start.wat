;; Starts with most of the fuel that there is, and traps for a pod of priority 1 in each block of rows, and in score.
;; points: {"preFilter": {}, "filter": {"scope": "node"}, "score": {"scope": "node"}, "reserve": {}, "preBind": {}}
(module
  ;;+ memory abi alloc bad judge
  (func (export "_initialize") (local $n i32)
    (local.set $n (i32.const 900000))
    (loop $again
      (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
  (func (export "berth_pre_filter") (param i32) (result i32)
    (i32.const 0))
  (func (export "berth_filter") (param $call i32) (param $lo i32) (param $hi i32) (result i32)
    (if (call $bad (local.get $call)) (then unreachable))
    (call $judge (local.get $call) (local.get $lo) (local.get $hi)))
  (func (export "berth_score") (param $call i32) (param $lo i32) (param $hi i32) (result i32)
    (if (call $bad (local.get $call)) (then unreachable))
    (i32.const 0))
  (func (export "berth_reserve") (param $call i32) (result i32)
    (if (call $bad (local.get $call)) (then unreachable))
    (i32.const 0))
  (func (export "berth_pre_bind") (param $call i32) (result i32)
    (if (call $bad (local.get $call)) (then unreachable))
    (i32.const 0)))
