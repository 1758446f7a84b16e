;; A loop that never ends.
(module (func (export "run") (loop $again (br $again))))
