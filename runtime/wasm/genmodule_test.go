package wasm_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
)

// moduleGen draws valid modules whose filter does not end by itself: what an author could write so that a unit of fuel, or a
// byte of a module, costs as much as possible. A seed always draws the same module.
type moduleGen struct {
	*rand.Rand
	strings.Builder
	// signatures are the parameters of the functions that call each other; leaves are functions without parameters that tables hold.
	signatures              [][]string
	leaves, globals, tables int
	// Of the present function: the first that it may call, and loops so far.
	next, loops, budget int
}

const (
	genPages  = 256 // of memory, of which a mask takes what there is of it
	genLocals = "(local $i i32) (local $n i64) (local $x f32) (local $y f64) (local $v v128) (local $l0 i32) (local $l1 i32) (local $l2 i32) (local $l3 i32)"
)

// drawModule returns the text of a module, and its manifest's points and host functions.
func drawModule(seed uint64) string {
	g := &moduleGen{Rand: rand.New(rand.NewPCG(seed, 0x62657274))}
	g.leaves, g.globals, g.tables = g.size(4), g.size(20), g.size(3)
	for range g.size(12) {
		var params []string
		for range g.IntN(6) {
			params = append(params, pick(g, "i32", "i64", "f32", "f64", "v128"))
		}
		g.signatures = append(g.signatures, params)
	}
	g.say("(module\n")
	for _, f := range genHost() {
		t, _ := wire.HostFunction(f)
		result := ""
		if len(t.Results) > 0 {
			result = "(result i32)"
		}
		g.say("(import \"berth\" %q (func $%s (param%s) %s))\n", f, f, strings.Repeat(" i32", len(t.Params)), result)
	}
	g.say("(type $leaf (func (result i32)))\n")
	for i := range g.IntN(50) { // that nothing has
		g.say("(type (func (param%s)))\n", strings.Repeat(" i64", i))
	}
	g.say("(memory (export \"memory\") %d %d)\n(global $top (mut i32) (i32.const 65536))\n", genPages, genPages+g.size(64))
	for i := range g.globals {
		g.say("(global $g%d (mut i64) (i64.const %d))\n", i, g.Int64())
	}
	for i := range g.tables {
		g.say("(table $t%d %d %d funcref)\n", i, 64+g.IntN(5000), 6000)
	}
	var entries []string
	for range g.size(30) {
		entries = append(entries, fmt.Sprintf("$leaf%d", g.IntN(g.leaves)))
	}
	g.say("(elem $e func %s)\n(elem (i32.const 0) %s)\n", strings.Join(entries, " "), strings.Repeat("$leaf0 ", 32)+strings.Repeat(entries[0]+" ", 32))
	g.say("(data $d %q)\n", strings.Repeat("passive ", g.size(2000)))
	for range g.IntN(40) {
		g.say("(data (i32.const %d) \"x\")\n", g.IntN(1<<16))
	}
	for i := range g.leaves {
		g.say("(func $leaf%d (type $leaf) %s\n", i, genLocals)
		g.function(len(g.signatures), 3)
		g.say("%s)\n", g.value("i32", 2))
	}
	g.say("(func $deep (param $depth i32) (if (i32.eqz (local.get $depth)) (then (return))) (call $deep (i32.sub (local.get $depth) (i32.const 1))))\n")
	for i, params := range g.signatures {
		g.say("(func $f%d (param %s) %s\n", i, strings.Join(params, " "), genLocals)
		g.function(i+1, 12)
		g.say(")\n")
	}
	g.say(`(func (export "berth_abi") (result i32) (i32.const 0x10000))
		(func (export "berth_alloc") (param i32 i32) (result i32) (local $at i32)
			(local.set $at (i32.and (i32.add (global.get $top) (i32.const 63)) (i32.const -64)))
			(global.set $top (i32.add (local.get $at) (local.get 0)))
			(local.get $at))
		(func (export "berth_filter") (param i32 i32 i32) (result i32) `+genLocals+`
			(local.set $x (f32.const 1e-40)) (local.set $y (f64.const 1e-310)) (local.set $v (f64x2.splat (f64.const 1e-310)))
			(loop $again %s (br $again)) (i32.const 0)))`, g.call(0))
	return g.String()
}

// genHost returns the host functions that are called.
func genHost() []string {
	return []string{abi.HostLog, abi.HostStateGet, abi.HostStateSet, abi.HostPublishedGet, abi.HostPodObject, abi.HostNodeObject}
}

func pick[T any](g *moduleGen, from ...T) T { return from[g.IntN(len(from))] }

func (g *moduleGen) size(most int) int { return 1 + g.IntN(most) }

func (g *moduleGen) say(format string, args ...any) { fmt.Fprintf(&g.Builder, format, args...) }

// function draws the statements of a function that may call the functions from next on.
func (g *moduleGen) function(next, statements int) {
	g.next, g.loops, g.budget = next, 0, 60
	g.say("(local.set $x (f32.const 1e-40)) (local.set $y (f64.const 1e-310)) (local.set $v (f64x2.splat (f64.const 1e-310)))\n")
	for range g.size(statements) {
		g.say("%s\n", g.statement())
	}
}

// address draws an address within the memory, in any page.
func (g *moduleGen) address() string {
	return fmt.Sprintf("(i32.and %s (i32.const %d))", g.value("i32", 2), pick(g, 0xffff, 0xffffff-0x1ffff, 0xfffff, 0xfff8c0))
}

// length draws the length of a bulk operation.
func (g *moduleGen) length() int { return pick(g, 0, 1, 17, 127, 4096, 65_537, 130_000) }

func (g *moduleGen) call(i int) string {
	if i >= len(g.signatures) {
		return fmt.Sprintf("(drop (call_indirect (type $leaf) (i32.and %s (i32.const 63))))", g.value("i32", 2))
	}
	var args []string
	for _, t := range g.signatures[i] {
		args = append(args, g.value(t, 2))
	}
	return fmt.Sprintf("(call $f%d %s)", i, strings.Join(args, " "))
}

func (g *moduleGen) statement() string {
	g.budget--
	switch kind := g.IntN(16); {
	case kind < 4:
		set := pick(g, [2]string{"i32", "$i"}, [2]string{"i64", "$n"}, [2]string{"f32", "$x"}, [2]string{"f64", "$y"}, [2]string{"v128", "$v"})
		return fmt.Sprintf("(local.set %s %s)", set[1], g.value(set[0], 4))
	case kind == 4:
		return fmt.Sprintf("(%s %s %s)", pick(g, "i64.store", "i64.store8", "i64.store32 offset=1000"), g.address(), g.value("i64", 3))
	case kind == 5:
		return fmt.Sprintf("(v128.store %s %s)", g.address(), g.value("v128", 3))
	case kind == 6:
		return fmt.Sprintf("(global.set $g%d %s)", g.IntN(g.globals), g.value("i64", 3))
	case kind < 9 && g.loops < 4 && g.budget > 0:
		l := g.loops
		g.loops++
		var body []string
		for range g.size(4) {
			body = append(body, g.statement())
		}
		return fmt.Sprintf("(local.set $l%d (i32.const 0)) (loop $loop%d %s (br_if $loop%d (i32.lt_u (local.tee $l%d (i32.add (local.get $l%d) (i32.const 1))) (i32.const %d))))",
			l, l, strings.Join(body, " "), l, l, l, pick(g, 1, 3, 100, 10_000))
	case kind == 9 && g.budget > 0:
		return fmt.Sprintf("(if %s (then %s) (else %s))", g.value("i32", 2), g.statement(), g.statement())
	case kind == 10:
		return fmt.Sprintf("(memory.fill %s (i32.const 1) (i32.const %d))", g.address(), g.length())
	case kind == 11:
		return fmt.Sprintf("(memory.copy %s %s (i32.const %d))", g.address(), g.address(), g.length())
	case kind == 12:
		return pick(g,
			fmt.Sprintf("(memory.init $d %s (i32.const 0) (i32.const 8))", g.address()),
			"(table.init $e (i32.const 1) (i32.const 0) (i32.const 1))",
			fmt.Sprintf("(table.copy 0 0 (i32.const %d) (i32.const 0) (i32.const 32))", g.IntN(16)),
			fmt.Sprintf("(table.fill %d (i32.const 1) (ref.func $leaf0) (i32.const %d))", g.IntN(g.tables), g.IntN(60)),
			fmt.Sprintf("(drop (table.grow %d (ref.null func) (i32.const %d)))", g.IntN(g.tables), g.IntN(9)),
			fmt.Sprintf("(drop (memory.grow (i32.const %d)))", g.IntN(3)))
	case kind == 13:
		return fmt.Sprintf("(call $deep (i32.const %d))", g.IntN(500))
	case kind == 14:
		return g.hostCall()
	}
	return g.call(max(g.next, g.next+g.IntN(3)))
}

// hostCall calls a function of the host with addresses inside or outside of the memory.
func (g *moduleGen) hostCall() string {
	name := pick(g, genHost()...)
	t, _ := wire.HostFunction(name)
	var args []string
	for range t.Params {
		args = append(args, fmt.Sprintf("(i32.const %d)", pick(g, 0, 1, 2, 8, 100, 4096, 60_000)))
	}
	call := fmt.Sprintf("(call $%s %s)", name, strings.Join(args, " "))
	if len(t.Results) > 0 {
		call = "(drop " + call + ")"
	}
	return call
}

// value draws an expression of a type, of a depth at most.
func (g *moduleGen) value(t string, depth int) string {
	local := map[string]string{"i32": "$i", "i64": "$n", "f32": "$x", "f64": "$y", "v128": "$v"}[t]
	if depth == 0 || g.IntN(5) == 0 {
		return "(local.get " + local + ")"
	}
	v := func(t string) string { return g.value(t, depth-1) }
	two := func(t string, ops ...string) string { return fmt.Sprintf("(%s %s %s)", pick(g, ops...), v(t), v(t)) }
	at := func(op string) string { return fmt.Sprintf("(%s (i32.and %s (i32.const 0xfdffff)))", op, v("i32")) }
	switch t {
	case "i32":
		return pick(g,
			two("i32", "i32.add", "i32.mul", "i32.xor", "i32.rotl", "i32.shr_u", "i32.lt_u"),
			fmt.Sprintf("(i32.add (i32.mul (local.get $i) (i32.const 1664525)) (i32.const %d))", g.Int32()),
			fmt.Sprintf("(i32.div_u %s (i32.or %s (i32.const 1)))", v("i32"), v("i32")),
			two("f64", "f64.lt", "f64.eq"), at("i32.load"), at("i32.load8_u"), "(i32.trunc_sat_f64_s "+v("f64")+")", "(i32.popcnt "+v("i32")+")",
			"(v128.any_true "+v("v128")+")", "(i32.wrap_i64 "+v("i64")+")")
	case "i64":
		return pick(g,
			two("i64", "i64.add", "i64.mul", "i64.xor", "i64.rotr"), fmt.Sprintf("(i64.rem_s %s (i64.or %s (i64.const 1)))", v("i64"), v("i64")),
			fmt.Sprintf("(i64.div_u %s (i64.or %s (i64.const 1)))", v("i64"), v("i64")),
			at("i64.load"), "(i64.extend_i32_u "+v("i32")+")", fmt.Sprintf("(global.get $g%d)", g.IntN(g.globals)), fmt.Sprintf("(i64.const %d)", g.Int64()))
	case "f32":
		return pick(g, two("f32", "f32.add", "f32.mul", "f32.div", "f32.min", "f32.copysign"), "(f32.sqrt "+v("f32")+")", "(f32.nearest "+v("f32")+")",
			"(f32.demote_f64 "+v("f64")+")", "(f32.const 1e-40)", "(f32.const 1.5)", at("f32.load"))
	case "f64":
		return pick(g, two("f64", "f64.add", "f64.mul", "f64.div", "f64.max"), "(f64.sqrt "+v("f64")+")", "(f64.floor "+v("f64")+")",
			"(f64.convert_i64_s "+v("i64")+")", "(f64.const 1e-310)", "(f64.const 1.4999)", at("f64.load"))
	}
	return pick(g, two("v128", "f64x2.div", "f64x2.mul", "f64x2.add", "f32x4.div", "i64x2.mul", "i32x4.mul", "i8x16.swizzle", "v128.and"),
		"(f64x2.sqrt "+v("v128")+")", "(f32x4.sqrt "+v("v128")+")", "(f64x2.splat "+v("f64")+")", "(i32x4.splat "+v("i32")+")", at("v128.load"))
}
