package strictyaml_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/berth-scheduler/berth/runtime/internal/strictyaml"
)

type inner struct {
	List []string       `json:"list"`
	At   *time.Time     `json:"at"`
	By   map[string]int `json:"by"`
}

type document struct {
	Name   string `json:"name"`
	inner  `json:",inline"`
	Inners []inner `json:"inners"`
	One    *inner  `json:"one"`
}

// TestDecode: a mistake is named by its line and path, and all are.
func TestDecode(t *testing.T) {
	for text, want := range map[string]string{
		"nme: x\n": `line 1: nme: unknown field; did you mean "name"?`,
		"name: x\none:\n  lst: []\nx: 1\n": "line 3: one.lst: unknown field; did you mean \"list\"?\n" +
			"line 4: x: unknown field; the fields here are at, by, inners, list, name, one",
		"inners:\n- list: [a]\n- {by: []}\n": "line 3: inners[1].by: expected a mapping, found a list; write its fields below it, indented",
		"inners: {list: a}\n":                "line 1: inners: expected a list, found a mapping; write each item below it after a dash",
		"name: [x]\n":                        "line 1: name: expected a string, found a list",
		"name: x\nname: z\n":                 "line 2: name: the field is given twice, first in line 1",
		"name: 3\n":                          `line 1: name: expected a string, found the number 3; quote it: "3"`,
		"one: {by: {a: b}}\n":                `line 1: one.by.a: expected a 64-bit integer, found the string "b"`,
		"one: {by: {\"a b\": []}}\n":         `line 1: one.by[a b]: expected a 64-bit integer, found a list`,
		"- a\n":                              "line 1: expected a mapping, found a list; write its fields below it, indented",
		"":                                   "the file is empty",
		"name: x\n---\nname: y\n":            "line 2: a second document begins",
		"name: [\n":                          "line 1: did not find expected node content",
		"one: &a {by: {b: *a}}\n":            "its aliases stand for more than 1000 bytes, or for themselves: write them out",
		"name: \"\\e[2J\"\n\"\\e[2J\": 1\n":  `line 2: ["\x1b[2J"]: unknown field; the fields here are at, by, inners, list, name, one`,
		"at: soon\n":                         `line 1: at: invalid value: parsing time "soon" as "2006-01-02T15:04:05Z07:00": cannot parse "soon" as "2006"`,
	} {
		var d document
		err := strictyaml.Decode([]byte(text), 1000, &d)
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
	var d document
	if err := strictyaml.Decode([]byte("inners:\n"+strings.Repeat("- {x: 1}\n", 50)), 1000, &d); err == nil || strings.Count(err.Error(), "\n") != 19 {
		t.Errorf("%v, want 20 mistakes", err)
	}
	err := strictyaml.Decode([]byte("name: x\nlist: [a]\nat: 2026-01-02T03:04:05Z\nby: {k: 1}\ninners:\n- &i {list: [b]}\n- *i\none: {<<: *i, by: {}}\n"), 1000, &d)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	want := document{Name: "x", inner: inner{List: []string{"a"}, At: &at, By: map[string]int{"k": 1}}, Inners: []inner{{List: []string{"b"}}, {List: []string{"b"}}}, One: &inner{List: []string{"b"}, By: map[string]int{}}}
	if diff := cmp.Diff(want, d, cmp.AllowUnexported(document{})); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}
