package schema

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/berth-scheduler/berth/abi"
)

// attack is a schema and a configuration that are meant to be expensive to check.
type attack struct {
	name           string
	schema, config func() string
	refused        string // part of the error at load; empty if the schema is accepted
}

func text(s string) func() string { return func() string { return s } }

// attacks returns shapes that cost gigabytes, minutes or both before there were limits, and the
// largest of each shape that the limits accept.
func attacks() []attack {
	list := func(n int, item string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
	}
	numbered := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format+",", i)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	deep := func(n int, before, inner, after string) string {
		return strings.Repeat(before, n) + inner + strings.Repeat(after, n)
	}
	long := strings.Repeat("x", 30_000)
	return []attack{
		{"allOf of 3,200", text(`{"allOf":` + list(3200, `{"type":"text"}`) + `}`), text(`{}`), "more than 64 schemas in a list"},
		{"allOf of 64", text(`{"allOf":` + list(64, `{"type":"null"}`) + `}`), text(`{"a":"` + long + `"}`), ""},
		{"pattern of 23 KiB", text(`{"pattern":"` + strings.Repeat(`a`, 23<<10) + `"}`), text(`""`), "23552 bytes, at most 1024"},
		{"46 KiB of patterns", text(`{"allOf":[` + numbered(46, `{"pattern":"`+strings.Repeat("a", 1000)+`%d"}`) + `]}`), text(`{}`),
			"more than 16384 bytes of patterns"},
		{"the same 64 by 64 times", text(`{"additionalProperties":{"allOf":` + list(64, `{"not":{"anyOf":`+list(28, `{"type":"null"}`)+`}}`) +
			`}}`), func() string { return `{` + numbered(80_000, `"%d":1`) + `}` }, ""},
		{"elements sorted many times", text(`{"allOf":` + list(64, `{"uniqueItems":true}`) + `}`),
			func() string { return `[` + numbered(90_000, `"%d"`) + `]` }, ""},
		{"one slow pattern many times", text(`{"allOf":` + list(60, `{"allOf":`+list(30, `{"pattern":"^(a|aa)*$"}`)+`}`) + `}`),
			func() string { return `"` + strings.Repeat("a", 1_000_000) + `b"` }, ""},
		{"references, which are ignored", text(`{"additionalProperties":{"allOf":` + list(64, `{"$ref":"#"}`) + `},"$defs":{` +
			numbered(1000, `"%d":{"$ref":"#"}`) + `}}`), text(deep(60, `{"a":`, `1`, `}`)), ""},
		{"repeats", text(`{"pattern":"` + strings.Repeat(`.{1000}`, 140) + `"}`), text(`{}`), "compiles to more than 2048"},
		{"repeats of repeats", text(`{"pattern":"((((a{10}){10}){10}){10}){10}"}`), text(`{}`), "invalid repeat count"},
		{"classes", text(`{"allOf":[` + numbered(16, `{"pattern":"`+strings.Repeat(`\\pL`, 330)+`%d"}`) + `]}`), text(`{}`), "too many ranges"},
		{"classes in a repeat", text(`{"pattern":"^(?i)\\PL{400}$"}`), text(`{}`), "too many ranges"},
		{"uniqueItems", text(`{"uniqueItems":true}`), func() string { return `[` + numbered(90_000, `"%d"`) + `]` }, ""},
		{"uniqueItems of long texts", text(`{"uniqueItems":true}`), func() string { return `[` + numbered(34, `"`+long+`%d"`) + `]` }, ""},
		{"enum of many", text(`{"items":{"enum":[` + numbered(9000, `"%d"`) + `]}}`), func() string { return `[` + numbered(90_000, `%d`) + `]` }, ""},
		{"enum of long", text(`{"items":{"enum":` + list(2, `"`+long+`"`) + `}}`), func() string { return list(30, `"`+long+`y"`) }, ""},
		{"const that is deep", text(`{"items":{"const":` + deep(50, `[`, list(9000, `1`), `]`) + `}}`), func() string { return list(10, deep(50, `[`, list(9000, `1`), `]`)) }, ""},
		{"long names", text(`{"properties":{"` + long + `":{"properties":{` + numbered(1500, `"%d":{"type":"null"}`) + `}}}}`), func() string { return `{"` + long + `":{` + numbered(50_000, `"%d":"a"`) + `}}` }, ""},
		{"a long name of much", text(`{"additionalProperties":{"items":false}}`), func() string { return `{"` + strings.Repeat("x", 700_000) + `":` + list(99_000, `0`) + `}` }, ""},
		{"unknown keywords", text(`{` + numbered(7000, `"%d":1`) + `}`), text(`{}`), ""},
		{"unknown keywords below a long name", text(`{"properties":{"` + long + `":{` + numbered(4000, `"%d":1`) + `}}}`), text(`{}`), ""},
		{"many schemas", text(`{"properties":{` + numbered(5000, `"%d":{}`) + `}}`), text(`{}`), "more than 2000 schemas"},
		{"schemas that are deep", text(deep(17, `{"not":`, `{}`, `}`)), text(`{}`), "nested deeper than 16"},
		{"a slow pattern", text(`{"items":{"pattern":"(x+x+)+y"}}`), func() string { return `["` + strings.Repeat("x", 1_000_000) + `"]` }, ""},
		{"a pattern that is at many places", text(`{"pattern":"(.*a){200}$"}`), func() string { return `"` + strings.Repeat("a", 1_000_000) + `"` }, ""},
		{"classes that are allowed", text(`{"allOf":[` + numbered(16, `{"pattern":"`+strings.Repeat(`\\pL`, 8)+`%d"}`) + `]}`), text(`{}`), ""},
		{"one pass over classes", text(`{"pattern":"^(?i)\\PL{100}$"}`), text(`{}`), ""},
		{"lengths", text(`{"allOf":` + list(64, `{"allOf":`+list(30, `{"minLength":1}`)+`}`) + `}`), func() string { return `"` + strings.Repeat("ä", 500_000) + `"` }, ""},
		{"numbers out of range", text(`{"multipleOf":1e1000000}`), text(`1`), "out of range"},
		{"a number out of range", text(`{"multipleOf":1e-300}`), text(`1e1000000`), ""},
		{"a number of a megabyte", text(`{"multipleOf":0.3,"minimum":1e300}`), func() string { return strings.Repeat("7", 1_000_000) }, ""},
		{"numbers with many bounds", text(`{"items":{"minimum":0.5,"maximum":1e300,"exclusiveMinimum":0.1,"multipleOf":1e-300}}`), func() string { return `[` + numbered(99_000, `%d.5`) + `]` }, ""},
		{"alternatives within alternatives", text(deep(5, `{"anyOf":[`, numbered(50, `{"type":"null","title":"%d"}`), strings.Repeat(`,{"type":"null"}`, 12)+`]}`)), text(`{}`), ""},
		{"mistakes everywhere", text(`{"items":{"anyOf":` + list(64, `{"properties":{"a":{"enum":[`+numbered(30, `"%d"`)+`]}},"required":["b"]}`) + `}}`), func() string { return list(30_000, `{"a":1}`) }, ""},
		{"unknown fields", text(`{"properties":{` + numbered(1900, `"field%d":{}`) + `},"additionalProperties":false}`), func() string { return `{` + numbered(60_000, `"feld%d":1`) + `}` }, ""},
		{"required fields", text(`{"items":{"required":[` + numbered(8000, `"%d"`) + `]}}`), func() string { return list(99_000, `{}`) }, ""},
		{"many values", text(`{}`), func() string { return list(500_000, `0`) }, ""},
		{"many lists", text(`{}`), func() string { return list(99_000, `[]`) }, ""},
		{"deep values", text(`{}`), func() string { return deep(400_000, `[`, ``, `]`) }, ""},
	}
}

// mostAtLoad is the most that may be allocated to load a schema, in bytes. Like mostAtCheck it is
// the total, not the peak, so that garbage collection cannot hide it.
const mostAtLoad = 16 << 20

// TestAttacks: every schema and configuration stays within the limits of steps and bytes, and
// gives messages of limited size.
func TestAttacks(t *testing.T) {
	for _, a := range attacks() {
		t.Run(a.name, func(t *testing.T) {
			schemaText, configText := []byte(a.schema()), []byte(a.config())
			if len(configText) > abi.MaxConfigSize || !json.Valid(schemaText) {
				t.Fatal("the input is refused before the schema is checked")
			}
			var s *Schema
			var remarks []string
			var err error
			if n := allocated(func() { s, remarks, err = New(schemaText) }); n > mostAtLoad {
				t.Errorf("%d bytes at load, want at most %d", n, mostAtLoad)
			}
			for _, r := range append(remarks, message(err)) {
				if len(r) > MaxProblem {
					t.Errorf("%d bytes of text: %s", len(r), r)
				}
			}
			if len(remarks) > MaxProblems+1 {
				t.Errorf("%d remarks", len(remarks))
			}
			if (err != nil) != (a.refused != "") || !strings.Contains(message(err), a.refused) {
				t.Errorf("got %v, want it refused with %q", err, a.refused)
			}
			if err != nil {
				return
			}
			var steps int
			var first []Problem
			n := allocated(func() { steps, first = count(t, s, configText) })
			if n > mostAtCheck {
				t.Errorf("%d bytes to check, want at most %d", n, mostAtCheck)
			}
			if steps > maxSteps/10 {
				return
			}
			if again, second := count(t, s, configText); again != steps || !slices.Equal(first, second) {
				t.Errorf("%d steps, then %d: %v, then %v", steps, again, first, second)
			}
		})
	}
}

func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// count checks a configuration as validate does and returns the number of steps.
func count(t *testing.T, s *Schema, config []byte) (int, []Problem) {
	t.Helper()
	value, err := Parse(config)
	if err != nil {
		return 0, []Problem{{Detail: message(err)}}
	}
	instance, bad := newInstance(value)
	if bad != nil {
		return 0, []Problem{*bad}
	}
	c := checker{left: maxSteps}
	out := c.check(s.root, instance)
	if len(out) > MaxProblems {
		t.Errorf("%d problems", len(out))
	}
	for _, p := range out {
		if n := len(p.Path + p.Detail + p.Fix); n > MaxProblem || !utf8.ValidString(p.Path+p.Detail+p.Fix) {
			t.Errorf("%d bytes of text: %+v", n, p)
		}
	}
	return maxSteps - c.left, out
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// BenchmarkStep measures the time of a step in each attack. A check takes at most maxSteps of
// them.
func BenchmarkStep(b *testing.B) {
	for _, a := range attacks() {
		s, _, err := New([]byte(a.schema()))
		if err != nil {
			continue
		}
		value, err := Parse([]byte(a.config()))
		if err != nil {
			continue
		}
		instance, bad := newInstance(value)
		if bad != nil {
			continue
		}
		b.Run(a.name, func(b *testing.B) {
			steps := 0
			for b.Loop() {
				c := checker{left: maxSteps}
				c.check(s.root, instance)
				steps += maxSteps - c.left
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(steps), "ns/step")
		})
	}
}
