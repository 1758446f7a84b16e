;; The puppet with pre_bind, bind and post_bind.
(module
  ;;+ plain memory life abi alloc configure puppet lookups commands talk noinert
  ;;+ preBind bind postBind)
