;; More rows than there are.
;; points: {"preFilter": {}}
(module
  ;;+ memory abi alloc bad prefilter
  (func $misbehave (param $call i32) (result i32)
    (i32.store offset=72 (local.get $call) (i32.const 1024))
    (i32.store offset=76 (local.get $call) (i32.const 4))
    (i32.store offset=80 (local.get $call) (i32.const 1))
    (i32.const 0)))
