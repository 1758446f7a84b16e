package cel_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/wasm-examples/catalogue/expression/cel"
)

var variables = []cel.Variable{
	{Name: "pod.labels", Type: cel.Map(cel.Of(cel.String))},
	{Name: "node.labels", Type: cel.Map(cel.Of(cel.String)), Node: true, Keys: []string{"a", "b"}, Named: "keys"},
	{Name: "node.size", Type: cel.Of(cel.Int), Node: true},
}

// source has a pod with a label, and a node of size 3 with one of two labels. It counts how often it is asked about the pod.
type source struct{ asked int }

func (s *source) Value(variable int) cel.Value {
	switch variable {
	case 0:
		s.asked++
		return cel.MapValue(map[string]cel.Value{"app": cel.StringValue("web")})
	case 1:
		return cel.MapValue(map[string]cel.Value{"a": cel.StringValue("x")})
	}
	return cel.IntValue(3)
}

func (s *source) Entry(_, key int) (cel.Value, bool) { return cel.StringValue("x"), key == 0 }

// shown returns what becomes of an expression, as a text.
func shown(text string) string {
	var err *cel.Error
	for _, want := range []cel.Type{cel.Of(cel.Bool), {}, cel.Of(cel.String)} {
		var p *cel.Program
		if p, err = cel.Compile(text, variables, want); err != nil {
			if strings.Contains(err.Text, "and must be ") {
				continue
			}
			return "refused: " + err.Error()
		}
		v, failure := p.Eval(&source{})
		switch typ := p.Type(); {
		case failure != nil:
			return "no value: " + failure.Error()
		case typ.Kind == cel.Bool:
			return strconv.FormatBool(v.Bool())
		case typ.Kind == cel.Int:
			return strconv.FormatInt(v.Int(), 10)
		case typ.Kind == cel.Double:
			return strconv.FormatFloat(v.Double(), 'g', -1, 64) + " double"
		default:
			return strconv.Quote(v.Text())
		}
	}
	return "refused: " + err.Error()
}

// TestExpressions runs the file of expressions, each with what becomes of it in the line below. BERTHTEST_REWRITE=1 writes that.
func TestExpressions(t *testing.T) {
	const file = "testdata/expressions.txt"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "  ") {
			continue
		}
		out.WriteString(line + "\n")
		if line != "" && !strings.HasPrefix(line, "#") {
			out.WriteString("  " + shown(strings.ReplaceAll(line, "⏎", "\n")) + "\n")
		}
	}
	if os.Getenv("BERTHTEST_REWRITE") != "" {
		if err := os.WriteFile(file, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if out.String() != string(data) {
		t.Errorf("%s has other values; now:\n%s", file, out.String())
	}
}

// TestOnce: what is about the pod alone is asked for once, until Reset.
func TestOnce(t *testing.T) {
	p, err := cel.Compile("pod.labels.exists(k, k.size() == 3) && node.size > pod.labels.app.size() - 1", variables, cel.Of(cel.Bool))
	if err != nil {
		t.Fatal(err)
	}
	s := &source{}
	for range 10 {
		if v, failure := p.Eval(s); failure != nil || !v.Bool() {
			t.Fatalf("%v, %v", v.Bool(), failure)
		}
	}
	if s.asked != 2 {
		t.Errorf("the source was asked %d times about the pod, want once for each part", s.asked)
	}
	p.Reset()
	p.Eval(s)
	if s.asked != 4 {
		t.Errorf("the source was asked %d times after Reset, want 4", s.asked)
	}
}
