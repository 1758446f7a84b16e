;; The guest writes over the nodes table of its snapshot: every call is checked.
;; points: {"filter": {}}
;; verify: 1
(module
  ;;+ memory abi alloc bad judge filter
  (func $misbehave (param $call i32) (result i32)
    ;; header, table directory, first table's columns, first column: row 0 of the nodes
    (i64.store
      (i32.load offset=12 (i32.load offset=24 (i32.load offset=40 (i32.load (local.get $call)))))
      (i64.const 7))
    (i32.const 0)))
