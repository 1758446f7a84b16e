;; The puppet with queue_key.
(module
  ;;+ plain memory life abi alloc configure puppet lookups commands talk noinert
  ;;+ queueSort)
