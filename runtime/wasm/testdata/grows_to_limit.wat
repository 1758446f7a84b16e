;; The guest takes all the memory that there is, and then more.
;; points: {"filter": {}}
(module
  ;;+ memory abi alloc bad judge filter
  (func $misbehave (param $call i32) (result i32)
    (loop $more
      (br_if $more (i32.ne (i32.const -1) (memory.grow (i32.const 64)))))
    (i32.store (i32.mul (memory.size) (i32.const 65536)) (i32.const 1))
    (i32.const 0)))
