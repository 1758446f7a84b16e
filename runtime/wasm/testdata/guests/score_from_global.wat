;; score gives every row the score that the global holds, plus step times its position, and returns result. normalize
;; adds add to each score.
;; points: {"preScore": {}, "score": {}, "normalize": {}}
(module
  ;;+ memory abi alloc
  (global $score (export "score") (mut i64) (i64.const 0))
  (global $step (export "step") (mut i64) (i64.const 0))
  (global $add (export "add") (mut i64) (i64.const 0))
  (global $result (export "result") (mut i32) (i32.const 0))
  (global $prescore (export "prescore") (mut i32) (i32.const 0))
  (global $normalize (export "normalize") (mut i32) (i32.const 0))
  (func (export "berth_pre_score") (param i32 i32 i32) (result i32) (global.get $prescore))
  (func (export "berth_score") (param $call i32) (param $lo i32) (param $hi i32) (result i32)
    (local $i i32)
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $i) (i32.load offset=20 (local.get $call))))
        (i64.store
          (i32.add (i32.load offset=32 (local.get $call)) (i32.mul (i32.const 8) (local.get $i)))
          (i64.add (global.get $score) (i64.mul (global.get $step) (i64.extend_i32_u (local.get $i)))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (if (i32.eq (global.get $result) (i32.const -1)) (then unreachable))
    (global.get $result))
  (func (export "berth_normalize") (param $call i32) (param $lo i32) (param $hi i32) (result i32)
    (local $i i32) (local $at i32)
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $i) (i32.load offset=20 (local.get $call))))
        (local.set $at (i32.add (i32.load offset=32 (local.get $call)) (i32.mul (i32.const 8) (local.get $i))))
        (i64.store (local.get $at) (i64.add (i64.load (local.get $at)) (global.get $add)))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (if (i32.eq (global.get $normalize) (i32.const -1)) (then unreachable))
    (global.get $normalize)))
