;; The puppet with every point and every host function.
(module
  ;;+ full memory life abi alloc configure initialize puppet lookups commands talk noinert
  ;;+ preEnqueue queueSort hint preFilter addPod removePod filter postFilter preScore score normalize reserve unreserve permit preBind bind postBind)
