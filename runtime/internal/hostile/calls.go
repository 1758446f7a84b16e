package hostile

import "fmt"

// objects are functions of the host that take longer than expected.
func objects() ([]Attack, error) {
	l := &list{}
	try := func(name, about, imports, body string, set fields) {
		l.add(one("objects/"+name, about, `(module `+imports+`
			;;+ memory abi alloc
			(data (i32.const 8) "key")
			(func (export "berth_filter") (param $call i32) (param $lo i32) (param $hi i32) (result i32) (local $i i32)
				`+body+`
				(i32.const 0)))`, set))
	}
	whole := func(functions ...string) fields { return filtering().with("host", functions) }
	const node = `(import "berth" "node_object" (func $node (param i32 i32 i32) (result i32)))`
	const pod = `(import "berth" "pod_object" (func $pod (param i32 i32 i32) (result i32)))`
	try("two-rows", "two nodes in turn, without end", node, `(loop $again
		(drop (call $node (i32.const 0) (i32.const 0) (i32.const 0)))
		(drop (call $node (i32.const 1) (i32.const 0) (i32.const 0)))
		(br $again))`, whole("node_object"))
	try("all-rows", "all nodes in turn, without end", node, `(loop $again
		(drop (call $node (i32.rem_u (local.get $i) (i32.const 20)) (i32.const 0) (i32.const 0)))
		(local.set $i (i32.add (local.get $i) (i32.const 1)))
		(br $again))`, whole("node_object"))
	try("below-the-deadline", "400,000 times one node of two, which is not without end", node, `(loop $again
		(drop (call $node (i32.and (local.get $i) (i32.const 1)) (i32.const 0) (i32.const 0)))
		(br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 400000))))`, whole("node_object"))
	try("copies", "a node and the pod in turn, copied", node+pod, `(loop $again
		(drop (call $node (i32.const 0) (i32.const 4096) (i32.const 61440)))
		(drop (call $pod (i32.const 0) (i32.const 4096) (i32.const 61440)))
		(br $again))`, whole("node_object", "pod_object"))
	try("no-rows", "nodes that do not exist", node, `(loop $again (drop (call $node (i32.const -1) (i32.const 0) (i32.const 0))) (br $again))`, whole("node_object"))
	state := fields{"points": fields{"preFilter": fields{}, "filter": fields{"scope": "cluster"}}}
	const get = `(import "berth" "state_get" (func $get (param i32 i32 i32 i32) (result i32)))`
	const set = `(import "berth" "state_set" (func $set (param i32 i32 i32 i32) (result i32)))`
	for _, s := range []struct{ name, about, body string }{
		{"state-large", "60 KiB of state, set and read in turn", `(drop (call $set (i32.const 8) (i32.const 3) (i32.const 0) (i32.const 61440)))
			(drop (call $get (i32.const 8) (i32.const 3) (i32.const 0) (i32.const 61440)))`},
		{"state-keys", "as many keys of state as the limit allows", `(i32.store (i32.const 8) (local.get $i)) (local.set $i (i32.add (local.get $i) (i32.const 1)))
			(drop (call $set (i32.const 8) (i32.const 4) (i32.const 0) (i32.const 0)))`},
		{"state-long-keys", "missing keys of 60 KiB", `(drop (call $get (i32.const 0) (i32.const 61440) (i32.const 0) (i32.const 0)))`},
	} {
		state["host"] = []string{"state_get", "state_set"}
		l.add(one("objects/"+s.name, s.about, `(module `+get+set+`
			;;+ memory abi alloc
			(func (export "berth_filter") (param i32 i32 i32) (result i32) (i32.const 0))
			(func (export "berth_pre_filter") (param i32) (result i32) (local $i i32) (loop $again `+s.body+` (br $again)) (i32.const 0)))`, state))
	}
	const log = `(import "berth" "log" (func $log (param i32 i32 i32)))`
	logging := func() fields { return filtering().with("host", []string{"log"}) }
	try("log-empty", "60,000 empty lines of log", log, `(loop $again (call $log (i32.const 3) (i32.const 0) (i32.const 0))
		(br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 60000)))) unreachable`, logging())
	try("log-long", "a line of log of a megabyte of line ends", log, `(drop (memory.grow (i32.const 20))) (memory.fill (i32.const 65536) (i32.const 10) (i32.const 1048576))
		(call $log (i32.const 3) (i32.const 65536) (i32.const 1048576)) unreachable`, logging())
	try("log-escapes", "a line of log of bytes that a terminal acts upon", log, `(local.set $i (i32.const 0)) (loop $next (i32.store8 (i32.add (i32.const 4096) (local.get $i)) (local.get $i))
		(br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 60000))))
		(call $log (i32.const 3) (i32.const 4096) (i32.const 60000)) unreachable`, logging())
	for _, w := range []struct{ name, params, call string }{
		{"random_get", "i32 i32", "(i32.const 0) (i32.const 60000)"},
		{"fd_write", "i32 i32 i32 i32", "(i32.const 1) (i32.const 4096) (i32.const 7000) (i32.const 0)"},
		{"poll_oneoff", "i32 i32 i32 i32", "(i32.const 0) (i32.const 0) (i32.const 1000) (i32.const 0)"},
		{"sched_yield", "", ""},
		{"environ_sizes_get", "i32 i32", "(i32.const 0) (i32.const 4)"},
		{"fd_fdstat_get", "i32 i32", "(i32.const 1) (i32.const 64)"},
	} {
		try("wasi-"+w.name, "calls "+w.name+" without end", fmt.Sprintf(`(import "wasi_snapshot_preview1" "%s" (func $f (param %s) (result i32)))`, w.name, w.params),
			`(loop $again (drop (call $f `+w.call+`)) (br $again))`, filtering())
	}
	return l.all()
}

// starting does something when an instance starts, and traps for each third pod.
func starting(initialize string) string {
	return `(module
		;;+ memory abi alloc bad
		(global $n (mut i32) (i32.const 0))
		(func (export "_initialize") (local $i i32) ` + initialize + `)
		(func (export "berth_filter") (param $call i32) (param i32 i32) (result i32)
			(if (call $bad (local.get $call)) (then unreachable))
			(i32.const 0)))`
}

// starts are instances that are expensive to make, and have to be made often.
func starts() ([]Attack, error) {
	l := &list{}
	// Iterations of a loop; a start has fuel for some 430 million.
	burn := func(n int) string {
		return fmt.Sprintf(`(loop $again (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const %d))))`, n)
	}
	l.add(one("starts/burn", "a start that takes most of its fuel, after each third pod", starting(burn(390_000_000)), filtering()))
	l.add(one("starts/burn-half", "a start that takes half of its fuel, after each third pod", starting(burn(195_000_000)), filtering()))
	l.add(one("starts/touch", "a start that fills all memory, after each third pod", starting(
		`(loop $grow (br_if $grow (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
		(memory.fill (i32.const 4096) (i32.const 1) (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 4096)))`), filtering()))
	l.add(one("starts/overlays", "a filter that traps for each hypothetical node of a preemption, and an allocator that takes its fuel", `(module
		(memory (export "memory") 1)
		;;+ abi bad
		(func (export "berth_alloc") (param i32 i32) (result i32) (local $i i32) `+burn(700_000)+`
			(drop (memory.grow (i32.const 16))) (i32.const 4096))
		(func (export "berth_filter") (param $call i32) (param $lo i32) (param $hi i32) (result i32)
			(if (i32.load offset=36 (local.get $call)) (then unreachable))
			(if (call $bad (local.get $call)) (then
				(memory.fill (i32.load offset=24 (local.get $call)) (i32.const 2) (i32.sub (local.get $hi) (local.get $lo)))))
			(i32.const 0)))`, filtering()))
	l.add(one("starts/never", "a start that never ends", starting(`(loop $again (br $again))`), filtering()))
	return l.all()
}
