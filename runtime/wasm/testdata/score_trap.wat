;; A trap in score: faults of scores are ignored by default.
;; points: {"score": {}}
(module
  ;;+ memory abi alloc bad score
  (func $misbehave (param $call i32) (result i32)
    unreachable))
