package generate

import (
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/wire"
)

// TestHintsInLists: a plugin that reads all labels looks for keys of its own, which hints say with their values.
func TestHintsInLists(t *testing.T) {
	g := New(Config{Seed: 1, Reads: &wire.ManifestReads{Pods: []string{"labels"}}, Hints: []string{"app=web", "app=db"}})
	said := map[string]int{}
	for range 100 {
		said[g.Pod(false).Metadata.Labels["app"]]++
	}
	if said["web"] < 20 || said["db"] < 20 {
		t.Errorf("values of app: %v", said)
	}
}

// TestPodsMeet: host ports and scheduling gates of pods are some that a plugin can tell apart, and that another pod has.
func TestPodsMeet(t *testing.T) {
	g := New(Config{Seed: 1, Reads: &wire.ManifestReads{}})
	ports, gates := map[int32]int{}, map[string]int{}
	for range 200 {
		p := g.Pod(false)
		for _, port := range p.Spec.Containers[0].Ports {
			ports[port.HostPort]++
		}
		for _, gate := range p.Spec.SchedulingGates {
			domain, _, _ := strings.Cut(gate.Name, "/")
			gates[domain]++
		}
	}
	met := 0
	for _, n := range ports {
		met = max(met, n)
	}
	if met < 10 || len(ports) < 10 || len(gates) < 2 {
		t.Errorf("ports %v, gates %v", ports, gates)
	}
}

// TestLack: of the words that hints give, some are in nothing that is made, others are, and all are afterwards.
func TestLack(t *testing.T) {
	hints := []string{"one", "two", "three", "four", "five", "six", "example.com/k=seven", "example.com/k=eight"}
	g := New(Config{Seed: 1, Reads: &wire.ManifestReads{PodLabels: []string{"app", "example.com/k"}}, Hints: hints})
	for _, lack := range []bool{true, false} {
		g.Lack(lack)
		seen := map[string]bool{}
		for range 400 {
			for _, value := range g.Pod(false).Metadata.Labels {
				seen[value] = true
			}
		}
		n := 0
		for _, hint := range hints {
			if _, value, told := strings.Cut(hint, "="); seen[hint] || told && seen[value] {
				n++
			}
		}
		if lack == (n == len(hints)) || n == 0 {
			t.Errorf("lack %v: %d of %d words occur", lack, n, len(hints))
		}
	}
}
