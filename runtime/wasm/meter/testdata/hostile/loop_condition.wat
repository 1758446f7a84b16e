;; A loop whose condition is always true, with a result.
(module (func (export "run") (result i32)
  (loop $again (result i32)
    (br_if $again (i32.const 1))
    (i32.const 7))))
