// Package volumerestrictions rejects nodes on which a pod's volume conflicts with that of
// another pod: a disk of GCE, AWS, iSCSI or RBD that a pod of the node mounts already, and a
// claim with access mode ReadWriteOncePod (KEP-2485) that any pod uses.
package volumerestrictions

import (
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/internal/claims"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Name is the plugin's name in a profile.
const Name = "VolumeRestrictions"

// kube-scheduler's reasons.
const (
	ReasonDisk  = "node(s) had no available disk"
	ReasonClaim = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)

const preFilterKey = "PreFilter"

// Deps is what the plugin reads.
type Deps struct{ Claims objects.Claims }

// VolumeRestrictions is the plugin. It must not be used concurrently.
type VolumeRestrictions struct {
	info        plugin.Info
	deps        Deps
	use         usage
	disk, claim []string
}

var (
	_ plugin.PreFilter           = (*VolumeRestrictions)(nil)
	_ plugin.PreFilterExtensions = (*VolumeRestrictions)(nil)
	_ plugin.Filter              = (*VolumeRestrictions)(nil)
)

// New returns the plugin.
func New(deps Deps) *VolumeRestrictions {
	return &VolumeRestrictions{
		deps: deps, use: newUsage(), disk: []string{ReasonDisk}, claim: []string{ReasonClaim},
		info: plugin.Info{
			Name:     Name,
			Reads:    plugin.Whole(abi.NodePods, abi.PodVolumes),
			Enforces: state.FeatureExclusiveVolumes,
			Events: []plugin.Event{
				{ClusterEvent: state.ClusterEvent{Resource: state.AssignedPodResource, Action: state.Delete}, Hint: afterPodDelete},
				{ClusterEvent: state.ClusterEvent{Resource: state.NodeResource, Action: state.Add | state.Delete}},
				{ClusterEvent: state.ClusterEvent{Resource: state.PersistentVolumeClaimResource, Action: state.Add}, Hint: afterClaimAdd},
			},
		},
	}
}

// Info describes the plugin.
func (v *VolumeRestrictions) Info() *plugin.Info { return &v.info }

// users maps the names of the pod's ReadWriteOncePod claims to the number of uses by placed
// pods.
type users map[string]int

// Clone returns a copy, which AddPod and RemovePod may change.
func (u users) Clone() state.Value {
	c := make(users, len(u))
	for name, n := range u {
		c[name] = n
	}
	return c
}

// inUse reports whether any claim is in use.
func (u users) inUse() bool {
	for _, n := range u {
		if n > 0 {
			return true
		}
	}
	return false
}

// count adds or subtracts the uses of another pod.
func (u users) count(c *plugin.Cycle, other *state.Pod, sign int) {
	if other.Namespace != c.Pod.Namespace {
		return
	}
	for i := range other.Object.Spec.Volumes {
		if source := other.Object.Spec.Volumes[i].PersistentVolumeClaim; source != nil {
			if _, ok := u[source.ClaimName]; ok {
				u[source.ClaimName] += sign
			}
		}
	}
}

// PreFilter skips pods without such disks whose claims are free. A missing claim makes the pod
// unschedulable, because its access modes are unknown.
func (v *VolumeRestrictions) PreFilter(c *plugin.Cycle) ([]uint32, *plugin.Status) {
	if c.Pod.Features&(state.FeatureVolumeClaims|state.FeatureExclusiveVolumes) == 0 {
		return nil, plugin.NewStatus(abi.Skip)
	}
	var found users
	for i := range c.Pod.Object.Spec.Volumes {
		source := c.Pod.Object.Spec.Volumes[i].PersistentVolumeClaim
		if source == nil {
			continue
		}
		claim := v.deps.Claims.Claim(c.Pod.Namespace, source.ClaimName)
		if claim == nil {
			return nil, plugin.NewStatus(abi.UnschedulableAndUnresolvable, claims.NoClaim(source.ClaimName).Error())
		}
		if slices.Contains(claim.Spec.AccessModes, v1.ReadWriteOncePod) {
			if found == nil {
				found = make(users)
			}
			v.use.update(c.Snapshot)
			found[claim.Name] = v.use.claims[claims.Key{Namespace: claim.Namespace, Name: claim.Name}]
		}
	}
	if c.Pod.Features&state.FeatureExclusiveVolumes == 0 && !found.inUse() {
		return nil, plugin.NewStatus(abi.Skip)
	}
	c.State.Write(Name, preFilterKey, found)
	return nil, nil
}

// AddPod implements plugin.PreFilterExtensions.
func (v *VolumeRestrictions) AddPod(c *plugin.Cycle, _ uint32, pod *state.Pod) *plugin.Status {
	return changed(c, pod, 1)
}

// RemovePod implements plugin.PreFilterExtensions.
func (v *VolumeRestrictions) RemovePod(c *plugin.Cycle, _ uint32, pod *state.Pod) *plugin.Status {
	return changed(c, pod, -1)
}

// errNoState returns the error for a profile that enables later points of the plugin but not
// preFilter.
func errNoState() error {
	return errors.New("there is no PreFilter state: enable " + Name + " at preFilter too")
}

func changed(c *plugin.Cycle, pod *state.Pod, sign int) *plugin.Status {
	u, ok := c.State.Read(Name, preFilterKey).(users)
	if !ok {
		return plugin.Fail(errNoState())
	}
	u.count(c, pod, sign)
	return nil
}

// Filter rejects nodes with a disk that conflicts with the pod's, and all nodes while a claim
// is in use. Preemption can help in both cases.
func (v *VolumeRestrictions) Filter(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	u, ok := c.State.Read(Name, preFilterKey).(users)
	if !ok {
		reason := out.Reason(errNoState().Error())
		for i := range rows {
			out.Reject(i, abi.Error, reason)
		}
		return
	}
	if c.Pod.Features&state.FeatureExclusiveVolumes != 0 {
		v.use.update(c.Snapshot)
		v.rejectDisks(c, rows, out)
	}
	if !u.inUse() {
		return
	}
	reason := out.Reason(v.claim...)
	for i := range rows {
		if out.Codes[i] == abi.Success {
			out.Reject(i, abi.Unschedulable, reason)
		}
	}
}

// rejectDisks rejects rows on which a disk conflicts: rows in the index, and overlay rows by
// their pods.
func (v *VolumeRestrictions) rejectDisks(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	want := mounts(c.Pod.Object)
	taken := v.use.taken(want)
	var reason uint16
	for i, row := range rows {
		clashes := false
		if int(row) < c.Snapshot.Len() {
			for len(taken) > 0 && taken[0] < row {
				taken = taken[1:]
			}
			clashes = len(taken) > 0 && taken[0] == row
		} else {
			for _, slot := range c.Snapshot.Nodes.Pods.Row(row) {
				if clashes = clashAny(want, c.Snapshot.Pods.Pod[slot]); clashes {
					break
				}
			}
		}
		if !clashes {
			continue
		}
		if reason == 0 {
			reason = out.Reason(v.disk...)
		}
		out.Reject(i, abi.Unschedulable, reason)
	}
}
