;; Fuel is by row: a million iterations are too many for three rows.
;; points: {"filter": {}}
(module
  ;;+ memory abi alloc bad judge filter
  (func $misbehave (param $call i32) (result i32)
    (local $i i32)
    (loop $again
      (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 1000000))))
    (i32.const 0)))
