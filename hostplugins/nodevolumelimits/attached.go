package nodevolumelimits

import (
	"math"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/berth-scheduler/berth/hostplugins/internal/delta"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/state"
)

// noLimit is the limit of a node without one.
const noLimit = math.MinInt32

// attached is what is attached to the nodes, maintained from cycle to cycle: a row is read
// again when its node or pods have changed, or a storage object that they depend on.
type attached struct {
	reader
	rows       delta.Rows
	generation uint64 // of the changes of storage
	byRow      []node
	drivers    map[string]*driver
	dependent  map[objects.StorageKey]map[uint32]bool // rows

	podsRead int // for tests that compare the cost with the size of a change
}

// driver is two columns: how many volumes are attached to a row, and how many can be.
type driver struct {
	count, limit []int32
}

// node is what is stored for one row.
type node struct {
	limits map[string]int32
	// volumes is what is attached, and whether pods use it: a volume that is attached but not in
	// use is about to be detached.
	volumes map[attachable]bool
	err     error // of a pod whose volumes cannot be determined
	depends []objects.StorageKey
}

func newAttached(deps Deps) attached {
	return attached{
		reader: reader{deps}, drivers: make(map[string]*driver), dependent: make(map[objects.StorageKey]map[uint32]bool),
	}
}

// update brings everything up to date with a snapshot and the storage objects.
func (a *attached) update(s *state.Snapshot) {
	changes, now, known := a.deps.Changes.Since(a.generation)
	a.generation = now
	rows, fresh := a.rows.Update(s)
	if fresh {
		a.byRow = nil
		clear(a.drivers)
		clear(a.dependent)
	}
	for _, row := range rows {
		a.reload(s, row)
	}
	switch {
	case fresh:
	case !known:
		for row := range s.Len() {
			a.reload(s, uint32(row))
		}
	default:
		for row := range a.touched(s, changes) {
			a.reload(s, row)
		}
	}
}

// touched returns the rows that depend on the changes.
func (a *attached) touched(s *state.Snapshot, changes []objects.StorageKey) map[uint32]bool {
	var out map[uint32]bool
	add := func(row uint32) {
		if out == nil {
			out = make(map[uint32]bool)
		}
		out[row] = true
	}
	for _, key := range changes {
		switch key.Kind {
		case state.CSINodeResource, state.VolumeAttachmentResource:
			if row, ok := s.Row(key.Name); ok {
				add(row)
			}
		default:
			for row := range a.dependent[key] {
				add(row)
			}
		}
	}
	return out
}

// reload reads a row again.
func (a *attached) reload(s *state.Snapshot, row uint32) {
	if int(row) < len(a.byRow) {
		a.drop(row)
	}
	if int(row) >= s.Len() {
		return
	}
	for len(a.byRow) < s.Len() {
		a.byRow = append(a.byRow, node{})
	}
	n := a.read(s, row)
	for name, limit := range n.limits {
		a.column(name).limit[row] = limit
	}
	for v := range n.volumes {
		a.column(v.driver).count[row]++
	}
	for _, key := range n.depends {
		if a.dependent[key] == nil {
			a.dependent[key] = make(map[uint32]bool)
		}
		a.dependent[key][row] = true
	}
	a.byRow[row] = n
}

// drop subtracts what a row added.
func (a *attached) drop(row uint32) {
	n := &a.byRow[row]
	for name := range n.limits {
		a.drivers[name].limit[row] = noLimit
	}
	for v := range n.volumes {
		a.drivers[v.driver].count[row]--
	}
	for _, key := range n.depends {
		if delete(a.dependent[key], row); len(a.dependent[key]) == 0 {
			delete(a.dependent, key)
		}
	}
	*n = node{}
}

// column returns the columns of a driver, grown to the number of known rows.
func (a *attached) column(name string) *driver {
	d := a.drivers[name]
	if d == nil {
		d = &driver{}
		a.drivers[name] = d
	}
	for len(d.count) < len(a.byRow) {
		d.count, d.limit = append(d.count, 0), append(d.limit, noLimit)
	}
	return d
}

// read determines what is attached to a row, which may be an overlay.
func (a *attached) read(s *state.Snapshot, row uint32) node {
	n := node{limits: limits(a.deps.CSINodes.CSINode(s.Name(row)))}
	note := func(key objects.StorageKey) { n.depends = append(n.depends, key) }
	var found []attachable
	for _, slot := range s.Nodes.Pods.Row(row) {
		pod := s.Pods.Pod[slot].Object
		a.podsRead++
		if !relevant(pod) {
			continue
		}
		var err error
		if found, err = a.volumes(found, pod, asked{inline: true, note: note}); err != nil && n.err == nil {
			n.err = err
		}
	}
	for _, v := range found {
		n.use(v, true)
	}
	for _, va := range a.deps.Attached.AttachmentsTo(s.Name(row)) {
		if va.Spec.Attacher == "" || va.Spec.Source.PersistentVolumeName == nil {
			continue
		}
		name := *va.Spec.Source.PersistentVolumeName
		note(objects.StorageKey{Kind: state.PersistentVolumeResource, Name: name})
		if pv := a.deps.Volumes.Volume(name); pv != nil && pv.Spec.CSI != nil {
			n.use(attachable{driver: va.Spec.Attacher, handle: pv.Spec.CSI.VolumeHandle}, false)
		}
	}
	return n
}

func (n *node) use(v attachable, byPods bool) {
	if n.volumes == nil {
		n.volumes = make(map[attachable]bool)
	}
	n.volumes[v] = n.volumes[v] || byPods
}

// limits returns how many volumes of each driver can be attached to a node, for drivers with a
// limit.
func limits(csi *storagev1.CSINode) map[string]int32 {
	if csi == nil {
		return nil
	}
	out := make(map[string]int32, len(csi.Spec.Drivers))
	for i := range csi.Spec.Drivers {
		if d := &csi.Spec.Drivers[i]; d.Allocatable != nil && d.Allocatable.Count != nil {
			out[d.Name] = *d.Allocatable.Count
		}
	}
	return out
}

// relevant reports whether a pod has a volume that might be attached.
func relevant(pod *v1.Pod) bool {
	for i := range pod.Spec.Volumes {
		if attaches(pod, &pod.Spec.Volumes[i]) {
			return true
		}
	}
	return false
}
