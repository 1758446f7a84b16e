;; Filling and copying a large table for ever.
(module (table $t 60000 externref)
  (func (export "run") (loop $again
    (table.fill $t (i32.const 0) (ref.null extern) (i32.const 60000))
    (table.copy $t $t (i32.const 0) (i32.const 1) (i32.const 59999))
    (br $again))))
