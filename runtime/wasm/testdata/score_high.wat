;; A score of 101.
;; points: {"score": {}}
(module
  ;;+ memory abi alloc bad score
  (func $misbehave (param $call i32) (result i32)
    (i64.store (i32.load offset=32 (local.get $call)) (i64.const 101))
    (i32.const 0)))
