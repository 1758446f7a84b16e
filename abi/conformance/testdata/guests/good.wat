;; A filter that is content with every node, and nothing else.
(module
  (memory (export "memory") 1)
  ;;+ bump
  ;;+ yes
)
