;; The size of two nodes in turn, without end: no cache of one entry has both.
;; points: {"filter": {}}
;; host: ["node_object"]
(module
  (import "berth" "node_object" (func $node (param i32 i32 i32) (result i32)))
  ;;+ memory abi alloc bad judge filter
  (func $misbehave (param $call i32) (result i32)
    (loop $again
      (drop (call $node (i32.const 0) (i32.const 0) (i32.const 0)))
      (drop (call $node (i32.const 1) (i32.const 0) (i32.const 0)))
      (br $again))
    (i32.const 0)))
