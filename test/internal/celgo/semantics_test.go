package celgo_test

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	theirs "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/wasm-examples/catalogue/expression/cel"
)

var taint = cel.Type{Kind: cel.Object, Name: "taint", Fields: []cel.Field{
	{Name: "key", Type: cel.Of(cel.String)}, {Name: "value", Type: cel.Of(cel.String)}, {Name: "effect", Type: cel.Of(cel.String)},
}}

var variables = []cel.Variable{
	{Name: "pod.labels", Type: cel.Map(cel.Of(cel.String))},
	{Name: "pod.namespace", Type: cel.Of(cel.String)},
	{Name: "pod.priority", Type: cel.Of(cel.Int)},
	{Name: "pod.images", Type: cel.List(cel.Of(cel.String))},
	{Name: "node.labels", Type: cel.Map(cel.Of(cel.String)), Node: true, Keys: []string{"a", "zone"}, Named: "nodeLabels"},
	{Name: "node.allocatable", Type: cel.Map(cel.Of(cel.Int)), Node: true, Keys: []string{"cpu", "memory"}, Named: "resources"},
	{Name: "node.load", Type: cel.Of(cel.Double), Node: true},
	{Name: "node.unschedulable", Type: cel.Of(cel.Bool), Node: true},
	{Name: "node.taints", Type: cel.List(taint), Node: true},
}

// values are those of variables, as cel-go takes them.
type values map[string]any

// draw draws values. Those that a source has as text are given as text, lists and maps as such.
func draw(t *rapid.T) values {
	texts := rapid.SampledFrom([]string{"a", "b", "", "zone", "12", "-3", "1.5", "grün", "cpu", "x y"})
	labels := rapid.MapOf(rapid.SampledFrom([]string{"a", "app", "tier", "zone"}), texts)
	ints := rapid.SampledFrom([]int64{0, 1, -1, 7, 4000, math.MaxInt64, math.MinInt64})
	ofNode := labels.Draw(t, "node.labels")
	maps.DeleteFunc(ofNode, func(k, _ string) bool { return !slices.Contains(variables[4].Keys, k) })
	var taints []map[string]string
	for range rapid.IntRange(0, 2).Draw(t, "taints") {
		taints = append(taints, map[string]string{"key": texts.Draw(t, "key"), "value": texts.Draw(t, "value"), "effect": "NoSchedule"})
	}
	return values{
		"pod.labels": labels.Draw(t, "pod.labels"), "pod.namespace": texts.Draw(t, "namespace"), "pod.priority": ints.Draw(t, "priority"),
		"pod.images": rapid.SliceOfN(texts, 0, 3).Draw(t, "images"), "node.labels": ofNode,
		"node.allocatable":   map[string]int64{"cpu": ints.Draw(t, "cpu"), "memory": ints.Draw(t, "memory")},
		"node.load":          rapid.SampledFrom([]float64{0, 0.5, -2, math.Inf(1), math.NaN(), 1e300}).Draw(t, "load"),
		"node.unschedulable": rapid.Bool().Draw(t, "unschedulable"), "node.taints": taints,
	}
}

// Value is a value as the subset takes it.
func (v values) Value(variable int) cel.Value { return value(v[variables[variable].Name]) }

// Entry is an entry of a map with known keys.
func (v values) Entry(variable, key int) (cel.Value, bool) {
	name := variables[variable].Keys[key]
	switch of := v[variables[variable].Name].(type) {
	case map[string]string:
		text, ok := of[name]
		return cel.StringValue(text), ok
	case map[string]int64:
		n, ok := of[name]
		return cel.IntValue(n), ok
	}
	return cel.Value{}, false
}

func value(of any) cel.Value {
	switch of := of.(type) {
	case bool:
		return cel.BoolValue(of)
	case int64:
		return cel.IntValue(of)
	case float64:
		return cel.DoubleValue(of)
	case string:
		return cel.StringValue(of)
	case []string:
		return elements(of, cel.StringValue)
	case []map[string]string:
		return elements(of, func(m map[string]string) cel.Value {
			return elements([]string{m["key"], m["value"], m["effect"]}, cel.StringValue)
		})
	case map[string]string:
		all := map[string]cel.Value{}
		for k, text := range of {
			all[k] = cel.StringValue(text)
		}
		return cel.MapValue(all)
	case map[string]int64:
		all := map[string]cel.Value{}
		for k, n := range of {
			all[k] = cel.IntValue(n)
		}
		return cel.MapValue(all)
	}
	return cel.Value{}
}

func elements[T any](all []T, of func(T) cel.Value) cel.Value {
	e := &cel.Elements{}
	for _, a := range all {
		e.Values = append(e.Values, of(a))
	}
	return cel.ElementsValue(e)
}

// environment is that of cel-go.
func environment(t testing.TB) *theirs.Env {
	t.Helper()
	options := []theirs.EnvOption{ext.Math()}
	for _, v := range variables {
		options = append(options, theirs.Variable(v.Name, typeOf(v.Type)))
	}
	env, err := theirs.NewEnv(options...)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

// typeOf returns a type of cel-go; an object is a map there.
func typeOf(t cel.Type) *theirs.Type {
	switch t.Kind {
	case cel.Bool:
		return theirs.BoolType
	case cel.Int:
		return theirs.IntType
	case cel.Double:
		return theirs.DoubleType
	case cel.String:
		return theirs.StringType
	case cel.ListOf:
		return theirs.ListType(typeOf(*t.Elem))
	case cel.MapOf:
		return theirs.MapType(theirs.StringType, typeOf(*t.Elem))
	}
	return theirs.MapType(theirs.StringType, theirs.StringType)
}

// same reports whether a value is that of cel-go.
func same(t *cel.Type, v cel.Value, their ref.Val) bool {
	switch t.Kind {
	case cel.Bool:
		return their.Value() == v.Bool()
	case cel.Int:
		return their.Value() == v.Int()
	case cel.Double:
		f, ok := their.Value().(float64)
		return ok && (math.Float64bits(f) == math.Float64bits(v.Double()) || f != f && v.Double() != v.Double())
	case cel.String:
		return their.Value() == v.Text()
	case cel.ListOf:
		list, ok := their.(traits.Lister)
		if !ok || int64(len(v.Elements().Values)) != list.Size().Value() {
			return false
		}
		at := list.Iterator()
		for _, e := range v.Elements().Values {
			if !same(t.Elem, e, at.Next()) {
				return false
			}
		}
	}
	return true // what is in maps and objects the expressions ask for
}

// compile compiles an expression of any type.
func compile(text string) (*cel.Program, error) {
	var last error
	for _, want := range []cel.Type{cel.Of(cel.Bool), {}, cel.Of(cel.String), cel.List(cel.Type{}), cel.Map(cel.Type{}), taint} {
		p, err := cel.Compile(text, variables, want)
		if err == nil {
			return p, nil
		}
		if last = err; !strings.Contains(err.Text, "and must be ") {
			break
		}
	}
	return nil, last
}

// alike evaluates an expression in both, for several nodes of a pod.
func alike(t *rapid.T, env *theirs.Env, text string, p *cel.Program) {
	t.Helper()
	checked, issues := env.Compile(text)
	if issues.Err() != nil {
		t.Fatalf("%s: the subset accepts what CEL does not: %v", text, issues.Err())
	}
	program, err := env.Program(checked)
	if err != nil {
		t.Fatalf("%s: the subset accepts what CEL does not: %v", text, err)
	}
	pod := draw(t)
	for range 2 {
		node := draw(t)
		for name := range pod {
			if strings.HasPrefix(name, "pod.") {
				node[name] = pod[name]
			}
		}
		their, _, err := program.Eval(map[string]any(node))
		v, failure := p.Eval(node)
		typ := p.Type()
		if (err == nil) != (failure == nil) || err == nil && !same(&typ, v, their) {
			t.Fatalf("%s with %v:\ncel-go: %v, %v\nsubset: %+v, %v", text, node, their, err, v, failure)
		}
	}
}

// TestValues: expressions of the subset have the values that cel-go gives them, or none.
func TestValues(t *testing.T) {
	env := environment(t)
	seeded.Check(t, func(t *rapid.T) {
		text := (&drawer{t: t}).any()
		p, err := compile(text)
		if err != nil {
			if strings.Contains(err.Error(), "which names what") { // a key that the configuration does not have
				return
			}
			t.Fatalf("%s: %v", text, err)
		}
		alike(t, env, text, p)
	})
}

// TestBroken: what the subset accepts, cel-go accepts, and gives it the same value.
func TestBroken(t *testing.T) {
	env := environment(t)
	accepted := 0
	seeded.Check(t, func(t *rapid.T) {
		text := (&drawer{t: t}).broken()
		p, err := compile(text)
		// The order of keys is the host's in cel-go.
		if err != nil || strings.Contains(text, ".map(") || strings.Contains(text, ".filter(") {
			return
		}
		accepted++
		alike(t, env, text, p)
	})
	if accepted == 0 {
		t.Error("no expression was accepted")
	}
}
