;; The guest writes over the reserved end of the call record.
;; points: {"filter": {}}
;; verify: 1
(module
  ;;+ memory abi alloc bad judge filter
  (func $misbehave (param $call i32) (result i32)
    (i32.store offset=124 (local.get $call) (i32.const 7))
    (i32.const 0)))
