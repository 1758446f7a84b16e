;; The puppet with reserve, unreserve and permit.
(module
  ;;+ plain memory life abi alloc configure puppet lookups commands talk noinert
  ;;+ reserve unreserve permit)
