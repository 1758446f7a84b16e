;; The puppet with pre_filter and filter.
(module
  ;;+ plain memory life abi alloc configure puppet lookups commands talk noinert
  ;;+ preFilter filter)
