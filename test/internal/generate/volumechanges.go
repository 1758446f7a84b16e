package generate

import (
	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/berth-scheduler/berth/test/internal/scenario"
)

// change draws the changes of volume objects in the next step.
func (s *storage) change(g *Generator, nodes []string, step *scenario.Step) {
	if !s.drawn {
		return
	}
	switch g.IntN(4) {
	case 0:
		v := persistentVolume(g, len(s.volumes), nodes)
		s.volumes = append(s.volumes, v)
		step.Set.PersistentVolumes = append(step.Set.PersistentVolumes, v)
	case 1:
		i := g.IntN(len(s.claims) + 1)
		if i == len(s.claims) {
			return
		}
		old := s.claims[i]
		s.claims[i] = s.claim(g, old.Namespace, old.Name)
		step.Set.PersistentVolumeClaims = append(step.Set.PersistentVolumeClaims, s.claims[i])
	case 2:
		step.Set.CSINodes = append(step.Set.CSINodes, csiNode(g, pick(g, nodes...)))
	case 3:
		if len(s.claims) > 0 {
			i := g.IntN(len(s.claims))
			step.Delete = append(step.Delete, scenario.RefOf(scenario.KindPersistentVolumeClaim, s.claims[i]))
			s.claims = append(s.claims[:i:i], s.claims[i+1:]...)
		}
	}
}

// event draws a change of a volume object.
func (s *storage) event(g *Generator, nodes []string, pod *v1.Pod) scenario.Event {
	other := &storage{volumes: s.volumes}
	if len(other.volumes) == 0 {
		other.volumes = []*v1.PersistentVolume{persistentVolume(g, 0, nodes)}
	}
	volume := func() []*v1.PersistentVolume { return []*v1.PersistentVolume{persistentVolume(g, 0, nodes)} }
	claim := func() []*v1.PersistentVolumeClaim {
		fresh := &storage{volumes: []*v1.PersistentVolume{persistentVolume(g, 0, nodes)}}
		in := pick(g, pod.Namespace, namespace(0))
		return []*v1.PersistentVolumeClaim{fresh.claim(g, in, g.claimName(in, g.IntN(numClaims)))}
	}
	class := func() []*storagev1.StorageClass { return []*storagev1.StorageClass{pick(g, classes(g)...)} }
	node := func() []*storagev1.CSINode { return []*storagev1.CSINode{csiNode(g, pick(g, nodes...))} }
	csiDriver := func() []*storagev1.CSIDriver {
		d := &storagev1.CSIDriver{}
		d.Name = pick(g, driver, otherDriver)
		if g.chance(0.7) {
			yes := g.chance(0.5)
			d.Spec.StorageCapacity = &yes
		}
		return []*storagev1.CSIDriver{d}
	}
	switch g.IntN(8) {
	case 0:
		return scenario.Event{Resource: "PersistentVolume", Action: "Add", New: scenario.Objects{PersistentVolumes: volume()}}
	case 1:
		return scenario.Event{Resource: "PersistentVolume", Action: "Update", Old: scenario.Objects{PersistentVolumes: volume()}, New: scenario.Objects{PersistentVolumes: volume()}}
	case 2:
		return scenario.Event{Resource: "PersistentVolumeClaim", Action: "Add", New: scenario.Objects{PersistentVolumeClaims: claim()}}
	case 3:
		old := claim()
		now := old[0].DeepCopy()
		now.Spec.VolumeName = pick(g, now.Spec.VolumeName, "pv-0")
		now.Spec.AccessModes = g.accessModes(now.Name)
		return scenario.Event{Resource: "PersistentVolumeClaim", Action: "Update",
			Old: scenario.Objects{PersistentVolumeClaims: old}, New: scenario.Objects{PersistentVolumeClaims: []*v1.PersistentVolumeClaim{now}}}
	case 4:
		e := scenario.Event{Resource: "storage.k8s.io/StorageClass", Action: pick(g, "Add", "Update"), New: scenario.Objects{StorageClasses: class()}}
		if e.Action == "Update" {
			e.Old.StorageClasses = []*storagev1.StorageClass{e.New.StorageClasses[0].DeepCopy()}
			e.Old.StorageClasses[0].AllowedTopologies = class()[0].AllowedTopologies
		}
		return e
	case 5:
		e := scenario.Event{Resource: "storage.k8s.io/CSINode", Action: pick(g, "Add", "Update"), New: scenario.Objects{CSINodes: node()}}
		if e.Action == "Update" {
			e.Old.CSINodes = node()
			e.Old.CSINodes[0].Name = e.New.CSINodes[0].Name
		}
		return e
	case 6:
		e := scenario.Event{Resource: "storage.k8s.io/CSIDriver", Action: "Update", Old: scenario.Objects{CSIDrivers: csiDriver()}, New: scenario.Objects{CSIDrivers: csiDriver()}}
		e.Old.CSIDrivers[0].Name = e.New.CSIDrivers[0].Name
		return e
	}
	switch g.IntN(2) {
	case 0:
		e := scenario.Event{Resource: "storage.k8s.io/VolumeAttachment", Action: "Delete"}
		e.Old.VolumeAttachments = []*storagev1.VolumeAttachment{other.attachment(g, pick(g, nodes...))}
		return e
	default:
		e := scenario.Event{Resource: "storage.k8s.io/CSIStorageCapacity", Action: pick(g, "Add", "Update")}
		e.New.CSIStorageCapacities = []*storagev1.CSIStorageCapacity{capacity(g, 0)}
		if e.Action == "Update" {
			e.Old.CSIStorageCapacities = []*storagev1.CSIStorageCapacity{capacity(g, 0)}
			e.Old.CSIStorageCapacities[0].StorageClassName = e.New.CSIStorageCapacities[0].StorageClassName
		}
		return e
	}
}
