package bridge_test

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/hostplugins/bridge"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// world is a cluster and its snapshot, kept up to date as the cache does.
type world struct {
	snapshot   *state.Snapshot
	infos      []*state.NodeInfo
	generation uint64
	slots      uint32
	free       []uint32
	dirty      []uint32
	freed      []uint32
	rebuild    bool
}

func newWorld(nodes ...*v1.Node) *world {
	w := &world{snapshot: state.NewSnapshot()}
	for _, n := range nodes {
		w.setNode(n)
	}
	w.update()
	return w
}

func (w *world) next() uint64 { w.generation++; return w.generation }

func (w *world) row(name string) int {
	return slices.IndexFunc(w.infos, func(i *state.NodeInfo) bool { return i.Name == name })
}

func (w *world) setNode(n *v1.Node) {
	row := w.row(n.Name)
	if row < 0 {
		row = len(w.infos)
		w.infos = append(w.infos, &state.NodeInfo{Name: n.Name, PodsGeneration: w.next()})
	}
	w.infos[row].Node, w.infos[row].ObjectGeneration = state.NewNode(n), w.next()
	w.dirty = append(w.dirty, uint32(row))
}

func (w *world) removeNode(row int) {
	last := len(w.infos) - 1
	for i := range w.infos[row].Pods {
		w.freed, w.free = append(w.freed, w.infos[row].Pods[i].Slot), append(w.free, w.infos[row].Pods[i].Slot)
	}
	w.infos[row] = w.infos[last]
	w.infos = w.infos[:last]
	w.dirty = append(w.dirty, uint32(row), uint32(last))
}

func (w *world) addPod(row int, pod *v1.Pod) {
	slot := w.slots
	if n := len(w.free); n > 0 {
		slot, w.free = w.free[n-1], w.free[:n-1]
	} else {
		w.slots++
	}
	info := w.infos[row]
	info.AddPod(state.PlacedPod{Pod: state.NewPod(pod), Slot: slot, Generation: w.next()})
	info.PodsGeneration = w.next()
	w.dirty = append(w.dirty, uint32(row))
}

func (w *world) removePod(row int, uid types.UID) {
	if p, ok := w.infos[row].RemovePod(uid); ok {
		w.freed, w.free = append(w.freed, p.Slot), append(w.free, p.Slot)
		w.infos[row].PodsGeneration = w.next()
		w.dirty = append(w.dirty, uint32(row))
	}
}

func (w *world) update() {
	if w.rebuild {
		w.snapshot.Rebuild(w.infos)
	} else {
		w.snapshot.Update(w.infos, w.dirty, w.freed)
	}
	w.dirty, w.freed, w.rebuild = nil, nil, false
}

// cycle returns the input of a cycle for a pod.
func (w *world) cycle(pod *v1.Pod) *plugin.Cycle {
	return &plugin.Cycle{Context: context.Background(), Snapshot: w.snapshot, Pod: state.NewPod(pod), State: &state.CycleState{}}
}

func (w *world) rows() []uint32 {
	rows := make([]uint32, len(w.infos))
	for i := range rows {
		rows[i] = uint32(i)
	}
	return rows
}

func node(name string) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: v1.NodeStatus{Allocatable: v1.ResourceList{
			v1.ResourceCPU: resource.MustParse("4"), v1.ResourceMemory: resource.MustParse("8Gi"), v1.ResourcePods: resource.MustParse("10"),
		}},
	}
}

func pod(name string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "c"}}},
	}
}

// fataler is a testing.T, or a rapid.T.
type fataler interface {
	Helper()
	Fatal(args ...any)
}

// host hosts a plugin that a test defines, and returns its handle.
func host(t fataler, b *bridge.Bridge, make func(h framework.Handle) framework.Plugin) (*bridge.Plugin, framework.Handle) {
	t.Helper()
	var handle framework.Handle
	var hosted framework.Plugin
	factory := func(_ context.Context, _ runtime.Object, h framework.Handle) (framework.Plugin, error) {
		handle, hosted = h, make(h)
		return hosted, nil
	}
	// The name is known only after the plugin is created.
	probe := make(nil)
	p, err := b.Host(context.Background(), bridge.Source{Name: probe.Name(), Factory: factory}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p, handle
}

// named implements framework.Plugin and nothing else.
type named string

func (n named) Name() string { return string(n) }

// watcher is a plugin that is called only at the start of a cycle.
type watcher struct{ named }

func (watcher) PreFilter(context.Context, framework.CycleState, *v1.Pod, []framework.NodeInfo) (*framework.PreFilterResult, *framework.Status) {
	return nil, nil
}
func (watcher) PreFilterExtensions() framework.PreFilterExtensions { return nil }

type nameSet = sets.Set[string]

func text(format string, args ...any) string { return fmt.Sprintf(format, args...) }
