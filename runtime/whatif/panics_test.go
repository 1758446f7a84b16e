package whatif_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/whatif"
)

// faulty is a plugin that panics when it filters nodes for a pod of a name, or with a toleration.
type faulty struct {
	info plugin.Info
	with func(*v1.Pod) bool
}

func (f *faulty) Info() *plugin.Info { return &f.info }

func (f *faulty) Filter(c *plugin.Cycle, _ []uint32, _ *plugin.Verdicts) {
	if f.with(c.Pod.Object) {
		panic("as a bug does")
	}
}

// TestTrialPanics: a panic while a pod is tried, or a change of a pod, is the error of the question. The next question is answered.
func TestTrialPanics(t *testing.T) {
	for name, with := range map[string]func(*v1.Pod) bool{
		"a pod":    func(p *v1.Pod) bool { return p.Name == "bad" },
		"a change": func(p *v1.Pod) bool { return len(p.Spec.Tolerations) > 2 && strings.HasPrefix(p.Name, "bad") },
	} {
		t.Run(name, func(t *testing.T) {
			c := full()
			if name == "a change" {
				c.Nodes[1].Spec.Taints = []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoSchedule}}
			}
			s := assembly.Default()
			mine := s.Profiles[0].Points["filter"][0]
			mine.Name = "Faulty"
			s.Profiles[0].Points["filter"] = append(s.Profiles[0].Points["filter"], mine)
			c.Scheduler.Scheduler = s
			c.Scheduler.Plugins = plugin.Registry{"Faulty": func(any) (plugin.Plugin, error) {
				return &faulty{plugin.Info{Name: "Faulty"}, with}, nil
			}}
			ask := func(name string) (*whatif.Answer, error) {
				text, err := json.Marshal(whatif.Request{APIVersion: whatif.APIVersion, Kind: whatif.RequestKind,
					Pods: []whatif.Pods{{Pod: pod(name, "2", 0)}}, Explain: true})
				if err != nil {
					t.Fatal(err)
				}
				r, err := whatif.Decode(t.Context(), text)
				if err != nil {
					t.Fatal(err)
				}
				return c.Ask(t.Context(), r)
			}
			_, err := ask("bad")
			var caught *plugin.Panic
			if !errors.As(err, &caught) || caught.Place != plugin.InPlugin || caught.Value != "as a bug does" {
				t.Errorf("the answer is %v", err)
			}
			if a, err := ask("good"); err != nil || len(a.Pods) != 1 {
				t.Errorf("the next answer is %v, %v", a, err)
			}
		})
	}
}
