;; The manifest does not declare a point that is exported: the host never calls it.
;; points: {"filter": {}}
(module
  ;;+ memory abi alloc bad judge filter
  (func (export "berth_pre_filter") (param i32) (result i32) unreachable)
  (func $misbehave (param $call i32) (result i32) (i32.const 0)))
