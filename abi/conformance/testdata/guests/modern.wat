;; Code with everything that ABI-1.1 allows: sign extension, saturating conversion, multi-value, bulk memory, reference types, mutable globals, SIMD.
;; patch: 01010101010101010101010101010101010101 fd0c00112233445566778899aabbccddeeff1a
(module
  (memory (export "memory") 1)
  ;;+ bump
  (table $t 4 funcref)
  (elem $e func $pair)
  (data $d "modern")
  (global $g (export "g") (mut i64) (i64.const 0))
  (func $pair (result i32 i32) (i32.const 1) (i32.const 2))
  (func $simd nop nop nop nop nop nop nop nop nop nop nop nop nop nop nop nop nop nop nop)
  (func (export "berth_filter") (param $call i32) (param $lo i32) (param $hi i32) (result i32)
    (call $simd)
    (memory.init $d (i32.const 100) (i32.const 0) (i32.const 6))
    (memory.copy (i32.const 200) (i32.const 100) (i32.const 6))
    (memory.fill (i32.const 300) (i32.const 255) (i32.const 8))
    (table.init $e (i32.const 1) (i32.const 0) (i32.const 1))
    (global.set $g (i64.extend8_s (i64.load8_u (i32.const 300))))
    (drop (i32.extend8_s (i32.const 255)))
    (drop (i32.trunc_sat_f64_s (f64.const 1e300)))
    (drop (ref.is_null (table.get $t (i32.const 1))))
    (call $pair)
    drop
    drop
    (i32.const 0)))
