package tally_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/hostplugins/internal/plugintest"
	"github.com/berth-scheduler/berth/hostplugins/internal/tally"
)

// cluster has nodes with pods that have a label of their own and one in common.
func cluster(nodes, podsEach int) *plugintest.LiveCluster {
	w := plugintest.NewLiveCluster()
	for i := range nodes {
		name := fmt.Sprintf("n%d", i)
		w.SetNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"host": name}}})
		for j := range podsEach {
			w.SetPod(pod(fmt.Sprintf("p%d-%d", i, j), name))
		}
	}
	return w
}

func pod(name, node string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: types.UID(name), Labels: map[string]string{"app": "x", "pod": name}}}
	p.Spec.NodeName = node
	return p
}

// TestForgotten: counts that were dropped cost nothing any more.
func TestForgotten(t *testing.T) {
	w := cluster(10, 2)
	w.Update(false)
	x := tally.New(tally.Config{MaxCells: 5000})
	x.Update(w.Snapshot)
	for i := range 1000 {
		x.Update(w.Snapshot)
		x.Count(fmt.Append(nil, i), x.Everywhere(x.Topology("host")), tally.About{
			Namespaces: []string{"a"}, Selector: labels.Everything(), Match: func(*tally.Group) bool { return true },
		})
	}
	before := x.Work()
	w.SetPod(pod("new", "n0"))
	w.Update(false)
	x.Update(w.Snapshot)
	after := x.Work()
	if matches := after.Matches - before.Matches; matches == 0 || matches > 64 {
		t.Errorf("a pod was checked against %d of 1,000 counts, want a few", matches)
	}
	if pods := after.Pods - before.Pods; pods > 64+5 {
		t.Errorf("a pod was looked at %d times", pods)
	}
	if x.Find([]byte("999")) == nil || x.Find([]byte("0")) != nil {
		t.Error("the most recently used count was dropped, or the least recently used was not")
	}
}

// TestBuckets: a pod is checked only against counts that select its labels.
func TestBuckets(t *testing.T) {
	w := cluster(10, 2)
	w.Update(false)
	x := tally.New(tally.Config{})
	x.Update(w.Snapshot)
	for i := range 1000 {
		selector := labels.SelectorFromSet(labels.Set{"pod": fmt.Sprintf("p%d", i)})
		x.Count(fmt.Append(nil, i), x.Everywhere(x.Topology("host")), tally.About{
			Namespaces: []string{"a", "b"}, Selector: selector, Match: func(g *tally.Group) bool { return selector.Matches(g.Labels) },
		})
	}
	before := x.Work()
	w.SetPod(pod("p7", "n0"))
	w.Update(false)
	x.Update(w.Snapshot)
	if got := x.Work().Matches - before.Matches; got != 1 {
		t.Errorf("the pod was checked against %d counts, want 1", got)
	}
	if n := x.Find([]byte("7")).Total(); n != 1 {
		t.Errorf("%d pods are counted, want 1", n)
	}
}

// TestJoin: counts that the owner of the index joins groups to, any number of times, and
// releases.
func TestJoin(t *testing.T) {
	w := cluster(3, 2)
	w.Update(false)
	var x *tally.Index
	var own *tally.Count
	groups, resets := 0, 0
	x = tally.New(tally.Config{
		Joined: func(g *tally.Group) {
			if own == nil {
				own = x.Own(x.Everywhere(x.Topology("host")))
			}
			x.Join(g, own)
			x.Join(g, own)
			groups++
		},
		Left: func(*tally.Group) {
			if groups--; groups == 0 {
				x.Disown(own)
			}
		},
		Reset: func() { own, groups, resets = nil, 0, resets+1 },
	})
	x.Update(w.Snapshot)
	if groups != 6 || own.Total() != 12 || own.At(1) != 4 {
		t.Errorf("%d groups, %d pods, %d on the first node; want 6, 12, 4", groups, own.Total(), own.At(1))
	}
	w.RemovePod("p0-0")
	w.Update(false)
	x.Update(w.Snapshot)
	if groups != 5 || own.Total() != 10 || own.At(1) != 2 {
		t.Errorf("%d groups, %d pods, %d on the first node; want 5, 10, 2", groups, own.Total(), own.At(1))
	}
	w.Update(true)
	was := resets
	x.Update(w.Snapshot)
	if resets != was+1 || groups != 5 || own.Total() != 10 {
		t.Errorf("%d groups, %d pods after a new epoch, %d resets", groups, own.Total(), resets)
	}
}
