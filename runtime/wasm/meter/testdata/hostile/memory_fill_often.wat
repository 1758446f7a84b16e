;; Filling 64 KiB, one step, for ever.
(module (memory (export "memory") 1)
  (func (export "run") (loop $again (memory.fill (i32.const 0) (i32.const 1) (i32.const 0x10000)) (br $again))))
