// Package volumezone rejects nodes outside of the zones and regions in the labels of the pod's
// bound volumes, which cloud providers set before volumes had node affinity. A label may name
// several zones, separated by "__".
package volumezone

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/component-helpers/storage/volume"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/internal/claims"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Name is the plugin's name in a profile.
const Name = "VolumeZone"

// kube-scheduler's reasons. There are further ones for objects that are not found.
const (
	ReasonConflict    = "node(s) had no available volume zone"
	ReasonUnnamed     = "PersistentVolumeClaim had no name"
	ReasonNoClass     = "PersistentVolumeClaim had no pv name and storageClass name"
	ReasonUnbound     = "PersistentVolume had no name"
	reasonBindingMode = "VolumeBindingMode not set for StorageClass %q"
)

const preFilterKey = "PreFilter"

// delimiter separates the zones of one label value.
const delimiter = "__"

// Deps is what the plugin reads.
type Deps struct {
	Claims  objects.Claims
	Volumes objects.Volumes
	Classes objects.StorageClasses
}

// VolumeZone is the plugin.
type VolumeZone struct {
	info     plugin.Info
	deps     Deps
	conflict []string
}

var (
	_ plugin.PreFilter = (*VolumeZone)(nil)
	_ plugin.Filter    = (*VolumeZone)(nil)
)

// New returns the plugin.
func New(deps Deps) *VolumeZone {
	return &VolumeZone{
		deps: deps, conflict: []string{ReasonConflict},
		info: plugin.Info{
			Name:  Name,
			Reads: plugin.Whole(abi.NodeLabels, abi.PodVolumes),
			Events: []plugin.Event{
				{ClusterEvent: state.ClusterEvent{Resource: state.StorageClassResource, Action: state.Add}, Hint: afterClassAdd},
				{ClusterEvent: state.ClusterEvent{Resource: state.NodeResource, Action: state.Add | state.UpdateNodeLabel}},
				{
					ClusterEvent: state.ClusterEvent{Resource: state.PersistentVolumeClaimResource, Action: state.Add | state.Update},
					Hint:         afterClaimChange,
				},
				{
					ClusterEvent: state.ClusterEvent{Resource: state.PersistentVolumeResource, Action: state.Add | state.Update},
					Hint:         afterVolumeChange,
				},
			},
		},
	}
}

// Info describes the plugin.
func (z *VolumeZone) Info() *plugin.Info { return &z.info }

// zone is one label of a volume: a node must have it with one of the values.
type zone struct {
	key    string
	values []string // sorted, each once
}

// zones holds the zones of all volumes of the pod.
type zones []zone

// Clone returns the value itself: it does not change after PreFilter.
func (z zones) Clone() state.Value { return z }

// PreFilter skips pods whose volumes have no zone. Claims that wait for their first consumer
// have no zone yet; other unbound claims, and missing objects, make the pod unschedulable.
func (z *VolumeZone) PreFilter(c *plugin.Cycle) ([]uint32, *plugin.Status) {
	found, status := z.zonesOf(c.Pod.Object)
	if status != nil {
		return nil, status
	}
	if len(found) == 0 {
		return nil, plugin.NewStatus(abi.Skip)
	}
	c.State.Write(Name, preFilterKey, found)
	return nil, nil
}

func unresolvable(reason string) *plugin.Status {
	return plugin.NewStatus(abi.UnschedulableAndUnresolvable, reason)
}

func (z *VolumeZone) zonesOf(pod *v1.Pod) (zones, *plugin.Status) {
	var out zones
	for i := range pod.Spec.Volumes {
		source := pod.Spec.Volumes[i].PersistentVolumeClaim
		if source == nil {
			continue
		}
		if source.ClaimName == "" {
			return nil, unresolvable(ReasonUnnamed)
		}
		claim := z.deps.Claims.Claim(pod.Namespace, source.ClaimName)
		if claim == nil {
			return nil, unresolvable(claims.NoClaim(source.ClaimName).Error())
		}
		if claim.Spec.VolumeName == "" {
			if status := z.unbound(claim); status != nil {
				return nil, status
			}
			continue
		}
		pv := z.deps.Volumes.Volume(claim.Spec.VolumeName)
		if pv == nil {
			return nil, unresolvable(claims.NoVolume(claim.Spec.VolumeName).Error())
		}
		out = append(out, zonesOfVolume(pv)...)
	}
	return out, nil
}

// unbound returns the status for a claim without a volume: nil if it waits for its first
// consumer.
func (z *VolumeZone) unbound(claim *v1.PersistentVolumeClaim) *plugin.Status {
	name := volume.GetPersistentVolumeClaimClass(claim)
	if name == "" {
		return unresolvable(ReasonNoClass)
	}
	class := z.deps.Classes.StorageClass(name)
	switch {
	case class == nil:
		return unresolvable(claims.NoClass(name).Error())
	case class.VolumeBindingMode == nil:
		return unresolvable(fmt.Sprintf(reasonBindingMode, name))
	case *class.VolumeBindingMode != storagev1.VolumeBindingWaitForFirstConsumer:
		return unresolvable(ReasonUnbound)
	}
	return nil
}

// zoneLabels returns the labels that count, on volumes and nodes.
func zoneLabels() [4]string {
	return [4]string{
		v1.LabelFailureDomainBetaZone, v1.LabelFailureDomainBetaRegion, v1.LabelTopologyZone, v1.LabelTopologyRegion,
	}
}

// today returns the current name of a label.
func today(label string) string {
	switch label {
	case v1.LabelFailureDomainBetaRegion:
		return v1.LabelTopologyRegion
	case v1.LabelFailureDomainBetaZone:
		return v1.LabelTopologyZone
	}
	return label
}

// zonesOfVolume returns the zones of a volume. A label with an empty zone in it
// does not count.
func zonesOfVolume(pv *v1.PersistentVolume) []zone {
	var out []zone
	for _, key := range zoneLabels() {
		value, ok := pv.Labels[key]
		if !ok {
			continue
		}
		if values, ok := split(value); ok {
			out = append(out, zone{key: key, values: values})
		}
	}
	return out
}
