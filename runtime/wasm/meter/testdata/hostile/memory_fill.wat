;; One fill of all of memory.
;; fuel: 1000000
(module (memory (export "memory") 64)
  (func (export "run") (memory.fill (i32.const 0) (i32.const 0xff) (i32.const 0x400000))))
