package celgo_test

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// drawer draws expressions of the subset of CEL.
type drawer struct {
	t      *rapid.T
	locals []string // variables of macros that are strings
	taints []string // those that are taints
	ints   []string
}

func (d *drawer) n(most int) int { return rapid.IntRange(0, most).Draw(d.t, "n") }

func (d *drawer) of(texts ...string) string { return texts[d.n(len(texts)-1)] }

// int draws an expression of type int.
func (d *drawer) int(depth int) string {
	if depth == 0 || d.n(3) == 0 {
		if len(d.ints) > 0 && d.n(1) == 0 {
			return d.of(d.ints...)
		}
		return d.of("0", "1", "2", "-1", "7", "0x1F", "9223372036854775807", "-9223372036854775808", "3000000000", "pod.priority",
			"node.allocatable.cpu", "node.allocatable['memory']", "size(pod.labels)", "node.allocatable[pod.namespace]")
	}
	depth--
	switch d.n(9) {
	case 0, 1, 2:
		return "(" + d.int(depth) + d.of(" + ", " - ", " * ", " / ", " % ") + d.int(depth) + ")"
	case 3:
		return "-(" + d.int(depth) + ")"
	case 4:
		return "(" + d.bool(depth) + " ? " + d.int(depth) + " : " + d.int(depth) + ")"
	case 5:
		return d.of("size("+d.text(depth)+")", d.text(depth)+".size()", "size("+d.texts(depth)+")")
	case 6:
		return d.of("int("+d.text(depth)+")", "int("+d.double(depth)+")", "int("+d.int(depth)+")")
	case 7:
		return "math." + d.of("greatest", "least") + "(" + d.int(depth) + ", " + d.int(depth) + ", " + d.int(depth) + ")"
	case 8:
		return "[" + d.int(depth) + ", " + d.int(depth) + "][" + d.int(depth) + "]"
	}
	return "{'a': " + d.int(depth) + ", \"zone\": " + d.int(depth) + "}[" + d.text(depth) + "]"
}

// double draws an expression of type double.
func (d *drawer) double(depth int) string {
	if depth == 0 || d.n(3) == 0 {
		return d.of("0.0", "1.5", "-0.0", ".25", "1e3", "-2.5E-3", "1e308", "9.3e18", "node.load", "9223372036854775807.0")
	}
	depth--
	switch d.n(4) {
	case 0, 1:
		return "(" + d.double(depth) + d.of(" + ", " - ", " * ", " / ") + d.double(depth) + ")"
	case 2:
		return "-(" + d.double(depth) + ")"
	case 3:
		return d.of("double("+d.text(depth)+")", "double("+d.int(depth)+")", "double("+d.double(depth)+")")
	}
	return "math." + d.of("greatest", "least") + "(" + d.double(depth) + ", " + d.double(depth) + ")"
}

// text draws an expression of type string.
func (d *drawer) text(depth int) string {
	if depth == 0 || d.n(3) == 0 {
		if len(d.locals) > 0 && d.n(1) == 0 {
			return d.of(d.locals...)
		}
		if len(d.taints) > 0 && d.n(1) == 0 {
			return d.of(d.taints...) + d.of(".key", ".value", ".effect")
		}
		return d.of(`"a"`, `'b'`, `""`, `"12"`, `"-3"`, `"1.5"`, `"zone"`, `"grün"`, `r'\d+'`, `"\u00fc\n\101"`, `"""x"y"""`, `'''it's'''`,
			"pod.namespace", "pod.labels.app", "pod.labels['tier']", "node.labels.zone", "node.labels['a']", "pod.images[0]")
	}
	depth--
	switch d.n(4) {
	case 0:
		return "(" + d.text(depth) + " + " + d.text(depth) + ")"
	case 1:
		return "(" + d.bool(depth) + " ? " + d.text(depth) + " : " + d.text(depth) + ")"
	case 2:
		return d.of("string("+d.int(depth)+")", "string("+d.double(depth)+")", "string("+d.bool(depth)+")", "string("+d.text(depth)+")")
	case 3:
		return d.texts(depth) + "[" + d.int(depth) + "]"
	}
	return d.of("node.labels", "pod.labels") + "[" + d.text(depth) + "]"
}

// texts draws a list of strings.
func (d *drawer) texts(depth int) string {
	if depth == 0 || d.n(2) == 0 {
		return d.of("pod.images", `["a", "b"]`, "[pod.namespace]", "pod.images.filter(i, i != 'a')")
	}
	depth--
	switch d.n(3) {
	case 0:
		return "(" + d.texts(depth) + " + " + d.texts(depth) + ")"
	case 1:
		return "[" + d.text(depth) + ", " + d.text(depth) + ",]"
	case 2:
		return d.texts(depth) + d.macro(depth, "map", &d.locals, d.text)
	}
	return d.texts(depth) + d.macro(depth, "filter", &d.locals, d.bool)
}

// macro draws a macro with a body about one more variable.
func (d *drawer) macro(depth int, name string, locals *[]string, body func(int) string) string {
	names := "xyz" // those of different types are different
	switch locals {
	case &d.taints:
		names = "tu"
	case &d.ints:
		names = "ij"
	}
	v := string(names[d.n(len(names)-1)])
	before := *locals
	*locals = append(append([]string{}, before...), v)
	text := "." + name + "(" + v + ", " + body(depth) + ")"
	*locals = before
	return text
}

// bool draws an expression of type bool.
func (d *drawer) bool(depth int) string {
	if depth == 0 || d.n(6) == 0 {
		return d.of("true", "false", "node.unschedulable", "('app' in pod.labels)", "has(node.labels.zone)", "('a' in node.labels)", "has(pod.labels.tier)")
	}
	depth--
	order := func() string { return d.of(" < ", " <= ", " > ", " >= ", " == ", " != ") }
	switch d.n(13) {
	case 0, 1:
		return "(" + d.bool(depth) + d.of(" && ", " || ", " == ", " != ") + d.bool(depth) + ")"
	case 2:
		return d.of("!", "!!", "!!!") + "(" + d.bool(depth) + ")"
	case 3, 4:
		return "(" + d.int(depth) + order() + d.int(depth) + ")"
	case 5:
		return "(" + d.double(depth) + order() + d.double(depth) + ")"
	case 6:
		return "(" + d.text(depth) + order() + d.text(depth) + ")"
	case 7:
		return d.text(depth) + "." + d.of("startsWith", "endsWith", "contains") + "(" + d.text(depth) + ")"
	case 8:
		return d.text(depth) + ".matches(" + d.of(`'^a'`, `r'\d'`, `"[a-z]+$"`, `'(a|zo)ne?'`) + ")"
	case 9:
		return "(" + d.text(depth) + " in " + d.of(d.texts(depth), "pod.labels", "node.labels", "{'a': 1}", "[]") + ")"
	case 10:
		of := d.of("node.labels", "pod.labels", d.texts(depth))
		return of + d.macro(depth, d.of("exists", "all", "exists_one"), &d.locals, d.bool)
	case 11:
		return "node.taints" + d.macro(depth, d.of("exists", "all", "exists_one"), &d.taints, d.bool)
	case 12:
		return "[1, pod.priority, " + d.int(depth) + "]" + d.macro(depth, d.of("exists", "all", "exists_one"), &d.ints, d.bool)
	}
	return "(" + d.of(
		d.texts(depth)+" == "+d.texts(depth), "[] == "+d.texts(depth), "{} == pod.labels", "[["+d.int(depth)+"]] != [[]]", "node.labels == pod.labels",
		"size(pod.labels.filter(k, "+d.text(depth)+" == k)) > 0",
	) + ")"
}

// any draws an expression.
func (d *drawer) any() string {
	depth := 1 + d.n(3)
	switch d.n(4) {
	case 0:
		return d.int(depth)
	case 1:
		return d.double(depth)
	case 2:
		return d.text(depth)
	case 3:
		return d.texts(depth)
	}
	return d.bool(depth)
}

// broken draws an expression with one word changed.
func (d *drawer) broken() string {
	words := strings.SplitAfter(d.any(), " ")
	text := strings.Join(words, "")
	at := d.n(len(text) - 1)
	switch d.n(3) {
	case 0:
		return text[:at] + text[at+1:]
	case 1:
		end := min(len(text), at+1+d.n(5))
		return text[:at] + text[end:]
	case 2:
		return text[:at] + d.of("(", ")", ".", ",", "!", "-", "[0]", "['a']", " + 1", " in ", "? 1 : 2", "u", "\"", "'", "{}", "/*", "\n", "null", "b''", "`a`", "0") +
			text[at:]
	}
	return fmt.Sprint(text[:at], d.of("1", "1.5", "'a'", "pod.labels", "[]", "true", "node", "size"), text[min(len(text), at+1+d.n(8)):])
}
