package hostplugins_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/internal/plugintest"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/storage"
	"github.com/berth-scheduler/berth/runtime/state"
)

// accepted returns the nodes that the plugin does not reject, by name.
func (s said) accepted(w *volumeWorld) map[string]bool {
	out := map[string]bool{}
	for i, n := range w.nodes {
		out[n.Name] = s.pre == inWords(abi.Skip, nil) || s.pre == "Success" && s.nodes[i] == inWords(abi.Success, nil)
	}
	return out
}

// asked reports whether the plugin registered a change, and whether one of its hints queues the
// pod.
func asked(p plugin.Plugin, pod *state.Pod, change storage.Change) (registered, queue bool) {
	for _, event := range p.Info().Events {
		if !event.Matches(change.Event) {
			continue
		}
		registered = true
		if event.Hint == nil {
			queue = true
			continue
		}
		if hint, err := event.Hint(pod, change.Object); err != nil || hint == state.Queue {
			queue = true
		}
	}
	return registered, queue
}

// TestVolumesHints: if a change that the plugin registered makes a node fit that it had
// rejected, its hint must be Queue.
func TestVolumesHints(t *testing.T) {
	seeded.Check(t, func(rt *rapid.T) {
		g := volumeGen{rt}
		w := g.world(4)
		plugins := w.plugins(t, nil)
		pod := g.incoming(w, "new")
		before := map[string]map[string]bool{}
		for range 8 {
			for _, name := range volumePlugins() {
				before[name] = w.fresh(t, name, pod).accepted(w)
			}
			changes := g.happen(w)
			if len(changes) != 1 {
				continue // unclear which of several changes would have helped
			}
			for _, name := range volumePlugins() {
				registered, queue := asked(plugins[name], decoded(pod), changes[0])
				if !registered || queue {
					continue
				}
				for node, fits := range w.fresh(t, name, pod).accepted(w) {
					if did, known := before[name][node]; known && !did && fits {
						rt.Fatalf("%s: %v makes the pod fit %s, but the hint is to skip it", name, changes[0].Event, node)
					}
				}
			}
		}
	})
}

// TestVolumesKept: while a cluster changes step by step, plugins that keep data answer as those
// that read it again. That the answers are kube-scheduler's is for the oracle to say.
func TestVolumesKept(t *testing.T) {
	seeded.Check(t, func(rt *rapid.T) {
		g := volumeGen{rt}
		w := g.world(5)
		plugins := w.plugins(t, nil)
		cluster := plugintest.NewCluster()
		for step := range 4 {
			pod := g.incoming(w, fmt.Sprintf("new%d", step))
			s := cluster.Snapshot(w.nodes, w.placed)
			for _, name := range volumePlugins() {
				got, want := ask(plugins[name], cycleOf(s, pod)), w.fresh(t, name, pod)
				if !slices.Equal(got.nodes, want.nodes) || got.pre != want.pre {
					rt.Fatalf("%s at step %d:\n%v\nwant\n%v", name, step, got, want)
				}
			}
			for range g.number("changes", 4) {
				g.happen(w)
			}
		}
	})
}
