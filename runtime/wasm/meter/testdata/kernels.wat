;; Work for benchmarks: each takes a size and gives a number that depends on all of it.
(module
  (memory (export "memory") 16)

  ;; The tightest loop there is: sums n i64.
  (func (export "sum") (param $n i32) (result i64) (local $p i32) (local $sum i64)
    (local.set $n (i32.shl (local.get $n) (i32.const 3)))
    (loop $next
      (local.set $sum (i64.add (local.get $sum) (i64.load (local.get $p))))
      (br_if $next (i32.lt_u (local.tee $p (i32.add (local.get $p) (i32.const 8))) (local.get $n))))
    (local.get $sum))

  ;; A filter over n rows: three resources, then a search in a list of eight labels.
  (func (export "scan") (param $n i32) (result i64) (local $row i32) (local $r i32) (local $p i32) (local $fit i32) (local $count i64)
    (loop $rows
      (local.set $fit (i32.const 1))
      (local.set $r (i32.const 0))
      (local.set $p (i32.shl (local.get $row) (i32.const 3)))
      (loop $resources
        (if (i64.gt_u (i64.add (i64.load (local.get $p)) (i64.const 5)) (i64.add (i64.load offset=160000 (local.get $p)) (i64.const 9)))
          (then (local.set $fit (i32.const 0))))
        (local.set $p (i32.add (local.get $p) (i32.const 40000)))
        (br_if $resources (i32.lt_u (local.tee $r (i32.add (local.get $r) (i32.const 1))) (i32.const 3))))
      (if (local.get $fit) (then
        (local.set $p (i32.shl (i32.and (local.get $row) (i32.const 4095)) (i32.const 5)))
        (local.set $r (i32.const 8))
        (block $found (loop $labels
          (br_if $found (i32.eq (i32.load (local.get $p)) (local.get $row)))
          (local.set $p (i32.add (local.get $p) (i32.const 4)))
          (br_if $labels (local.tee $r (i32.sub (local.get $r) (i32.const 1))))))
        (local.set $count (i64.add (local.get $count) (i64.extend_i32_u (local.get $r))))))
      (i32.store8 offset=900000 (local.get $row) (local.get $fit))
      (br_if $rows (i32.lt_u (local.tee $row (i32.add (local.get $row) (i32.const 1))) (local.get $n))))
    (local.get $count))

  ;; As scan's inner part, but with a call for each row.
  (func $row (param $p i32) (param $row i32) (result i64)
    (select (i64.const 1) (i64.const 0)
      (i64.lt_u (i64.add (i64.load (local.get $p)) (i64.extend_i32_u (local.get $row))) (i64.load offset=160000 (local.get $p)))))
  (func (export "calls") (param $n i32) (result i64) (local $row i32) (local $count i64)
    (loop $rows
      (local.set $count (i64.add (local.get $count) (call $row (i32.shl (local.get $row) (i32.const 3)) (local.get $row))))
      (br_if $rows (i32.lt_u (local.tee $row (i32.add (local.get $row) (i32.const 1))) (local.get $n))))
    (local.get $count))

  ;; Nothing but calls of functions that call.
  (func $fib (param $n i32) (result i32)
    (if (result i32) (i32.lt_u (local.get $n) (i32.const 2)) (then (local.get $n)) (else
      (i32.add (call $fib (i32.sub (local.get $n) (i32.const 1))) (call $fib (i32.sub (local.get $n) (i32.const 2)))))))
  (func (export "fib") (param $n i32) (result i64) (i64.extend_i32_u (call $fib (i32.const 16))))

  ;; Small copies.
  (func (export "copies") (param $n i32) (result i64)
    (loop $next
      (memory.copy (i32.and (i32.shl (local.get $n) (i32.const 6)) (i32.const 0x7ffff)) (i32.const 0x80000) (i32.const 48))
      (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (i64.load (i32.const 64))))
