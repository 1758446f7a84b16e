package cache

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Assume places an unknown pod on the node in its spec, before the API server has bound it.
//
// # Errors
//
// ErrKnown, also if the pod is assumed on the same node; ErrIncomplete.
func (c *Cache) Assume(pod *state.Pod) error {
	if err := c.admit(pod); err != nil {
		return fmt.Errorf("assume pod %s: %w", pod.Key(), err)
	}
	c.place(pod, true)
	return nil
}

// Restore assumes a pod that another cache had assumed, with what plugins had patched.
//
// # Errors
//
// Those of Assume.
func (c *Cache) Restore(pod *state.Pod, patch state.Patch) error {
	if err := c.Assume(pod); err != nil {
		return err
	}
	p := c.pods[pod.UID]
	p.patch = patch
	c.pods[pod.UID] = p
	return nil
}

// Patch applies the patch of a Reserve plugin to an assumed pod and returns the new version.
// The next snapshot shows it.
//
// # Errors
//
// ErrUnknown; ErrNotAssumed: confirmed pods cannot be patched.
func (c *Cache) Patch(uid types.UID, patch state.Patch) (*state.Pod, error) {
	p, err := c.assumedPod(uid)
	if err != nil {
		return nil, fmt.Errorf("patch pod %s: %w", uid, err)
	}
	if patch.Empty() {
		return p.pod, nil
	}
	p.pod = p.pod.On(p.pod.NodeName(), patch)
	p.patch = p.patch.Merge(patch)
	c.replace(p)
	return p.pod, nil
}

// Forget removes an assumed pod because its binding failed or was given up.
//
// # Errors
//
// ErrUnknown; ErrNotAssumed: the API server has confirmed the binding after all.
func (c *Cache) Forget(uid types.UID) error {
	p, err := c.assumedPod(uid)
	if err != nil {
		return fmt.Errorf("forget pod %s: %w", uid, err)
	}
	c.displace(p)
	return nil
}

// AddPod adds a bound pod, or confirms an assumed one.
//
// # Errors
//
// ErrKnown if the pod was added before; ErrIncomplete.
func (c *Cache) AddPod(pod *state.Pod) (Change, error) {
	p, known := c.pods[pod.UID]
	if known && p.assumed && pod.NodeName() != "" {
		change := Change{Previous: p.pod, Confirmed: true, Differences: differences(p, pod)}
		change.MovedFrom = c.supersede(p, pod)
		return change, nil
	}
	if err := c.admit(pod); err != nil {
		return Change{}, fmt.Errorf("add pod %s: %w", pod.Key(), err)
	}
	c.place(pod, false)
	return Change{}, nil
}

// UpdatePod replaces the object of an added pod. If old has another UID, the watch has missed
// that old was deleted and a pod of the same name created: old is removed and pod is added, or
// confirmed.
//
// # Errors
//
// ErrUnknown; ErrAssumed: an assumed pod must be confirmed by AddPod first; ErrIncomplete.
func (c *Cache) UpdatePod(old, pod *state.Pod) (Change, error) {
	if old.UID != pod.UID {
		change, err := c.AddPod(pod)
		if err == nil {
			change.Replaced, _ = c.RemovePod(old.UID)
		}
		return change, err
	}
	p, known := c.pods[pod.UID]
	switch {
	case !known:
		return Change{}, fmt.Errorf("update pod %s: %w", pod.Key(), ErrUnknown)
	case p.assumed:
		return Change{}, fmt.Errorf("update pod %s: %w", pod.Key(), ErrAssumed)
	case pod.NodeName() == "":
		return Change{}, fmt.Errorf("update pod %s: %w", pod.Key(), ErrIncomplete)
	}
	return Change{Previous: p.pod, MovedFrom: c.supersede(p, pod)}, nil
}

// RemovePod removes a deleted or terminated pod, and returns the cache's version; false if
// there was none. It also removes an assumed pod, because the API server decides; a later
// Forget returns ErrUnknown.
func (c *Cache) RemovePod(uid types.UID) (*state.Pod, bool) {
	p, ok := c.pods[uid]
	if !ok {
		return nil, false
	}
	c.displace(p)
	return p.pod, true
}

// admit says why a pod cannot be placed; nil if it can.
func (c *Cache) admit(pod *state.Pod) error {
	if pod.NodeName() == "" || pod.UID == "" {
		return ErrIncomplete
	}
	if _, known := c.pods[pod.UID]; known {
		return ErrKnown
	}
	return nil
}

func (c *Cache) assumedPod(uid types.UID) (placed, error) {
	p, known := c.pods[uid]
	switch {
	case !known:
		return p, ErrUnknown
	case !p.assumed:
		return p, ErrNotAssumed
	}
	return p, nil
}

// place puts an unknown pod on its node.
func (c *Cache) place(pod *state.Pod, assumed bool) {
	n := c.nodeOf(pod.NodeName())
	slot := uint32(noSlot)
	if n.row != noRow {
		slot = c.slots.take()
	}
	n.info.AddPod(state.PlacedPod{Pod: pod, Slot: slot, Generation: c.next()})
	c.count(pod, 1)
	c.podsChanged(n)
	if assumed {
		c.assumed++
	}
	c.pods[pod.UID] = placed{pod: pod, node: n, assumed: assumed}
}

// displace removes a pod from its node.
func (c *Cache) displace(p placed) {
	delete(c.pods, p.pod.UID)
	if p.assumed {
		c.assumed--
	}
	gone := p.node.remove(p.pod.UID)
	c.count(gone.Pod, -1)
	c.release(&gone)
	c.podsChanged(p.node)
	c.collect(p.node)
}

// replace replaces the node's version of a pod. The pod keeps its slot.
func (c *Cache) replace(p placed) {
	on := p.node.remove(p.pod.UID)
	c.recount(on.Pod, p.pod)
	on.Pod, on.Generation = p.pod, c.next()
	p.node.info.AddPod(on)
	c.podsChanged(p.node)
	c.pods[p.pod.UID] = p
}

// supersede makes a known pod an added one, with the API server's version. If that does not say when the pod got its node, as in a
// simulation, the time that is known stays. It returns the pod's previous node if that differs.
func (c *Cache) supersede(p placed, pod *state.Pod) (movedFrom string) {
	if from := p.node.info.Name; from != pod.NodeName() {
		c.displace(p)
		c.place(pod, false)
		return from
	}
	if p.assumed {
		c.assumed--
	}
	if pod.AssignedAt == 0 && p.pod.AssignedAt != 0 {
		pod = pod.Assigned(p.pod.AssignedAt)
	}
	c.replace(placed{pod: pod, node: p.node})
	return ""
}

func (n *node) remove(uid types.UID) state.PlacedPod {
	p, ok := n.info.RemovePod(uid)
	if !ok {
		panic("BUG: pod " + string(uid) + " is not on node " + n.info.Name)
	}
	return p
}
