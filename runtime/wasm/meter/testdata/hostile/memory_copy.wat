;; One copy of half of memory onto the other half.
;; fuel: 1000000
(module (memory (export "memory") 64) (data (i32.const 0x200000) "x")
  (func (export "run") (memory.copy (i32.const 0x200000) (i32.const 0) (i32.const 0x200000))))
