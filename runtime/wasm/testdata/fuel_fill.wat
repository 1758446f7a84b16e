;; A loop over memory.fill of a whole megabyte: few operators, much time.
;; points: {"filter": {}}
(module
  ;;+ memory abi alloc bad judge filter
  (func $misbehave (param $call i32) (result i32)
    (local $i i32)
    (loop $again
      (memory.copy (i32.const 8192) (i32.const 4096) (i32.const 57344))
      (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 1000000000))))
    (i32.const 0)))
