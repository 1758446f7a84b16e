package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/internal/scenario/scenariotest"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
	"github.com/berth-scheduler/berth/runtime/state"
)

func TestScenarios(t *testing.T) {
	scenariotest.Test(t, "testdata/*.txt", func(t testing.TB, log *scenario.Log) scenario.Commands { return newWorld(t, log).commands() })
}

// commands are the commands of scenarios. Profiles and plugins come first. Changes to the
// cluster take effect with the next step.
func (w *world) commands() scenario.Commands {
	return scenario.Commands{
		"profile NAME [allow=FEATURE]":           func(a scenario.Args) error { return w.profile(a.Name(0), a) },
		"plugin NAME " + fake.Options:            func(a scenario.Args) error { w.declare(a.Name(0), a); return nil },
		"swap NAME [native=yes] " + fake.Options: func(a scenario.Args) error { return w.swap(a.Name(0), a) },                       // no options remove it
		"native NAME…":                           scenario.Each(func(name string, _ scenario.Args) error { return w.native(name) }), // compiled-in plugins
		"set PLUGIN " + fake.Answers: func(a scenario.Args) error { // other answers from now on
			w.get()
			if w.plugins[a.Name(0)] == nil {
				return errors.New("unknown plugin")
			}
			for _, key := range a.Keys {
				if err := w.plugins[a.Name(0)].Set(key, a.Options[key]); err != nil {
					return err
				}
			}
			return nil
		},
		"node NAME… " + fake.NodeOptions: scenario.Each(func(name string, a scenario.Args) error {
			node, err := fake.Node(name, a)
			if err == nil {
				w.get().SetNode(node)
			}
			return err
		}),
		"unnode NAME…": scenario.Each(func(name string, _ scenario.Args) error { w.get().DeleteNode(name); return nil }),
		"namespace NAME… [label=VALUE]": scenario.Each(func(name string, a scenario.Args) error {
			w.get().SetNamespace(fake.Namespace(name, a))
			return nil
		}),
		"unnamespace NAME…": scenario.Each(func(name string, _ scenario.Args) error { w.get().DeleteNamespace(name); return nil }),
		"namespaces":        func(scenario.Args) error { w.namespaces(); return nil }, // as the last attempt saw them
		"pod NAME… " + fake.PodOptions: func(a scenario.Args) error { // all at once
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
		"delete POD…": scenario.Each(func(name string, _ scenario.Args) error { w.gone(types.UID(name)); return nil }),
		"slow":        func(scenario.Args) error { w.writes = false; return nil },                                                // nominations are no longer written
		"linger":      func(scenario.Args) error { w.lingers = true; return nil },                                                // deleted pods stay until they are gone
		"refuse POD…": scenario.Each(func(name string, _ scenario.Args) error { w.refused[types.UID(name)] = true; return nil }), // the next eviction fails
		"budget NAME… [label=VALUE] allowed=INT": scenario.Each(func(name string, a scenario.Args) error {
			b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
			b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"l": a.Options["label"]}}
			if a.Options["label"] == "" { // any
				exists := metav1.LabelSelectorRequirement{Key: "l", Operator: metav1.LabelSelectorOpExists}
				b.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{exists}}
			}
			b.Status.DisruptionsAllowed = int32(scenario.Int(a.Options["allowed"]))
			w.budgets = append(w.budgets, b)
			return nil
		}),
		"event RESOURCE/ACTION": func(a scenario.Args) error {
			event, ok := fake.ParseEvent(a.Name(0))
			if !ok {
				return fmt.Errorf("unknown event")
			}
			w.get().Event(event, state.Object{})
			return nil
		},
		"allow POD PLUGIN": func(a scenario.Args) error { w.get().AllowWaiting(types.UID(a.Name(0)), a.Name(1)); return nil },
		"reject POD PLUGIN REASON": func(a scenario.Args) error {
			w.get().RejectWaiting(types.UID(a.Name(0)), a.Name(1), a.Name(2))
			return nil
		},
		"waiting": func(scenario.Args) error { // as code outside the loop sees it
			for _, p := range w.get().WaitingPods() {
				w.log.Printf("  %s waits on %s for %v", p.Pod.Name, p.Pod.NodeName(), p.Plugins)
			}
			return nil
		},
		"activate POD…": scenario.Each(func(name string, _ scenario.Args) error { w.get().Activate(types.UID(name)); return nil }),
		"hold":          func(scenario.Args) error { w.held = true; return nil }, // bindings from now on wait for release
		"release": func(scenario.Args) error { // complete the held bindings
			for _, run := range w.spawned {
				run()
			}
			w.spawned, w.held = nil, false
			return nil
		},
		"deaf":             func(scenario.Args) error { w.deaf = true; return nil }, // the watch does not confirm bindings
		"confirm POD…":     scenario.Each(func(name string, _ scenario.Args) error { w.get().SetPods(w.pods[types.UID(name)]); return nil }),
		"advance DURATION": func(a scenario.Args) error { w.clock.Advance(scenario.Duration(a.Name(0))); return nil },
		"step [INT]": func(a scenario.Args) error { // once, or as often as given
			for range max(1, scenario.Int(a.Name(0))) {
				w.get().Step(context.Background())
			}
			return nil
		},
		"run":   func(scenario.Args) error { w.run(); return nil }, // step until nothing is left to do
		"state": func(scenario.Args) error { w.state(); return nil },
		"deadline": func(scenario.Args) error {
			if at, ok := w.get().NextDeadline(); ok {
				w.log.Printf("next at %v", at.Sub(w.start))
			} else {
				w.log.Printf("nothing to wait for")
			}
			return nil
		},
		"debts": func(scenario.Args) error { w.log.Printf("%s", w.owed()); return nil },
		"forgive NAME": func(a scenario.Args) error { // a namespace, or else a pod
			namespace, pod := a.Name(0), types.UID("")
			if w.pods[types.UID(namespace)] != nil {
				namespace, pod = "", types.UID(namespace)
			}
			w.get().ForgiveDebt(namespace, pod)
			return nil
		},
		"nominations": func(scenario.Args) error {
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
