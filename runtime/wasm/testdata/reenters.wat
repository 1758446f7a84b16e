;; A guest that calls its own point from within it.
;; points: {"filter": {}}
(module
  ;;+ memory abi alloc bad judge
  (func $misbehave (param $call i32) (result i32)
    (call $filter (local.get $call) (i32.const 0) (i32.const 3)))
  (func $filter (export "berth_filter") (param $call i32) (param $lo i32) (param $hi i32) (result i32)
    (if (call $bad (local.get $call)) (then (return (call $misbehave (local.get $call)))))
    (call $judge (local.get $call) (local.get $lo) (local.get $hi))))
