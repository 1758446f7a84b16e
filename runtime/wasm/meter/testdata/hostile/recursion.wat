;; A function that calls itself.
;; fuel: 1000000
(module (func $f (export "run") (call $f)))
