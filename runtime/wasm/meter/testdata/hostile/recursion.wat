;; A function that calls itself.
;; fuel: 100000000
(module (func $f (export "run") (call $f)))
