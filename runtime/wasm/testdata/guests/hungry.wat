;; configure takes all the memory that there is, page by page, and uses it for itself.
;; points: {"filter": {}}
(module
  ;;+ memory abi alloc
  (func (export "berth_configure") (param i32 i32) (result i32)
    (block $full
      (loop $more
        (br_if $full (i32.eq (i32.const -1) (memory.grow (i32.const 1))))
        (br $more)))
    (global.set $top (i32.mul (memory.size) (i32.const 65536)))
    (i32.const 0))
  (func (export "berth_filter") (param i32 i32 i32) (result i32) (i32.const 0)))
