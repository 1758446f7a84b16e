package state_test

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/internal/golden"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/state/statetest"
)

// load decodes a file in testdata; unknown fields are errors.
func load[T any](t testing.TB, path string) T {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out T
	if err := yaml.UnmarshalStrict(text, &out); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return out
}

type podCase struct {
	Name string `json:"name"`
	Pod  v1.Pod `json:"pod"`
}

func TestNewPod(t *testing.T) {
	var b bytes.Buffer
	for _, c := range load[[]podCase](t, "testdata/pods.yaml") {
		fmt.Fprintf(&b, "# %s\n%s\n", c.Name, describe(state.NewPod(&c.Pod)))
	}
	golden.Check(t, "testdata/pods.golden", b.Bytes())
}

func describe(p *state.Pod) string {
	var b strings.Builder
	fmt.Fprintf(&b, "pod %s uid %q profile %q priority %d node %q nominated %q\n", p.Key(), p.UID, p.Profile, p.Priority, p.NodeName(), p.NominatedNode())
	r := &p.Requests
	fmt.Fprintf(&b, "requests cpu %dm memory %d ephemeral-storage %d pods %d", r.MilliCPU, r.Memory, r.EphemeralStorage, r.Pods)
	for _, s := range r.Scalars {
		fmt.Fprintf(&b, " %s %d", s.Name, s.Value)
	}
	fmt.Fprintf(&b, "\nnon-zero cpu %dm memory %d\n", p.NonZeroCPU, p.NonZeroMemory)
	for _, port := range p.HostPorts {
		fmt.Fprintf(&b, "port %s:%d/%d\n", port.IP, port.Port, port.Protocol)
	}
	fmt.Fprintf(&b, "images %q\nfeatures %s\n", p.Images, p.Features)
	requirements := func(list []state.Requirement) (out []string) {
		for _, r := range list {
			out = append(out, fmt.Sprintf("%s %s %q %d", r.Key, r.Op, r.Values, r.Number))
		}
		return out
	}
	for _, text := range requirements(p.Selector) {
		fmt.Fprintf(&b, "selector %s\n", text)
	}
	if p.HasRequired {
		fmt.Fprintf(&b, "required terms: %d\n", len(p.Required))
	}
	for _, term := range slices.Concat(p.Required, p.Preferred) {
		fmt.Fprintf(&b, "term weight %d labels %v fields %v error %v\n", term.Weight, requirements(term.Labels), requirements(term.Fields), term.Err)
	}
	describePods(&b, p)
	for _, toleration := range p.Tolerations {
		fmt.Fprintf(&b, "toleration %s %s %s\n", toleration.Key, toleration.Operator, toleration.Effect)
	}
	return b.String()
}

// describePods writes a pod's constraints on other pods.
func describePods(b *strings.Builder, p *state.Pod) {
	for _, c := range p.Spread {
		fmt.Fprintf(b, "spread by %s skew %d domains %d %s affinity %v taints %v select %s error %v\n",
			c.TopologyKey, c.MaxSkew, c.MinDomains, c.When, c.HonorAffinity, c.HonorTaints, selects(c.Selector), c.Err)
	}
	if p.Affinity == nil {
		return
	}
	terms := func(kind string, list state.PodTerms) {
		for _, t := range list.List {
			fmt.Fprintf(b, "%s by %s select %s namespaces %q select %s every %v weight %d\n",
				kind, t.TopologyKey, selects(t.Selector), t.Namespaces, selects(t.NamespaceSelector), t.EveryNamespace, t.Weight)
		}
		if list.Any && list.List == nil {
			fmt.Fprintf(b, "%s error %v\n", kind, list.Err)
		}
	}
	terms("affinity", p.Affinity.Required)
	terms("anti-affinity", p.Affinity.RequiredAnti)
	terms("preferred affinity", p.Affinity.Preferred)
	terms("preferred anti-affinity", p.Affinity.PreferredAnti)
	if err := p.Affinity.Err(); err != nil {
		fmt.Fprintf(b, "affinity error %v\n", err)
	}
}

func selects(s state.PodSelector) string {
	if _, selectable := s.Requirements(); !selectable {
		return "nothing"
	}
	return fmt.Sprintf("%q", s.String())
}

func TestNewNode(t *testing.T) {
	var infos []*state.NodeInfo
	for i, object := range load[[]v1.Node](t, "testdata/nodes.yaml") {
		generation := uint64(i + 1)
		infos = append(infos, &state.NodeInfo{
			Name: object.Name, Node: state.NewNode(&object), ObjectGeneration: generation, PodsGeneration: generation,
		})
	}
	s := state.NewSnapshot()
	s.Rebuild(infos)
	var b bytes.Buffer
	if err := statetest.Dump(&b, s); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "testdata/nodes.golden", b.Bytes())
}

func TestChanges(t *testing.T) {
	type change struct {
		Name     string              `json:"name"`
		Want     []string            `json:"want"`
		Resource state.EventResource `json:"resource"`
		OldNode  *v1.Node            `json:"oldNode"`
		NewNode  *v1.Node            `json:"newNode"`
		OldPod   *v1.Pod             `json:"oldPod"`
		NewPod   *v1.Pod             `json:"newPod"`
	}
	names := map[state.Action]string{
		state.UpdateNodeAllocatable: "UpdateNodeAllocatable", state.UpdateNodeLabel: "UpdateNodeLabel",
		state.UpdateNodeTaint: "UpdateNodeTaint", state.UpdateNodeCondition: "UpdateNodeCondition",
		state.UpdateNodeAnnotation: "UpdateNodeAnnotation", state.UpdateNodeDeclaredFeature: "UpdateNodeDeclaredFeature",
		state.UpdatePodLabel: "UpdatePodLabel", state.UpdatePodScaleDown: "UpdatePodScaleDown",
		state.UpdatePodToleration:                "UpdatePodToleration",
		state.UpdatePodSchedulingGatesEliminated: "UpdatePodSchedulingGatesEliminated",
		state.UpdatePodGeneratedResourceClaim:    "UpdatePodGeneratedResourceClaim", state.UpdateOther: "UpdateOther",
		state.UpdateOther | state.UpdatePodReady: "UpdateOther+UpdatePodReady", state.UpdatePodReady: "UpdatePodReady",
		state.UpdatePodScaleUp: "UpdatePodScaleUp", state.UpdateNodePreemptionPolicy: "UpdateNodePreemptionPolicy",
	}
	covered := map[string]bool{}
	for _, c := range load[[]change](t, "testdata/changes.yaml") {
		t.Run(c.Name, func(t *testing.T) {
			var events []state.ClusterEvent
			resource := state.NodeResource
			if c.OldNode != nil {
				events = state.NewNode(c.NewNode).Changes(state.NewNode(c.OldNode))
			} else {
				resource = cmp.Or(c.Resource, state.TargetPodResource)
				events = state.NewPod(c.NewPod).Changes(state.NewPod(c.OldPod), resource)
			}
			var got []string
			for _, e := range events {
				got = append(got, names[e.Action])
				covered[names[e.Action]] = true
				if e.Resource != resource {
					t.Errorf("the event is about %s, want %s", e.Resource, resource)
				}
			}
			if !slices.Equal(got, c.Want) {
				t.Errorf("got %v, want %v", got, c.Want)
			}
		})
	}
	for _, name := range names {
		if !covered[name] {
			t.Errorf("no case gives %s", name)
		}
	}
}
