package hostile

import "fmt"

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
	return l.all()
}
