package hostile

import (
	"fmt"
	"slices"
	"strings"
)

// escapes a terminal would act upon, a change of direction, and what is not UTF-8.
const evil = "\x1b[2J\x1b]0;owned\x07\r\n\u202e\u2066\x00\x9b\xff\xfe"

// deep traps when it is n calls deep, each in the next of some functions.
func deep(functions, n int) string {
	var b strings.Builder
	b.WriteString("(module\n;;+ memory abi alloc\n")
	for i := range functions {
		fmt.Fprintf(&b, `(func $f%d (param $n i32)
			(if (i32.eqz (local.get $n)) (then unreachable))
			(call $f%d (i32.sub (local.get $n) (i32.const 1))))
`, i, (i+1)%functions)
	}
	fmt.Fprintf(&b, `(func (export "berth_filter") (param i32 i32 i32) (result i32) (call $f0 (i32.const %d)) (i32.const 0)))`, n)
	return b.String()
}

// named gives functions names, after the imports.
func named(imported int, names ...string) func([]byte) []byte {
	return func(module []byte) []byte {
		list := u32(len(names))
		for i, name := range names {
			list = append(append(list, u32(imported+i)...), text(name)...)
		}
		return custom(module, "name", append(append([]byte{1}, u32(len(list))...), list...))
	}
}

// names are strings of modules that end in traces, logs, events and messages.
func names() ([]Attack, error) {
	l := &list{}
	// The functions are after alloc and berth_abi.
	l.add(one("names/one-of-15-MiB", "a name of 15 MiB in a trace of 30 functions", deep(1, 30), filtering(),
		named(0, "berth_abi", "alloc", strings.Repeat("n", 15<<20))))
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprint(i, strings.Repeat("x", 64<<10)))
	}
	l.add(one("names/many-of-64-KiB", "names of 64 KiB in a trace of 99 functions", deep(100, 98), filtering(), named(2, many...)))
	l.add(one("names/deep", "a trace of 9,000 functions with names of 1 KiB", deep(10, 9000), filtering(),
		named(2, many[0][:1<<10], many[1][:1<<10], many[2][:1<<10], many[3][:1<<10], many[4][:1<<10])))
	l.add(one("names/escapes", "a name with escapes of terminals", deep(1, 3), filtering(), named(2, strings.ToValidUTF8(evil, "?")+"f")))
	l.add(one("names/of-module", "a module that calls itself by 15 MiB", deep(1, 3), filtering(), func(m []byte) []byte {
		name := text(strings.Repeat("m", 15<<20))
		return custom(m, "name", append(append([]byte{0}, u32(len(name))...), name...))
	}))
	l.add(one("names/of-import", "an import of a function with a name of 1 MiB, which does not exist",
		`(module (import "`+strings.Repeat("i", 1<<20)+`" "`+strings.Repeat("f", 1<<20)+`" (func)) `+deep(1, 3)[len("(module"):], filtering()))
	l.add(one("names/of-exports", "9,000 exports that no host knows, with names of 1 KiB", exports(9000, "")+deep(1, 3)[len("(module"):], filtering()))
	l.add(one("names/of-points", "1,000 exports that look like extension points", exports(1000, "berth_")+deep(1, 3)[len("(module"):], filtering()))
	return l.all()
}

// sections are names in sections that hosts hardly read.
func sections() ([]Attack, error) {
	l := &list{}
	subsections := []string{"locals", "labels", "types", "tables", "memories", "globals", "elements", "data", "", "tags"}
	for i, what := range subsections {
		if what == "" {
			continue
		}
		name := append(append(u32(1), u32(0)...), text(strings.Repeat("\x1b[31m", 1<<20))...)
		l.add(one("names/of-"+what, "a name of 5 MiB with escapes in the subsection of "+what, deep(1, 3), filtering(), func(m []byte) []byte {
			return custom(m, "name", append(append([]byte{byte(i + 2)}, u32(len(name))...), name...))
		}))
		l.add(one("names/count-of-"+what, "a subsection of "+what+" that announces 2^32 names", deep(1, 3), filtering(), func(m []byte) []byte {
			return custom(m, "name", append([]byte{byte(i + 2), 5}, u32(1<<32-1)...))
		}))
	}
	l.add(one("names/of-producers", "producers with names of 1 MiB with escapes", good, filtering(), func(m []byte) []byte {
		name := text(strings.ToValidUTF8(evil, "?") + strings.Repeat("p", 1<<20))
		return custom(m, "producers", slices.Concat(u32(1), name, u32(1), name, name))
	}))
	l.add(one("names/of-sections", "custom sections with names of 1 MiB with escapes", good, filtering(), func(m []byte) []byte {
		for i := range 10 {
			m = custom(m, fmt.Sprint(strings.ToValidUTF8(evil, "?"), i, strings.Repeat("c", 1<<20)), nil)
		}
		return m
	}))
	return l.all()
}

func exports(n int, prefix string) string {
	var b strings.Builder
	b.WriteString("(module (func")
	for i := range n {
		fmt.Fprintf(&b, ` (export "%s%d%s")`, prefix, i, strings.Repeat("e", 1<<10))
	}
	b.WriteString(")\n")
	return b.String()
}
