package nodeselector_test

import (
	"fmt"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/hostplugins/internal/nodeselector"
	"github.com/berth-scheduler/berth/hostplugins/internal/plugintest"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/state"
)

func values() []string {
	return []string{"", "a", "b", "c", "d", "e", "7", "8", "9", "-1", "+8", "x8", "9223372036854775807", "9223372036854775808", "-9223372036854775808"}
}

// cluster has common label keys, a rare one, and more rows than a block.
func cluster(rt *rapid.T) []*v1.Node {
	nodes := make([]*v1.Node, rapid.SampledFrom([]int{1, 7, 1023, 1024, 1025, 2500}).Draw(rt, "nodes"))
	salt := rapid.IntRange(0, 1000).Draw(rt, "salt")
	all := values()
	for i := range nodes {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", i), Labels: map[string]string{}}}
		for j, key := range []string{"dense", "holes", "rare"} {
			h := (i*7919 + j*104729 + salt*31) % 1009
			if j == 0 || j == 1 && h%3 > 0 || j == 2 && h%50 == 0 {
				n.Labels[key] = all[h%len(all)]
			}
		}
		nodes[i] = n
	}
	return nodes
}

func draw(rt *rapid.T) v1.NodeSelectorTerm {
	var t v1.NodeSelectorTerm
	for range rapid.IntRange(0, 3).Draw(rt, "requirements") {
		r := v1.NodeSelectorRequirement{
			Key: rapid.SampledFrom([]string{"dense", "holes", "rare", "nobody"}).Draw(rt, "key"),
			Operator: rapid.SampledFrom([]v1.NodeSelectorOperator{v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn, v1.NodeSelectorOpExists,
				v1.NodeSelectorOpDoesNotExist, v1.NodeSelectorOpGt, v1.NodeSelectorOpLt}).Draw(rt, "operator"),
		}
		switch r.Operator {
		case v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn:
			r.Values = rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b", "c", "d", "e", "7", "8", "unknown"}), 1, 9).Draw(rt, "values")
		case v1.NodeSelectorOpGt, v1.NodeSelectorOpLt:
			r.Values = []string{rapid.SampledFrom([]string{"0", "7", "8", "9223372036854775807"}).Draw(rt, "bound")}
		}
		t.MatchExpressions = append(t.MatchExpressions, r)
	}
	if rapid.IntRange(0, 9).Draw(rt, "field") == 0 {
		t.MatchFields = []v1.NodeSelectorRequirement{{Key: "metadata.name",
			Operator: rapid.SampledFrom([]v1.NodeSelectorOperator{v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn, v1.NodeSelectorOpExists}).Draw(rt, "field operator"),
			Values:   rapid.SliceOfN(rapid.SampledFrom([]string{"n0", "n1", "n1024"}), 0, 2).Draw(rt, "names")}}
	}
	return t
}

// TestMatch compares with component-helpers, node by node, over all rows and
// over every third.
func TestMatch(t *testing.T) {
	seeded.Check(t, func(rt *rapid.T) {
		nodes := cluster(rt)
		snapshot := plugintest.Snapshot(nodes, nil)
		pod := &v1.Pod{}
		if rapid.Bool().Draw(rt, "selector") {
			pod.Spec.NodeSelector = map[string]string{rapid.SampledFrom([]string{"dense", "holes", "nobody"}).Draw(rt, "selector key"): rapid.SampledFrom(values()).Draw(rt, "selector value")}
		}
		if n := rapid.IntRange(-1, 3).Draw(rt, "terms"); n >= 0 {
			selector := &v1.NodeSelector{}
			for range n {
				selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, draw(rt))
			}
			pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: selector}}
		}
		required := nodeaffinity.GetRequiredNodeAffinity(pod)
		selector := nodeselector.Pod(state.NewPod(pod), snapshot.Strings)
		step := rapid.SampledFrom([]int{1, 3}).Draw(rt, "step")
		var rows []uint32
		for row := 0; row < len(nodes); row += step {
			rows = append(rows, uint32(row))
		}
		var mask nodeselector.Mask
		for block := range slices.Chunk(rows, nodeselector.Block) {
			all := selector.Match(snapshot, block, &mask)
			every := true
			for i, row := range block {
				want, err := required.Match(nodes[row])
				want = want && err == nil
				every = every && want
				if got := mask[i] == 1; got != want {
					rt.Fatalf("%s %v: got %v", nodes[row].Name, nodes[row].Labels, got)
				}
			}
			if all != every {
				rt.Fatalf("all match: got %v", all)
			}
			if selector.Everything() && !every {
				rt.Fatal("everything matches, but not every row does")
			}
		}
	})
}

// TestScore compares weighted terms with component-helpers.
func TestScore(t *testing.T) {
	seeded.Check(t, func(rt *rapid.T) {
		nodes := cluster(rt)
		snapshot := plugintest.Snapshot(nodes, nil)
		var terms []v1.PreferredSchedulingTerm
		for range rapid.IntRange(0, 4).Draw(rt, "terms") {
			term := v1.PreferredSchedulingTerm{Weight: rapid.Int32Range(0, 100).Draw(rt, "weight"), Preference: draw(rt)}
			if len(term.Preference.MatchFields) > 0 && term.Preference.MatchFields[0].Operator == v1.NodeSelectorOpExists {
				continue
			}
			if len(term.Preference.MatchFields) > 0 && len(term.Preference.MatchFields[0].Values) != 1 {
				continue
			}
			terms = append(terms, term)
		}
		want, err := nodeaffinity.NewPreferredSchedulingTerms(terms)
		if err != nil {
			rt.Fatal(err)
		}
		got := make([]int64, len(nodes))
		rows := make([]uint32, len(nodes))
		for i := range rows {
			rows[i] = uint32(i)
		}
		nodeselector.Preferred(state.CompilePreferred(terms), snapshot.Strings).Score(snapshot, rows, got)
		for i, node := range nodes {
			if w := want.Score(node); got[i] != w {
				rt.Fatalf("%s %v: got %d, want %d", node.Name, node.Labels, got[i], w)
			}
		}
	})
}
