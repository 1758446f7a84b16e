;; The puppet with pre_enqueue.
(module
  ;;+ plain memory life abi alloc configure puppet lookups commands talk noinert
  ;;+ preEnqueue)
