package hostile

import "fmt"

// Good returns the k-th of the plugins that hostile ones run beside: each rejects
// different nodes, one in eleven, and scores the others differently.
func Good(k int) ([]byte, error) {
	return module(fmt.Sprintf(`(module
		;;+ memory abi alloc
		(func (export "berth_filter") (param $call i32) (param $row i32) (param $hi i32) (result i32) (local $codes i32)
			(local.set $codes (i32.sub (i32.load offset=24 (local.get $call)) (local.get $row)))
			(block $done (loop $next
				(br_if $done (i32.ge_u (local.get $row) (local.get $hi)))
				(i32.store8 (i32.add (local.get $codes) (local.get $row))
					(i32.shl (i32.eqz (i32.rem_u (i32.add (local.get $row) (i32.const %d)) (i32.const 11))) (i32.const 1)))
				(local.set $row (i32.add (local.get $row) (i32.const 1)))
				(br $next)))
			(i32.const 0))
		(func (export "berth_score") (param $call i32) (param $lo i32) (param $hi i32) (result i32) (local $row i32)
			(local.set $row (local.get $lo))
			(block $done (loop $next
				(br_if $done (i32.ge_u (local.get $row) (local.get $hi)))
				(i64.store (i32.add (i32.load offset=32 (local.get $call)) (i32.shl (i32.sub (local.get $row) (local.get $lo)) (i32.const 3)))
					(i64.extend_i32_u (i32.rem_u (i32.mul (local.get $row) (i32.const %d)) (i32.const 101))))
				(local.set $row (i32.add (local.get $row) (i32.const 1)))
				(br $next)))
			(i32.const 0)))`, k, 7+13*k), manifest(fields{
		"name": fmt.Sprintf("good-%d", k), "points": fields{"filter": fields{"scope": "node"}, "score": fields{"scope": "node"}},
	}))
}
