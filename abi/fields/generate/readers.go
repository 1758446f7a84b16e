package main

import (
	"fmt"
	"strings"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/fields"
)

// readers returns what reads the fields of the pod record that came after ABI 1.0. Each is of one element, a number or a string.
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
			{"  BERTH__READS_UID,\n  " + generated, "  BERTH__READS,\n", each("  BERTH__READS_{SNAKE},\n")},
			{"\"uid\",\n      " + generated, "  };\n", each("      \"{name}\",\n")},
		}},
		{path: "sdk/c/src/pod_fields.h", parts: []part{{"Generated from abi/fields.\n", "", cFields()}}},
		{path: "sdk/c/src/pod.h", parts: []part{{"// Fields since ABI 1.1. Generated from abi/fields.\n", "", cReaders()}}},
		{path: "sdk/assemblyscript/bin/manifest.mjs", parts: []part{{"\"uid\",\n  " + generated, "];\n", each("  \"{name}\",\n")}}},
		{path: "sdk/assemblyscript/assembly/pod.ts", parts: []part{
			{"  UID,\n  " + generated, "}\n", each("  {Pascal},\n")},
			{"  // Fields since ABI 1.1. Generated from abi/fields.\n", "}\n\nimport", asReaders()},
		}},
	}
}

// later returns the fields of the record that came after ABI 1.0.
func later() (out []fields.Entry) {
	for _, e := range in(fields.Record) {
		if e.Since == 0 || e.Native {
			continue
		}
		if e.Count != 1 || e.Type != abi.TypeI64 && e.Type != abi.TypeU32 || e.Arg != fields.ArgNone || e.SDK != "" || e.AlsoName != "" {
			panic("the SDKs have no reader for what " + e.Go + " is")
		}
		out = append(out, e)
	}
	return out
}

// each writes a text for each field. In it stand {name}, {SNAKE}, {snake} and {Pascal} for its name, {Go} for that of its id, {meaning},
// {type} and {otherwise} for the type of its element and what it is if there is none, and {as} for the accessor that reads it. {q} is a
// backquote.
func each(text string, languages ...language) string {
	var b strings.Builder
	for _, e := range later() {
		pascal := strings.ToUpper(e.Name[:1]) + e.Name[1:]
		values := []string{
			"{name}", e.Name, "{Pascal}", pascal, "{SNAKE}", snake(pascal), "{snake}", strings.ToLower(snake(pascal)), "{Go}", e.Go,
			"{meaning}", strings.TrimPrefix(e.Meaning, "one element, "), "{q}", "`",
		}
		for _, l := range languages {
			of := l[e.Type]
			values = append(values, "{type}", of[0], "{otherwise}", of[1], "{as}", of[2])
		}
		b.WriteString(strings.NewReplacer(values...).Replace(text))
	}
	return b.String()
}

// language has for a type of elements its name, what stands for none, and a reader.
type language map[abi.Type][3]string

func goReaders() (bits, names, types, methods string) {
	l := language{abi.TypeI64: {"int64"}, abi.TypeU32: {"ID"}}
	bits = each("\tpod{Pascal}\n")
	names = each(`, "{name}"`)
	types = `
// laterFields has the fields of the pod record that came after ABI 1.0.
type laterFields struct {
` + each("\tof{Pascal} []{type}\n", l) + `}

// set makes the slice of a field. It skips unknown fields.
func (l *laterFields) set(m *memory, from uint32, f *podField) {
	switch f.id {
` + each(`	case abi.{Go}:
		l.of{Pascal} = view[{type}](m, from, f.count)
`, l) + "\t}\n}\n"
	methods = each(`
// {Pascal} is {meaning}. Reads {q}pod: {name}{q}.
func (p Pod) {Pascal}() {type} {
	p.v.need(pod{Pascal})
	return first(p.v.later.of{Pascal})
}
`, l)
	return bits, names, types, methods
}

func rustReaders() (numbers, names, count, source string) {
	l := language{abi.TypeI64: {"i64", "0"}, abi.TypeU32: {"Id", "Id::ABSENT"}}
	all := later()
	const before = 17 // of ABI 1.0
	var b strings.Builder
	for i, e := range all {
		fmt.Fprintf(&b, "    pub const %s: usize = %d;\n", snake(strings.ToUpper(e.Name[:1])+e.Name[1:]), before+i)
	}
	source = `#[derive(Clone, Copy)]
pub(crate) struct LaterFields {
` + each("    {snake}: View<{type}>,\n", l) + `}

impl LaterFields {
    pub const EMPTY: LaterFields = LaterFields {
` + each("        {snake}: View::empty(),\n") + `    };

    /// Sets a field. Unknown ids are skipped (ABI-6.2).
    pub fn set(&mut self, m: &Memory, from: u32, f: &PodField) {
        match f.id {
` + each("            field::{SNAKE} => self.{snake} = m.view(from, f.count),\n") + `            _ => {}
        }
    }
}

impl<'c> Pod<'c> {
` + strings.TrimPrefix(each(`
    /// {meaning}. Reads {q}pod: {name}{q}.
    pub fn {snake}(self) -> {type} {
        let later = &self.fields(reads::{SNAKE}).later;
        first(&later.{snake}, {otherwise})
    }
`, l), "\n") + "}\n"
	return b.String(), each("    \"{name}\",\n"), fmt.Sprint(before + len(all)), source
}

func cFields() string {
	l := language{abi.TypeI64: {"int64_t"}, abi.TypeU32: {"BerthId"}}
	return `
struct berth__later {
` + each("  const {type} *{snake};\n", l) + `};

// Takes a field of one element. Unknown ids are skipped (ABI-6.2).
BERTH__FN void berth__later_read(struct berth__later *later, uint32_t id, uint32_t address, uint32_t count) {
  if (count < 1) return;
  switch (id) {
` + each("  case BERTH__POD_{SNAKE}: later->{snake} = berth__view(address, 1, sizeof *later->{snake}); break;\n") + "  }\n}\n"
}

func cReaders() string {
	l := language{abi.TypeI64: {"int64_t", "0"}, abi.TypeU32: {"BerthId", "BERTH_ABSENT"}}
	return each(`
/// {meaning}. Reads {q}{name}{q}.
BERTH__FN {type} berth_pod_{snake}(BerthPod pod) {
  const {type} *at = berth__need(pod, BERTH__READS_{SNAKE})->later.{snake};
  return at == NULL ? {otherwise} : *at;
}
`, l)
}

func asReaders() string {
	l := language{abi.TypeI64: {"i64", "", "number"}, abi.TypeU32: {"ID", "", "one"}}
	return each(`
  /** {meaning}. Reads {q}{name}{q}. */
  {name}(): {type} {
    return this.{as}(this.at(Reads.{Pascal}, Field.{Pascal}, "{name}"));
  }
`, l)
}
