package record

import (
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/state"
)

// otherAnnotations is the annotation of a recorded node that counts the changes of annotations that are
// not recorded: such a change is an event for plugins.
const otherAnnotations = "berth.dev/other-annotations"

// redactor leaves out of objects what no plugin may have read: environment, commands, probes, most
// annotations, parameters of storage and of devices.
type redactor struct {
	keys     map[string]bool
	prefixes []string
	seed     maphash.Seed
	others   map[string]*changes // by node
	// Copies that the last event has.
	pods       arena[state.Pod]
	nodes      arena[state.Node]
	podObjects arena[v1.Pod]
	containers arena[v1.Container]
	podStatus  arena[v1.PodCondition]
	nodeStatus arena[v1.NodeCondition]
	nodeObject arena[v1.Node]
}

// changes counts the versions of something that is not recorded.
type changes struct {
	hash  uint64
	count int
}

func newRedactor() *redactor {
	return &redactor{keys: make(map[string]bool), seed: maphash.MakeSeed(), others: make(map[string]*changes)}
}

// record sets which annotations are recorded from now on.
func (r *redactor) record(annotations []string) {
	for _, key := range annotations {
		if prefix, is := strings.CutSuffix(key, "*"); is {
			r.prefixes = append(r.prefixes, prefix)
		} else {
			r.keys[key] = true
		}
	}
}

// event returns what is written of an event. It is valid until the next call.
func (r *redactor) event(e inbox.Event) inbox.Event {
	r.pods.reset()
	r.nodes.reset()
	r.podObjects.reset()
	r.nodeObject.reset()
	r.containers.reset()
	r.podStatus.reset()
	r.nodeStatus.reset()
	switch e := e.(type) {
	case *inbox.Settings:
		r.record(e.Annotations)
	case *inbox.Swap:
		r.record(e.Annotations)
	case *inbox.Node:
		return &inbox.Node{Node: r.nodes.copy(&state.Node{Object: r.countedNode(e.Node.Object)})}
	case *inbox.NodeGone:
		delete(r.others, e.Name)
	case *inbox.Pods:
		return &inbox.Pods{Pods: r.ofPods(e.Pods)}
	case *inbox.Queued:
		out, pod := *e, *e.Pod
		pod.Pod = r.ofPod(pod.Pod)
		out.Pod, out.Latest = &pod, r.ofPod(e.Latest)
		return &out
	case *inbox.Assumed:
		return &inbox.Assumed{Pod: r.ofPod(e.Pod), Patch: e.Patch}
	case *inbox.Missed:
		out := *e
		out.Object.OldPod, out.Object.NewPod = r.ofPod(e.Object.OldPod), r.ofPod(e.Object.NewPod)
		out.Object.OldNode, out.Object.NewNode = r.ofNode(e.Object.OldNode), r.ofNode(e.Object.NewNode)
		r.pair(&out.Object)
		return &out
	case *inbox.InFlight:
		out := *e
		out.Pod, out.NodeObject, out.Namespace, out.Beside = r.ofPod(e.Pod), r.ofNode(e.NodeObject), r.ofNamespace(e.Namespace), r.ofPods(e.Beside)
		return &out
	case *inbox.Namespace:
		return &inbox.Namespace{Namespace: r.ofNamespace(e.Namespace)}
	case *inbox.Object:
		return &inbox.Object{Object: r.object(e.Object), Early: e.Early}
	case *inbox.ObjectGone:
		return &inbox.ObjectGone{Object: r.object(e.Object)}
	case *inbox.Written:
		return &inbox.Written{Claim: r.object(e.Claim).(*resourcev1.ResourceClaim)}
	case *inbox.Budgets:
		out := &inbox.Budgets{}
		for _, b := range e.List {
			out.List = append(out.List, r.object(b).(*policyv1.PodDisruptionBudget))
		}
		return out
	case *inbox.Raise:
		out := *e
		r.pair(&out.Object)
		return &out
	}
	return e
}

// pair replaces objects of other kinds than nodes and pods.
func (r *redactor) pair(o *state.Object) {
	for _, o := range []*any{&o.Old, &o.New} {
		if object, ok := (*o).(metav1.Object); ok {
			*o = r.object(object)
		}
	}
}

func (r *redactor) ofPods(pods []*state.Pod) []*state.Pod {
	r.pods.grow(len(pods))
	r.podObjects.grow(len(pods))
	out := make([]*state.Pod, len(pods))
	for i, p := range pods {
		out[i] = r.ofPod(p)
	}
	return out
}

// ofPod returns what is written of a pod, which may be nil. ofNode and ofNamespace are like it.
func (r *redactor) ofPod(p *state.Pod) *state.Pod {
	if p == nil {
		return nil
	}
	return r.pods.copy(&state.Pod{Object: r.pod(p.Object)})
}

func (r *redactor) ofNode(n *state.Node) *state.Node {
	if n == nil {
		return nil
	}
	return r.nodes.copy(&state.Node{Object: r.node(n.Object)})
}

func (r *redactor) ofNamespace(n *state.Namespace) *state.Namespace {
	if n == nil {
		return nil
	}
	object := *n.Object
	object.ObjectMeta = r.meta(&object.ObjectMeta)
	object.Status.Conditions = nil
	return &state.Namespace{Object: &object}
}

// keeps reports whether an annotation is recorded. That of kubectl has the whole object, with the environment of pods, so
// a prefix does not mean it.
func (r *redactor) keeps(key string) bool {
	return r.keys[key] || key != v1.LastAppliedConfigAnnotation &&
		slices.ContainsFunc(r.prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// meta returns metadata with the annotations that are recorded.
func (r *redactor) meta(m *metav1.ObjectMeta) metav1.ObjectMeta {
	out := *m
	out.ManagedFields, out.GenerateName = nil, ""
	out.SelfLink = "" //nolint:staticcheck // it is deprecated, and left out
	out.Annotations = nil
	for key, value := range m.Annotations {
		if r.keeps(key) {
			metav1.SetMetaDataAnnotation(&out, key, value)
		}
	}
	return out
}

func (r *redactor) node(object *v1.Node) *v1.Node {
	out := r.nodeObject.copy(object)
	out.ObjectMeta = r.meta(&object.ObjectMeta)
	out.Spec.ConfigSource = nil //nolint:staticcheck // it is deprecated, and left out
	out.Status.NodeInfo, out.Status.Config, out.Status.Addresses = v1.NodeSystemInfo{}, nil, nil
	out.Status.VolumesInUse = nil
	out.Status.Conditions = r.nodeStatus.clone(object.Status.Conditions)
	for i := range out.Status.Conditions {
		out.Status.Conditions[i].Message = ""
	}
	return out
}

// countedNode returns a new version of a node, with the number of changes of what is not recorded.
func (r *redactor) countedNode(object *v1.Node) *v1.Node {
	out := r.node(object)
	if len(out.Annotations) == len(object.Annotations) {
		delete(r.others, object.Name)
		return out
	}
	var hash maphash.Hash
	hash.SetSeed(r.seed)
	for _, key := range slices.Sorted(maps.Keys(object.Annotations)) {
		if !r.keeps(key) {
			_, _ = hash.WriteString(key + "\x00" + object.Annotations[key] + "\x00")
		}
	}
	c := r.others[object.Name]
	if c == nil {
		c = &changes{}
		r.others[object.Name] = c
	}
	if sum := hash.Sum64(); sum != c.hash {
		c.hash = sum
		c.count++
	}
	metav1.SetMetaDataAnnotation(&out.ObjectMeta, otherAnnotations, strconv.Itoa(c.count))
	return out
}

func (r *redactor) pod(object *v1.Pod) *v1.Pod {
	out := r.podObjects.copy(object)
	out.ObjectMeta = r.meta(&object.ObjectMeta)
	out.Spec.Containers = r.reduced(object.Spec.Containers)
	out.Spec.InitContainers = r.reduced(object.Spec.InitContainers)
	out.Spec.Volumes = r.volumes(object.Spec.Volumes)
	out.Spec.EphemeralContainers = nil
	out.Spec.ImagePullSecrets, out.Spec.HostAliases, out.Spec.DNSConfig = nil, nil, nil
	out.Status.Conditions = r.podStatus.clone(object.Status.Conditions)
	for i := range out.Status.Conditions {
		out.Status.Conditions[i].Message = ""
	}
	out.Status.Message, out.Status.VolumeHealth = "", nil
	out.Status.ContainerStatuses = statuses(object.Status.ContainerStatuses)
	out.Status.InitContainerStatuses = statuses(object.Status.InitContainerStatuses)
	out.Status.EphemeralContainerStatuses = nil
	return out
}

// reduced keeps what decides where a pod can run.
func (r *redactor) reduced(list []v1.Container) []v1.Container {
	out := r.containers.clone(list)
	for i := range out {
		c := &out[i]
		c.Env, c.EnvFrom, c.Command, c.Args, c.WorkingDir = nil, nil, nil, nil, ""
		c.LivenessProbe, c.ReadinessProbe, c.StartupProbe, c.Lifecycle = nil, nil, nil, nil
		c.TerminationMessagePath, c.TerminationMessagePolicy = "", ""
	}
	return out
}

// statuses keeps the resources.
func statuses(list []v1.ContainerStatus) (out []v1.ContainerStatus) {
	for i := range list {
		s := &list[i]
		out = append(out, v1.ContainerStatus{Name: s.Name, AllocatedResources: s.AllocatedResources, Resources: s.Resources})
	}
	return out
}

// object returns an object of a kind that no plugin sees, as Berth itself reads it.
func (r *redactor) object(object metav1.Object) metav1.Object {
	switch x := object.(type) {
	case *v1.Node:
		return r.node(x)
	case *v1.Pod:
		return r.pod(x)
	}
	out := object.(runtime.Object).DeepCopyObject().(metav1.Object)
	r.strip(out)
	switch x := out.(type) {
	case *storagev1.StorageClass:
		x.Parameters, x.MountOptions = nil, nil
	case *v1.PersistentVolume:
		volume(&x.Spec)
		x.Status.Message = ""
	case *v1.PersistentVolumeClaim:
		x.Status.Conditions, x.Status.HealthStatus = nil, nil
	case *storagev1.CSINode:
		x.Status = storagev1.CSINodeStatus{}
	case *policyv1.PodDisruptionBudget:
		x.Status.Conditions = nil
	case *storagev1.VolumeAttachment:
		if inline := x.Spec.Source.InlineVolumeSpec; inline != nil {
			volume(inline)
		}
		x.Status.AttachmentMetadata, x.Status.AttachError, x.Status.DetachError = nil, nil, nil
	case *v1.Service:
		x.Status = v1.ServiceStatus{}
	case *appsv1.ReplicaSet:
		x.Spec.Template, x.Status = v1.PodTemplateSpec{}, appsv1.ReplicaSetStatus{}
	case *appsv1.StatefulSet:
		x.Spec.Template, x.Spec.VolumeClaimTemplates, x.Status = v1.PodTemplateSpec{}, nil, appsv1.StatefulSetStatus{}
	case *v1.ReplicationController:
		x.Spec.Template, x.Status = nil, v1.ReplicationControllerStatus{}
	case *resourcev1.ResourceClaim:
		return r.resourceClaim(x)
	case *resourcev1.DeviceTaintRule:
		x.Status = resourcev1.DeviceTaintRuleStatus{}
	case *resourcev1.DeviceClass:
		for i := range x.Spec.Config {
			opaque(&x.Spec.Config[i].DeviceConfiguration)
		}
	}
	return out
}

// strip leaves out of the metadata of such an object, which is a copy, what is not recorded.
func (r *redactor) strip(m metav1.Object) {
	m.SetManagedFields(nil)
	kept := m.GetAnnotations()
	maps.DeleteFunc(kept, func(key, _ string) bool { return !r.keeps(key) && !ofKubernetes(key) })
	m.SetAnnotations(kept)
}

// ofKubernetes reports whether an annotation is one with which Kubernetes says how to treat an object, such as the node
// that was chosen for a volume. kubectl's has the whole object.
func ofKubernetes(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	return (domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io")) && key != v1.LastAppliedConfigAnnotation
}

// volume leaves out what only a driver understands.
func volume(s *v1.PersistentVolumeSpec) {
	s.MountOptions = nil
	if s.CSI != nil {
		s.CSI.VolumeAttributes = nil
	}
	if s.FlexVolume != nil {
		s.FlexVolume.Options = nil
	}
}

// volumes leaves out of a pod's volumes what only a driver understands, and other annotations of claims to be made.
func (r *redactor) volumes(list []v1.Volume) []v1.Volume {
	out := slices.Clone(list)
	for i := range out {
		v := &out[i]
		if v.CSI != nil {
			own := *v.CSI
			own.VolumeAttributes = nil
			v.CSI = &own
		}
		if v.FlexVolume != nil {
			own := *v.FlexVolume
			own.Options = nil
			v.FlexVolume = &own
		}
		if v.GitRepo != nil { // its URL may have a password
			v.GitRepo = &v1.GitRepoVolumeSource{}
		}
		if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
			v.Ephemeral = v.Ephemeral.DeepCopy()
			r.strip(&v.Ephemeral.VolumeClaimTemplate.ObjectMeta)
		}
	}
	return out
}

func (r *redactor) resourceClaim(x *resourcev1.ResourceClaim) *resourcev1.ResourceClaim {
	out := *x
	out.Spec.Devices.Config = slices.Clone(x.Spec.Devices.Config)
	for i := range out.Spec.Devices.Config {
		opaque(&out.Spec.Devices.Config[i].DeviceConfiguration)
	}
	if x.Status.Allocation != nil {
		allocation := *x.Status.Allocation
		allocation.Devices.Config = slices.Clone(allocation.Devices.Config)
		for i := range allocation.Devices.Config {
			opaque(&allocation.Devices.Config[i].DeviceConfiguration)
		}
		out.Status.Allocation = &allocation
	}
	out.Status.Devices = slices.Clone(x.Status.Devices)
	for i := range out.Status.Devices {
		r.deviceStatus(&out.Status.Devices[i])
	}
	return &out
}

// deviceStatus leaves out of a copy of what a driver says of a device all but conditions. A change of the rest is an event for
// plugins, so a hash of it stays, under a seed that nobody can know.
func (r *redactor) deviceStatus(d *resourcev1.AllocatedDeviceStatus) {
	if d.Data == nil && d.NetworkData == nil && len(d.Conditions) == 0 {
		return
	}
	var hash maphash.Hash
	hash.SetSeed(r.seed)
	if d.Data != nil {
		_, _ = hash.Write(d.Data.Raw)
	}
	_, _ = hash.WriteString(d.NetworkData.String())
	d.Conditions = slices.Clone(d.Conditions)
	for i := range d.Conditions {
		_, _ = hash.WriteString(d.Conditions[i].Message + "\x00")
		d.Conditions[i].Message = ""
	}
	d.NetworkData, d.Data = nil, &runtime.RawExtension{Raw: fmt.Appendf(nil, `"%x"`, hash.Sum64())}
}

// opaque leaves out what only a driver understands.
func opaque(c *resourcev1.DeviceConfiguration) {
	if c.Opaque != nil {
		c.Opaque = &resourcev1.OpaqueDeviceConfiguration{Driver: c.Opaque.Driver}
	}
}
