;; A loop that goes back through br_table.
(module (func (export "run") (param i32)
  (block $out
    (loop $again
      (br_table $again $again $again (local.get 0))))) )
