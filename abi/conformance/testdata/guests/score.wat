;; The puppet with score.
(module
  ;;+ plain memory life abi alloc configure puppet lookups commands talk noinert
  ;;+ score)
