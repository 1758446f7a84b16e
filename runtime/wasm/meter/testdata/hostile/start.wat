;; A start function that never ends.
(module (func $spin (loop $again (br $again))) (start $spin)
  (func (export "run")))
