;; filter fails as a whole, with a reason set that is not there.
;; points: {"filter": {}}
(module
  ;;+ memory abi alloc bad judge filter
  (func $misbehave (param $call i32) (result i32)
    (i32.store offset=84 (local.get $call) (i32.const 1))
    (i32.const 1)))
