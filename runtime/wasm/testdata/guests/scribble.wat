;; filter rejects nodes without the label zone; for a pod of priority 1 it wipes the label of row 0 afterwards, which is
;; the host's.
;; points: {"filter": {}}
;; reads: {"nodeLabels": ["zone"], "pod": ["priority"]}
(module
  ;;+ memory abi alloc bad
  (func $column (param $call i32) (result i32)
    (i32.load offset=12 (i32.load offset=24 (i32.load offset=40 (i32.load (local.get $call))))))
  (func (export "berth_filter") (param $call i32) (param $lo i32) (param $hi i32) (result i32)
    (local $row i32)
    (local.set $row (local.get $lo))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $row) (local.get $hi)))
        (if (i32.eqz (i32.load (i32.add (call $column (local.get $call)) (i32.shl (local.get $row) (i32.const 2)))))
          (then (i32.store8 (i32.add (i32.load offset=24 (local.get $call)) (i32.sub (local.get $row) (local.get $lo))) (i32.const 2))))
        (local.set $row (i32.add (local.get $row) (i32.const 1)))
        (br $next)))
    (if (call $bad (local.get $call)) (then (i32.store (call $column (local.get $call)) (i32.const 0))))
    (i32.const 0)))
