;; Two functions that call each other through a table, one of them in a loop.
;; fuel: 100000000
(module (type $t (func)) (table 2 funcref) (elem (i32.const 0) $a $b)
  (func $a (export "run") (call_indirect (type $t) (i32.const 1)))
  (func $b (loop (call_indirect (type $t) (i32.const 0)))))
