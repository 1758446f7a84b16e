package hostile

import (
	"encoding/json"
	"fmt"
)

// used returns the CPU that is requested on a row: the column with id 4 of the table with id 1.
const used = `(func $used (param $call i32) (param $row i32) (result i64) (local $at i32)
	(local.set $at (i32.load offset=40 (i32.load (local.get $call))))
	(block $table (loop $next (br_if $table (i32.eq (i32.load (local.get $at)) (i32.const 1)))
		(local.set $at (i32.add (local.get $at) (i32.const 32))) (br $next)))
	(local.set $at (i32.load offset=24 (local.get $at)))
	(block $column (loop $next (br_if $column (i32.eq (i32.load (local.get $at)) (i32.const 4)))
		(local.set $at (i32.add (local.get $at) (i32.const 24))) (br $next)))
	(i64.load (i32.add (i32.load offset=12 (local.get $at)) (i32.shl (local.get $row) (i32.const 3)))))
`

// evictions are attacks that have pods of another tenant removed for one that never runs. That tenant's pods fill four nodes, or
// leave room for the pod.
func evictions() ([]Attack, error) {
	l := &list{}
	const (
		success = "(i32.const 0)"
		rejects = "(i32.const 2)"
		// dryRun is not 0 in a call about a hypothetical node.
		dryRun = "(i32.load offset=36 (local.get $call))"
		rows   = "(i32.sub (local.get 2) (local.get 1))"
		codes  = "(i32.load offset=24 (local.get $call))"
		// emptied is not 0 for a hypothetical node without pods.
		emptied = "(i32.and " + dryRun + " (i64.eqz (call $used (local.get $call) (local.get 1))))"
		// declines rejects all nodes but those, and turns all but one of them for another reason, another one each time.
		declines = "(if (i32.eqz " + emptied + ") (then (memory.fill " + codes + " (i32.const 2) " + rows + "))) " + success
		turns    = "(if (i32.eqz " + emptied + ") (then (memory.fill " + codes + " (i32.const 3) " + rows + `)
			(i32.store8 (i32.add ` + codes + " (i32.wrap_i64 (i64.rem_u (global.get $n) (i64.extend_i32_u " + rows + `)))) (i32.const 2))
			(global.set $n (i64.add (global.get $n) (i64.const 1))))) ` + success
		// sets leaves out all of the four nodes but one, another one each time.
		sets = `(i32.store (i32.const 0x200000) (i32.wrap_i64 (i64.rem_u (global.get $n) (i64.const 4))))
			(global.set $n (i64.add (global.get $n) (i64.const 1)))
			(i32.store offset=72 (local.get $call) (i32.const 0x200000))
			(i32.store offset=76 (local.get $call) (i32.const 1)) (i32.store offset=80 (local.get $call) (i32.const 1)) ` + success
	)
	for _, d := range []struct {
		name, about string
		cpu         string // of each pod of the other tenant, on nodes of 8
		evictions   int
		functions   []string
	}{
		{"evict-fitting", "rejects all nodes, though its pod fits, and accepts what is left without pods", "1", 0, []string{"filter", declines}},
		{"evict-prefilter", "rejects its pod at preFilter, which dry runs skip", "6", 0, []string{"pre_filter", rejects}},
		{"evict-declines", "declines each node once it is empty", "6", 2, []string{"filter", declines}},
		{"evict-codes", "gives one node another code than the others, in turn", "1", 0, []string{"filter", turns}},
		{"evict-sets", "leaves out all nodes but one at preFilter, another one each time", "6", 2, []string{"pre_filter", sets}},
		{"evict-reserve", "rejects at reserve when there is room", "6", 2, []string{"reserve", rejects}},
		{"evict-permit", "rejects at permit when there is room", "6", 2, []string{"permit", rejects}},
		{"evict-prebind", "rejects at preBind when there is room", "6", 2, []string{"pre_bind", rejects}},
	} {
		var objects []object
		for i := range 4 {
			n := node(nil)
			n["metadata"] = object{"name": fmt.Sprint("node-", i)}
			objects = append(objects, n, placed(pod("good", fmt.Sprint("pod-", i), 1, d.cpu, nil), fmt.Sprint("node-", i)))
		}
		objects = append(objects, pod("evil", "never", 100, "4", nil), pod("good", "new", 1, "1", nil))
		objects = append(objects, attached("filter", "preFilter", "reserve", "permit", "preBind")...)
		if d.evictions > 0 { // the room is taken by others before the guest lets its pod have it
			for i := range 4 {
				objects = append(objects, pod("good", fmt.Sprint("spare-", i), 1, d.cpu, nil))
			}
		}
		data, err := json.Marshal(object{"apiVersion": "v1", "kind": "List", "items": objects})
		if err != nil {
			return nil, err
		}
		reads := fields{"node": []string{"requested"}, "resources": []string{"cpu"}, "pod": []string{"priority"}}
		a := l.add(at(d.name, d.about, used, fields{"reads": reads}, d.functions...))
		a.Name, a.As, a.Cluster, a.Evictions = "tenants/"+d.name, AsTenant, data, d.evictions
	}
	return l.all()
}
