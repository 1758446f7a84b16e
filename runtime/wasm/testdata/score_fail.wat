;; The same with the policy Fail.
;; points: {"score": {}}
;; policy: Score Fail
(module
  ;;+ memory abi alloc bad score
  (func $misbehave (param $call i32) (result i32)
    unreachable))
