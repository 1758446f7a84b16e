;; The puppet with filter and hint.
(module
  ;;+ plain memory life abi alloc configure puppet lookups commands talk noinert
  ;;+ hint filter)
