package scheduler_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/internal/golden"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
	"github.com/berth-scheduler/berth/runtime/state"
)

// TestScenarios runs testdata/*.txt; fake.Run has their form.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			log := &fake.Log{}
			got, err := fake.Run(string(text), log, func() map[string]fake.Command { return newWorld(t, log).commands() })
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, path, []byte(got))
		})
	}
}

// commands is the vocabulary of scenarios. Profiles and plugins come first; what
// tells the scheduler something takes effect with the next step.
func (w *world) commands() map[string]fake.Command {
	each := func(f func(name string, a fake.Args) error) fake.Command {
		return func(a fake.Args) error {
			for _, name := range a.Names {
				if err := f(name, a); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return map[string]fake.Command{
		"profile": func(a fake.Args) error { w.profile(a.Name(0), a); return nil },      // NAME [allow=FEATURE]
		"plugin":  func(a fake.Args) error { w.declare(a.Name(0), a); return nil },      // NAME and what fake.Declare takes
		"swap":    func(a fake.Args) error { return w.swap(a.Name(0), a) },              // NAME and what fake.Declare takes; nothing removes it
		"native":  each(func(name string, _ fake.Args) error { return w.native(name) }), // NAME… of plugins that are compiled in
		"set": func(a fake.Args) error { // PLUGIN KEY=VALUE…: other answers from now on
			w.get()
			for _, key := range a.Keys {
				if err := w.plugins[a.Name(0)].Set(key, a.Options[key]); err != nil {
					return err
				}
			}
			return nil
		},
		"node": each(func(name string, a fake.Args) error { // NAME… [cpu=] [label=]
			node, err := fake.Node(name, a)
			if err == nil {
				w.get().SetNode(node)
			}
			return err
		}),
		"unnode": each(func(name string, _ fake.Args) error { w.get().DeleteNode(name); return nil }),
		"namespace": each(func(name string, a fake.Args) error { // NAME… [label=]
			w.get().SetNamespace(fake.Namespace(name, a))
			return nil
		}),
		"unnamespace": each(func(name string, _ fake.Args) error { w.get().DeleteNamespace(name); return nil }),
		"namespaces":  func(fake.Args) error { w.namespaces(); return nil }, // that the last try saw
		"pod": func(a fake.Args) error { // NAME… and what fake.Pod takes: all at once
			var pods []*state.Pod
			for _, name := range a.Names {
				p, err := fake.Pod(name, a)
				if err != nil {
					return err
				}
				pods = append(pods, p)
			}
			w.set(pods...)
			return nil
		},
		"delete": each(func(name string, _ fake.Args) error { w.gone(types.UID(name)); return nil }),
		"slow":   func(fake.Args) error { w.writes = false; return nil },                                       // nominations are not written yet
		"linger": func(fake.Args) error { w.lingers = true; return nil },                                       // evicted pods go when they are deleted
		"refuse": each(func(name string, _ fake.Args) error { w.refused[types.UID(name)] = true; return nil }), // the next eviction fails
		"budget": each(func(name string, a fake.Args) error { // NAME label= allowed=
			allowed, err := strconv.Atoi(a.Options["allowed"])
			b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
			b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"l": a.Options["label"]}}
			b.Status.DisruptionsAllowed = int32(allowed)
			w.budgets = append(w.budgets, b)
			return err
		}),
		"event": func(a fake.Args) error { // RESOURCE/ACTION
			event, ok := fake.ParseEvent(a.Name(0))
			if !ok {
				return fmt.Errorf("no such event")
			}
			w.get().Event(event, state.Object{})
			return nil
		},
		"allow": func(a fake.Args) error { w.get().AllowWaiting(types.UID(a.Name(0)), a.Name(1)); return nil }, // POD PLUGIN
		"reject": func(a fake.Args) error { // POD PLUGIN REASON
			w.get().RejectWaiting(types.UID(a.Name(0)), a.Name(1), a.Name(2))
			return nil
		},
		"waiting": func(fake.Args) error { // as code outside of the loop sees it
			for _, p := range w.get().WaitingPods() {
				w.log.Printf("  %s waits on %s for %v", p.Pod.Name, p.Pod.NodeName(), p.Plugins)
			}
			return nil
		},
		"activate": each(func(name string, _ fake.Args) error { w.get().Activate(types.UID(name)); return nil }),
		"hold":     func(fake.Args) error { w.held = true; return nil }, // bindings from now on wait for release
		"release": func(fake.Args) error { // carry out what was held
			for _, run := range w.spawned {
				run()
			}
			w.spawned, w.held = nil, false
			return nil
		},
		"deaf":    func(fake.Args) error { w.deaf = true; return nil }, // the watch does not confirm bindings
		"confirm": each(func(name string, _ fake.Args) error { w.get().SetPods(w.pods[types.UID(name)]); return nil }),
		"advance": func(a fake.Args) error { // DURATION
			d, err := time.ParseDuration(a.Name(0))
			w.clock.Advance(d)
			return err
		},
		"step": func(a fake.Args) error { // [COUNT]
			n := 1
			if a.Name(0) != "" {
				n, _ = strconv.Atoi(a.Name(0))
			}
			for range n {
				w.get().Step(context.Background())
			}
			return nil
		},
		"run":   func(fake.Args) error { w.run(); return nil }, // steps until nothing is to be done
		"state": func(fake.Args) error { w.state(); return nil },
		"deadline": func(fake.Args) error {
			if at, ok := w.get().NextDeadline(); ok {
				w.log.Printf("next at %v", at.Sub(w.start))
			} else {
				w.log.Printf("nothing to wait for")
			}
			return nil
		},
		"nominations": func(fake.Args) error {
			w.get().Nominations().Nodes(func(node string, pods []*state.Pod) bool {
				for _, p := range pods {
					w.log.Printf("  %s is promised to %s", node, p.Name)
				}
				return true
			})
			return nil
		},
	}
}
