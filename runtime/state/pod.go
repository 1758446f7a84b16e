package state

import (
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	declared "k8s.io/component-helpers/nodedeclaredfeatures"
	resourcehelper "k8s.io/component-helpers/resource"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/quantity"
)

// The assumed requests of a container without requests, for scores, as in kube-scheduler.
const (
	// DefaultMilliCPURequest is in thousandths of a CPU.
	DefaultMilliCPURequest int64 = 100
	// DefaultMemoryRequest is in bytes.
	DefaultMemoryRequest int64 = 200 * 1024 * 1024
)

// AnyIP is the host IP that means every address of a node.
const AnyIP = "0.0.0.0"

// HostPort is a port of the node that a pod uses.
type HostPort struct {
	IP       string
	Port     uint16
	Protocol wire.Protocol
}

// Pod is a pod decoded once: what plugins need repeatedly is compiled. A Pod is immutable; an
// updated object gets a new Pod.
type Pod struct {
	// Object is the API object. It is shared with informers: never change it.
	Object *v1.Pod

	UID       types.UID
	Namespace string
	Name      string
	Profile   string // spec.schedulerName
	Priority  int32

	// Requests are the pod's requests, including sidecars, overhead, pod-level resources and
	// in-place resizes (KEP-753, KEP-688, KEP-2837, KEP-1287). Pods is 1.
	Requests Resources
	// NonZeroCPU (milli-CPU) and NonZeroMemory (bytes) are the requests, with defaults for
	// containers without requests; scores use them.
	NonZeroCPU, NonZeroMemory int64
	// ScoredCPU and ScoredMemory are the same as kube-scheduler counts them for the pod to be
	// placed. They differ from the counts for pods on nodes if pod-level resources (KEP-2837)
	// leave one resource to the containers.
	ScoredCPU, ScoredMemory int64

	// Selector is the compiled spec.nodeSelector; all requirements must match.
	Selector []Requirement
	// HasRequired distinguishes required node affinity without a term that can match (which
	// matches nothing) from no required node affinity.
	HasRequired bool
	// Required has the ORed terms of required node affinity.
	Required []Term
	// Preferred has the terms of preferred node affinity.
	Preferred []Term
	// Spread is spec.topologySpreadConstraints.
	Spread []SpreadConstraint
	// Affinity has the terms of pod affinity and anti-affinity; nil if there are none.
	Affinity *PodAffinity
	// Tolerations is spec.tolerations.
	Tolerations []v1.Toleration
	// HostPorts are the ports that the pod's containers and sidecars bind on the node.
	HostPorts []HostPort
	// Images are the normalized images of init containers and containers, one entry per
	// container.
	Images []string
	// Features are the features in the spec.
	Features Feature
	// Needs are the features that a node must declare to run the pod (KEP-5328), as
	// kube-scheduler v1.37 infers them from the spec; NeedsErr is set if that fails.
	Needs    declared.FeatureSet
	NeedsErr error
	// AssignedAt is when the pod got its node, in seconds since 1970: the time of the condition PodScheduled of the API, or the host's
	// while the API does not say; 0 if neither is known.
	AssignedAt int64
}

// NewPod decodes a pod.
func NewPod(object *v1.Pod) *Pod { return NewCopy(object, nil) }

// NewCopy decodes a pod that may be another copy of what of (optional) was decoded from: affinity that both share in memory is not
// compiled again. Ten thousand copies with hundreds of terms take gigabytes otherwise.
func NewCopy(object *v1.Pod, of *Pod) *Pod {
	p := &Pod{
		Object:      object,
		UID:         object.UID,
		Namespace:   object.Namespace,
		Name:        object.Name,
		Profile:     object.Spec.SchedulerName,
		Priority:    corev1helpers.PodPriority(object),
		Selector:    CompileNodeSelector(object.Spec.NodeSelector),
		Tolerations: object.Spec.Tolerations,
		HostPorts:   hostPorts(object),
		Images:      images(object),
		Features:    FeaturesOf(object),
		Spread:      CompileSpread(object.Spec.TopologySpreadConstraints, object.Labels),
		AssignedAt:  assignedAt(object),
	}
	p.Needs, p.NeedsErr = needs(&declared.PodInfo{Spec: &object.Spec})
	p.Requests, p.NonZeroCPU, p.NonZeroMemory = requests(object)
	p.ScoredCPU, p.ScoredMemory = p.NonZeroCPU, p.NonZeroMemory
	if resourcehelper.IsPodLevelRequestsSet(object) {
		list := resourcehelper.PodRequests(bounded(object), resourcehelper.PodResourcesOptions{
			UseStatusResources: true,
			InPlacePodLevelResourcesVerticalScalingEnabled: true,
			NonMissingContainerRequests:                    defaultRequests(),
		})
		p.ScoredCPU, p.ScoredMemory = quantity.Milli(*list.Cpu()), quantity.Whole(*list.Memory())
	}
	if r := &p.Requests; r.MilliCPU != 0 || r.Memory != 0 || r.EphemeralStorage != 0 || len(r.Scalars) > 0 {
		p.Features |= FeatureRequests
	}
	p.Requests.Pods = 1
	if len(p.HostPorts) > 0 {
		p.Features |= FeatureHostPorts
	}
	if of != nil && object.Spec.Affinity != nil && object.Spec.Affinity == of.Object.Spec.Affinity && object.Namespace == of.Namespace {
		p.Affinity, p.HasRequired, p.Required, p.Preferred = of.Affinity, of.HasRequired, of.Required, of.Preferred
		return p
	}
	p.Affinity = compilePodAffinity(object)
	if a := object.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		if required := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
			p.HasRequired = true
			p.Required = CompileTerms(required.NodeSelectorTerms)
		}
		p.Preferred = CompilePreferred(a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return p
}

// Key returns "namespace/name".
func (p *Pod) Key() string { return p.Namespace + "/" + p.Name }

// NodeName returns spec.nodeName, empty while the pod is not bound.
func (p *Pod) NodeName() string { return p.Object.Spec.NodeName }

// CreatedAt returns metadata.creationTimestamp in seconds since 1970; 0 if there is none.
func (p *Pod) CreatedAt() int64 { return seconds(p.Object.CreationTimestamp) }

// seconds returns a time in seconds since 1970; 0 for none.
func seconds(t metav1.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// State returns whether the pod runs and is ready, as bits of abi.PlacedPodState.
func (p *Pod) State() (bits uint8) {
	if p.Object.Status.Phase == v1.PodRunning {
		bits |= abi.PodRunning
	}
	if condition(p.Object, v1.PodReady) != nil {
		bits |= abi.PodReady
	}
	return bits
}

// assignedAt returns since when a pod has the condition PodScheduled, which the API server sets with the node; 0 if it has not.
func assignedAt(object *v1.Pod) int64 {
	if c := condition(object, v1.PodScheduled); c != nil {
		return seconds(c.LastTransitionTime)
	}
	return 0
}

// condition returns a condition that is True; nil if there is none.
func condition(object *v1.Pod, kind v1.PodConditionType) *v1.PodCondition {
	for i := range object.Status.Conditions {
		if c := &object.Status.Conditions[i]; c.Type == kind && c.Status == v1.ConditionTrue {
			return c
		}
	}
	return nil
}

// Assigned returns a copy of the pod that got its node at a time, in seconds since 1970.
func (p *Pod) Assigned(at int64) *Pod {
	c := *p
	c.AssignedAt = at
	return &c
}

// Scheduled returns the pod with AssignedAt in its object, as the API server writes it there. A checkpoint has only objects.
func (p *Pod) Scheduled() *Pod {
	if p.AssignedAt == assignedAt(p.Object) {
		return p
	}
	c, object := *p, *p.Object
	object.Status.Conditions = slices.DeleteFunc(slices.Clone(object.Status.Conditions), func(c v1.PodCondition) bool { return c.Type == v1.PodScheduled })
	object.Status.Conditions = append(object.Status.Conditions, v1.PodCondition{
		Type: v1.PodScheduled, Status: v1.ConditionTrue, LastTransitionTime: metav1.Unix(p.AssignedAt, 0),
	})
	c.Object = &object
	return &c
}

// PreemptionPolicy returns spec.preemptionPolicy, or the API's default.
func (p *Pod) PreemptionPolicy() v1.PreemptionPolicy {
	if policy := p.Object.Spec.PreemptionPolicy; policy != nil {
		return *policy
	}
	return v1.PreemptLowerPriority
}

// Group returns spec.schedulingGroup.podGroupName; empty for none.
func (p *Pod) Group() string {
	if g := p.Object.Spec.SchedulingGroup; g != nil && g.PodGroupName != nil {
		return *g.PodGroupName
	}
	return ""
}

// ResizeDeferred reports whether the pod runs on a node whose kubelet has put a resize in place off until there is room for it
// (KEP-1287), and is not being deleted.
func (p *Pod) ResizeDeferred() bool {
	return p.NodeName() != "" && p.Object.DeletionTimestamp == nil && resourcehelper.IsPodResizeDeferred(p.Object)
}

// NominatedNode returns status.nominatedNodeName.
func (p *Pod) NominatedNode() string { return p.Object.Status.NominatedNodeName }

// On returns the pod as bound to a node, with a patch applied. It copies what it changes and
// shares the rest, because objects are immutable.
func (p *Pod) On(node string, patch Patch) *Pod {
	c, object := *p, *p.Object
	object.Spec.NodeName = node
	patch.Apply(&object)
	c.Object = &object
	if len(patch.Labels) > 0 { // matchLabelKeys may refer to them
		c.Spread = CompileSpread(object.Spec.TopologySpreadConstraints, object.Labels)
	}
	return &c
}

// Nominated returns a copy of the pod with a nominated node.
func (p *Pod) Nominated(node string) *Pod {
	c, object := *p, *p.Object
	object.Status.NominatedNodeName = node
	c.Object = &object
	return &c
}

// Patch has the annotations and labels that a plugin sets on a pod at Reserve. Empty values are
// set, too.
type Patch struct {
	Annotations map[string]string
	Labels      map[string]string
}

// Empty reports whether the patch changes nothing.
func (p Patch) Empty() bool { return len(p.Annotations) == 0 && len(p.Labels) == 0 }

// Merge returns a patch that applies p, then o.
func (p Patch) Merge(o Patch) Patch {
	return Patch{Annotations: merged(p.Annotations, o.Annotations), Labels: merged(p.Labels, o.Labels)}
}

// Apply applies the patch to an object that the caller owns.
func (p Patch) Apply(object *v1.Pod) {
	if len(p.Annotations) > 0 {
		object.Annotations = merged(object.Annotations, p.Annotations)
	}
	if len(p.Labels) > 0 {
		object.Labels = merged(object.Labels, p.Labels)
	}
}

func merged(a, b map[string]string) map[string]string {
	out := make(map[string]string, len(a)+len(b))
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}

func requests(pod *v1.Pod) (r Resources, cpu, memory int64) {
	if list, ok := only(pod); ok {
		r, cpu, memory = NewResources(list), DefaultMilliCPURequest, DefaultMemoryRequest
		if q, ok := list[v1.ResourceCPU]; ok {
			cpu = quantity.Milli(q)
		}
		if q, ok := list[v1.ResourceMemory]; ok {
			memory = quantity.Whole(q)
		}
		return r, cpu, memory
	}
	pod = bounded(pod)
	options := resourcehelper.PodResourcesOptions{
		UseStatusResources: true,
		InPlacePodLevelResourcesVerticalScalingEnabled: true,
	}
	list := resourcehelper.PodRequests(pod, options)
	options.NonMissingContainerRequests = missing(pod, list)
	nonZero := list
	if len(options.NonMissingContainerRequests) > 0 {
		nonZero = resourcehelper.PodRequests(pod, options)
	}
	return NewResources(list), quantity.Milli(*nonZero.Cpu()), quantity.Whole(*nonZero.Memory())
}

// only returns the requests of a pod that has one container and nothing else that counts. That
// is most pods, and adding up takes kilobytes of maps.
func only(pod *v1.Pod) (list v1.ResourceList, ok bool) {
	s := &pod.Spec
	if len(s.Containers) != 1 || len(s.InitContainers) > 0 || len(s.Overhead) > 0 || s.Resources != nil {
		return nil, false
	}
	for i := range pod.Status.ContainerStatuses {
		if status := &pod.Status.ContainerStatuses[i]; status.Resources != nil || status.AllocatedResources != nil {
			return nil, false
		}
	}
	if pod.Status.Resources != nil || pod.Status.AllocatedResources != nil || resourcehelper.IsPodResizeInfeasible(pod) {
		return nil, false
	}
	return s.Containers[0].Resources.Requests, true
}

// defaultRequests returns the assumed requests of a container without requests, for scores.
func defaultRequests() v1.ResourceList {
	return v1.ResourceList{
		v1.ResourceCPU:    *resource.NewMilliQuantity(DefaultMilliCPURequest, resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(DefaultMemoryRequest, resource.DecimalSI),
	}
}

// missing returns the assumed requests of containers without requests. With pod-level resources
// (KEP-2837), only resources that the pod leaves open are assumed.
func missing(pod *v1.Pod, list v1.ResourceList) v1.ResourceList {
	out := defaultRequests()
	if resourcehelper.IsPodLevelRequestsSet(pod) {
		for name := range out {
			if _, set := list[name]; set {
				delete(out, name)
			}
		}
	}
	return out
}

// hostPorts returns the ports of containers, and of sidecars (KEP-753).
func hostPorts(pod *v1.Pod) []HostPort {
	var out []HostPort
	add := func(c *v1.Container) {
		for i := range c.Ports {
			port := &c.Ports[i]
			if port.HostPort <= 0 {
				continue
			}
			ip := port.HostIP
			if ip == "" {
				ip = AnyIP
			}
			out = append(out, HostPort{IP: ip, Port: uint16(port.HostPort), Protocol: protocol(port.Protocol)})
		}
	}
	for i := range pod.Spec.Containers {
		add(&pod.Spec.Containers[i])
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways {
			add(c)
		}
	}
	return out
}

func protocol(p v1.Protocol) wire.Protocol {
	switch p {
	case v1.ProtocolUDP:
		return wire.UDP
	case v1.ProtocolSCTP:
		return wire.SCTP
	}
	return wire.TCP
}

func images(pod *v1.Pod) []string {
	out := make([]string, 0, len(pod.Spec.InitContainers)+len(pod.Spec.Containers))
	for i := range pod.Spec.InitContainers {
		out = append(out, NormalImageName(pod.Spec.InitContainers[i].Image))
	}
	for i := range pod.Spec.Containers {
		out = append(out, NormalImageName(pod.Spec.Containers[i].Image))
	}
	return out
}

// VolumeImage names the images of a pod's image volumes (KEP-4639), where a plugin reads no
// other volumes.
const VolumeImage = "image"

// NormalImageName appends ":latest" to an image name that has neither tag nor digest, as the
// CRI reports it.
func NormalImageName(name string) string {
	if strings.LastIndex(name, ":") <= strings.LastIndex(name, "/") {
		return name + ":latest"
	}
	return name
}

// SortedKeys returns the sorted keys of a map.
func SortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
