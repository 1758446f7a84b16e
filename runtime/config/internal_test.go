package config

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
)

func TestLines(t *testing.T) {
	doc, errs := readDocument("f", []byte(strings.TrimPrefix(`
apiVersion: v1
profiles:
- schedulerName: a
  plugins:
    filter:
      enabled: [{name: A},
        {name: B}]
    a.b:
      c: 1
    a:
      b.d: 2
-
  schedulerName: b
shared: &s
  deep: {x: 1}
uses: *s
merged:
  <<: *s
  own: 1
`, "\n")))
	if len(errs) > 0 {
		t.Fatal(errs[0])
	}
	want := map[string]int{
		"":                           1,
		"apiVersion":                 1,
		"profiles":                   2,
		"profiles[0]":                3,
		"profiles[0].schedulerName":  3,
		"profiles[0].plugins":        4,
		"profiles[0].plugins.filter": 5,
		"profiles[0].plugins.filter.enabled[0].name":   6,
		"profiles[0].plugins.filter.enabled[1].name":   7,
		"profiles[0].plugins.filter.enabled[1].weight": 7, // absent: its parent
		"profiles[0].plugins.filter.enabled[9].name":   6, // absent: the list
		"profiles[0].plugins.a.b.c":                    9,
		"profiles[0].plugins.a.b.d":                    8, // the longer key wins
		"profiles[1].schedulerName":                    13,
		"uses.deep.x":                                  15,
		"merged.deep.x":                                15,
		"merged.own":                                   19,
		"nothing.here":                                 1,
	}
	for path, line := range want {
		if got := doc.lines.of(path); got != line {
			t.Errorf("line of %q is %d, want %d", path, got, line)
		}
	}
	if got := (*lines)(nil).of("a"); got != 0 {
		t.Errorf("no file: line %d, want 0", got)
	}
}

// TestLinesOfSelfReference: the search ends at an anchor that contains itself.
func TestLinesOfSelfReference(t *testing.T) {
	doc, _ := readDocument("f", []byte("a: &a\n  <<: *a\n  b: *a\n"))
	if got := doc.lines.of("a.b.b.b.missing"); got != 3 {
		t.Errorf("line %d, want 3", got)
	}
}

// TestLinesOfFanOut: the search also ends for merges of merges, two at each of 64 levels.
func TestLinesOfFanOut(t *testing.T) {
	text := "m0: &m0 {x: 1}\n"
	for i := 1; i <= 64; i++ {
		text += fmt.Sprintf("m%d: &m%d {<<: [*m%d, *m%d]}\n", i, i, i-1, i-1)
	}
	doc, _ := readDocument("f", []byte(text))
	if got := doc.lines.of("m64.missing"); got != 65 {
		t.Errorf("line %d, want 65", got)
	}
}

// TestCheckOneQueueArgs builds profiles by hand, because no built-in queueSort plugin takes
// args yet.
func TestCheckOneQueueArgs(t *testing.T) {
	profile := func(a Args) Profile {
		return Profile{Points: map[string][]PluginRef{pointQueueSort: {{Name: "Q"}}}, Args: map[string]Args{"Q": a}}
	}
	typed := func(n int32) *configv1.InterPodAffinityArgs {
		return &configv1.InterPodAffinityArgs{HardPodAffinityWeight: &n}
	}
	spec := func(path string) *v1alpha1.WasmPluginArgs {
		return &v1alpha1.WasmPluginArgs{Module: v1alpha1.FileModule{Path: path}}
	}
	differ := ": the args of the queueSort plugin Q differ from those in profiles[0]; all profiles share one queue: give the same args in each"
	cases := []struct {
		a, b Args
		want string
	}{
		{Args{}, Args{}, ""},
		{Args{Raw: []byte(`{"n":1}`)}, Args{Raw: []byte(`{"n":1}`)}, ""},
		{Args{Raw: []byte(`{}`), Typed: typed(1)}, Args{Typed: typed(1)}, ""}, // defaults count
		{Args{Raw: []byte(`{"n": 1}`), Spec: spec("a")}, Args{Raw: []byte(`{"n":1}`), Spec: spec("a")}, ""},
		{Args{Spec: spec("a")}, Args{Spec: spec("b")}, "profiles[1].pluginConfig" + differ},
		{Args{Raw: []byte(`{"n":1}`)}, Args{}, "profiles[1].pluginConfig" + differ},
		{Args{Typed: typed(1)}, Args{Typed: typed(2), Path: "profiles[1].pluginConfig[3].args"}, "profiles[1].pluginConfig[3].args" + differ},
	}
	for _, c := range cases {
		r := newReport("", nil)
		checkOneQueue(r, field.NewPath("profiles"), []Profile{profile(c.a), profile(c.b)})
		got := ""
		if err := r.err(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%+v and %+v: %q, want %q", c.a, c.b, got, c.want)
		}
	}
}
