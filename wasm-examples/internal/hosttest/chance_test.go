//go:build !wasip1

package hosttest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/berth-scheduler/berth/runtime/cache"
	"github.com/berth-scheduler/berth/runtime/state"
)

// chance makes a random cluster of nodes in pools with pods of several namespaces, and pods to
// be placed.
func chance(t *testing.T, r *rand.Rand, n int) (*state.Snapshot, []string, []*state.Pod) {
	t.Helper()
	c := cache.New(cache.Config{})
	var names []string
	pod := func(name, node string) *state.Pod {
		words := []string{fmt.Sprintf("ns-%d/%s", r.IntN(6), name), fmt.Sprint("requests=cpu:", 100*r.IntN(15)), fmt.Sprint("node=", node)}
		if r.IntN(3) == 0 {
			words = append(words, "labels=berth.dev/noisy:"+[]string{"true", "false", ""}[r.IntN(3)])
		}
		p, err := readPod(words)
		if err != nil {
			t.Fatal(err)
		}
		return state.NewPod(p)
	}
	for i := range n {
		words := []string{fmt.Sprint("node-", i)}
		if r.IntN(8) > 0 {
			words = append(words, fmt.Sprint("labels=berth.dev/pool:p-", r.IntN(6)))
		}
		node, err := readNode(words)
		if err != nil {
			t.Fatal(err)
		}
		c.AddNode(state.NewNode(node))
		names = append(names, node.Name)
		for j := range r.IntN(6) {
			if _, err := c.AddPod(pod(fmt.Sprintf("p-%d-%d", i, j), node.Name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	snapshot := state.NewSnapshot()
	c.UpdateSnapshot(snapshot)
	var pods []*state.Pod
	for i := range 12 {
		pods = append(pods, pod(fmt.Sprint("new-", i), ""))
	}
	return snapshot, names, pods
}
