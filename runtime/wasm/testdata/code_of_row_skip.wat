;; A row has code Skip, which is a code but no answer of filter.
;; points: {"filter": {}}
(module
  ;;+ memory abi alloc bad judge filter
  (func $misbehave (param $call i32) (result i32)
    (i32.store8 (i32.load offset=24 (local.get $call)) (i32.const 5))
    (i32.const 0)))
