;; Calls without a loop: each function calls the one below it twice, for 2^16 calls in all.
(module
  (func $f0 (export "run") (call $f1) (call $f1)) (func $f1 (call $f2) (call $f2)) (func $f2 (call $f3) (call $f3))
  (func $f3 (call $f4) (call $f4)) (func $f4 (call $f5) (call $f5)) (func $f5 (call $f6) (call $f6))
  (func $f6 (call $f7) (call $f7)) (func $f7 (call $f8) (call $f8)) (func $f8 (call $f9) (call $f9))
  (func $f9 (call $f10) (call $f10)) (func $f10 (call $f11) (call $f11)) (func $f11 (call $f12) (call $f12))
  (func $f12 (call $f13) (call $f13)) (func $f13 (call $f14) (call $f14)) (func $f14 (call $f15) (call $f15))
  (func $f15 (call $f16) (call $f16)) (func $f16))
