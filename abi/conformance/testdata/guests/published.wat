;; The puppet with pre_filter, filter, score and reserve, and every host function.
(module
  ;;+ full memory life abi alloc configure puppet lookups commands talk noinert
  ;;+ preFilter filter score reserve)
