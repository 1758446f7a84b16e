;; filter gives every row the code and the reason set that the globals hold, and returns result. There are two reason
;; sets: "busy", and "busy" with "windy".
;; points: {"filter": {}}
(module
  ;;+ memory abi alloc
  (global $code (export "code") (mut i32) (i32.const 0))
  (global $reason (export "reason") (mut i32) (i32.const 0))
  (global $result (export "result") (mut i32) (i32.const 0))
  (global $sets (export "sets") (mut i32) (i32.const 2))
  (global $status (export "status") (mut i32) (i32.const 0))
  (data (i32.const 1024) "\10\04\00\00\01\00\00\00" "\10\04\00\00\02\00\00\00" "\20\04\00\00\04\00\00\00" "\24\04\00\00\05\00\00\00" "busywindy")
  (func (export "berth_filter") (param $call i32) (param $lo i32) (param $hi i32) (result i32)
    (local $i i32)
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $i) (i32.load offset=20 (local.get $call))))
        (i32.store8 (i32.add (i32.load offset=24 (local.get $call)) (local.get $i)) (global.get $code))
        (i32.store16 (i32.add (i32.load offset=28 (local.get $call)) (i32.mul (i32.const 2) (local.get $i))) (global.get $reason))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (i32.store offset=64 (local.get $call) (i32.const 1024))
    (i32.store offset=68 (local.get $call) (global.get $sets))
    (i32.store offset=84 (local.get $call) (global.get $status))
    (global.get $result)))
