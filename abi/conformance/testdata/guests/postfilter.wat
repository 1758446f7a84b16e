;; The puppet with filter and post_filter.
(module
  ;;+ plain memory life abi alloc configure puppet lookups commands talk noinert
  ;;+ filter postFilter)
