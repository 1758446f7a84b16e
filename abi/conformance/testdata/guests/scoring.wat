;; The puppet with pre_filter, pre_score, score and normalize.
(module
  ;;+ plain memory life abi alloc configure puppet lookups commands talk noinert
  ;;+ preFilter preScore score normalize)
