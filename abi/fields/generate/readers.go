package main

import (
	"fmt"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fields"
)

// readers returns what reads the fields of the pod record that came after ABI 1.0.
func readers() []file {
	const generated = "// Generated from abi/fields.\n"
	bits, names, texts, reads := goReaders()
	pub, list, count, rust := rustReaders()
	return []file{
		{path: "sdk/go/manifest.go", parts: []part{{"\t" + generated, ")\n", bits}, {`"nodeName", "schedulingGates"`, "} //nolint", names}}},
		{path: "sdk/go/pod_fields.go", parts: []part{{generated, "", texts + reads}}},
		{path: "sdk/rust/src/manifest.rs", parts: []part{
			{"    " + generated, "}\n", pub}, {"    \"uid\",\n", "];\n", list}, {"pub(crate) const POD_READS: [&str; ", "]", count},
		}},
		{path: "sdk/rust/src/pod_fields.rs", parts: []part{{generated, "", rust}}},
		{path: "sdk/c/src/manifest.h", parts: []part{
			{"  BERTH__READS_UID,\n  " + generated, "  BERTH__READS,\n", each(anything, "  BERTH__READS_{SNAKE},\n")},
			{"\"uid\",\n      " + generated, "  };\n", each(anything, "      \"{name}\",\n")},
		}},
		{path: "sdk/c/src/pod_fields.h", parts: []part{{"Generated from abi/fields.\n", "", cFields()}}},
		{path: "sdk/c/src/pod.h", parts: []part{{"// Fields since ABI 1.1. Generated from abi/fields.\n", "", cReaders()}}},
		{path: "sdk/assemblyscript/bin/manifest.mjs", parts: []part{{"\"uid\",\n  " + generated, "];\n", each(anything, "  \"{name}\",\n")}}},
		{path: "sdk/assemblyscript/assembly/pod.ts", parts: []part{
			{"  UID,\n  " + generated, "}\n", each(anything, "  {Pascal},\n")},
			{"  // Fields since ABI 1.1. Generated from abi/fields.\n", "}\n\nimport", asReaders()},
		}},
	}
}

// shape says how SDKs read a field.
type shape uint8

const (
	single   shape = 1 << iota // one number or string
	strs                       // a list of strings
	amount                     // a number for each resource, for which the views have room beside that of the requests
	records                    // a list of what the SDKs have a type for, which is called as SPEC.md calls it
	numbers                    // numbers that the elements of another field refer to
	anything = single | strs | amount | records
	lists    = strs | records | numbers
)

func shapeOf(e *fields.Entry) shape {
	switch {
	case e.Type == abi.TypeI64 && e.Count == 1 && e.Arg == fields.ArgResource:
		return amount
	case e.Arg != fields.ArgNone || e.AlsoName != "":
	case e.Count == 1 && (e.Type == abi.TypeI64 || e.Type == abi.TypeU32):
		return single
	case e.Count == 0 && e.Type == abi.TypeU32:
		return strs
	case e.Refers && e.Type == abi.TypeI64:
		return numbers
	case e.Type == 0 && !strings.Contains(e.Elements, " "):
		return records
	}
	panic("the SDKs have no reader for what " + e.Go + " is")
}

// later returns the fields of the record that came after ABI 1.0.
func later() (out []fields.Entry) {
	for _, e := range in(fields.Record) {
		if e.Since > 0 && !e.Native {
			out = append(out, e)
		}
	}
	return out
}

// each writes a text for each field of some shapes. In it stand {name}, {SNAKE}, {snake} and {Pascal} for its name, {One}, {one} for that
// of what it is for one resource, {Go} for that of its id, {meaning}, {type} and {otherwise} for the type of its element and what it is
// if there is none, and {as} for the accessor that reads it. {q} is a backquote.
func each(shapes shape, text string, languages ...language) string {
	var b strings.Builder
	for _, e := range later() {
		if shapeOf(&e)&shapes == 0 {
			continue
		}
		pascal := e.SDK
		if pascal == "" {
			pascal = strings.ToUpper(e.Name[:1]) + e.Name[1:]
		}
		values := []string{
			"{name}", e.Name, "{Pascal}", pascal, "{SNAKE}", snake(pascal), "{snake}", strings.ToLower(snake(pascal)), "{Go}", e.Go,
			"{One}", strings.TrimSuffix(pascal, "s"), "{one}", strings.TrimSuffix(e.Name, "s"),
			"{meaning}", strings.TrimPrefix(e.Meaning, "one element, "), "{q}", "`",
		}
		for _, l := range languages {
			of := l[e.Type]
			if e.Type == 0 {
				of = [3]string{l[0][0] + upper(e.Elements), "", l[0][0] + upper(e.Elements) + "s"}
			}
			values = append(values, "{type}", of[0], "{otherwise}", of[1], "{as}", of[2])
		}
		b.WriteString(strings.NewReplacer(values...).Replace(text))
	}
	return b.String()
}

// language has for a type of elements its name, what stands for none, and a reader.
type language map[abi.Type][3]string

func goReaders() (bits, names, types, methods string) {
	l := language{0: {""}, abi.TypeI64: {"int64"}, abi.TypeU32: {"ID"}}
	bits = each(anything, "\tpod{Pascal}\n")
	names = each(anything, `, "{name}"`)
	types = `
// laterFields has the fields of the pod record that came after ABI 1.0.
type laterFields struct {
` + each(single|lists, "\tof{Pascal} []{type}\n", l) + `}

// set makes the slice of a field. It skips unknown fields.
func (l *laterFields) set(m *memory, from uint32, f *podField) {
	switch f.id {
` + each(single|lists, `	case abi.{Go}:
		l.of{Pascal} = view[{type}](m, from, f.count)
`, l) + "\t}\n}\n"
	methods = each(single, `
// {Pascal} is {meaning}. Reads {q}pod: {name}{q}.
func (p Pod) {Pascal}() {type} {
	p.v.need(pod{Pascal})
	return first(p.v.later.of{Pascal})
}
`, l) + each(strs|records, `
// {Pascal} are {meaning}. Reads {q}pod: {name}{q}.
func (p Pod) {Pascal}() []{type} {
	p.v.need(pod{Pascal})
	return p.v.later.of{Pascal}
}
`, l) + each(amount, `
// {One} is, of a resource, {meaning}. Reads {q}pod: {name}{q}.
func (p Pod) {One}(r Resource) int64 {
	p.v.need(pod{Pascal})
	return p.v.{name}[r]
}
`)
	return bits, names, types, methods
}

func rustReaders() (numbers, names, count, source string) {
	l := language{0: {""}, abi.TypeI64: {"i64", "0"}, abi.TypeU32: {"Id", "Id::ABSENT"}}
	const before = 17 // of ABI 1.0
	var b strings.Builder
	for i, name := range strings.Fields(each(anything, "{SNAKE} ")) {
		fmt.Fprintf(&b, "    pub const %s: usize = %d;\n", name, before+i)
	}
	source = `#[derive(Clone, Copy)]
pub(crate) struct LaterFields {
` + each(single|lists, "    pub {snake}: View<{type}>,\n", l) + `}

impl LaterFields {
    pub const EMPTY: LaterFields = LaterFields {
` + each(single|lists, "        {snake}: View::empty(),\n") + `    };

    /// Sets a field. Unknown ids are skipped (ABI-6.2).
    pub fn set(&mut self, m: &Memory, from: u32, f: &PodField) {
        match f.id {
` + each(single|lists, "            field::{SNAKE} => self.{snake} = m.view(from, f.count),\n") + `            _ => {}
        }
    }
}

impl<'c> Pod<'c> {
` + strings.TrimPrefix(each(single, `
    /// {meaning}. Reads {q}pod: {name}{q}.
    pub fn {snake}(self) -> {type} {
        let later = &self.fields(reads::{SNAKE}).later;
        first(&later.{snake}, {otherwise})
    }
`, l), "\n") + each(strs|records, `
    /// {meaning}. Reads {q}pod: {name}{q}.
    pub fn {snake}(self) -> &'c [{type}] {
        self.fields(reads::{SNAKE}).later.{snake}.slice()
    }
`, l) + each(amount, `
    /// Of a resource, {meaning}. Reads
    /// {q}pod: {name}{q}.
    pub fn {one}(self, resource: Resource) -> i64 {
        self.view.need(reads::{SNAKE});
        self.view.{name}.slice()[resource.0 as usize]
    }
`) + "}\n"
	return b.String(), each(anything, "    \"{name}\",\n"), fmt.Sprint(before + strings.Count(b.String(), "\n")), source
}

func cFields() string {
	l := language{0: {"Berth"}, abi.TypeI64: {"int64_t", "", "struct berth__numbers"}, abi.TypeU32: {"BerthId", "", "BerthIds"}}
	return `
struct berth__later {
` + each(single, "  const {type} *{snake};\n", l) + each(lists, "  {as} {snake};\n", l) + `};

// Takes a field of one element, or a list. Unknown ids are skipped (ABI-6.2).
BERTH__FN void berth__later_read(struct berth__later *later, uint32_t id, uint32_t address, uint32_t count) {
  if (count < 1) return;
  switch (id) {
` + each(single, "  case BERTH__POD_{SNAKE}: later->{snake} = berth__view(address, 1, sizeof *later->{snake}); break;\n") + each(lists,
		`  case BERTH__POD_{SNAKE}:
    later->{snake} = ({as}){berth__view(address, count, sizeof *later->{snake}.at), count};
    break;
`, l) + "  }\n}\n"
}

func cReaders() string {
	l := language{0: {"Berth"}, abi.TypeI64: {"int64_t", "0"}, abi.TypeU32: {"BerthId", "BERTH_ABSENT", "BerthIds"}}
	return each(single, `
/// {meaning}. Reads {q}{name}{q}.
BERTH__FN {type} berth_pod_{snake}(BerthPod pod) {
  const {type} *at = berth__need(pod, BERTH__READS_{SNAKE})->later.{snake};
  return at == NULL ? {otherwise} : *at;
}
`, l) + each(strs|records, `
/// {meaning}. Reads {q}{name}{q}.
BERTH__FN {as} berth_pod_{snake}(BerthPod pod) { return berth__need(pod, BERTH__READS_{SNAKE})->later.{snake}; }
`, l) + each(amount, `
/// Of a resource, {meaning}. Reads {q}{name}{q}.
BERTH__FN int64_t berth_pod_{one}(BerthPod pod, BerthResource r) { return berth__need(pod, BERTH__READS_{SNAKE})->{name}[r.number]; }
`)
}

func asReaders() string {
	l := language{0: {""}, abi.TypeI64: {"i64", "", "number"}, abi.TypeU32: {"ID", "", "one"}}
	const at = `this.at(Reads.{Pascal}, Field.{Pascal}, "{name}")`
	return each(single, `
  /** {meaning}. Reads {q}{name}{q}. */
  {name}(): {type} {
    return this.{as}(`+at+`);
  }
`, l) + each(strs, `
  /** {meaning}. Reads {q}{name}{q}. */
  {name}(): IDs {
    return changetype<IDs>(`+at+`);
  }
`) + each(records, `
  /** {meaning}. Reads {q}{name}{q}. */
  {name}(): List<{type}> {
    return changetype<List<{type}>>(`+at+`);
  }
`, l) + each(amount, `
  /** Of a resource, {meaning}. Reads {q}{name}{q}. */
  {one}(resource: Resource): i64 {
    return load<i64>(load<usize>(`+at+`) + (changetype<usize>(resource) << 3));
  }
`)
}
