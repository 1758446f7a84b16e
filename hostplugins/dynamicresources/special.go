package dynamicresources

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// special is the claim that the scheduler makes for the extended resources of a pod that device classes
// provide (KEP-5004). It has requests for what a node does not have as resources of its own, so that it
// differs between nodes.
type special struct {
	pod   *v1.Pod
	asked []extended
	// stale is the claim of an earlier try, which must be deleted first; nil if there is none.
	stale *resourcev1.ResourceClaim
	// variants by which of the resources are to be devices, one character each.
	variants map[string]*variant
}

// extended is an extended resource that a pod requests.
type extended struct {
	name  v1.ResourceName
	class string // the device class that provides it; empty for none
}

// variant is the claim as some nodes need it.
type variant struct {
	requests []resourcev1.DeviceRequest
	mappings []v1.ContainerExtendedResourceRequest
	claim    *resourcev1.ResourceClaim // to search devices for
}

// specialOf returns the claim to be made for a pod; nil if device classes provide nothing that it
// requests.
func (d *DynamicResources) specialOf(pod *state.Pod) *special {
	var asked []extended
	provided := false
	for _, s := range pod.Requests.Scalars {
		if s.Value == 0 {
			continue
		}
		if d.deps.Ledger.Provides(s.Name) {
			asked, provided = append(asked, extended{s.Name, d.deps.Ledger.provided[s.Name].Name}), true
		} else if state.IsExtendedResource(s.Name) || strings.HasPrefix(string(s.Name), resourcev1.ResourceDeviceClassPrefix) {
			asked = append(asked, extended{name: s.Name})
		}
	}
	if !provided {
		return nil
	}
	return &special{pod: pod.Object, asked: asked, stale: d.deps.Ledger.claimFor(pod.Object), variants: make(map[string]*variant)}
}

// on returns the claim as a node needs it, nil if the node has all resources itself, or why the node does
// not fit.
func (s *special) on(node *v1.Node) (*variant, *plugin.Status) {
	if s.stale != nil {
		return nil, unresolvable("cannot schedule extended resource claim")
	}
	which, any := make([]byte, len(s.asked)), false
	for i := range s.asked {
		has, ok := node.Status.Allocatable[s.asked[i].name]
		switch {
		case s.asked[i].class != "" && has.IsZero():
			which[i], any = 'd', true
		case !ok:
			return nil, unresolvable("cannot fit resource")
		default:
			which[i] = '-'
		}
	}
	if !any {
		return nil, nil //nolint:nilnil // as said
	}
	v := s.variants[string(which)]
	if v == nil {
		v = &variant{}
		for i := range s.asked {
			if which[i] == 'd' {
				v.add(s.pod, s.asked[i])
			}
		}
		slices.SortFunc(v.requests, func(a, b resourcev1.DeviceRequest) int { return cmp.Compare(a.Name, b.Name) })
		v.claim = s.claim(v.requests)
		s.variants[string(which)] = v
	}
	return v, nil
}

// searchedName is the name of the claim until it gets its own, as kube-scheduler's messages have it. No object has it.
const searchedName = "<extended-resources>"

// claim returns the claim with some requests.
func (s *special) claim(requests []resourcev1.DeviceRequest) *resourcev1.ResourceClaim {
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace:    s.pod.Namespace,
		Name:         searchedName,
		GenerateName: s.pod.Name + "-extended-resources-",
		UID:          flightOf(s.pod.UID),
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: "v1", Kind: "Pod", Name: s.pod.Name, UID: s.pod.UID, Controller: ptr.To(true),
		}},
		Annotations: map[string]string{resourcev1.ExtendedResourceClaimAnnotation: "true"},
	}}
	claim.Spec.Devices.Requests = requests
	return claim
}

// add adds the requests for a resource. Containers that run at the same time have a request each. Those that
// run one after the other before, init containers without sidecars, use the devices of later containers, and one request
// for what is missing, which the largest of them decides.
func (v *variant) add(pod *v1.Pod, resource extended) {
	containers := slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
	early := func(i int) bool {
		return i < len(pod.Spec.InitContainers) && ptr.Deref(containers[i].RestartPolicy, "") != v1.ContainerRestartPolicyAlways
	}
	lasting := make([]*resourcev1.DeviceRequest, len(containers))
	for i := range containers {
		if !early(i) {
			lasting[i] = v.request(i, &containers[i], resource, nil)
		}
	}
	from := len(v.mappings)
	own := make(map[string]bool) // names of requests of init containers
	var largest *resourcev1.DeviceRequest
	for i := range containers {
		if !early(i) {
			continue
		}
		if r := v.request(i, &containers[i], resource, lasting[i:]); r != nil {
			own[r.Name] = true
			if largest == nil || largest.Exactly.Count < r.Exactly.Count {
				largest = r
			}
		}
	}
	if largest != nil {
		v.requests = append(v.requests, *largest)
		for i := from; i < len(v.mappings); i++ {
			if own[v.mappings[i].RequestName] {
				v.mappings[i].RequestName = largest.Name
			}
		}
	}
	for _, r := range lasting {
		if r != nil {
			v.requests = append(v.requests, *r)
		}
	}
}

// request returns a request for the devices that a container needs besides those of others, nil for none,
// and maps the container to all requests whose devices it uses.
func (v *variant) request(i int, container *v1.Container, resource extended, others []*resourcev1.DeviceRequest) *resourcev1.DeviceRequest {
	quantity := container.Resources.Requests[resource.name]
	missing, ok := quantity.AsInt64()
	if !ok || missing == 0 {
		return nil
	}
	uses := func(request string) {
		v.mappings = append(v.mappings, v1.ContainerExtendedResourceRequest{
			ContainerName: container.Name, ResourceName: string(resource.name), RequestName: request,
		})
	}
	for _, r := range others {
		if r == nil {
			continue
		}
		uses(r.Name)
		if missing -= r.Exactly.Count; missing <= 0 {
			return nil
		}
	}
	// The name has the position among the container's resources, sorted by name.
	position := 0
	for name := range container.Resources.Requests {
		if name < resource.name {
			position++
		}
	}
	r := &resourcev1.DeviceRequest{
		Name: fmt.Sprintf("container-%d-request-%d", i, position),
		Exactly: &resourcev1.ExactDeviceRequest{
			DeviceClassName: resource.class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: missing,
		},
	}
	uses(r.Name)
	return r
}

// nameOf returns the name of a claim to be created, in the form of those that the API server generates. It
// follows from the cycle's seed: a repeated request does not create a second claim.
func nameOf(claim *resourcev1.ResourceClaim, seed uint64) string {
	const longest, letters, alphabet = 58, 5, "bcdfghjklmnpqrstvwxz2456789"
	name := []byte(claim.GenerateName[:min(len(claim.GenerateName), longest)])
	sum := digest(seed, 0, claim.UID)
	for i := range letters {
		name = append(name, alphabet[int(sum[i])%len(alphabet)])
	}
	return string(name)
}

// status is the entry for a claim in a pod's status.
func (v *variant) status(claim string) *v1.PodExtendedResourceClaimStatus {
	return &v1.PodExtendedResourceClaimStatus{RequestMappings: v.mappings, ResourceClaimName: claim}
}

// bindSpecial creates the claim, allocates and reserves it, and names it in the pod's status. The devices count as
// allocated by the binding cycle until the watch has told of the claim.
func (d *DynamicResources) bindSpecial(running context.Context, pl *plugin.Placement, c *podClaim) error {
	claim := c.object.DeepCopy()
	claim.UID = "" // it was that of the flight
	now, err := d.deps.Writer.Create(pl.Context, claim)
	if err != nil {
		return fmt.Errorf("create claim for extended resources %s/%s: %w", claim.Namespace, claim.Name, err)
	}
	unmade := c.object
	c.object = now
	if err := d.complete(pl, c); err != nil {
		// The loop may not know of the claim yet, and would take its devices for free. At its end,
		// that no longer matters.
		select {
		case <-d.deps.Writer.Delete(c.object):
		case <-running.Done():
		}
		c.object = unmade
		return err
	}
	return nil
}

// complete allocates and reserves a claim that was created, names it in the pod's status, and waits until the
// watch has told of it.
func (d *DynamicResources) complete(pl *plugin.Placement, c *podClaim) error {
	if err := d.bind(pl, c); err != nil {
		return err
	}
	now := c.object
	if err := d.deps.Writer.Tell(pl.Context, pl.Pod, c.special.status(now.Name)); err != nil {
		return fmt.Errorf("update pod %s/%s ExtendedResourceClaimStatus: %w", pl.Pod.Namespace, pl.Pod.Name, err)
	}
	err := d.deps.Waiter.Await(pl.Context, extendedTimeout, func() (bool, error) {
		seen := d.deps.Devices.Claims.ResourceClaim(now.Namespace, now.Name)
		return seen != nil && seen.Status.Allocation != nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait until claim %s/%s is seen: %w", now.Namespace, now.Name, err)
	}
	return nil
}
