package scheduler_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
	"github.com/berth-scheduler/berth/runtime/state"
)

// keyed orders pods by keys and notes whose it makes.
type keyed struct {
	info plugin.Info
	made []string
}

var _ plugin.QueueKeyer = (*keyed)(nil)

func (k *keyed) Info() *plugin.Info { return &k.info }

func (k *keyed) Less(a, b *state.QueuedPod) bool { return string(a.SortKey) < string(b.SortKey) }

func (k *keyed) Keys(pods []*state.QueuedPod) {
	for _, pod := range pods {
		pod.SortKey = []byte(pod.Pod.Name)
		k.made = append(k.made, pod.Pod.Name)
	}
}

func (k *keyed) SameOrder(plugin.QueueSort) bool { return true }

// TestReorder: the keys of queued pods are made again when labels of their namespace change, if they may depend on them.
func TestReorder(t *testing.T) {
	set := func(namespace, options string) func(w *world) {
		return func(w *world) { w.get().SetNamespace(fake.Namespace(namespace, scenario.MustParse(options))) }
	}
	labels := plugin.Whole(abi.IncomingNamespaceLabels)
	for _, test := range []struct {
		name   string
		reads  []plugin.Read
		change func(w *world)
		want   []string
	}{
		{"another label", labels, set("a", "label=y"), []string{"p"}},
		{"the same labels", labels, set("a", "label=x"), nil},
		{"a new namespace", labels, set("b", ""), []string{"q"}},
		{"a deleted namespace", labels, func(w *world) { w.get().DeleteNamespace("a") }, []string{"p"}},
		{"labels that are not read", plugin.Whole(abi.IncomingLabels), set("a", "label=y"), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, nil)
			k := &keyed{info: plugin.Info{Name: "Keyed", Reads: test.reads}}
			w.profiles[0].Points[abi.QueueSort] = []pipeline.Entry{{Plugin: k}}
			w.declare("F", scenario.MustParse("filter=error:no"))
			node, err := fake.Node("n", scenario.Args{})
			if err != nil {
				t.Fatal(err)
			}
			w.get().SetNode(node)
			w.get().SetNamespace(fake.Namespace("a", scenario.MustParse("label=x")))
			for name, namespace := range map[string]string{"p": "a", "q": "b"} {
				pod, err := fake.Pod(name, scenario.MustParse("namespace="+namespace))
				if err != nil {
					t.Fatal(err)
				}
				w.set(pod)
			}
			w.run() // both are in backoff now
			k.made = nil
			test.change(w)
			w.run()
			if slices.Sort(k.made); fmt.Sprint(k.made) != fmt.Sprint(test.want) {
				t.Errorf("keys of %v were made, want %v", k.made, test.want)
			}
		})
	}
}
