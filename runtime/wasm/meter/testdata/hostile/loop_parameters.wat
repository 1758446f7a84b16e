;; A loop with parameters, which cannot be written with the way to the host outside of it.
(module (func (export "run") (param i32 i64)
  (local.get 0) (local.get 1)
  (loop $again (param i32 i64)
    (local.set 1) (local.set 0)
    (local.get 0) (local.get 1)
    (br $again))))
