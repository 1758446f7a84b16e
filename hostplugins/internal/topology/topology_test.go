package topology_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/storage/volume"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/hostplugins/internal/plugintest"
	"github.com/berth-scheduler/berth/hostplugins/internal/topology"
	"github.com/berth-scheduler/berth/internal/seeded"
)

func affine(name string, terms ...v1.NodeSelectorTerm) *v1.PersistentVolume {
	pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if terms != nil {
		pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: terms}}
	}
	return pv
}

func in(key string, values ...string) v1.NodeSelectorTerm {
	return v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: key, Operator: v1.NodeSelectorOpIn, Values: values}}}
}

func drawTerm(t *rapid.T) v1.NodeSelectorTerm {
	var term v1.NodeSelectorTerm
	for range rapid.IntRange(0, 2).Draw(t, "expressions") {
		r := v1.NodeSelectorRequirement{
			Key:      rapid.SampledFrom([]string{"host", "zone", "none"}).Draw(t, "key"),
			Operator: rapid.SampledFrom([]v1.NodeSelectorOperator{"In", "In", "NotIn", "Exists", "DoesNotExist"}).Draw(t, "operator"),
		}
		if r.Operator == v1.NodeSelectorOpIn || r.Operator == v1.NodeSelectorOpNotIn {
			r.Values = rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "", "x y"}), 1, 3).Draw(t, "values")
		}
		term.MatchExpressions = append(term.MatchExpressions, r)
	}
	return term
}

// TestFirst: First returns the first item in order that reaches a node, is accepted by use and
// is not left out, whatever was added and removed before.
func TestFirst(t *testing.T) {
	seeded.Check(t, func(rt *rapid.T) {
		var nodes []*v1.Node
		for i := range 1 + rapid.IntRange(0, 4).Draw(rt, "nodes") {
			n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i), Labels: map[string]string{}}}
			for _, key := range []string{"host", "zone"} {
				if rapid.Bool().Draw(rt, key) {
					n.Labels[key] = rapid.SampledFrom([]string{"a", "b", ""}).Draw(rt, "value")
				}
			}
			nodes = append(nodes, n)
		}
		index := topology.NewIndex(func(a, b *v1.PersistentVolume) int { return cmp.Compare(a.Name, b.Name) })
		var items []*topology.Item[*v1.PersistentVolume]
		for i := range rapid.IntRange(0, 12).Draw(rt, "items") {
			var terms []v1.NodeSelectorTerm
			for range rapid.IntRange(0, 2).Draw(rt, "terms") {
				terms = append(terms, drawTerm(rt))
			}
			pv := affine(fmt.Sprintf("v%02d", i), terms...)
			items = append(items, topology.NewItem(pv, topology.OfVolume(pv)))
		}
		for _, i := range rapid.Permutation(items).Draw(rt, "order") {
			index.Add(i)
		}
		var there []*topology.Item[*v1.PersistentVolume]
		for _, i := range items {
			if rapid.IntRange(0, 3).Draw(rt, "removed") == 0 {
				index.Remove(i)
			} else {
				there = append(there, i)
			}
		}
		useless := rapid.SampledFrom([]string{"v00", "v01", "v02"}).Draw(rt, "useless")
		var leftOut []*topology.Item[*v1.PersistentVolume]
		if len(there) > 0 {
			leftOut = there[:rapid.IntRange(0, 2).Draw(rt, "left out")%len(there)]
		}
		s := plugintest.Snapshot(nodes, nil)
		q := topology.NewQuery(index, s, func(pv *v1.PersistentVolume) bool { return pv.Name != useless })
		for row, n := range nodes {
			want := ""
			for _, i := range there {
				if i.Value.Name != useless && !slices.Contains(leftOut, i) && volume.CheckNodeAffinity(i.Value, n.Labels) == nil {
					want = i.Value.Name
					break
				}
			}
			got := ""
			if item := q.First(uint32(row), leftOut); item != nil {
				got = item.Value.Name
			}
			if got != want {
				rt.Fatalf("node %s gets %q, want %q", n.Name, got, want)
			}
			overlay := s.Overlay(uint32(row))
			if again := q.First(overlay, leftOut); (again == nil) != (got == "") || again != nil && again.Value.Name != got {
				rt.Fatalf("an overlay of node %s gets %v, want %q", n.Name, again, got)
			}
		}
		for _, i := range there {
			index.Remove(i)
		}
		if index.Len() != 0 {
			rt.Fatalf("%d entries are left in an empty index", index.Len())
		}
	})
}

// TestWork: with one disk on each of many nodes, each node visits only its own.
func TestWork(t *testing.T) {
	const count = 300
	index := topology.NewIndex(func(a, b *v1.PersistentVolume) int { return cmp.Compare(a.Name, b.Name) })
	var nodes []*v1.Node
	for i := range count {
		host := fmt.Sprintf("h%03d", i)
		nodes = append(nodes, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: host, Labels: map[string]string{"host": host}}})
		pv := affine("v"+host, in("host", host))
		index.Add(topology.NewItem(pv, topology.OfVolume(pv)))
	}
	looked := 0
	q := topology.NewQuery(index, plugintest.Snapshot(nodes, nil), func(*v1.PersistentVolume) bool { looked++; return true })
	for row := range count {
		if item := q.First(uint32(row), nil); item == nil || item.Value.Name != "v"+nodes[row].Name {
			t.Fatalf("node %s gets %v", nodes[row].Name, item)
		}
	}
	if looked != count {
		t.Errorf("%d volumes were looked at for %d nodes, want one each", looked, count)
	}
	if q := topology.NewQuery[*v1.PersistentVolume](nil, plugintest.Snapshot(nodes, nil), nil); q.First(0, nil) != nil {
		t.Error("a nil index has an item")
	}
}

// TestSharedObjects: compiling does not modify the API objects.
func TestSharedObjects(t *testing.T) {
	pv := affine("v", in("host", "b", "a", "b"))
	before := pv.DeepCopy()
	topology.NewItem(pv, topology.OfVolume(pv))
	if got, want := fmt.Sprint(pv), fmt.Sprint(before); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
