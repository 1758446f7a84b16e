package sim

import (
	"context"
	"fmt"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/hostplugins"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/storage"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/sim/input"
)

// volumes simulates the API server and the controllers for storage objects and resource claims, in
// the simplest way:
//
//   - a volume that no claim uses is available;
//   - a claim and a volume are bound if one of them names the other;
//   - a claim of a class that binds immediately is bound to the smallest suitable volume, or
//     else one is provisioned, which is reachable from everywhere;
//   - if a claim has a selected node, a volume is provisioned: it is reachable from nodes that
//     equal this one in the topology keys of the class's driver, and its size is subtracted
//     from a storage capacity;
//   - a pod's ephemeral volumes get their claims when the pod appears, and so do its resource claims
//     from templates.
//
// No volume is ever unbound, released or detached. Drivers say nothing about devices.
type volumes struct {
	api     *apiServer
	store   *storage.Store
	nodes   map[string]*v1.Node
	classes []*storagev1.StorageClass
	claims  []types.NamespacedName // in the order in which they appeared
	pods    map[types.NamespacedName]bool
	// templates of resource claims.
	templates map[types.NamespacedName]*resourcev1.ResourceClaimTemplate
	// special are the claims for extended resources, by pod.
	special map[types.UID]types.NamespacedName
	version int
	tell    *scheduler.Scheduler // nil during setup
}

var (
	_ objects.VolumeWriter  = (*volumes)(nil)
	_ objects.StorageWaiter = (*volumes)(nil)
	_ objects.Existence     = (*volumes)(nil)
)

func newVolumes(w *apiServer, nodes []*v1.Node) *volumes {
	v := &volumes{
		api: w, store: storage.New(), nodes: make(map[string]*v1.Node), pods: make(map[types.NamespacedName]bool),
		templates: make(map[types.NamespacedName]*resourcev1.ResourceClaimTemplate), special: make(map[types.UID]types.NamespacedName),
	}
	for _, n := range nodes {
		v.nodes[n.Name] = n
	}
	return v
}

// plugins returns the dependencies of volume plugins.
func (v *volumes) plugins() hostplugins.Storage {
	return hostplugins.Storage{Objects: v.store.Objects(), Writer: v, Waiter: v, Exists: v}
}

// setUp stores the input objects and does what the controllers would have done by now.
func (v *volumes) setUp(all []metav1.Object) error {
	for _, o := range all {
		switch x := o.(type) {
		case *v1.PersistentVolumeClaim:
			v.claims = append(v.claims, types.NamespacedName{Namespace: x.Namespace, Name: x.Name})
			v.write(x.DeepCopy())
		case *v1.PersistentVolume:
			x = x.DeepCopy()
			if x.Spec.ClaimRef == nil && (x.Status.Phase == "" || x.Status.Phase == v1.VolumePending) {
				x.Status.Phase = v1.VolumeAvailable
			}
			v.write(x)
		case *storagev1.StorageClass:
			v.classes = append(v.classes, x)
			v.write(x.DeepCopy())
		case *storagev1.CSINode:
			v.write(x.DeepCopy())
		case *storagev1.CSIDriver:
			v.write(x.DeepCopy())
		case *storagev1.CSIStorageCapacity:
			v.write(x.DeepCopy())
		case *storagev1.VolumeAttachment:
			v.write(x.DeepCopy())
		case *resourcev1.ResourceClaim:
			v.write(x.DeepCopy())
		case *resourcev1.ResourceSlice:
			v.write(x.DeepCopy())
		case *resourcev1.DeviceClass:
			v.write(x.DeepCopy())
		case *resourcev1.DeviceTaintRule:
			v.write(x.DeepCopy())
		case *resourcev1.ResourceClaimTemplate:
			v.templates[types.NamespacedName{Namespace: x.Namespace, Name: x.Name}] = x
		default:
			return fmt.Errorf("%T is not a storage object: leave it out of Config.Storage", o)
		}
	}
	for _, name := range v.claims {
		v.settle(name)
	}
	return nil
}

// Storage returns the objects of Config.Storage and those that were made since, as they are now.
func (s *Sim) Storage() []metav1.Object {
	out := s.api.volumes.store.All()
	for _, o := range s.config.Storage {
		if template, ok := o.(*resourcev1.ResourceClaimTemplate); ok { // no plugin sees them
			out = append(out, template)
		}
	}
	return out
}

// write stores an object as its next version and informs the scheduler.
func (v *volumes) write(o metav1.Object) {
	v.version++
	o.SetResourceVersion(strconv.Itoa(v.version))
	change := v.store.Set(o)
	v.api.stored(o)
	if v.tell != nil {
		v.api.changes++
		v.tell.Event(change.Event, change.Object)
	}
}

// appears adds a pod: its ephemeral volumes get their claims (KEP-1698), and so do its resource
// claims from templates (KEP-4381), whose names are in the status of the pod that it returns.
func (v *volumes) appears(pod *v1.Pod) *v1.Pod {
	pod = v.generate(pod)
	v.pods[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] = true
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		if volume.Ephemeral == nil || volume.Ephemeral.VolumeClaimTemplate == nil {
			continue
		}
		name := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name + "-" + volume.Name}
		if v.store.Claim(name.Namespace, name.Name) != nil {
			continue
		}
		template, controls := volume.Ephemeral.VolumeClaimTemplate, true
		claim := &v1.PersistentVolumeClaim{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
		claim.Namespace, claim.Name = name.Namespace, name.Name
		claim.UID = types.UID("sim-persistentvolumeclaim-" + name.Namespace + "-" + name.Name)
		claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: &controls}}
		if class := input.DefaultStorageClass(v.classes); claim.Spec.StorageClassName == nil && class != "" {
			claim.Spec.StorageClassName = &class
		}
		if node := pod.Spec.NodeName; node != "" {
			metav1.SetMetaDataAnnotation(&claim.ObjectMeta, annSelectedNode, node)
		}
		v.write(claim)
		v.settle(name)
	}
	return pod
}

// disappears removes a pod. Its claims stay, but resource claims that no other pod uses give their
// devices up.
func (v *volumes) disappears(pod *v1.Pod) {
	v.releaseAll(pod)
	delete(v.pods, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
}

// UpdateVolume implements objects.VolumeWriter.
func (v *volumes) UpdateVolume(_ context.Context, pv *v1.PersistentVolume) (*v1.PersistentVolume, error) {
	now := v.store.Volume(pv.Name)
	if now == nil || now.ResourceVersion != pv.ResourceVersion {
		return nil, fmt.Errorf("volume %s has changed", pv.Name)
	}
	pv = pv.DeepCopy()
	v.write(pv)
	if ref := pv.Spec.ClaimRef; ref != nil {
		v.settle(types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
	}
	return pv, nil
}

// UpdateClaim implements objects.VolumeWriter.
func (v *volumes) UpdateClaim(_ context.Context, claim *v1.PersistentVolumeClaim) (*v1.PersistentVolumeClaim, error) {
	now := v.store.Claim(claim.Namespace, claim.Name)
	if now == nil || now.ResourceVersion != claim.ResourceVersion {
		return nil, fmt.Errorf("claim %s/%s has changed", claim.Namespace, claim.Name)
	}
	claim = claim.DeepCopy()
	v.write(claim)
	v.settle(types.NamespacedName{Namespace: claim.Namespace, Name: claim.Name})
	return claim, nil
}

// Await implements objects.StorageWaiter. The simulated controllers have already done
// everything, so waiting would be in vain.
func (v *volumes) Await(_ context.Context, _ time.Duration, done func() (bool, error)) error {
	if ok, err := done(); ok || err != nil {
		return err
	}
	return context.DeadlineExceeded
}

// NodeObject implements objects.Existence.
func (v *volumes) NodeObject(name string) *v1.Node { return v.nodes[name] }

// HasPod implements objects.Existence.
func (v *volumes) HasPod(namespace, name string) bool {
	return v.pods[types.NamespacedName{Namespace: namespace, Name: name}]
}
