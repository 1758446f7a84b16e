package cache_test

import (
	"fmt"
	"testing"

	"github.com/berth-scheduler/berth/runtime/cache"
	"github.com/berth-scheduler/berth/runtime/state"
)

// TestEpochs: strings, resources and taint lists that come and go cause new epochs, so that a
// snapshot stays as large as its live content. Every epoch shows the same as a full snapshot.
func TestEpochs(t *testing.T) {
	const nodes, steps = 40, 1500
	cases := map[string]struct {
		change    func(spec *nodeSpec, step int)
		pod       func(spec *podSpec, step int)
		minEpochs uint64
		size      func(s *state.Snapshot) int
		maxSize   int
	}{
		"node labels": {
			change: func(spec *nodeSpec, step int) {
				spec.Labels = map[string]string{}
				for i := range 10 {
					spec.Labels[fmt.Sprintf("key-%d-%d", step, i)] = fmt.Sprintf("value-%d-%d", step, i)
				}
			},
			minEpochs: 5,
			size:      func(s *state.Snapshot) int { return s.Strings.Len() },
			maxSize:   4096 + 3*20*nodes,
		},
		"pod labels": {
			pod: func(spec *podSpec, step int) {
				spec.Labels = map[string]string{}
				for i := range 10 {
					spec.Labels[fmt.Sprintf("key-%d-%d", step, i)] = fmt.Sprintf("value-%d-%d", step, i)
				}
			},
			minEpochs: 4,
			size:      func(s *state.Snapshot) int { return s.Strings.Len() },
			maxSize:   4096 + 3*20*nodes,
		},
		"extended resources of nodes": {
			change: func(spec *nodeSpec, step int) { spec.GPUName, spec.GPU = fmt.Sprint("vendor.example/", step), 1 },
			// Between 4 fixed and 40 live ones there are 16 + 2·44 before an epoch ends.
			minEpochs: 10,
			size:      func(s *state.Snapshot) int { return len(s.Nodes.Resources) },
			maxSize:   16 + 3*(4+nodes),
		},
		"extended resources of pods": {
			pod: func(spec *podSpec, step int) {
				spec.Containers[0].GPUName, spec.Containers[0].GPU = fmt.Sprint("vendor.example/", step), 1
			},
			minEpochs: 10,
			size:      func(s *state.Snapshot) int { return len(s.Nodes.Resources) },
			maxSize:   16 + 3*(4+nodes),
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := churn(t, nodes, steps, c.change, c.pod, func(s *state.Snapshot) {
				if got := c.size(s); got > c.maxSize {
					t.Fatalf("epoch %d has grown to %d, more than %d", s.Epoch, got, c.maxSize)
				}
			})
			if s.Epoch < c.minEpochs {
				t.Errorf("%d changes took %d epochs, want at least %d", steps, s.Epoch, c.minEpochs)
			}
			t.Logf("%d changes took %d epochs", steps, s.Epoch)
		})
	}
}

// churn replaces a node or a pod in each step. At each new epoch, and from time to time, it
// compares the snapshot with a full one.
func churn(t *testing.T, nodes, steps int, change func(*nodeSpec, int), pod func(*podSpec, int), check func(*state.Snapshot)) *state.Snapshot {
	t.Helper()
	c, s := cache.New(cache.Config{}), state.NewSnapshot()
	uids := make([]string, nodes)
	epoch := uint64(0)
	for step := range steps {
		i := step % nodes
		if change != nil || step < nodes {
			spec := nodeSpec{Name: nodeName(i), CPU: 1000}
			if change != nil {
				change(&spec, step)
			}
			c.AddNode(spec.node())
		}
		if pod != nil {
			if old, ok := c.Get(podSpec{UID: uids[i]}.pod().UID); ok {
				c.RemovePod(old.UID)
			}
			uids[i] = fmt.Sprint("uid-", step)
			spec := podSpec{Name: "p", UID: uids[i], Node: nodeName(i), Containers: []containerSpec{{CPU: 10}}}
			pod(&spec, step)
			if err := c.Assume(spec.pod()); err != nil {
				t.Fatal(err)
			}
		}
		c.UpdateSnapshot(s)
		if s.Epoch != epoch || step%97 == 0 {
			epoch = s.Epoch
			requireEqual(t, c, s)
		}
		check(s)
	}
	requireEqual(t, c, s)
	return s
}

// TestIDsAreDeterministic: the same calls give the same ids and slots, although the labels of
// objects are Go maps.
func TestIDsAreDeterministic(t *testing.T) {
	build := func() *state.Snapshot {
		c, s := cache.New(cache.Config{}), state.NewSnapshot()
		for i := range 20 {
			labels := map[string]string{}
			for j := range 20 {
				labels[fmt.Sprint("key-", j)] = fmt.Sprint("value-", i*j%7)
			}
			c.AddNode(nodeSpec{Name: nodeName(i), Labels: labels}.node())
			if err := c.Assume(podSpec{Name: "p", UID: nodeName(i), Node: nodeName(i), Labels: labels}.pod()); err != nil {
				t.Fatal(err)
			}
			c.UpdateSnapshot(s)
		}
		return s
	}
	first, second := build(), build()
	for id := range uint32(first.Strings.Len()) {
		if a, b := first.Strings.String(id), second.Strings.String(id); a != b {
			t.Fatalf("id %d is %q in one run and %q in another", id, a, b)
		}
	}
	for row := range uint32(first.Len()) {
		if a, b := fmt.Sprint(first.Nodes.Labels.Row(row)), fmt.Sprint(second.Nodes.Labels.Row(row)); a != b {
			t.Fatalf("row %d: labels are %s in one run and %s in another", row, a, b)
		}
	}
}
