package state_test

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/state"
)

func drawSelector(t *rapid.T, label string) *metav1.LabelSelector {
	s := &metav1.LabelSelector{}
	for range rapid.IntRange(0, 2).Draw(t, label) {
		r := metav1.LabelSelectorRequirement{
			Key:      rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key"),
			Operator: rapid.SampledFrom([]metav1.LabelSelectorOperator{"In", "NotIn", "Exists", "DoesNotExist"}).Draw(t, "operator"),
		}
		if r.Operator == metav1.LabelSelectorOpIn || r.Operator == metav1.LabelSelectorOpNotIn {
			r.Values = rapid.SliceOfN(rapid.SampledFrom([]string{"", "x", "y"}), 1, 3).Draw(t, "values")
		}
		s.MatchExpressions = append(s.MatchExpressions, r)
	}
	return s
}

// TestSelectorText: selectors with equal texts match the same objects.
func TestSelectorText(t *testing.T) {
	var sets []labels.Set
	for _, a := range []string{"none", "", "x", "y"} {
		for _, b := range []string{"none", "", "x", "y"} {
			set := labels.Set{"a": a, "b": b}
			for key, value := range set {
				if value == "none" {
					delete(set, key)
				}
			}
			sets = append(sets, set)
		}
	}
	seen := map[string][]bool{}
	seeded.Check(t, func(r *rapid.T) {
		s, err := state.CompilePodSelector(drawSelector(r, "selector"))
		if err != nil {
			r.Fatal(err)
		}
		var matches []bool
		for _, set := range sets {
			matches = append(matches, s.Matches(set))
		}
		if before, ok := seen[s.Text]; ok && !slices.Equal(before, matches) {
			r.Fatalf("%s matches other pods than another selector of the text %q", s, s.Text)
		}
		seen[s.Text] = matches
	})
	nothing, _ := state.CompilePodSelector(nil)
	everything, _ := state.CompilePodSelector(&metav1.LabelSelector{})
	if nothing.Text == everything.Text {
		t.Error("nothing and everything have the same text")
	}
	// Values that an API server would refuse must not be confused with others.
	odd := state.NewPodSelector(labels.SelectorFromSet(labels.Set{"a": "x,b=y"}))
	two := state.NewPodSelector(labels.SelectorFromSet(labels.Set{"a": "x", "b": "y"}))
	if odd.Text == two.Text {
		t.Errorf("%s and %s have the same text", odd, two)
	}
}

// TestAffinityText: the text distinguishes terms, their kind, weight and order.
func TestAffinityText(t *testing.T) {
	term := func(app string) v1.PodAffinityTerm {
		return v1.PodAffinityTerm{TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}}
	}
	affinity := func(namespace string, a v1.Affinity) string {
		p := &v1.Pod{}
		p.Namespace, p.Spec.Affinity = namespace, &a
		return state.NewPod(p).Affinity.Text
	}
	required := func(terms ...v1.PodAffinityTerm) v1.Affinity {
		return v1.Affinity{PodAffinity: &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
	}
	preferred := func(weight int32, term v1.PodAffinityTerm) v1.Affinity {
		return v1.Affinity{PodAffinity: &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{
			{Weight: weight, PodAffinityTerm: term}}}}
	}
	other := term("a")
	other.TopologyKey = "host"
	named := term("a")
	named.Namespaces = []string{"ns"}
	anti := v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term("a")}}}
	texts := []string{
		affinity("ns", required(term("a"))), affinity("ns", required(term("b"))), affinity("other", required(term("a"))),
		affinity("ns", required(term("a"), term("b"))), affinity("ns", required(term("b"), term("a"))),
		affinity("ns", required(other)), affinity("ns", preferred(1, term("a"))), affinity("ns", preferred(2, term("a"))),
		affinity("ns", anti),
	}
	for i, text := range texts {
		if at := slices.Index(texts, text); at != i {
			t.Errorf("affinities %d and %d have the same text", at, i)
		}
	}
	if affinity("ns", required(named)) != texts[0] {
		t.Error("the pod's own namespace by name is not the same as by default")
	}
}

// TestSpreadFollowsPatch: matchLabelKeys uses the patched value of a label.
func TestSpreadFollowsPatch(t *testing.T) {
	object := &v1.Pod{}
	object.Labels = map[string]string{"ver": "1"}
	object.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{}, MatchLabelKeys: []string{"ver"},
	}}
	pod := state.NewPod(object).On("n", state.Patch{Labels: map[string]string{"ver": "2"}})
	if got := pod.Spread[0].Selector.String(); got != "ver=2" {
		t.Errorf("the constraint selects %q, want %q", got, "ver=2")
	}
}
