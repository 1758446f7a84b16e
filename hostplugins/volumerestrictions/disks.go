package volumerestrictions

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/runtime/state"
)

// disk identifies what two conflicting mounts have in common.
type disk struct{ kind, id, pool string }

// mount is a disk as a pod mounts it.
type mount struct {
	disk
	readOnly bool     // conflicts only with a mount that is not
	monitors []string // of an RBD image: mounts of the same disk share at least one
}

// mounts returns the disks of a pod that may conflict with those of others. An AWS disk never
// has two users, even if both only read.
func mounts(pod *v1.Pod) []mount {
	var out []mount
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if s := v.GCEPersistentDisk; s != nil {
			out = append(out, mount{disk: disk{kind: "gce", id: s.PDName}, readOnly: s.ReadOnly})
		}
		if s := v.AWSElasticBlockStore; s != nil {
			out = append(out, mount{disk: disk{kind: "aws", id: s.VolumeID}})
		}
		if s := v.ISCSI; s != nil {
			out = append(out, mount{disk: disk{kind: "iscsi", id: s.IQN}, readOnly: s.ReadOnly})
		}
		if s := v.RBD; s != nil {
			out = append(out, mount{disk: disk{kind: "rbd", id: s.RBDImage, pool: s.RBDPool}, readOnly: s.ReadOnly, monitors: s.CephMonitors})
		}
	}
	return out
}

// clashes reports whether two mounts of one disk conflict.
func (m *mount) clashes(o *mount) bool {
	if m.readOnly && o.readOnly {
		return false
	}
	return m.kind != "rbd" || slices.ContainsFunc(m.monitors, func(s string) bool { return slices.Contains(o.monitors, s) })
}

// clashAny reports whether a pod has a disk that conflicts with one of the wanted ones.
func clashAny(want []mount, pod *state.Pod) bool {
	if pod.Features&state.FeatureExclusiveVolumes == 0 {
		return false
	}
	for _, m := range mounts(pod.Object) {
		for i := range want {
			if want[i].disk == m.disk && want[i].clashes(&m) {
				return true
			}
		}
	}
	return false
}
