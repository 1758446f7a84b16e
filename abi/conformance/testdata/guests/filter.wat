;; The puppet with filter.
(module
  ;;+ plain memory life abi alloc configure puppet lookups commands talk noinert
  ;;+ filter)
