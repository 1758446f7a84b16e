;; pre_filter answers Pending, which is not an answer of it.
;; points: {"preFilter": {}}
(module
  ;;+ memory abi alloc bad prefilter
  (func $misbehave (param $call i32) (result i32)
    (i32.const 6)))
