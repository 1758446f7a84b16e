package hostile

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Shape is a function that can be made of any size, and its module exports it as run.
type Shape struct {
	Name   string
	locals int
	body   func(n, locals int) string
}

// Source returns the text of a module with the shape in a size. g0 is a global that counts; all locals are used at the end.
func (s Shape) Source(n int) string {
	var b strings.Builder
	b.WriteString("(module (global (export \"g0\") (mut i64) (i64.const 0))\n(func (export \"run\")")
	if s.locals > 0 {
		b.WriteString(" (local" + strings.Repeat(" i64", s.locals) + ")\n")
	}
	b.WriteString(s.body(n, s.locals))
	for i := range s.locals {
		fmt.Fprintf(&b, "(global.set 0 (local.get %d))\n", i)
	}
	b.WriteString("))")
	return b.String()
}

const (
	count = "global.get 0 i64.const 1 i64.add global.set 0\n"
	// leave ends the block; stay does not repeat the loop.
	leave, stay = "i32.const 1 br_if 0\n", "i32.const 0 br_if 0\n"
)

// each writes n pieces.
func each(n int, piece func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(piece(i))
	}
	return b.String()
}

// assign gives a local a value that a compiler cannot know.
func assign(i int) string { return fmt.Sprintf("global.get 0 local.set %d\n", i) }

// Bombs are shapes that compilers take long for: much control flow, with much that is alive across it.
func Bombs() []Shape {
	again := strings.Repeat
	table := func(n int) string {
		return "block i32.const 1 br_table " + again("0 ", n+1) + " end\n"
	}
	return []Shape{
		{"a giant br_table", 0, func(n, _ int) string { return table(n) }},
		{"blocks in one another", 100, func(n, _ int) string {
			return again("block\n", n) + fmt.Sprintf("i32.const 1 br_if %d\n", n-1) + again("end\n", n)
		}},
		{"blocks that count", 100, func(n, _ int) string { return again("block "+count+leave+count+" end\n", n) }},
		{"blocks, one after the other", 1000, func(n, _ int) string { return again("block "+leave+" end\n", n) }},
		{"branches back to a loop", 100, func(n, _ int) string { return "loop " + again(stay, n) + " end\n" }},
		{"branches between assignments", 100, func(n, locals int) string {
			return "block " + each(n, func(i int) string { return assign(i%locals) + leave }) + " end\n"
		}},
		{"branches out of a block", 100, func(n, _ int) string { return "block " + again(leave, n) + " end\n" }},
		{"calls", 0, func(n, _ int) string { return again("call 0\n", n) }},
		{"ifs in one another", 100, func(n, locals int) string {
			return again("i32.const 1 if\n", n) + each(locals, assign) + again("end\n", n)
		}},
		{"ifs that assign", 100, func(n, locals int) string {
			return each(n, func(i int) string { return "i32.const 1 if " + assign(i%locals) + " end\n" })
		}},
		{"loops in one another", 100, func(n, locals int) string { return again("loop\n", n) + each(locals, assign) + again(stay+"end\n", n) }},
		{"loops, one after the other", 100, func(n, _ int) string { return again("loop "+stay+" end\n", n) }},
		{"many br_tables", 0, func(n, _ int) string { return again(table(n), 100) }},
		{"operands", 0, func(n, _ int) string { return again("global.get 0\n", n) + again("global.set 0\n", n) }},
		{"operands across calls", 0, func(n, _ int) string {
			return again("global.get 0\n", 200) + again("call 0\n", n) + again("global.set 0\n", 200)
		}},
		{"selects", 0, func(n, _ int) string {
			return "global.get 0\n" + again("global.get 0 i32.const 1 select\n", n) + "global.set 0\n"
		}},
		{"straight code", 0, func(n, _ int) string { return again(count, n) }},
	}
}

// giantPieces is the number of pieces of a giant.
const giantPieces = 30_000

// Giants are functions with much code and no calls; some loop without end. They count their work, four instructions at
// a time.
func Giants() []Shape {
	again := strings.Repeat
	return []Shape{
		{"a giant block", 0, func(n, _ int) string { return again(count, n) }},
		{"a giant br_table", 0, func(n, _ int) string {
			n /= 20
			return "loop " + again("block\n", n) + fmt.Sprintf("i32.const %d br_table ", n-1) + each(n, func(i int) string { return strconv.Itoa(i) + " " }) +
				"\n" + again("end "+count, n) + "br 0 end\n"
		}},
		{"a giant loop body", 0, func(n, _ int) string { return "loop " + again(count, n) + "br 0 end\n" }},
		{"blocks that are left early", 0, func(n, _ int) string {
			return again("block "+again(count, 10)+"br 0 "+again("nop ", 200)+"end\n", n/10)
		}},
		{"branches back that are not taken", 0, func(n, _ int) string { return "loop " + again(again(count, 10)+stay, n/10) + "end\n" }},
		{"ifs in one another", 0, func(n, _ int) string {
			return again(again(count+"i32.const 1 if\n", n/30)+again("end\n", n/30), 3)
		}},
	}
}

// GiantSource returns the text of a giant.
func (s Shape) GiantSource() string { return s.Source(giantPieces) }

// largest matches the allowed size of a bomb in the golden file of TestRestBombs.
var largest = regexp.MustCompile(`(?m)^(.*): at most (\d+), `)

// LargestBombs returns the largest allowed size of each bomb, by name, which the tests of package meter find; root is the
// folder of go.mod.
func LargestBombs(root string) (map[string]int, error) {
	text, err := os.ReadFile(filepath.Join(root, "runtime/wasm/meter/testdata/bombs.golden"))
	if err != nil {
		return nil, err
	}
	out := map[string]int{}
	for _, m := range largest.FindAllStringSubmatch(string(text), -1) {
		if out[m[1]], err = strconv.Atoi(m[2]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// bombs are the shapes at nearly their largest size: the exports of a plugin use up some of the limits.
func bombs(root string) ([]Attack, error) {
	sizes, err := LargestBombs(root)
	if err != nil {
		return nil, fmt.Errorf("%w: %s is not the folder of go.mod", err, root)
	}
	l := &list{}
	add := func(group, about string, s Shape, n int) {
		source, err := asFilter(s.Source(n))
		if err != nil {
			l.add(Attack{}, fmt.Errorf("%s: %w", s.Name, err))
			return
		}
		l.add(one(group+"/"+strings.ReplaceAll(strings.ReplaceAll(s.Name, ",", ""), " ", "-"), about, source, filtering()))
	}
	for _, s := range Bombs() {
		n := sizes[s.Name] * 3 / 4
		if n == 0 {
			return nil, fmt.Errorf("the size of bomb %q is not known: go test ./runtime/wasm/meter -rewrite", s.Name)
		}
		add("bombs", "takes long to compile: "+s.Name, s, n)
	}
	for _, s := range Giants() {
		add("giants", "much code without a call: "+s.Name, s, giantPieces)
	}
	return l.all()
}

// run is the function that programs of runtime/wasm/meter export.
var run = regexp.MustCompile(`\(func( \$\w+)? \(export "run"\)( \(param ([^)]*)\))?( \(result \w+\))?`)

// asFilter returns the text of a plugin whose filter is the function run of a module.
func asFilter(source string) (string, error) {
	found := run.FindStringSubmatch(source)
	if found == nil {
		return "", fmt.Errorf("no function run")
	}
	name, call := found[1], ""
	for _, t := range strings.Fields(found[3]) {
		call += fmt.Sprintf(" (%s.const 1)", t)
	}
	if name == "" {
		name = " $run"
		source = strings.Replace(source, `(func (export "run")`, `(func $run (export "run")`, 1)
	}
	call = fmt.Sprintf("(call%s%s)", name, call)
	if found[4] != "" {
		call = "(drop " + call + ")"
	}
	parts := []string{"memory", "abi", "alloc"}
	if strings.Contains(source, "(memory ") {
		parts = slices.Delete(parts, 0, 1)
	}
	end := strings.LastIndex(source, ")")
	return source[:end] + `
  (func (export "berth_filter") (param i32 i32 i32) (result i32) ` + call + ` (i32.const 0))
;;+ ` + strings.Join(parts, " ") + "\n)", nil
}
