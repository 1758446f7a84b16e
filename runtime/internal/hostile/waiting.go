package hostile

import "fmt"

// waiting are plugins that keep something for each of many pods, which wait or are gated.
func waiting() ([]Attack, error) {
	l := &list{}
	many := func(pods int, a Attack, err error) { l.add(a, err).Pods = pods }
	writes := ""
	for i := range 4 {
		writes += fmt.Sprintf("(i32.store (i32.const 8) (i32.const %d)) (drop (call $set (i32.const 8) (i32.const 4) (i32.const 0) (i32.const 60000)))\n", i)
	}
	// state writes much in pre_filter, and permit makes the pod wait for 30 seconds.
	state := func(more string) string {
		return `(module (import "berth" "state_set" (func $set (param i32 i32 i32 i32) (result i32)))
			;;+ memory abi alloc
			(func (export "berth_pre_filter") (param i32) (result i32) ` + more + ` (i32.const 0))
			(func (export "berth_filter") (param i32 i32 i32) (result i32) (i32.const 0))
			(func (export "berth_unreserve") (param i32) (result i32) ` + writes + ` (i32.const 0))
			(func (export "berth_reserve") (param i32) (result i32) (i32.const 0))
			(func (export "berth_permit") (param $call i32) (result i32) (i64.store offset=96 (local.get $call) (i64.const 30000)) (i32.const 4)))`
	}
	set := func() fields {
		return fields{"points": fields{"preFilter": fields{}, "filter": fields{}, "reserve": fields{}, "unreserve": fields{}, "permit": fields{}}, "host": []string{"state_set"}}
	}
	a, err := one("waiting/state", "240 KB of state for each of 1,500 pods that wait", state(writes), set())
	many(1500, a, err)
	a, err = one("waiting/state-later", "240 KB of state for each of 1,500 pods that waited", state(""), set())
	many(1500, a, err)
	return l.all()
}
