package delta_test

import (
	"fmt"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/hostplugins/internal/delta"
	"github.com/berth-scheduler/berth/hostplugins/internal/plugintest"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/state"
)

func node(name string) *v1.Node { return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}} }

func pod(name, node string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Spec: v1.PodSpec{NodeName: node}}
}

// content identifies what a row holds by the addresses of its objects.
func content(s *state.Snapshot, row int) string {
	out := fmt.Sprintf("%p", s.Nodes.Node[row].Object)
	for _, slot := range s.Nodes.Pods.Row(uint32(row)) {
		out += fmt.Sprintf(" %p", s.Pods.Pod[slot].Object)
	}
	return out
}

// TestUpdate: rows that are not reported are unchanged, however many updates of the snapshot
// were missed.
func TestUpdate(t *testing.T) {
	seeded.Check(t, func(rt *rapid.T) {
		cluster, rows := plugintest.NewCluster(), &delta.Rows{}
		nodes, placed := []*v1.Node{node("n0"), node("n1")}, []*v1.Pod{}
		var kept []string
		for range 30 {
			name := fmt.Sprintf("n%d", rapid.IntRange(0, 4).Draw(rt, "node"))
			switch rapid.IntRange(0, 3).Draw(rt, "change") {
			case 0:
				nodes = slices.DeleteFunc(slices.Clone(nodes), func(n *v1.Node) bool { return n.Name == name })
			case 1:
				nodes = slices.DeleteFunc(slices.Clone(nodes), func(n *v1.Node) bool { return n.Name == name })
				nodes = append(nodes, node(name))
			case 2:
				id := fmt.Sprintf("p%d", rapid.IntRange(0, 3).Draw(rt, "pod"))
				placed = slices.DeleteFunc(slices.Clone(placed), func(p *v1.Pod) bool { return p.Name == id })
				placed = append(placed, pod(id, name))
			}
			s := cluster.Snapshot(nodes, placed)
			if rapid.Bool().Draw(rt, "missed") {
				continue
			}
			changed, fresh := rows.Update(s)
			if fresh {
				kept = kept[:0]
			}
			for _, row := range changed {
				for int(row) >= len(kept) {
					kept = append(kept, "")
				}
				if kept[row] = ""; int(row) < s.Len() {
					kept[row] = content(s, int(row))
				}
			}
			for row := range s.Len() {
				if row >= len(kept) || kept[row] != content(s, row) {
					rt.Fatalf("row %d has changed, but was not reported", row)
				}
			}
			for row := s.Len(); row < len(kept); row++ {
				if kept[row] != "" {
					rt.Fatalf("row %d was removed, but was not reported", row)
				}
			}
			if again, _ := rows.Update(s); len(again) != 0 {
				rt.Fatalf("rows %v are reported twice", again)
			}
		}
	})
}

// TestLooked: one change costs one comparison, unless many updates were missed.
func TestLooked(t *testing.T) {
	cluster, rows := plugintest.NewCluster(), &delta.Rows{}
	var nodes []*v1.Node
	for i := range 500 {
		nodes = append(nodes, node(fmt.Sprint("n", i)))
	}
	looked := func(s *state.Snapshot) uint64 {
		before := rows.Looked
		rows.Update(s)
		return rows.Looked - before
	}
	if got := looked(cluster.Snapshot(nodes, nil)); got != 500 {
		t.Errorf("looked at %d rows at first, want 500", got)
	}
	if got := looked(cluster.Snapshot(nodes, []*v1.Pod{pod("p", "n7")})); got != 1 {
		t.Errorf("looked at %d rows for one change, want 1", got)
	}
	cluster.Snapshot(nodes, nil)
	if got := looked(cluster.Snapshot(nodes, nil)); got != 1 {
		t.Errorf("looked at %d rows after a missed change, want 1", got)
	}
	for range 2000 {
		cluster.Snapshot(nodes, nil)
	}
	if got := looked(cluster.Snapshot(nodes, nil)); got != 500 {
		t.Errorf("looked at %d rows after many missed updates, want 500", got)
	}
	// Nothing is known about another snapshot.
	if changed, fresh := rows.Update(plugintest.Snapshot(nodes, nil)); !fresh || len(changed) != 500 {
		t.Errorf("%d rows of another snapshot, fresh %v", len(changed), fresh)
	}
}
