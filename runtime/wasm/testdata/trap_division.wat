;; A division by zero.
;; points: {"filter": {}}
(module
  ;;+ memory abi alloc bad judge filter
  (func $misbehave (param $call i32) (result i32)
    (i32.div_u (i32.const 1) (i32.const 0))))
