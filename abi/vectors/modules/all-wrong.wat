(module
  (import "env" "f" (func))
  (import "berth" "nope" (func))
  (func (export "berth_binds") (param i32) (result i32) (i32.const 0)))
