package dynamicresources

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/utils/ptr"

	"github.com/berth-scheduler/berth/runtime/plugin"
)

// How many nodes that differ are looked at to say why they lack devices, and how much is said.
const (
	mostDetailed = 64
	mostDetails  = 8
)

// Details says how many devices of the nodes match each request, are free, and are tainted.
func (d *DynamicResources) Details(c *plugin.Cycle, rows []uint32) []plugin.Detail {
	a := attemptOf(c.State)
	if a == nil || !a.search {
		return nil
	}
	f := &filtering{DynamicResources: d, c: c, a: a, wanted: a.wanted()}
	ledger := d.deps.Ledger
	said := make(map[string]int) // index in out
	var out []plugin.Detail
	looked := 0
	for _, row := range rows {
		node := c.Snapshot.Nodes.Node[row].Object
		var special *variant
		if a.special != nil {
			var status *plugin.Status
			if special, status = a.special.on(node); status != nil {
				return nil // the devices are not the reason
			}
		}
		wanted, kept := f.want(special)
		if len(wanted) == 0 {
			continue
		}
		if kept.whole == nil {
			kept.whole = ledger.viewOf(wanted, true)
		}
		number, err := ledger.number(c.Context, kept.whole, row, node)
		if err != nil {
			return nil
		}
		lines, ok := kept.details[number]
		if !ok {
			if looked++; looked > mostDetailed {
				break
			}
			lines = ledger.describe(c.Context, node, wanted)
			if kept.details == nil {
				kept.details = make(map[uint32][]string)
			}
			kept.details[number] = lines
		}
		for _, line := range lines {
			at, ok := said[line]
			if !ok {
				at = len(out)
				said[line] = at
				out = append(out, plugin.Detail{Text: line})
			}
			out[at].Rows++
		}
	}
	slices.SortStableFunc(out, func(a, b plugin.Detail) int { return b.Rows - a.Rows })
	return out[:min(len(out), mostDetails)]
}

// describe returns a line for each request of claims about the devices that a node can use.
func (l *Ledger) describe(ctx context.Context, node *v1.Node, claims []*resourcev1.ResourceClaim) (out []string) {
	for _, claim := range claims {
		for i := range claim.Spec.Devices.Requests {
			r := &claim.Spec.Devices.Requests[i]
			if e := r.Exactly; e != nil {
				out = append(out, l.describeRequest(ctx, node, r.Name, e.DeviceClassName, e.Selectors, e.Tolerations))
			}
			for j := range r.FirstAvailable {
				s := &r.FirstAvailable[j]
				out = append(out, l.describeRequest(ctx, node, resourceclaim.CreateSubRequestRef(r.Name, s.Name), s.DeviceClassName, s.Selectors, s.Tolerations))
			}
		}
	}
	return out
}

func (l *Ledger) describeRequest(
	ctx context.Context, node *v1.Node, name, class string, selectors []resourcev1.DeviceSelector, tolerations []resourcev1.DeviceToleration,
) string {
	var all, match, free, tainted, failed int
	with := slices.Clone(selectors)
	if class := l.devices.Classes.DeviceClass(class); class != nil {
		with = slices.Concat(class.Spec.Selectors, selectors)
	}
	for _, slice := range slices.Concat(l.contents.of(node.Name).slices, l.contents.wide) {
		for i := range slice.Spec.Devices {
			device := &slice.Spec.Devices[i]
			if !usable(node, slice, device) {
				continue
			}
			all++
			about := aboutDevice(slice, device)
			switch l.compiled().all(ctx, with, &about) {
			case fails:
				failed++
			case yes:
				match++
				id := structured.MakeDeviceID(slice.Spec.Driver, slice.Spec.Pool.Name, device.Name)
				if !l.state.AllocatedDevices.Has(id) {
					free++
				}
				if repels(device, tolerations) {
					tainted++
				}
			}
		}
	}
	text := fmt.Sprintf("request %s of class %s", name, class)
	if len(selectors) > 0 {
		var expressions []string
		for i := range selectors {
			if selectors[i].CEL != nil {
				expressions = append(expressions, selectors[i].CEL.Expression)
			}
		}
		text += " with selector " + strings.Join(expressions, " and ")
	}
	text += fmt.Sprintf(": of %d devices %d match; of these %d are free and %d tainted", all, match, free, tainted)
	if failed > 0 {
		text += fmt.Sprintf("; a selector fails for %d", failed)
	}
	return text
}

// usable reports whether a node can use a device.
func usable(node *v1.Node, slice *resourcev1.ResourceSlice, d *resourcev1.Device) bool {
	name, all, selector := slice.Spec.NodeName, slice.Spec.AllNodes, slice.Spec.NodeSelector
	if ptr.Deref(slice.Spec.PerDeviceNodeSelection, false) {
		name, all, selector = d.NodeName, d.AllNodes, d.NodeSelector
	}
	ok, err := structured.NodeMatches(features(), node, ptr.Deref(name, ""), ptr.Deref(all, false), selector)
	return ok && err == nil
}

// repels reports whether a device has a taint that keeps claims away.
func repels(d *resourcev1.Device, tolerations []resourcev1.DeviceToleration) bool {
	return slices.ContainsFunc(d.Taints, func(t resourcev1.DeviceTaint) bool {
		return (t.Effect == resourcev1.DeviceTaintEffectNoSchedule || t.Effect == resourcev1.DeviceTaintEffectNoExecute) &&
			!slices.ContainsFunc(tolerations, func(x resourcev1.DeviceToleration) bool { return resourceclaim.ToleratesTaint(x, t) })
	})
}
