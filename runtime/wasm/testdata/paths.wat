;; A path of some kilobytes that is not there, without end, through a table.
;; points: {"filter": {}}
(module
  (type $unlink (func (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_unlink_file" (func $path (type $unlink)))
  (table 1 funcref) (elem (i32.const 0) $path)
  ;;+ memory abi alloc bad judge filter
  (func $misbehave (param $call i32) (result i32)
    (loop $again
      (drop (call_indirect (type $unlink) (i32.const 3) (i32.const 8) (i32.const 4000) (i32.const 0)))
      (br $again))
    (i32.const 0)))
