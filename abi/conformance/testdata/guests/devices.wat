;; The puppet with filter, reserve and unreserve.
(module
  ;;+ plain memory life abi alloc configure puppet lookups commands talk noinert
  ;;+ filter reserve unreserve)
