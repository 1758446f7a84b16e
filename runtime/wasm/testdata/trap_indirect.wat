;; A call of a table element that is not there.
;; points: {"filter": {}}
(module
  ;;+ memory abi alloc bad judge filter
  (table 2 funcref)
  (func $misbehave (param $call i32) (result i32)
    (call_indirect (result i32) (i32.const 1))))
