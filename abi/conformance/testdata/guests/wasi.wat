;; The puppet with filter, which imports from WASI.
(module
  ;;+ wasi memory life abi alloc configure puppet lookups commands talk inert
  ;;+ filter)
