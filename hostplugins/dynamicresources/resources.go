package dynamicresources

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/utils/ptr"
)

// provided returns which class provides an extended resource (KEP-5004): the one that names it, of
// several the newest, and each class the resource that is named after it.
func provided(classes []*resourcev1.DeviceClass) map[v1.ResourceName]*resourcev1.DeviceClass {
	out := make(map[v1.ResourceName]*resourcev1.DeviceClass)
	for _, class := range classes { // sorted by name
		out[v1.ResourceName(resourcev1.ResourceDeviceClassPrefix+class.Name)] = class
		if class.Spec.ExtendedResourceName == nil {
			continue
		}
		name := v1.ResourceName(*class.Spec.ExtendedResourceName)
		if was := out[name]; was == nil || was.CreationTimestamp.Before(&class.CreationTimestamp) {
			out[name] = class
		}
	}
	return out
}

// Provides reports whether a device class provides an extended resource.
func (l *Ledger) Provides(resource v1.ResourceName) bool {
	l.update()
	return l.provided[resource] != nil
}

// flightOf is what identifies the flight of a claim for extended resources, which has no UID yet.
func flightOf(pod types.UID) types.UID { return "extended-resources/" + pod }

// madeFor returns the pod for whose extended resources a claim was made; nil if it is no such claim.
func madeFor(claim *resourcev1.ResourceClaim) *metav1.OwnerReference {
	if claim.Annotations[resourcev1.ExtendedResourceClaimAnnotation] != "true" {
		return nil
	}
	return metav1.GetControllerOfNoCopy(claim)
}

// index enters the current version of a claim, nil if it is gone, into the index by pods.
func (l *Ledger) index(k key, now *resourcev1.ResourceClaim) {
	if pod, ok := l.pods[k]; ok {
		left := slices.DeleteFunc(l.special[pod], func(x key) bool { return x == k })
		if l.special[pod] = left; len(left) == 0 {
			delete(l.special, pod)
		}
		delete(l.pods, k)
	}
	if now == nil {
		return
	}
	if pod := madeFor(now); pod != nil {
		l.pods[k] = pod.UID
		l.special[pod.UID] = append(l.special[pod.UID], k)
	}
}

// claimFor returns the claim that the API has for the extended resources of a pod, of several the first by
// name; nil if there is none.
func (l *Ledger) claimFor(pod *v1.Pod) (first *resourcev1.ResourceClaim) {
	for _, k := range l.special[pod.UID] {
		if k.namespace == pod.Namespace && (first == nil || k.name < first.Name) {
			first = l.devices.Claims.ResourceClaim(k.namespace, k.name)
		}
	}
	return first
}

// counter has the devices that match a class.
type counter struct {
	// of has those that one node alone can use; failed are nodes one of whose devices has no answer.
	of     map[string][]structured.DeviceID
	failed map[string]bool
	shared []reach
}

// reach is devices that nodes can use which are not named.
type reach struct {
	all      bool
	selector *v1.NodeSelector
	devices  []structured.DeviceID
	failed   bool
}

// Counter returns a function that counts the devices which match the class of a resource and which a node can
// use, and those of them that are allocated; nil if no class provides the resource. What pools are complete
// does not matter, as in kube-scheduler.
func (l *Ledger) Counter(resource v1.ResourceName) func(node *v1.Node) (all, allocated int64) {
	l.update()
	class := l.provided[resource]
	if class == nil {
		return nil
	}
	c := l.counters[class.Name]
	if c == nil {
		if l.counters == nil {
			l.counters = make(map[string]*counter)
		}
		c = l.newCounter(class)
		l.counters[class.Name] = c
	}
	return func(node *v1.Node) (all, allocated int64) { return c.count(node, &l.state) }
}

func (l *Ledger) newCounter(class *resourcev1.DeviceClass) *counter {
	c := &counter{of: make(map[string][]structured.DeviceID), failed: make(map[string]bool)}
	for _, slice := range l.devices.Slices.ResourceSlices() {
		if !ptr.Deref(slice.Spec.PerDeviceNodeSelection, false) {
			ids, ok := l.matching(slice, slice.Spec.Devices, class)
			c.add(slice.Spec.NodeName, slice.Spec.AllNodes, slice.Spec.NodeSelector, ids, !ok)
			continue
		}
		for i := range slice.Spec.Devices {
			d := &slice.Spec.Devices[i]
			ids, ok := l.matching(slice, slice.Spec.Devices[i:i+1], class)
			c.add(d.NodeName, d.AllNodes, d.NodeSelector, ids, !ok)
		}
	}
	return c
}

func (c *counter) add(node *string, all *bool, selector *v1.NodeSelector, ids []structured.DeviceID, failed bool) {
	switch {
	case node == nil:
		c.shared = append(c.shared, reach{ptr.Deref(all, false), selector, ids, failed})
	case failed:
		c.failed[*node] = true
	default:
		c.of[*node] = append(c.of[*node], ids...)
	}
}

// matching returns the devices of a slice that match a class, unless that is unknown for one. As in kube-scheduler, selectors do not see here that a
// device allows several allocations.
func (l *Ledger) matching(slice *resourcev1.ResourceSlice, devices []resourcev1.Device, class *resourcev1.DeviceClass) (out []structured.DeviceID, ok bool) {
	for i := range devices {
		device := subjectOf(cel.Device{Driver: slice.Spec.Driver, Attributes: devices[i].Attributes, Capacity: devices[i].Capacity})
		switch l.compiled().all(context.Background(), class.Spec.Selectors, &device) {
		case fails:
			return nil, false
		case yes:
			out = append(out, structured.MakeDeviceID(slice.Spec.Driver, slice.Spec.Pool.Name, devices[i].Name))
		}
	}
	return out, true
}

func (c *counter) count(node *v1.Node, now *structured.AllocatedState) (all, allocated int64) {
	add := func(ids []structured.DeviceID) {
		all += int64(len(ids))
		for _, id := range ids {
			if structured.IsDeviceAllocated(id, now) {
				allocated++
			}
		}
	}
	if c.failed[node.Name] {
		return 0, 0
	}
	add(c.of[node.Name])
	for i := range c.shared {
		r := &c.shared[i]
		if !r.all {
			matches, err := structured.NodeMatches(features(), node, "", false, r.selector)
			if err != nil {
				return 0, 0
			}
			if !matches {
				continue
			}
		}
		if r.failed {
			return 0, 0
		}
		add(r.devices)
	}
	return all, allocated
}
