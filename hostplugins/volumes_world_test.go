package hostplugins_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins"
	"github.com/berth-scheduler/berth/hostplugins/internal/plugintest"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/storage"
	"github.com/berth-scheduler/berth/runtime/state"
)

// volumeWorld is a cluster with storage objects, and the API server that plugins write to.
type volumeWorld struct {
	nodes  []*v1.Node
	placed []*v1.Pod

	claims     []*v1.PersistentVolumeClaim
	volumes    []*v1.PersistentVolume
	classes    []*storagev1.StorageClass
	csiNodes   []*storagev1.CSINode
	drivers    []*storagev1.CSIDriver
	capacities []*storagev1.CSIStorageCapacity
	attached   []*storagev1.VolumeAttachment

	store   *storage.Store
	version int      // of the last write
	writes  []string // of the plugins
	refuse  string   // the object whose write fails, by name
	late    bool     // no controller binds what is written
	gone    bool     // the pod being bound was deleted
	react   func()   // what happens while a plugin waits
}

// put adds an object, or replaces it with a newer version.
func (w *volumeWorld) put(object metav1.Object) storage.Change {
	w.version++
	object.SetResourceVersion(strconv.Itoa(w.version))
	return w.set(object)
}

// set adds an object to the lists and to the store, or replaces it.
func (w *volumeWorld) set(object metav1.Object) storage.Change {
	if w.store == nil {
		w.store = storage.New()
	}
	switch x := object.(type) {
	case *v1.PersistentVolumeClaim:
		w.claims = replaced(w.claims, x)
	case *v1.PersistentVolume:
		w.volumes = replaced(w.volumes, x)
	case *storagev1.StorageClass:
		w.classes = replaced(w.classes, x)
	case *storagev1.CSINode:
		w.csiNodes = replaced(w.csiNodes, x)
	case *storagev1.CSIDriver:
		w.drivers = replaced(w.drivers, x)
	case *storagev1.CSIStorageCapacity:
		w.capacities = replaced(w.capacities, x)
	case *storagev1.VolumeAttachment:
		w.attached = replaced(w.attached, x)
	}
	return w.store.Set(object)
}

// take removes an object from the lists and from the store.
func (w *volumeWorld) take(object metav1.Object) storage.Change {
	switch x := object.(type) {
	case *v1.PersistentVolumeClaim:
		w.claims = without(w.claims, x)
	case *v1.PersistentVolume:
		w.volumes = without(w.volumes, x)
	case *storagev1.StorageClass:
		w.classes = without(w.classes, x)
	case *storagev1.CSINode:
		w.csiNodes = without(w.csiNodes, x)
	case *storagev1.CSIDriver:
		w.drivers = without(w.drivers, x)
	case *storagev1.CSIStorageCapacity:
		w.capacities = without(w.capacities, x)
	case *storagev1.VolumeAttachment:
		w.attached = without(w.attached, x)
	}
	change, _ := w.store.Delete(object)
	return change
}

// copied returns a cluster of its own with the same objects.
func (w *volumeWorld) copied() *volumeWorld {
	out := *w
	out.store, out.writes = storage.New(), nil
	setAll(&out, w.claims)
	setAll(&out, w.volumes)
	setAll(&out, w.classes)
	setAll(&out, w.csiNodes)
	setAll(&out, w.drivers)
	setAll(&out, w.capacities)
	setAll(&out, w.attached)
	return &out
}

func setAll[T metav1.Object](w *volumeWorld, list []T) {
	for _, object := range list {
		w.store.Set(object)
	}
}

func without[T metav1.Object](list []T, object T) []T {
	return slices.DeleteFunc(slices.Clone(list), func(o T) bool {
		return o.GetNamespace() == object.GetNamespace() && o.GetName() == object.GetName()
	})
}

func replaced[T metav1.Object](list []T, object T) []T { return append(without(list, object), object) }

// UpdateVolume implements objects.VolumeWriter. Volume and claim are bound to each other at
// once.
func (w *volumeWorld) UpdateVolume(_ context.Context, pv *v1.PersistentVolume) (*v1.PersistentVolume, error) {
	now := named(w.volumes, "", pv.Name)
	if err := w.writable(pv.Name, now == nil || now.ResourceVersion != pv.ResourceVersion); err != nil {
		return nil, err
	}
	pv = pv.DeepCopy()
	w.put(pv)
	w.writes = append(w.writes, fmt.Sprintf("volume %s for claim %s", pv.Name, pv.Spec.ClaimRef.Name))
	if claim := named(w.claims, pv.Spec.ClaimRef.Namespace, pv.Spec.ClaimRef.Name); claim != nil && !w.late {
		w.bindClaim(claim, pv.Name)
	}
	return pv, nil
}

// UpdateClaim implements objects.VolumeWriter. A volume is provisioned at once.
func (w *volumeWorld) UpdateClaim(_ context.Context, claim *v1.PersistentVolumeClaim) (*v1.PersistentVolumeClaim, error) {
	now := named(w.claims, claim.Namespace, claim.Name)
	if err := w.writable(claim.Name, now == nil || now.ResourceVersion != claim.ResourceVersion); err != nil {
		return nil, err
	}
	claim = claim.DeepCopy()
	w.put(claim)
	w.writes = append(w.writes, fmt.Sprintf("claim %s selects %s", claim.Name, claim.Annotations["volume.kubernetes.io/selected-node"]))
	if !w.late {
		pv := &v1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-of-" + claim.Name}}
		pv.Spec.ClaimRef = &v1.ObjectReference{Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID}
		w.put(pv)
		w.bindClaim(claim, pv.Name)
	}
	return claim, nil
}

func (w *volumeWorld) writable(name string, conflict bool) error {
	if conflict {
		return fmt.Errorf("%s has changed", name)
	}
	if w.refuse == name {
		return fmt.Errorf("%s must not be written", name)
	}
	return nil
}

// bindClaim binds a claim as the controller does.
func (w *volumeWorld) bindClaim(claim *v1.PersistentVolumeClaim, volume string) {
	claim = claim.DeepCopy()
	claim.Spec.VolumeName, claim.Status.Phase = volume, v1.ClaimBound
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, "pv.kubernetes.io/bind-completed", "yes")
	w.put(claim)
}

// Await implements objects.StorageWaiter: react is called once.
func (w *volumeWorld) Await(_ context.Context, _ time.Duration, done func() (bool, error)) error {
	ok, err := done()
	if !ok && err == nil && w.react != nil {
		w.react()
		ok, err = done()
	}
	if !ok && err == nil {
		err = context.DeadlineExceeded
	}
	return err
}

// NodeObject implements objects.Existence.
func (w *volumeWorld) NodeObject(name string) *v1.Node { return named(w.nodes, "", name) }

// HasPod implements objects.Existence.
func (w *volumeWorld) HasPod(string, string) bool { return !w.gone }

// plugins creates new instances of the volume plugins.
func (w *volumeWorld) plugins(t testing.TB, args *configv1.VolumeBindingArgs) map[string]plugin.Plugin {
	t.Helper()
	if w.store == nil {
		w.store = storage.New()
	}
	registry := hostplugins.All(hostplugins.Deps{Storage: hostplugins.Storage{Objects: w.store.Objects(), Writer: w, Waiter: w, Exists: w}})
	out := map[string]plugin.Plugin{}
	for _, name := range volumePlugins() {
		var a any
		if name == "VolumeBinding" && args != nil {
			a = args
		}
		p, err := registry.New(name, a)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = p
	}
	return out
}

// volumePlugins is in kube-scheduler's order.
func volumePlugins() []string {
	return []string{"VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"}
}

func (w *volumeWorld) snapshot() *state.Snapshot { return plugintest.Snapshot(w.nodes, w.placed) }

// said is what a plugin answers for a pod, as text.
type said struct {
	pre   string
	nodes []string
}

func (s said) String() string { return s.pre + "\n  " + strings.Join(s.nodes, "\n  ") }

func cycleOf(s *state.Snapshot, pod *v1.Pod) *plugin.Cycle {
	return &plugin.Cycle{Context: context.Background(), Snapshot: s, Pod: decoded(pod), State: &state.CycleState{}}
}

// ask runs PreFilter and, unless that ends it, Filter over all rows.
func ask(p plugin.Plugin, c *plugin.Cycle) said {
	_, status := p.(plugin.PreFilter).PreFilter(c)
	if !status.Success() {
		return said{pre: inWords(status.Code, status.AllReasons())}
	}
	return said{pre: "Success", nodes: verdicts(p.(plugin.Filter), c, rowsOf(c.Snapshot))}
}

// fresh returns what a plugin answers that has read the cluster just now.
func (w *volumeWorld) fresh(t testing.TB, name string, pod *v1.Pod) said {
	return ask(w.plugins(t, nil)[name], cycleOf(w.snapshot(), pod))
}

func inWords(code abi.Code, reasons []string) string { return fmt.Sprintf("%v %q", code, reasons) }
