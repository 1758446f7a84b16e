package hostplugins_test

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/runtime/plugin/objects/storage"
	"github.com/berth-scheduler/berth/runtime/state"
)

// happen draws a change of the cluster that the API allows, makes it, and returns the events
// that the queue would get.
func (g volumeGen) happen(w *volumeWorld) []storage.Change {
	one := func(object metav1.Object) []storage.Change { return []storage.Change{w.put(object)} }
	which := func(most int) int { return g.number("which", most) }
	switch g.pick("change", "volume", "claim", "claim", "class", "csi node", "csi node", "driver", "capacity", "attachment", "pod", "pod", "node", "gone", "gone", "gone") {
	case "volume":
		return one(g.volume(which(volumesDrawn)))
	case "claim":
		return one(g.claim(g.pick("namespace", "ns", "other"), fmt.Sprintf("c%d", which(4)), volumesDrawn, nil))
	case "class":
		class := g.storageClass(g.pick("class that changes", "local", "csi", "aws", "plain", "broken"))
		if old := named(w.classes, "", class.Name); old != nil {
			class.Provisioner, class.VolumeBindingMode = old.Provisioner, old.VolumeBindingMode
		}
		return one(class)
	case "csi node":
		return one(g.csiNode(fmt.Sprintf("n%d", which(5))))
	case "driver":
		return one(g.csiDriver("csi.example.com"))
	case "capacity":
		c := g.storageCapacity(which(6))
		if old := named(w.capacities, c.Namespace, c.Name); old != nil {
			c.StorageClassName, c.NodeTopology = old.StorageClassName, old.NodeTopology
		}
		return one(c)
	case "attachment":
		a := g.attachment(which(4), len(w.nodes), volumesDrawn)
		if old := named(w.attached, "", a.Name); old != nil {
			return []storage.Change{w.take(old)}
		}
		return one(a)
	case "pod":
		return g.podComes(w)
	case "node":
		return g.nodeChanges(w)
	}
	return g.goes(w)
}

func (g volumeGen) podComes(w *volumeWorld) []storage.Change {
	pod := g.volumePod(fmt.Sprintf("old%d", g.number("which", 12)), fmt.Sprintf("n%d", g.number("on", len(w.nodes)-1)))
	var out []storage.Change
	if old := named(w.placed, pod.Namespace, pod.Name); old != nil {
		out = append(out, podGoes(w, old))
	}
	w.placed = append(w.placed, pod)
	out = append(out, storage.Change{Event: state.EventAssignedPodAdd(), Object: state.Object{NewPod: decoded(pod)}})
	return append(out, g.claimsFor(w, pod)...)
}

func podGoes(w *volumeWorld, pod *v1.Pod) storage.Change {
	w.placed = without(w.placed, pod)
	return storage.Change{Event: state.EventAssignedPodDelete(), Object: state.Object{OldPod: decoded(pod)}}
}

func (g volumeGen) nodeChanges(w *volumeWorld) []storage.Change {
	at := g.number("which", len(w.nodes)-1)
	old, n := w.nodes[at], w.nodes[at].DeepCopy()
	n.Labels[v1.LabelTopologyZone] = g.pick("zone", "z1", "z2")
	w.nodes = slices.Clone(w.nodes)
	w.nodes[at] = n
	was, now := state.NewNode(old), state.NewNode(n)
	var out []storage.Change
	for _, event := range now.Changes(was) {
		out = append(out, storage.Change{Event: event, Object: state.Object{OldNode: was, NewNode: now}})
	}
	return out
}

// goes removes an object.
func (g volumeGen) goes(w *volumeWorld) []storage.Change {
	switch g.pick("what", "volume", "claim", "class", "csi node", "driver", "capacity", "attachment", "pod", "pod", "pod", "node") {
	case "volume":
		return removeOne(g, w, w.volumes)
	case "claim":
		return removeOne(g, w, w.claims)
	case "class":
		return removeOne(g, w, w.classes)
	case "csi node":
		return removeOne(g, w, w.csiNodes)
	case "driver":
		return removeOne(g, w, w.drivers)
	case "capacity":
		return removeOne(g, w, w.capacities)
	case "attachment":
		return removeOne(g, w, w.attached)
	case "node":
		if len(w.nodes) > 1 {
			w.nodes = slices.Delete(slices.Clone(w.nodes), 0, 1)
		}
		return nil
	}
	if len(w.placed) == 0 {
		return nil
	}
	return []storage.Change{podGoes(w, w.placed[g.number("which", len(w.placed)-1)])}
}

func removeOne[T metav1.Object](g volumeGen, w *volumeWorld, list []T) []storage.Change {
	if len(list) == 0 {
		return nil
	}
	return []storage.Change{w.take(list[g.number("which", len(list)-1)])}
}
