package conformance

import (
	"slices"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/conformance/internal/generate"
	"github.com/berth-scheduler/berth/abi/fields"
	"github.com/berth-scheduler/berth/abi/wire"
)

// makeEvent makes an event that the manifest registers, of a random kind if it registers all.
func makeEvent(g *generate.Generator, man *wire.Manifest, bare bool) *Event {
	registered := wire.ManifestEvent{Resource: []string{"Node", "Pod", "PersistentVolumeClaim", "PersistentVolume"}[g.Rand().IntN(4)], Actions: []string{"All"}}
	if len(man.Events) > 0 {
		registered = man.Events[g.Rand().IntN(len(man.Events))]
	}
	action := actionOf(registered.Actions[g.Rand().IntN(len(registered.Actions))], g)
	e := &Event{Actions: action}
	if more := actionOf(registered.Actions[g.Rand().IntN(len(registered.Actions))], g); min(action, more) > abi.ActionDelete {
		e.Actions |= more // an update may have several
	}
	old, young := action != abi.ActionAdd, action != abi.ActionDelete
	switch registered.Resource {
	case "Node":
		e.Resource = abi.EventNode
		nodes := g.Cluster(2, bare).Nodes
		nodes[1].Metadata.Name = nodes[0].Metadata.Name
		if old {
			e.OldNode = &nodes[0]
		}
		if young {
			e.NewNode = &nodes[1]
		}
	case "Pod":
		e.Resource = abi.EventUnplacedPod
		before, after := g.Pod(bare), g.Pod(bare)
		after.Metadata.Name, after.Metadata.Namespace, after.Metadata.UID = before.Metadata.Name, before.Metadata.Namespace, before.Metadata.UID
		if g.Rand().IntN(2) == 0 {
			e.Resource = abi.EventPlacedPod
			before.Spec.NodeName, after.Spec.NodeName = "node-0", "node-0"
		}
		if old {
			e.OldPod = &before
		}
		if young {
			e.NewPod = &after
		}
	default:
		e.Resource, e.Name = fields.EventKind(registered.Resource), g.Pod(true).Metadata.Name
		if !clusterScoped(registered.Resource) {
			e.Namespace = g.Pod(true).Metadata.Namespace
		}
	}
	return e
}

// clusterScoped reports whether the objects of a resource have no namespace.
func clusterScoped(resource string) bool {
	return slices.ContainsFunc(fields.Events(), func(e fields.Event) bool { return e.Resource == resource && e.Cluster })
}

func actionOf(name string, g *generate.Generator) abi.EventAction {
	if name == "Update" {
		return abi.ActionUpdateOther
	}
	for _, a := range fields.Actions() {
		if a.Name == name {
			return a.Bit
		}
	}
	return []abi.EventAction{abi.ActionAdd, abi.ActionDelete, abi.ActionUpdateOther}[g.Rand().IntN(3)]
}
