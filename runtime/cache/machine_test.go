package cache_test

import (
	"errors"
	"maps"
	"regexp"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/cache"
	"github.com/berth-scheduler/berth/runtime/state"
)

// TestRandomOperations: after any operations on nodes, pods and namespaces, in any order, a
// snapshot that is updated incrementally shows the same as a full one and as a model over API
// objects; no assumed pod is lost; no generation is used twice.
func TestRandomOperations(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		m := &machine{cache: cache.New(cache.Config{Rank: rank}), model: newModel(), snapshot: state.NewSnapshot()}
		t.Repeat(map[string]func(*rapid.T){
			"":            m.check,
			"node":        m.putNode,
			"node again":  m.putNode,
			"remove node": m.removeNode,
			"namespace":   m.putNamespace,
			"no more":     m.removeNamespace,
			"bound pod":   m.addPod,
			"assume":      m.assume,
			"assume more": m.assume,
			"patch":       m.patch,
			"confirm":     m.confirm,
			"forget":      m.forget,
			"update pod":  m.updatePod,
			"recreate":    m.recreatePod,
			"remove pod":  m.removePod,
			"nominate":    m.nominate,
			"snapshot":    m.takeSnapshot,
			"other":       m.otherSnapshot,
			"what if":     m.whatIf,
		})
		m.takeSnapshot(t)
	})
}

// machine applies operations to a cache and to the model.
type machine struct {
	cache       *cache.Cache
	model       *model
	snapshot    *state.Snapshot
	generations generations
	pods        int // pods ever made
	reader      namespaceReader
}

// nominate changes the pods that are nominated to a node. The model does not know them: they count in nothing.
func (m *machine) nominate(t *rapid.T) {
	var pods []*state.Pod
	for range rapid.IntRange(0, 3).Draw(t, "pods") {
		pod := m.drawPod(t).object()
		pod.Spec.NodeName = ""
		pods = append(pods, state.NewPod(pod))
	}
	m.cache.Nominate(nodeNames().Draw(t, "node"), pods)
}

// pick draws one of the pods for which keep is true, or skips the action.
func (m *machine) pick(t *rapid.T, keep func(modelPod) bool) types.UID {
	uids := m.model.uids(keep)
	if len(uids) == 0 {
		t.Skip("no such pod")
	}
	return rapid.SampledFrom(uids).Draw(t, "pod")
}

func assumed(p modelPod) bool { return p.assumed }
func added(p modelPod) bool   { return !p.assumed }

func (m *machine) putNode(t *rapid.T) {
	spec := m.drawNode(t)
	m.cache.AddNode(spec.node())
	m.model.nodes[spec.Name] = spec.object()
}

func (m *machine) removeNode(t *rapid.T) {
	name := nodeNames().Draw(t, "node")
	object, ok := m.cache.RemoveNode(name)
	if _, want := m.model.nodes[name]; ok != want || ok && object.Name != name {
		t.Fatalf("RemoveNode(%s) = %v, %v", name, object, ok)
	}
	delete(m.model.nodes, name)
}

func (m *machine) addPod(t *rapid.T) {
	spec := m.drawPod(t)
	if change, err := m.cache.AddPod(spec.pod()); err != nil || change.Previous != nil {
		t.Fatalf("AddPod = %+v, %v", change, err)
	}
	m.model.pods[types.UID(spec.UID)] = modelPod{object: spec.object()}
	if _, err := m.cache.AddPod(spec.pod()); !errors.Is(err, cache.ErrKnown) {
		t.Fatalf("second AddPod: %v", err)
	}
}

func (m *machine) assume(t *rapid.T) {
	spec := m.drawPod(t)
	if err := m.cache.Assume(spec.pod()); err != nil {
		t.Fatalf("Assume: %v", err)
	}
	m.model.pods[types.UID(spec.UID)] = modelPod{object: spec.object(), assumed: true}
	if err := m.cache.Assume(spec.pod()); !errors.Is(err, cache.ErrKnown) {
		t.Fatalf("second Assume: %v", err)
	}
}

func (m *machine) patch(t *rapid.T) {
	uid := m.pick(t, assumed)
	patch := state.Patch{Labels: labels().Draw(t, "labels"), Annotations: map[string]string{"gpu": rapid.SampledFrom([]string{"0", "1"}).Draw(t, "gpu")}}
	if _, err := m.cache.Patch(uid, patch); err != nil {
		t.Fatalf("Patch: %v", err)
	}
	object := m.model.pods[uid].object.DeepCopy()
	if object.Labels == nil {
		object.Labels = map[string]string{}
	}
	maps.Copy(object.Labels, patch.Labels)
	object.Annotations = maps.Clone(patch.Annotations)
	m.model.pods[uid] = modelPod{object: object, assumed: true}
}

// confirm confirms an assumed pod, sometimes on another node and with other labels than
// assumed.
func (m *machine) confirm(t *rapid.T) {
	uid := m.pick(t, assumed)
	was := m.model.pods[uid].object
	object := was.DeepCopy()
	if rapid.Bool().Draw(t, "moved") {
		object.Spec.NodeName = nodeNames().Draw(t, "to")
	}
	if rapid.Bool().Draw(t, "other labels") {
		object.Labels = labels().Draw(t, "labels")
	}
	change, err := m.cache.AddPod(state.NewPod(object))
	if err != nil || !change.Confirmed || change.Previous.UID != uid {
		t.Fatalf("AddPod = %+v, %v", change, err)
	}
	from := was.Spec.NodeName
	if from == object.Spec.NodeName {
		from = ""
	}
	if change.MovedFrom != from {
		t.Fatalf("moved from %q, want %q", change.MovedFrom, from)
	}
	if same := maps.Equal(was.Labels, object.Labels); same != (len(change.Differences) == 0) {
		t.Fatalf("labels %v and %v differ in %v", was.Labels, object.Labels, change.Differences)
	}
	m.model.pods[uid] = modelPod{object: object}
}

func (m *machine) forget(t *rapid.T) {
	uid := m.pick(t, func(modelPod) bool { return true })
	err := m.cache.Forget(uid)
	if !m.model.pods[uid].assumed {
		if !errors.Is(err, cache.ErrNotAssumed) {
			t.Fatalf("Forget of an added pod: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatalf("Forget: %v", err)
	}
	delete(m.model.pods, uid)
	if err := m.cache.Forget(uid); !errors.Is(err, cache.ErrUnknown) {
		t.Fatalf("second Forget: %v", err)
	}
}

func (m *machine) updatePod(t *rapid.T) {
	uid := m.pick(t, added)
	object := m.model.pods[uid].object.DeepCopy()
	object.Labels = labels().Draw(t, "labels")
	if rapid.Bool().Draw(t, "shrink") {
		object.Spec.Containers = object.Spec.Containers[:1]
	}
	old, _ := m.cache.Get(uid)
	if change, err := m.cache.UpdatePod(old, state.NewPod(object)); err != nil || change.Previous != old {
		t.Fatalf("UpdatePod = %+v, %v", change, err)
	}
	m.model.pods[uid] = modelPod{object: object}
}

// recreatePod updates a pod to one with another UID: a missed deletion.
func (m *machine) recreatePod(t *rapid.T) {
	uid := m.pick(t, added)
	old, _ := m.cache.Get(uid)
	spec := m.drawPod(t)
	if change, err := m.cache.UpdatePod(old, spec.pod()); err != nil || change.Replaced != old {
		t.Fatalf("UpdatePod = %+v, %v", change, err)
	}
	delete(m.model.pods, uid)
	m.model.pods[types.UID(spec.UID)] = modelPod{object: spec.object()}
}

func (m *machine) removePod(t *rapid.T) {
	uid := m.pick(t, func(modelPod) bool { return true })
	if pod, ok := m.cache.RemovePod(uid); !ok || pod.UID != uid {
		t.Fatalf("RemovePod = %v, %v", pod, ok)
	}
	delete(m.model.pods, uid)
	if _, ok := m.cache.RemovePod(uid); ok {
		t.Fatalf("RemovePod removed a pod twice")
	}
}

// check compares the cache with the model after every action.
func (m *machine) check(t *rapid.T) {
	want := cache.Counts{
		Nodes: len(m.model.nodes), MissingNodes: m.model.ghosts(), Pods: len(m.model.pods), Assumed: len(m.model.uids(assumed)),
		Namespaces: len(m.model.namespaces),
	}
	if got := m.cache.Counts(); got != want {
		t.Fatalf("counts are %+v, want %+v", got, want)
	}
	seen := 0
	for pod, isAssumed := range m.cache.Pods() {
		seen++
		got, ok := m.cache.Get(pod.UID)
		p, known := m.model.pods[pod.UID]
		if !ok || got != pod || !known || p.assumed != isAssumed || m.cache.IsAssumed(pod.UID) != isAssumed ||
			p.object.Spec.NodeName != pod.NodeName() || !maps.Equal(p.object.Labels, pod.Object.Labels) {
			t.Fatalf("pod %s: assumed %v, known to the model: %v, %+v", pod.UID, isAssumed, known, p)
		}
	}
	if seen != want.Pods {
		t.Fatalf("Pods yields %d pods, want %d", seen, want.Pods)
	}
	m.generations.check(t, m.cache)
}

func (m *machine) takeSnapshot(t *rapid.T) {
	m.cache.UpdateSnapshot(m.snapshot)
	requireEqual(t, m.cache, m.snapshot)
	m.checkNamespaces(t)
	if m.snapshot.Len() != len(m.model.nodes) {
		t.Fatalf("%d rows for %d nodes", m.snapshot.Len(), len(m.model.nodes))
	}
	for i := range nodeCount {
		name := nodeName(i)
		row, ok := m.snapshot.Row(name)
		if want := m.model.nodes[name] != nil; ok != want {
			t.Fatalf("node %s has a row: %v, want %v", name, ok, want)
		}
		if !ok {
			continue
		}
		got := regexp.MustCompile(`(?m)^  nominated .*\n`).ReplaceAllString(rowText(t, m.snapshot, row), "")
		if want := m.model.text(name); got != want {
			t.Fatalf("snapshot and model differ\nsnapshot:\n%s\nmodel:\n%s", got, want)
		}
	}
}

// otherSnapshot updates a snapshot that is new to the cache; the next update of the first one
// must not miss anything.
func (m *machine) otherSnapshot(t *rapid.T) {
	s := state.NewSnapshot()
	m.cache.UpdateSnapshot(s)
	requireEqual(t, m.cache, s)
	if rapid.Bool().Draw(t, "keep") {
		m.snapshot = s
	}
}
