;; A row has code 9.
;; points: {"filter": {}}
(module
  ;;+ memory abi alloc bad judge filter
  (func $misbehave (param $call i32) (result i32)
    (i32.store8 (i32.load offset=24 (local.get $call)) (i32.const 9))
    (i32.const 0)))
