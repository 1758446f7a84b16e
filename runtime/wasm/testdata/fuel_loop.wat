;; A loop without end.
;; points: {"filter": {}}
(module
  ;;+ memory abi alloc bad judge filter
  (func $misbehave (param $call i32) (result i32)
    (loop $again (br $again))
    (i32.const 0)))
