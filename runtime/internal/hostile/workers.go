package hostile

import "fmt"

// workers are plugins that answer by what the ABI says nothing of, or forbids: the rows of an instance, its calls, its
// faults, its memory. Whatever they answer, it must be the same with any number of workers.
func workers() ([]Attack, error) {
	l := &list{}
	const nodes = `(i32.load offset=40 (i32.load (local.get $call)))`
	const calls = `(global.set $calls (i32.add (global.get $calls) (i32.const 1)))`
	every := func(n, k int) string {
		return fmt.Sprintf(`(i32.eq (i32.rem_u (global.get $calls) (i32.const %d)) (i32.const %d))`, n, k)
	}
	does := func(condition, what string) string { return `(if ` + condition + ` (then ` + what + `))` }
	traps := func(condition string) string { return does(condition, `unreachable`) }
	const last, grow = `(i32.eq (i32.load offset=20 (local.get $call)) (i32.const 392))`, `(memory.grow (i32.const 16))`
	for _, how := range []struct{ name, about, before, condition string }{
		{"rows-table", "by the rows of the table", "", `(i32.and (i32.load offset=4 ` + nodes + `) (i32.const 1024))`},
		{"rows-capacity", "by the room for rows", "", `(i32.gt_u (i32.load offset=8 ` + nodes + `) (i32.const 3072))`},
		{"rows-call", "by the rows of a call", "", `(i32.eq (i32.load offset=20 (local.get $call)) (i32.const 1024))`},
		{"rows-few", "by whether a call is about few rows", "", `(i32.lt_u (i32.load offset=20 (local.get $call)) (i32.const 1000))`},
		{"row-base", "by row_base", "", `(i32.load offset=12 ` + nodes + `)`},
		{"row-first", "by the first row", "", `(i32.ge_u (local.get 1) (i32.const 1024))`},
		{"row-odd", "by the bits of the last row", "", `(i32.and (local.get 2) (i32.const 2048))`},
		{"layout", "by the address of the nodes", "", `(i32.and (i32.load offset=24 ` + nodes + `) (i32.const 64))`},
		{"calls-second", "each second call of an instance", calls, every(2, 0)},
		{"calls-third", "each third call of an instance", calls, every(3, 0)},
		{"calls-first", "the first call of an instance", calls, `(i32.eq (global.get $calls) (i32.const 1))`},
		{"calls-late", "all calls of an instance from the 10th on", calls, `(i32.gt_u (global.get $calls) (i32.const 9))`},
		{"faults-last", "traps in the last block, and rejects each third call of an instance", traps(last) + calls, every(3, 0)},
		{"faults-first", "traps in blocks that begin with row 0, and rejects each third call of an instance",
			traps(`(i32.eqz (local.get 1))`) + calls, every(3, 0)},
		{"faults-fourth", "traps in each fourth call of an instance, and rejects each third", calls + traps(every(4, 3)), every(3, 0)},
		{"faults-fuel", "spins in each fourth call of an instance, and rejects each third",
			calls + does(every(4, 3), `(loop $again (br $again))`), every(3, 0)},
		{"faults-answer", "answers nonsense in each fourth call of an instance, and rejects each third",
			calls + does(every(4, 3), `(return (i32.const 77))`), every(3, 0)},
		{"writes", "writes into the table in each second call, and rejects each third",
			calls + does(every(2, 1), `(i32.store offset=4 `+nodes+` (i32.const 7))`), every(3, 0)},
		{"memory-page", "by whether a page can be had", "", `(i32.eq (memory.grow (i32.const 1)) (i32.const -1))`},
		{"memory-much", "by whether 8 MiB can be had", "", `(i32.eq (memory.grow (i32.const 128)) (i32.const -1))`},
		{"memory-more", "by whether 48 MiB can be had", "", `(i32.eq (memory.grow (i32.const 768)) (i32.const -1))`},
		{"memory-size", "by how much it has", `(drop (memory.grow (i32.const 10)))`, `(i32.and (memory.size) (i32.const 16))`},
		{"memory-all", "by how much it gets",
			`(loop $again (br_if $again (i32.ne ` + grow + ` (i32.const -1))))`, `(i32.and (memory.size) (i32.const 16))`},
		{"memory-trap", "traps if 8 MiB cannot be had", traps(`(i32.eq (memory.grow (i32.const 128)) (i32.const -1))`), `(i32.const 0)`},
		{"epoch", "by the epoch", "", `(i32.and (i32.load offset=8 (i32.load (local.get $call))) (i32.const 1))`},
		{"generation", "by the generation", "", `(i32.and (i32.load offset=16 (i32.load (local.get $call))) (i32.const 1))`},
	} {
		for _, function := range []string{"filter", "score"} {
			bad := `(memory.fill (i32.load offset=24 (local.get $call)) (i32.const 2) (i32.sub (local.get 2) (local.get 1)))`
			if function == "score" {
				bad = `(loop $row (i32.store8 (i32.add (i32.load offset=32 (local.get $call)) (i32.shl (local.get $i) (i32.const 3))) (i32.const 90))
					(br_if $row (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.load offset=20 (local.get $call)))))`
			}
			l.add(one("workers/"+function+"-"+how.name, "answers "+how.about, `(module (global $calls (mut i32) (i32.const 0))
				;;+ memory abi alloc
				(func (export "berth_`+function+`") (param $call i32) (param i32 i32) (result i32) (local $i i32)
					`+how.before+` (if `+how.condition+` (then `+bad+`)) (i32.const 0)))`,
				fields{"points": fields{function: fields{"scope": "node"}}}))
			a := &l.attacks[len(l.attacks)-1]
			a.Nodes, a.Pods, a.Workers = 5512, 6, true
		}
	}
	return l.all()
}
