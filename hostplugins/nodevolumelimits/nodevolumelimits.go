// Package nodevolumelimits keeps the number of volumes that CSI drivers attach to a node within
// the limits in the node's CSINode. Volumes of in-tree plugins count if a CSI driver serves
// them. It keeps pods from nodes that lack the driver of a volume, if the driver asks for that.
package nodevolumelimits

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/internal/claims"
	"github.com/berth-scheduler/berth/hostplugins/internal/migration"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
)

// Name is the plugin's name in a profile.
const Name = "NodeVolumeLimits"

// ReasonExceeded is kube-scheduler's reason for a node that would have too many volumes.
const ReasonExceeded = "node(s) exceed max volume count"

// Deps is what the plugin reads.
type Deps struct {
	Claims   objects.Claims
	Volumes  objects.Volumes
	Classes  objects.StorageClasses
	CSINodes objects.CSINodes
	Drivers  objects.CSIDrivers
	Attached objects.VolumeAttachments
	Changes  objects.StorageChanges
	// MayLackDrivers means that a pod may go to a node that lacks its driver, whatever the driver asks for, as before v1.37 of
	// Kubernetes.
	MayLackDrivers bool
}

// NodeVolumeLimits is the plugin. It must not be used concurrently.
type NodeVolumeLimits struct {
	info     plugin.Info
	attached attached
	exceeded []string
}

var (
	_ plugin.PreFilter = (*NodeVolumeLimits)(nil)
	_ plugin.Filter    = (*NodeVolumeLimits)(nil)
)

// New returns the plugin.
func New(deps Deps) *NodeVolumeLimits {
	return &NodeVolumeLimits{
		attached: newAttached(deps), exceeded: []string{ReasonExceeded},
		info: plugin.Info{
			Name:   Name,
			Reads:  plugin.Whole(abi.NodeName, abi.NodePods, abi.PodVolumes),
			Events: events(),
		},
	}
}

// Info describes the plugin.
func (l *NodeVolumeLimits) Info() *plugin.Info { return &l.info }

// attaches reports whether a volume of a pod might be attached by a CSI driver.
func attaches(pod *v1.Pod, v *v1.Volume) bool {
	if _, _, ok := claims.Of(pod, v); ok {
		return true
	}
	_, ok := migration.Inline(v)
	return ok
}

// PreFilter skips pods without volumes that might be attached.
func (l *NodeVolumeLimits) PreFilter(c *plugin.Cycle) ([]uint32, *plugin.Status) {
	if !relevant(c.Pod.Object) {
		return nil, plugin.NewStatus(abi.Skip)
	}
	return nil, nil
}

// wanted is the pod's volumes of one driver.
type wanted struct {
	driver  string
	volumes []attachable // each once
	columns *driver      // nil if no row has such volumes or limits
}

// Filter rejects nodes to which a driver cannot attach all of the pod's volumes that are not
// attached yet. Preemption can help.
func (l *NodeVolumeLimits) Filter(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	a := &l.attached
	a.update(c.Snapshot)
	volumes, err := a.volumes(nil, c.Pod.Object, asked{incoming: true, inline: true})
	if err != nil {
		l.rejectAll(c, rows, out, err)
		return
	}
	want := a.byDriver(volumes)
	if len(want) == 0 {
		return
	}
	needed, err := l.needed(c.Pod.Object, want)
	if err != nil {
		l.rejectAll(c, rows, out, err)
		return
	}
	var reason uint16
	for i, row := range rows {
		if missing := l.missing(needed, c.Snapshot.Name(row)); missing != "" {
			out.Reject(i, abi.Unschedulable, out.Reason(missing+" CSI driver is not installed on the node"))
			continue
		}
		var n *node
		if int(row) < c.Snapshot.Len() {
			if n = &a.byRow[row]; n.err == nil && !a.mayExceed(want, row) {
				continue
			}
		} else {
			overlay := a.read(c.Snapshot, row)
			n = &overlay
		}
		switch {
		case len(n.limits) == 0:
		case n.err != nil:
			out.Reject(i, abi.Error, out.Reason(n.err.Error()))
		case n.exceeds(want):
			if reason == 0 {
				reason = out.Reason(l.exceeded...)
			}
			out.Reject(i, abi.Unschedulable, reason)
		}
	}
}

// needed is a driver that a node must have for the pod. One that serves only volumes of in-tree plugins is not
// needed on a node without a CSINode.
type needed struct {
	driver string
	native bool
}

// needed returns the drivers of the pod's volumes that ask for it (KEP-5030).
func (l *NodeVolumeLimits) needed(pod *v1.Pod, want []wanted) (out []needed, err error) {
	if l.attached.deps.MayLackDrivers {
		return nil, nil
	}
	for i := range want {
		driver := l.attached.deps.Drivers.CSIDriver(want[i].driver)
		if driver != nil && ptr.Deref(driver.Spec.PreventPodSchedulingIfMissing, false) {
			out = append(out, needed{driver: driver.Name})
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	volumes, err := l.attached.volumes(nil, pod, asked{incoming: true, native: true})
	for i := range out {
		out[i].native = slices.ContainsFunc(volumes, func(v attachable) bool { return v.driver == out[i].driver })
	}
	return out, err
}

// missing returns a needed driver that a node does not have; empty if it has all.
func (l *NodeVolumeLimits) missing(all []needed, node string) string {
	if len(all) == 0 {
		return ""
	}
	csi := l.attached.deps.CSINodes.CSINode(node)
	for _, n := range all {
		if csi == nil && n.native || csi != nil && !installed(csi, n.driver) {
			return n.driver
		}
	}
	return ""
}

func installed(csi *storagev1.CSINode, driver string) bool {
	return slices.ContainsFunc(csi.Spec.Drivers, func(d storagev1.CSINodeDriver) bool { return d.Name == driver })
}

// rejectAll answers for a pod whose volumes cannot be determined. Inline volumes are ignored on
// a node without a CSINode.
func (l *NodeVolumeLimits) rejectAll(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts, err error) {
	_, bare := l.attached.volumes(nil, c.Pod.Object, asked{incoming: true})
	for i, row := range rows {
		failed := err
		if l.attached.deps.CSINodes.CSINode(c.Snapshot.Name(row)) == nil {
			failed = bare
		}
		if failed == nil {
			continue
		}
		code := abi.Error
		if apierrors.IsNotFound(failed) {
			code = abi.UnschedulableAndUnresolvable // until the claim is created
		}
		out.Reject(i, code, out.Reason(failed.Error()))
	}
}

// byDriver groups volumes, each once, by their driver.
func (a *attached) byDriver(volumes []attachable) []wanted {
	var out []wanted
	seen := make(map[attachable]bool, len(volumes))
	at := make(map[string]int)
	for _, v := range volumes {
		if seen[v] {
			continue
		}
		seen[v] = true
		i, ok := at[v.driver]
		if !ok {
			i = len(out)
			at[v.driver] = i
			out = append(out, wanted{driver: v.driver, columns: a.drivers[v.driver]})
		}
		out[i].volumes = append(out[i].volumes, v)
	}
	return out
}

// mayExceed reports whether a row would have too many volumes if none of the wanted ones were
// attached already.
func (a *attached) mayExceed(want []wanted, row uint32) bool {
	for i := range want {
		d := want[i].columns
		if d == nil || int(row) >= len(d.limit) || d.limit[row] == noLimit {
			continue
		}
		if int(d.count[row])+len(want[i].volumes) > int(d.limit[row]) {
			return true
		}
	}
	return false
}

// exceeds reports whether the node would have too many volumes of a driver. A volume that pods
// of the node use is attached already; as in kube-scheduler, one that is attached but not in
// use counts twice.
func (n *node) exceeds(want []wanted) bool {
	for i := range want {
		limit, limited := n.limits[want[i].driver]
		if !limited {
			continue
		}
		missing, there := 0, 0
		for _, v := range want[i].volumes {
			if !n.volumes[v] {
				missing++
			}
		}
		for v := range n.volumes {
			if v.driver == want[i].driver {
				there++
			}
		}
		if missing > 0 && there+missing > int(limit) {
			return true
		}
	}
	return false
}
