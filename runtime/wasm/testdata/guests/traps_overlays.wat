;; Rejects all nodes for pods of priority 1, and traps for hypothetical ones. It allocates slowly.
;; points: {"filter": {"scope": "node"}}
(module
  ;;+ memory abi bad
  (global $top (mut i32) (i32.const 4096))
  (func $alloc (export "berth_alloc") (param $size i32) (param $align i32) (result i32)
    (local $at i32) (local $n i32)
    (local.set $n (i32.const 700000))
    (loop $again
      (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (local.set $at (i32.and
      (i32.add (global.get $top) (i32.sub (local.get $align) (i32.const 1)))
      (i32.sub (i32.const 0) (local.get $align))))
    (global.set $top (i32.add (local.get $at) (local.get $size)))
    (block $enough
      (br_if $enough (i32.le_u (global.get $top) (i32.mul (memory.size) (i32.const 65536))))
      (br_if $enough (i32.ne (i32.const -1) (memory.grow (i32.add (i32.const 1)
        (i32.shr_u (i32.sub (global.get $top) (i32.mul (memory.size) (i32.const 65536))) (i32.const 16))))))
      (return (i32.const 0)))
    (local.get $at))
  (func (export "berth_filter") (param $call i32) (param $lo i32) (param $hi i32) (result i32)
    (if (i32.load offset=36 (local.get $call)) (then unreachable)) ;; overlay rows
    (if (call $bad (local.get $call)) (then
      (memory.fill (i32.load offset=24 (local.get $call)) (i32.const 2) (i32.sub (local.get $hi) (local.get $lo)))))
    (i32.const 0)))
