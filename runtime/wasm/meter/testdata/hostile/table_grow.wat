;; Growing a table to the limit, and on.
;; fuel: 10000000
(module (table $t 1 funcref) (global $n (export "g0") (mut i32) (i32.const 0))
  (func (export "run") (loop $again
    (global.set $n (table.grow $t (ref.null func) (i32.const 100)))
    (br $again))))
