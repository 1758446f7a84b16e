;; pre_filter returns result and the row set of has, address and count: rows 0, 2, 4 … are at 1024.
;; points: {"preFilter": {}}
(module
  ;;+ memory abi alloc
  (global $result (export "result") (mut i32) (i32.const 0))
  (global $has (export "has") (mut i32) (i32.const 0))
  (global $address (export "address") (mut i32) (i32.const 1024))
  (global $count (export "count") (mut i32) (i32.const 0))
  (global $reason (export "reason") (mut i32) (i32.const 0))
  (global $sets (export "sets") (mut i32) (i32.const 0))
  (data (i32.const 1024) "\00\00\00\00\02\00\00\00\04\00\00\00\06\00\00\00")
  (func (export "berth_pre_filter") (param $call i32) (result i32)
    (i32.store offset=68 (local.get $call) (global.get $sets))
    (i32.store offset=72 (local.get $call) (global.get $address))
    (i32.store offset=76 (local.get $call) (global.get $count))
    (i32.store offset=80 (local.get $call) (global.get $has))
    (i32.store offset=84 (local.get $call) (global.get $reason))
    (global.get $result)))
