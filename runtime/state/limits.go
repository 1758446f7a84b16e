package state

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/storage/ephemeral"

	"github.com/berth-scheduler/berth/runtime/quantity"
)

// Unlimited stands for the limit of a resource when a container has no limit for it.
const Unlimited int64 = -1

// Limit returns how much of a resource the pod may use, in the unit of Resources: the sum of the containers' limits, added up as requests
// are, or Unlimited if a container has none. A limit of the pod as a whole (KEP-2837) replaces those of its containers.
func (p *Pod) Limit(name v1.ResourceName) int64 {
	limited := true
	eachContainer(p.Object, func(r *v1.ResourceRequirements) bool {
		_, limited = r.Limits[name]
		return limited
	})
	if r := p.Object.Spec.Resources; r != nil && !limited {
		_, limited = r.Limits[name]
	}
	if !limited {
		return Unlimited
	}
	limits := NewResources(resourcehelper.PodLimits(bounded(p.Object), resourcehelper.PodResourcesOptions{
		UseStatusResources: true,
		InPlacePodLevelResourcesVerticalScalingEnabled: true,
	}))
	return limits.Amount(name)
}

// Container is a container of a pod.
type Container struct {
	Name string
	// Image is the normalized name, as in Pod.Images.
	Image string
	// Init says that it is an init container, and Sidecar that it is one that runs beside the others (KEP-753).
	Init, Sidecar bool
	// Resources are those of spec.
	Resources *v1.ResourceRequirements
}

// Request returns how much of a resource the container requests, in the unit of Resources.
func (c *Container) Request(name v1.ResourceName) int64 { return amount(c.Resources.Requests, name) }

// Limit returns how much of a resource the container may use, in the unit of Resources, or Unlimited.
func (c *Container) Limit(name v1.ResourceName) int64 {
	if _, limited := c.Resources.Limits[name]; !limited {
		return Unlimited
	}
	return amount(c.Resources.Limits, name)
}

func amount(list v1.ResourceList, name v1.ResourceName) int64 {
	r := NewResources(v1.ResourceList{name: list[name]})
	return r.Amount(name)
}

// Containers returns the init containers and then the others, each in the order of spec.
func (p *Pod) Containers() []Container {
	spec := &p.Object.Spec
	out := make([]Container, 0, len(spec.InitContainers)+len(spec.Containers))
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		sidecar := c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
		out = append(out, Container{Name: c.Name, Image: NormalImageName(c.Image), Init: true, Sidecar: sidecar, Resources: &c.Resources})
	}
	for i := range spec.Containers {
		c := &spec.Containers[i]
		out = append(out, Container{Name: c.Name, Image: NormalImageName(c.Image), Resources: &c.Resources})
	}
	return out
}

// Limited returns the resources that the pod or one of its containers has a limit for, in order.
func (p *Pod) Limited() []string {
	var names []string
	add := func(r *v1.ResourceRequirements) bool {
		for name := range r.Limits {
			names = append(names, string(name))
		}
		return true
	}
	eachContainer(p.Object, add)
	if r := p.Object.Spec.Resources; r != nil {
		add(r)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// QOS returns status.qosClass, or what the API server would write there if it is empty, as in files for a simulation.
func (p *Pod) QOS() v1.PodQOSClass {
	if class := p.Object.Status.QOSClass; class != "" {
		return class
	}
	guaranteed, bestEffort := true, true
	look := func(r *v1.ResourceRequirements) bool {
		for _, name := range [...]v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
			request, requested := r.Requests[name]
			limit := r.Limits[name]
			bestEffort = bestEffort && request.Sign() <= 0 && limit.Sign() <= 0
			guaranteed = guaranteed && limit.Sign() > 0 && (!requested || quantity.Compare(request, limit) == 0)
		}
		return true
	}
	if resourcehelper.IsPodLevelResourcesSet(p.Object) {
		look(p.Object.Spec.Resources)
	} else {
		eachContainer(p.Object, look)
	}
	switch {
	case bestEffort:
		return v1.PodQOSBestEffort
	case guaranteed:
		return v1.PodQOSGuaranteed
	}
	return v1.PodQOSBurstable
}

// Claims returns the names of the persistent volume claims of the pod's volumes, in the order of the volumes. That of an ephemeral volume
// is created for the pod (KEP-1698).
func (p *Pod) Claims() []string {
	var names []string
	for i := range p.Object.Spec.Volumes {
		switch volume := &p.Object.Spec.Volumes[i]; {
		case volume.PersistentVolumeClaim != nil:
			names = append(names, volume.PersistentVolumeClaim.ClaimName)
		case volume.Ephemeral != nil:
			names = append(names, ephemeral.VolumeClaimName(p.Object, volume))
		}
	}
	return names
}

// eachContainer calls f for the resources of each container, init containers included, until it returns false.
func eachContainer(pod *v1.Pod, f func(*v1.ResourceRequirements) bool) {
	for _, list := range [...][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if !f(&list[i].Resources) {
				return
			}
		}
	}
}
