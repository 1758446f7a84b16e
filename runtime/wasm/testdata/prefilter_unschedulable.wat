;; pre_filter answers Unschedulable without a reason.
;; points: {"preFilter": {}}
(module
  ;;+ memory abi alloc bad prefilter
  (func $misbehave (param $call i32) (result i32)
    (i32.const 2)))
