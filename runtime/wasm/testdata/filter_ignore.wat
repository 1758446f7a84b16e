;; A trap in filter with the policy Ignore.
;; points: {"filter": {}}
;; policy: Filter Ignore
(module
  ;;+ memory abi alloc bad judge filter
  (func $misbehave (param $call i32) (result i32)
    unreachable))
