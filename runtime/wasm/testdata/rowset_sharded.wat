;; pre_filter of a plugin of scope node returns a row set.
;; points: {"preFilter": {}, "filter": {"scope": "node"}}
(module
  ;;+ memory abi alloc bad prefilter
  ;;+ judge
  (func (export "berth_filter") (param $call i32) (param $lo i32) (param $hi i32) (result i32)
    (call $judge (local.get $call) (local.get $lo) (local.get $hi)))
  (func $misbehave (param $call i32) (result i32)
    (i32.store offset=72 (local.get $call) (i32.const 1024))
    (i32.store offset=76 (local.get $call) (i32.const 1))
    (i32.store offset=80 (local.get $call) (i32.const 1))
    (i32.const 0)))
