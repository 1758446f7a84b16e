package hostile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// hungry takes all the memory it can get, and touches it.
const hungry = `(module
	;;+ memory abi alloc
	(func $eat (loop $grow (br_if $grow (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
		(memory.fill (i32.const 0x200000) (i32.const 1) (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 0x200000))))
	(func (export "berth_filter") (param i32 i32 i32) (result i32) (call $eat) (i32.const 0))
	(func (export "berth_score") (param i32 i32 i32) (result i32) (call $eat) (i32.const 0))
	(func (export "berth_reserve") (param i32) (result i32) (call $eat) (i32.const 0))
	(func (export "berth_pre_bind") (param i32) (result i32) (call $eat) (i32.const 0))
	(func (export "berth_post_bind") (param i32) (result i32) (call $eat) (i32.const 0))
	(func (export "berth_pre_enqueue") (param i32 i32 i32) (result i32) (call $eat) (i32.const 0)))`

// totals are plugins that stay below each limit, but use much in total.
func totals() ([]Attack, error) {
	l := &list{}
	eats := func(set fields) fields {
		return set.with("points", fields{"filter": fields{"scope": "node"}, "score": fields{"scope": "node", "normalize": "max"}, "reserve": fields{}, "preBind": fields{}, "postBind": fields{}, "preEnqueue": fields{}})
	}
	one1, err := one("totals/memory", "all memory, in each instance", hungry, eats(fields{}))
	l.add(one1, err)
	four := Attack{Name: "totals/memory-of-four", About: "all memory, in each instance of four plugins"}
	for i := range 4 {
		a, err := one("four", "", hungry, eats(fields{"name": fmt.Sprint("guest-", i)}))
		if err != nil {
			return nil, err
		}
		four.Plugins = append(four.Plugins, a.Plugins...)
	}
	l.add(four, nil)
	many := func(format string) (out []string) {
		for i := range 256 {
			out = append(out, fmt.Sprintf(format, i))
		}
		return out
	}
	reads := fields{
		"node": []string{"name", "allocatable", "requested", "labels", "taints", "pods"}, "pod": []string{"priority"},
		"resources": many("example.com/r%d"), "nodeLabels": many("example.com/l%d"), "nodeAnnotations": many("example.com/a%d"),
	}
	wide := l.add(one("totals/wide", "256 resources, labels and annotations of 5,000 nodes", good, filtering().with("reads", reads)))
	wide.Nodes = 5000
	return l.all()
}

// messages are texts that end in a pod's condition and event.
func messages() ([]Attack, error) {
	// reasons rejects each row for a reason of its own, of some bytes that change with each call.
	reasons := func(length int) string {
		return fmt.Sprintf(`(module
			(memory (export "memory") 40)
			;;+ abi alloc
			(global $salt (mut i32) (i32.const 1))
			(func (export "berth_filter") (param $call i32) (param $lo i32) (param $hi i32) (result i32) (local $i i32) (local $n i32) (local $j i32)
				(local.set $n (i32.sub (local.get $hi) (local.get $lo)))
				(if (i32.gt_u (local.get $n) (i32.const %[2]d)) (then (local.set $n (i32.const %[2]d))))
				(memory.fill (i32.load offset=24 (local.get $call)) (i32.const 2) (i32.sub (local.get $hi) (local.get $lo)))
				(loop $row
					(i32.store16 (i32.add (i32.load offset=28 (local.get $call)) (i32.shl (local.get $i) (i32.const 1))) (i32.add (local.get $i) (i32.const 1)))
					(i32.store (i32.add (i32.const 0x200000) (i32.shl (local.get $i) (i32.const 3))) (i32.add (i32.const 0x210000) (i32.shl (local.get $i) (i32.const 3))))
					(i32.store (i32.add (i32.const 0x200004) (i32.shl (local.get $i) (i32.const 3))) (i32.const 1))
					(i32.store (i32.add (i32.const 0x210000) (i32.shl (local.get $i) (i32.const 3))) (i32.add (i32.const 0x220000) (i32.mul (local.get $i) (i32.const %[1]d))))
					(i32.store (i32.add (i32.const 0x210004) (i32.shl (local.get $i) (i32.const 3))) (i32.const %[1]d))
					(local.set $j (i32.const 0))
					(loop $byte
						(global.set $salt (i32.add (i32.mul (global.get $salt) (i32.const 1103515245)) (i32.const 12345)))
						(i32.store8 (i32.add (i32.add (i32.const 0x220000) (i32.mul (local.get $i) (i32.const %[1]d))) (local.get $j))
							(i32.add (i32.const 97) (i32.and (i32.shr_u (global.get $salt) (i32.const 20)) (i32.const 15))))
						(br_if $byte (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 1))) (i32.const %[1]d))))
					(br_if $row (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
				(i32.store offset=64 (local.get $call) (i32.const 0x200000))
				(i32.store offset=68 (local.get $call) (local.get $n))
				(i32.const 0)))`, length, min(1000, 60_000/length))
	}
	l := &list{}
	for _, length := range []int{60, 1000, 60_000} {
		a := l.add(one(fmt.Sprintf("messages/reasons-of-%d", length), fmt.Sprintf("other reasons of %d bytes for each row, block and call", length), reasons(length), filtering()))
		a.Nodes = 3000
	}
	l.add(one("messages/escapes", "a reason with escapes of terminals", `(module
		;;+ memory abi alloc
		(data (i32.const 16) "\00\02\00\00\01\00\00\00")
		(data (i32.const 512) "\00\04\00\00\20\00\00\00")
		(data (i32.const 1024) "\1b[2J\1b]0;owned\07\0d\0a\e2\80\ae\00\c2\9bno such node     ")
		(func (export "berth_filter") (param $call i32) (param $lo i32) (param $hi i32) (result i32) (local $i i32)
			(memory.fill (i32.load offset=24 (local.get $call)) (i32.const 2) (i32.sub (local.get $hi) (local.get $lo)))
			(loop $row
				(i32.store16 (i32.add (i32.load offset=28 (local.get $call)) (i32.shl (local.get $i) (i32.const 1))) (i32.const 1))
				(br_if $row (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.sub (local.get $hi) (local.get $lo)))))
			(i32.store offset=64 (local.get $call) (i32.const 16))
			(i32.store offset=68 (local.get $call) (i32.const 1))
			(i32.const 0)))`, filtering()))
	return l.all()
}

// time are instructions that take longer than others.
func time() ([]Attack, error) {
	l := &list{}
	try := func(name, about, before, body string) {
		l.add(one("time/"+name, about, `(module (memory (export "memory") 900)
			(table $t 64 funcref) (type $f (func (param i32) (result i32)))
			(func $a (param i32) (result i32) (local.get 0)) (func $b (param i32) (result i32) (i32.const 1)) (elem (i32.const 0) $a $b)
			;;+ abi alloc
			(func (export "berth_filter") (param i32 i32 i32) (result i32) (local $i i32) (local $x f64) (local $y f32) (local $n i64)
				`+before+` (loop $again `+body+` (br $again)) (i32.const 0)))`, filtering()))
	}
	try("denormal", "divides numbers that are not normal", `(local.set $x (f64.const 1e-310))`,
		strings.Repeat(`(local.set $x (f64.div (f64.mul (local.get $x) (f64.const 1.5)) (f64.const 1.4999)))`, 8))
	try("denormal-single", "divides short numbers that are not normal", `(local.set $y (f32.const 1e-40))`,
		strings.Repeat(`(local.set $y (f32.div (f32.mul (local.get $y) (f32.const 1.5)) (f32.const 1.4999)))`, 8))
	try("roots", "square roots", `(local.set $x (f64.const 1e-310))`, strings.Repeat(`(local.set $x (f64.add (f64.sqrt (local.get $x)) (f64.const 1e-310)))`, 8))
	chase := `(local.set $i (i32.and (i32.add (i32.mul (local.get $i) (i32.const 1664525)) (i32.add (i32.const 1013904223) (i32.load (local.get $i)))) (i32.const 0x2ffffff)))`
	try("cache-misses", "loads from anywhere in 48 MiB", "", strings.Repeat(chase, 16))
	try("cache-misses-stores", "stores to anywhere in 48 MiB", "", strings.Repeat(strings.Replace(chase, "(i32.load (local.get $i))", "(i32.const 1)", 1)+`(i64.store offset=1000 (local.get $i) (local.get $n))`, 16))
	try("division", "divides", `(local.set $n (i64.const -3))`, strings.Repeat(`(local.set $n (i64.add (i64.div_s (local.get $n) (i64.const 3)) (i64.rem_u (local.get $n) (i64.const 7))))`, 16))
	try("indirect", "calls through a table, to one or another function", "", strings.Repeat(`(local.set $i (i32.mul (i32.add (local.get $i) (call_indirect (type $f) (i32.const 3) (i32.and (local.get $i) (i32.const 1)))) (i32.const 1103515245)))`, 8))
	try("copies", "copies of some bytes, not aligned, over all of memory", "", strings.Repeat(`(memory.copy (local.get $i) (i32.add (local.get $i) (i32.const 61)) (i32.const 127)) (local.set $i (i32.and (i32.add (local.get $i) (i32.const 4097)) (i32.const 0x2ffffff)))`, 8))
	return l.all()
}

// structure are modules that are large in unusual sections.
func structure() ([]Attack, error) {
	l := &list{}
	at := func(fields string) string { return "(module " + fields + good[len("(module"):] }
	l.add(one("structure/types", "9,000 types of 490 values", good, filtering(), func(m []byte) []byte { return moreTypes(m, 9000) }))
	l.add(one("structure/functions", "90,000 functions", at(strings.Repeat("(func)\n", 90_000)), filtering()))
	l.add(one("structure/globals", "4,000 globals", at(strings.Repeat("(global (mut i64) (i64.const 1))\n", 4000)), filtering()))
	l.add(one("structure/functions-globals", "90,000 functions and 4,000 globals, which compilers declare in each", at(strings.Repeat("(func)\n", 90_000)+strings.Repeat("(global (mut i64) (i64.const 1))\n", 4000)), filtering()))
	l.add(one("structure/data", "90,000 segments of data", at(strings.Repeat("(data (i32.const 8) \"x\")\n", 90_000)), filtering()))
	l.add(one("structure/elements", "9,000 segments of 20 elements", at("(table 100 funcref) (func $e)"+strings.Repeat("(elem (i32.const 0) "+strings.Repeat("$e ", 20)+")\n", 9000)), filtering()))
	l.add(one("structure/exports", "9,000 exports", exports(9000, "")[:len("(module (func")]+strings.Join(slices.Collect(func(yield func(string) bool) {
		for i := range 9000 {
			if !yield(fmt.Sprintf(` (export "e%d")`, i)) {
				return
			}
		}
	}), "")+")"+good[len("(module"):], filtering()))
	l.add(one("structure/imports", "9,000 imports with wrong signatures of 1,000 values each way", at("(type $wide (func (param"+strings.Repeat(" externref", 1000)+") (result"+strings.Repeat(" externref", 1000)+")))\n"+
		strings.Repeat("(import \"wasi_snapshot_preview1\" \"fd_close\" (func (type $wide)))\n", 9000)), filtering()))
	l.add(one("structure/table", "a table of 2^27 elements", at("(table 134217728 funcref)"), filtering()))
	l.add(one("structure/tables", "16 tables of 65,536 elements", at(strings.Repeat("(table 65536 funcref)\n", 16)), filtering()))
	l.add(one("structure/deep-frames", "a recursion whose frames have a place for each of 2,000 values", `(module (memory (export "memory") 40) (global $g (mut i64) (i64.const 0))
		;;+ abi alloc
		(func $nop)
		(func $deep (local $a i64) `+strings.Repeat("(local.set $a (i64.add (local.get $a) (global.get $g))) (call $nop)\n", 2000)+`
			(call $deep) (global.set $g (local.get $a)))
		(func (export "berth_filter") (param i32 i32 i32) (result i32) (call $deep) (i32.const 0)))`, filtering()))
	l.add(one("structure/memory", "a memory of 4 GiB", strings.Replace(good, ";;+ memory", `(memory (export "memory") 65535) ;;`, 1), filtering()))
	l.add(one("structure/blocks", "blocks, one after the other, in 20 functions", at(strings.Repeat("(func "+strings.Repeat("(block (br_if 0 (i32.const 1)))\n", 2000)+")", 20)), filtering()))
	l.add(one("structure/customs", "15 MiB of custom sections", good, filtering(), func(m []byte) []byte {
		for i := range 15 {
			m = custom(m, fmt.Sprint("section-", i), make([]byte, 1<<20))
		}
		return m
	}))
	l.add(one("structure/manifests", "two manifests", good, filtering(), func(m []byte) []byte { return custom(m, "berth.manifest", []byte("{}")) }))
	l.add(one("structure/no-module", "a megabyte of zeros", good, filtering(), func([]byte) []byte { return make([]byte, 1<<20) }))
	l.add(one("structure/not-whole", "a module that ends early", good, filtering(), func(m []byte) []byte { return m[:len(m)-7] }))
	return l.all()
}

// moreTypes adds n types to a module, whose first section is that of types.
func moreTypes(module []byte, n int) []byte {
	const header = 8
	size, width := binary.Uvarint(module[header+1:])
	old := module[header+1+width:][:size]
	rest := module[header+1+width+int(size):]
	count, width := binary.Uvarint(old)
	types := append(u32(int(count)+n), old[width:]...)
	for i := range n {
		types = append(append(types, 0x60), u32(245)...)
		for bit := range 245 {
			types = append(types, 0x7f-byte(i>>(bit%14)&1)) // i32 or i64
		}
		types = append(append(types, u32(245)...), bytes.Repeat([]byte{0x7c}, 245)...)
	}
	return append(section(slices.Clone(module[:header]), 1, types), rest...)
}

// escapes are texts of the manifest, and functions of the host where the host looks for
// functions of the guest.
func escapes() ([]Attack, error) {
	l := &list{}
	long := strings.Repeat("\u202e\x1b[31m long ", 2_500)
	for _, name := range []string{"name", "version", "publisher", "license", "description", "docs", "abi", "homepage"} {
		l.add(one("escapes/"+name, "escapes of terminals in the manifest: "+name, good, filtering().with(name, "a"+strings.ToValidUTF8(evil, "?")+long)))
	}
	l.add(one("escapes/reads", "escapes of terminals in what it reads", good, filtering().with("reads", fields{
		"nodeLabels": []string{strings.ToValidUTF8(evil, "?")}, "node": []string{"labels", long[:1000]},
	})))
	l.add(one("escapes/events", "escapes of terminals in events", good, filtering().with("events", []fields{{"resource": long[:5000], "actions": []string{long[:5000]}}})))
	for _, r := range []struct{ name, signature, as, instead string }{
		{"random_get", "(param i32 i32) (result i32)", "berth_configure", ""},
		{"sched_yield", "(result i32)", "berth_abi", "abi"},
		{"args_sizes_get", "(param i32 i32) (result i32)", "berth_alloc", "alloc"},
		{"fd_renumber", "(param i32 i32) (result i32)", "berth_configure", ""},
		{"path_unlink_file", "(param i32 i32 i32) (result i32)", "berth_filter", "filter"},
		{"fd_close", "(param i32) (result i32)", "berth_pre_filter", ""},
		{"random_get", "(param i32 i32) (result i32)", "_initialize", ""},
		{"proc_exit", "(param i32)", "_initialize", ""},
		{"sched_yield", "(result i32)", "_initialize", ""},
	} {
		source := `(module (import "wasi_snapshot_preview1" "` + r.name + `" (func $host ` + r.signature + `)) (export "` + r.as + `" (func $host))
			;;+ memory ` + strings.ReplaceAll("abi alloc", r.instead, "") + "\n"
		if r.instead != "filter" {
			source += `(func (export "berth_filter") (param i32 i32 i32) (result i32) (i32.const 0))`
		}
		set := filtering()
		if r.as == "berth_pre_filter" {
			set = fields{"points": fields{"preFilter": fields{}, "filter": fields{}}}
		}
		l.add(one("escapes/host-as-"+r.as+"-"+r.name, "a function of the host, "+r.name+", as "+r.as, source+")", set))
	}
	return l.all()
}
