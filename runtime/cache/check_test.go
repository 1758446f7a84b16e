package cache_test

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/berth-scheduler/berth/runtime/cache"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/state/statetest"
)

// tester is what *testing.T, *testing.B and *rapid.T have in common.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

func dump(t tester, s *state.Snapshot) string {
	t.Helper()
	var b bytes.Buffer
	if err := statetest.Dump(&b, s); err != nil {
		t.Fatalf("%v", err)
	}
	return b.String()
}

// rowText returns the dump of a row without its number.
func rowText(t tester, s *state.Snapshot, row uint32) string {
	t.Helper()
	var b bytes.Buffer
	if err := statetest.DumpRow(&b, s, row); err != nil {
		t.Fatalf("%v", err)
	}
	return strings.TrimPrefix(b.String(), fmt.Sprintf("row %d ", row))
}

// infos returns the nodes of a cache that are rows.
func infos(c *cache.Cache) []*state.NodeInfo {
	var out []*state.NodeInfo
	for info := range c.Nodes() {
		if info.Node != nil {
			out = append(out, info)
		}
	}
	return out
}

// full returns a snapshot that was written as a whole.
func full(infos []*state.NodeInfo, namespaces ...state.NamespaceInfo) *state.Snapshot {
	s := state.NewSnapshot()
	s.Rebuild(infos, namespaces...)
	return s
}

// requireEqual fails unless s, which was updated incrementally, is consistent and shows the
// same as a snapshot that was written as a whole.
func requireEqual(t tester, c *cache.Cache, s *state.Snapshot) {
	t.Helper()
	rebuilt := full(infos(c), slices.Collect(c.Namespaces())...)
	if got, want := dump(t, s), dump(t, rebuilt); got != want {
		t.Fatalf("incremental and full snapshots differ\nincremental:\n%s\nfull:\n%s", got, want)
	}
	for row, info := range infos(c) {
		var want []uint32 // plugins see a node's pods in this order
		for i := range info.Pods {
			want = append(want, info.Pods[i].Slot)
		}
		if got := s.Nodes.Pods.Row(uint32(row)); !slices.Equal(got, want) {
			t.Fatalf("row %d has the slots %v, and the pods of node %s are in %v", row, got, info.Name, want)
		}
		want = nil
		for i := range info.Nominated {
			want = append(want, info.Nominated[i].Slot)
		}
		if got := s.Nodes.Nominated.Row(uint32(row)); !slices.Equal(got, want) {
			t.Fatalf("row %d has nominated pods in the slots %v, and those of node %s are in %v", row, got, info.Name, want)
		}
	}
	requireConsistent(t, s)
	requireConsistent(t, rebuilt)
}

// requireConsistent fails if the index does not map to rows and back, if two rows share a slot,
// or if an unused slot or row is not empty.
func requireConsistent(t tester, s *state.Snapshot) {
	t.Helper()
	held := map[uint32]bool{}
	for row := range uint32(s.Len()) {
		if got, ok := s.Row(s.Name(row)); !ok || got != row {
			t.Fatalf("node %s is in row %d, but the index says %d, %v", s.Name(row), row, got, ok)
		}
		nominated := s.Nodes.Nominated.Row(row)
		for i, slot := range slices.Concat(nominated, s.Nodes.Pods.Row(row)) {
			if s.Pods.Nominated(slot) != (i < len(nominated)) {
				t.Fatalf("slot %d of node %s: nominated %t", slot, s.Name(row), s.Pods.Nominated(slot))
			}
			if held[slot] {
				t.Fatalf("slot %d is used twice", slot)
			}
			held[slot] = true
			if s.Pods.Pod[slot].NodeName() != s.Name(row) {
				t.Fatalf("slot %d of node %s holds a pod of node %s", slot, s.Name(row), s.Pods.Pod[slot].NodeName())
			}
		}
	}
	p := &s.Pods
	for slot := range uint32(len(p.Pod)) {
		empty := p.Pod[slot] == nil && p.Namespace[slot] == 0 && p.Priority[slot] == 0 && p.MilliCPU[slot] == 0 &&
			p.Memory[slot] == 0 && len(p.Labels.Row(slot)) == 0
		if empty == held[slot] {
			t.Fatalf("slot %d: held by a row: %v, empty: %v", slot, held[slot], empty)
		}
	}
	for row, ns := range s.Namespaces.Namespace {
		n := &s.Namespaces
		if ns == nil {
			if n.Name[row] != 0 || n.Generation[row] != 0 || len(n.Labels.Row(uint32(row))) != 0 {
				t.Fatalf("row %d belongs to no namespace and is not empty", row)
			}
		} else if got, ok := s.NamespaceRow(ns.Name); !ok || int(got) != row {
			t.Fatalf("namespace %s is in row %d, but the index says %d, %v", ns.Name, row, got, ok)
		}
	}
	for row := s.Len(); row < len(s.Nodes.Node); row++ {
		if s.Nodes.Node[row] != nil || len(s.Nodes.Labels.Row(uint32(row))) != 0 || len(s.Nodes.Images.Row(uint32(row))) != 0 ||
			s.Nodes.ObjectGeneration[row] != 0 || s.Nodes.PodsGeneration[row] != 0 || len(s.Nodes.Nominated.Row(uint32(row))) != 0 {
			t.Fatalf("row %d belongs to no node and is not empty", row)
		}
	}
}

// generations checks the generations of a cache.
type generations struct {
	means map[uint64]string // the content of a generation
	most  uint64
}

// check fails if the content of a generation has changed, or if a new one is not larger than
// all others.
func (g *generations) check(t tester, c *cache.Cache) {
	t.Helper()
	if g.means == nil {
		g.means = map[uint64]string{}
	}
	before := g.most
	see := func(n uint64, means string) {
		t.Helper()
		switch old, seen := g.means[n]; {
		case seen && old != means:
			t.Fatalf("generation %d meant %s and means %s now", n, old, means)
		case !seen && n <= before:
			t.Fatalf("generation %d of %s is new, but %d was given before", n, means, before)
		}
		g.means[n] = means
		g.most = max(g.most, n)
	}
	for info := range c.Nodes() {
		var held []string
		for _, p := range slices.Concat(info.Pods, info.Nominated) {
			see(p.Generation, fmt.Sprintf("pod %p", p.Pod))
			held = append(held, fmt.Sprintf("%d@%d", p.Generation, p.Slot))
			if (p.Slot == math.MaxUint32) != (info.Node == nil) {
				t.Fatalf("pod %s has slot %d on node %s (object: %v)", p.Pod.Key(), p.Slot, info.Name, info.Node != nil)
			}
		}
		slices.Sort(held)
		see(info.ObjectGeneration, fmt.Sprintf("object %p of %s", info.Node, info.Name))
		see(info.PodsGeneration, fmt.Sprintf("pods of %s: %v", info.Name, held))
	}
	for info := range c.Namespaces() {
		see(info.Generation, fmt.Sprintf("object %p of namespace %s", info.Namespace, info.Namespace.Name))
	}
}
