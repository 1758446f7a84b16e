;; Growing memory to the limit, page by page, and on.
;; fuel: 10000000
(module (memory (export "memory") 1) (global $n (export "g0") (mut i32) (i32.const 0))
  (func (export "run") (loop $again
    (global.set $n (memory.grow (i32.const 1)))
    (br $again))))
