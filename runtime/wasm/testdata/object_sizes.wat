;; The size of the pod, without end, with a buffer that is too small.
;; points: {"filter": {}}
;; host: ["pod_object"]
(module
  (import "berth" "pod_object" (func $pod (param i32 i32 i32) (result i32)))
  ;;+ memory abi alloc bad judge filter
  (func $misbehave (param $call i32) (result i32)
    (loop $again
      (drop (call $pod (i32.const 0) (i32.const 8) (i32.const 1)))
      (br $again))
    (i32.const 0)))
