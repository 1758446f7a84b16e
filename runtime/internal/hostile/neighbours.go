package hostile

import (
	"errors"
	"fmt"
)

// neighbours are plugins that have the pods of their tenant tried over and over, each in another way.
func neighbours() ([]Attack, error) {
	l := &list{}
	answer := func(code int) string { return fmt.Sprintf("(i32.const %d)", code) }
	all := func(code int) string { // of all nodes
		return fmt.Sprintf("(memory.fill (i32.load offset=24 (local.get $call)) (i32.const %d) "+
			"(i32.sub (local.get 2) (local.get 1))) (i32.const 0)", code)
	}
	const unschedulable, pending = 2, 6
	const wait = "(i64.store offset=96 (local.get $call) (i64.const 1000)) (i32.const 4)"
	hint := "(memory.fill (i32.load offset=24 (local.get $call)) (i32.const 0) (local.get 2)) (i32.const 0)"
	try := func(name, about string, functions ...string) {
		a, err := at(name, about, "", fields{}, functions...)
		a.Name = "neighbours/" + name
		l.add(a, err)
	}
	try("pending", "rejects its pods as Pending", "filter", all(pending))
	try("events", "rejects its pods, and asks for each event", "filter", all(unschedulable))
	try("hints", "rejects its pods, and says of each event that it helps", "filter", all(unschedulable), "hint", hint)
	try("reserve", "rejects its pods as Pending when they have a node", "reserve", answer(pending))
	try("permit", "rejects its pods as Pending when they are to be bound", "permit", answer(pending))
	try("wait", "lets its pods wait at permit for a second", "permit", wait)
	try("bind", "rejects its pods at preBind", "pre_bind", answer(unschedulable))
	try("errors", "traps for each of its pods", "pre_filter", "unreachable")
	try("fuel", "uses up its fuel for each of its pods", "filter", "(loop $again (br $again)) (i32.const 0)")
	try("mixture", "lets its pods wait, and rejects them then", "permit", wait, "pre_bind", answer(pending), "hint", hint)
	more, err := crowds(all, answer, hint)
	return append(l.attacks, more...), errors.Join(l.err, err)
}

// crowds are neighbours with many pods, which changes of nodes wake.
func crowds(all, answer func(code int) string, hint string) ([]Attack, error) {
	l := &list{}
	const success, unschedulable, pending = 0, 2, 6
	crowd := func(name, about string, pods int, declarations string, set fields, functions ...string) *Attack {
		nodes := []fields{{"resource": "Node", "actions": []string{"Add", "UpdateNodeLabel"}}}
		a := l.add(at(name, about, declarations, set.with("events", nodes), functions...))
		a.Name, a.Crowd = "neighbours/crowd-"+name, pods
		return a
	}
	// bad does something for the crowd, and accepts other pods.
	bad := func(body string) string {
		return "(if (call $bad (local.get $call)) (then (return (block (result i32) " + body + ")))) (i32.const 0)"
	}
	directives := func(n string) string {
		return fmt.Sprintf("(i32.store offset=88 (local.get $call) (i32.const %d)) (i32.store offset=92 (local.get $call) %s) ", answersAt, n)
	}
	crowd("pending", "rejects 2,000 pods as Pending", 2000, "", fields{}, "filter", bad(all(pending)))
	crowd("hints", "rejects 2,000 pods, and says of each event that it helps", 2000, "", fields{}, "filter", bad(all(unschedulable)), "hint", hint)
	crowd("wait", "lets 1,500 pods wait at permit for ten minutes", 1500, "", fields{}, "permit",
		bad("(i64.store offset=96 (local.get $call) (i64.const 600000)) (i32.const 4)"))
	// A unit of fuel is some 70 iterations.
	crowd("ends", "lets 200 pods wait at permit for a second, and uses most of its fuel for each event that came meanwhile", 200, "", fields{},
		"permit", bad("(i64.store offset=96 (local.get $call) (i64.const 1000)) (i32.const 4)"),
		"hint", "(loop $again (br_if $again (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 6000000)))) "+
			"(memory.fill (i32.load offset=24 (local.get $call)) (i32.const 5) (local.get 2)) (i32.const 0)")
	crowd("reserve", "rejects 500 pods as Pending when they have a node", 500, "", fields{}, "reserve", bad(answer(pending)))
	// The UIDs of the last 256 pods that were rejected are kept as directives to activate them.
	const keeps = `(local.set $i (i32.and (i32.wrap_i64 (i64.sub (global.get $n) (i64.const 1))) (i32.const 255)))
		(local.set $at (i32.add (i32.const 0x210000) (i32.mul (local.get $i) (i32.const 36))))
		(memory.copy (local.get $at) (i32.add (i32.load offset=4 (local.get $call)) (i32.load offset=32 (i32.load offset=4 (local.get $call))))
			(call $short (i32.load offset=36 (i32.load offset=4 (local.get $call)))))
		(local.set $i (i32.add (i32.const 0x200000) (i32.mul (local.get $i) (i32.const 24))))
		(i32.store (local.get $i) (i32.const 7)) (i32.store offset=8 (local.get $i) (local.get $at))
		(i32.store offset=12 (local.get $i) (call $short (i32.load offset=36 (i32.load offset=4 (local.get $call)))))
		(global.set $n (i64.add (global.get $n) (i64.const 1))) (i32.const 0)`
	const short = "(func $short (param $n i32) (result i32) (select (local.get $n) (i32.const 36) (i32.lt_u (local.get $n) (i32.const 36))))\n"
	const kept = `(select (i32.wrap_i64 (i64.sub (global.get $n) (i64.const 1))) (i32.const 256) (i64.lt_u (global.get $n) (i64.const 257)))`
	activates := crowd("activations", "activates 256 pods for each one that is placed", 256, short,
		fields{"directives": fields{"activate": true}, "reads": fields{"pod": []string{"priority", "uid"}}},
		"pre_filter", bad(keeps), "filter", bad(all(unschedulable)), "reserve", directives(kept)+answer(success))
	activates.Grants = map[string]bool{"activate": true}
	nominates := crowd("nominations", "nominates one node for 3,000 pods", 3000, table([]directive{{3, "node-00000", ""}}),
		fields{"directives": fields{"nominate": true}}, "filter", bad(all(unschedulable)), "post_filter", directives("(i32.const 1)")+answer(success))
	nominates.Grants = map[string]bool{"nominate": true}
	crowd("preemption", "rejects 200 pods as Pending on each node, unless others are evicted from it", 200, "", fields{},
		"filter", bad("(if (i32.load offset=36 (local.get $call)) (then (return (i32.const 0)))) "+all(pending)))
	return l.all()
}
