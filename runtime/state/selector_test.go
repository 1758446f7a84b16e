package state_test

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/state"
)

func TestCompileErrors(t *testing.T) {
	type selector struct {
		Term v1.NodeSelectorTerm `json:"term"`
		Err  string              `json:"err"`
	}
	for _, c := range load[[]selector](t, "testdata/selectors.yaml") {
		var got error
		for _, term := range state.CompileTerms([]v1.NodeSelectorTerm{c.Term}) {
			got = term.Err
		}
		if c.Err == "" && got != nil || c.Err != "" && (got == nil || !strings.Contains(got.Error(), c.Err)) {
			t.Errorf("%+v: error is %v, want %q", c.Term, got, c.Err)
		}
	}
}

// TestCompileAsKubernetes: a term is an error exactly when component-helpers says so, and is
// dropped exactly when it is empty or has weight zero.
func TestCompileAsKubernetes(t *testing.T) {
	value := rapid.SampledFrom([]string{"", "a", "12", "-1", "+3", "no!", strings.Repeat("x", 64)})
	requirement := func(key *rapid.Generator[string]) *rapid.Generator[v1.NodeSelectorRequirement] {
		return rapid.Custom(func(t *rapid.T) v1.NodeSelectorRequirement {
			return v1.NodeSelectorRequirement{
				Key: key.Draw(t, "key"),
				Operator: rapid.SampledFrom([]v1.NodeSelectorOperator{v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn,
					v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist, v1.NodeSelectorOpGt, v1.NodeSelectorOpLt, "Near"}).Draw(t, "operator"),
				Values: rapid.SliceOfN(value, 0, 2).Draw(t, "values"),
			}
		})
	}
	label := requirement(rapid.SampledFrom([]string{"a", "example.com/a", "", "a b", "/a"}))
	field := requirement(rapid.Just("metadata.name"))
	seeded.Check(t, func(t *rapid.T) {
		requireAsKubernetes(t, v1.NodeSelectorTerm{
			MatchExpressions: rapid.SliceOfN(label, 0, 2).Draw(t, "labels"),
			MatchFields:      rapid.SliceOfN(field, 0, 1).Draw(t, "fields"),
		}, rapid.Int32Range(0, 1).Draw(t, "weight"))
	})
}

func FuzzCompileAsKubernetes(f *testing.F) {
	f.Add("zone", "In", "a", true)
	f.Add("cores", "Gt", "-4", true)
	f.Add("zone", "Exists", "", false)
	f.Fuzz(func(t *testing.T, key, operator, value string, hasValue bool) {
		r := v1.NodeSelectorRequirement{Key: key, Operator: v1.NodeSelectorOperator(operator)}
		if hasValue {
			r.Values = []string{value}
		}
		requireAsKubernetes(t, v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{r}}, 1)
		r.Key = "metadata.name"
		requireAsKubernetes(t, v1.NodeSelectorTerm{MatchFields: []v1.NodeSelectorRequirement{r}}, 1)
	})
}

type fataler interface {
	Fatalf(format string, args ...any)
}

func requireAsKubernetes(t fataler, term v1.NodeSelectorTerm, weight int32) {
	terms := []v1.NodeSelectorTerm{term}
	_, want := nodeaffinity.NewNodeSelector(&v1.NodeSelector{NodeSelectorTerms: terms})
	compiled := state.CompileTerms(terms)
	empty := len(term.MatchExpressions)+len(term.MatchFields) == 0
	if empty != (len(compiled) == 0) {
		t.Fatalf("%d terms from %+v", len(compiled), term)
	}
	if !empty && (compiled[0].Err == nil) != (want == nil) {
		t.Fatalf("%+v: error is %v, Kubernetes says %v", term, compiled[0].Err, want)
	}
	preferred := state.CompilePreferred([]v1.PreferredSchedulingTerm{{Weight: weight, Preference: term}})
	if left := empty || weight == 0; left != (len(preferred) == 0) {
		t.Fatalf("%d preferred terms from %+v of weight %d", len(preferred), term, weight)
	}
	if len(preferred) > 0 && (preferred[0].Weight != weight || (preferred[0].Err == nil) != (want == nil)) {
		t.Fatalf("%+v: preferred term is %+v, Kubernetes says %v", term, preferred[0], want)
	}
}

func TestNormalImageName(t *testing.T) {
	for name, want := range map[string]string{
		"nginx":                   "nginx:latest",
		"nginx:1.25":              "nginx:1.25",
		"registry:5000/nginx":     "registry:5000/nginx:latest",
		"registry:5000/nginx:1":   "registry:5000/nginx:1",
		"nginx@sha256:abc":        "nginx@sha256:abc",
		"registry.io/a/b/c@sha:1": "registry.io/a/b/c@sha:1",
	} {
		if got := state.NormalImageName(name); got != want {
			t.Errorf("NormalImageName(%q) = %q, want %q", name, got, want)
		}
	}
}

// FuzzNormalImageName: normalizing twice changes nothing, and a name keeps all its parts.
func FuzzNormalImageName(f *testing.F) {
	f.Add("registry:5000/nginx")
	f.Add("")
	f.Fuzz(func(t *testing.T, name string) {
		normal := state.NormalImageName(name)
		if again := state.NormalImageName(normal); again != normal || !strings.HasPrefix(normal, name) {
			t.Errorf("%q becomes %q, and then %q", name, normal, again)
		}
	})
}
