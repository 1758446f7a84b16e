;; Calls without a loop: a tree of depth 30, each calling twice.
;; points: {"filter": {}}
(module
  ;;+ memory abi alloc bad judge filter
  (func $tree (param $depth i32)
    (if (local.get $depth)
      (then
        (call $tree (i32.sub (local.get $depth) (i32.const 1)))
        (call $tree (i32.sub (local.get $depth) (i32.const 1))))))
  (func $misbehave (param $call i32) (result i32)
    (call $tree (i32.const 30))
    (i32.const 0)))
