package kube

import (
	"cmp"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/state"
)

// arrivals keeps new pods from the scheduler while a plugin that applies to them is in the API and the scheduler does
// not know it yet: it collects changes of plugins for a second, in which the pods would be placed without it. Pods that
// the scheduler knows already stay there.
type arrivals struct {
	mu sync.Mutex
	// serial counts plugins that were attached. namespaces has that of the last one that the scheduler does not know,
	// and pods the pods that are kept, with that of the last plugin before them.
	serial     int64
	namespaces map[string]int64
	pods       map[types.UID]arrival
	came       int       // new pods so far
	scheduler  Scheduler // nil before the first pod
}

type arrival struct {
	pod    *state.Pod
	serial int64
	number int // of the pod, in the order in which they came
}

func newArrivals() *arrivals {
	return &arrivals{namespaces: make(map[string]int64), pods: make(map[types.UID]arrival)}
}

// attached keeps the pods of a plugin that was attached. old is nil for a new object.
func (a *arrivals) attached(old, now metav1.Object) {
	namespaces := decidesFor(now)
	if old != nil && len(decidesFor(old)) > 0 || len(namespaces) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.serial++
	for _, namespace := range namespaces {
		a.namespaces[namespace] = a.serial
	}
}

// decidesFor returns the namespaces whose pods wait until a plugin runs; the empty one stands for all.
func decidesFor(o metav1.Object) (namespaces []string) {
	waits := func(mode v1alpha1.Mode, policy v1alpha1.FailurePolicy) bool {
		return (mode == "" || mode == v1alpha1.ModeEnforce) && policy != v1alpha1.Ignore
	}
	switch x := o.(*apiPlugin).object.(type) {
	case *v1alpha1.SchedulerPlugin:
		if !waits(x.Spec.Mode, x.Spec.FailurePolicy) {
			return nil
		}
		for _, namespace := range x.Spec.Namespaces {
			namespaces = append(namespaces, string(namespace))
		}
		if len(namespaces) == 0 {
			return []string{metav1.NamespaceAll}
		}
	case *v1alpha1.TenantPlugin:
		if waits(x.Spec.Mode, x.Spec.FailurePolicy) {
			return []string{x.Namespace}
		}
	}
	return namespaces
}

// set passes on a pod, unless it is kept. fresh is true if the scheduler does not know it.
func (a *arrivals) set(s Scheduler, pod *state.Pod, fresh bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.scheduler = s
	before := a.pods[pod.UID]
	serial, number := before.serial, before.number
	if fresh {
		a.came++
		number = a.came
		serial = max(a.namespaces[pod.Namespace], a.namespaces[metav1.NamespaceAll])
	}
	if serial > 0 && pod.NodeName() == "" {
		a.pods[pod.UID] = arrival{pod, serial, number}
		return
	}
	delete(a.pods, pod.UID)
	s.SetPods(pod)
}

func (a *arrivals) remove(s Scheduler, uid types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.pods, uid)
	s.DeletePod(uid)
}

// keeps reports whether a pod is kept.
func (a *arrivals) keeps(name types.NamespacedName) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, x := range a.pods {
		if x.pod.Namespace == name.Namespace && x.pod.Name == name.Name {
			return true
		}
	}
	return false
}

// known passes on the pods that were kept for plugins up to a serial.
func (a *arrivals) known(serial int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for namespace, last := range a.namespaces {
		if last <= serial {
			delete(a.namespaces, namespace)
		}
	}
	var due []arrival
	for uid, x := range a.pods {
		if x.serial <= serial {
			due = append(due, x)
			delete(a.pods, uid)
		}
	}
	slices.SortFunc(due, func(x, y arrival) int { return cmp.Compare(x.number, y.number) })
	for _, x := range due {
		a.scheduler.SetPods(x.pod)
	}
}

// AttachedPlugins returns a function that lets pods go which were kept because a plugin was attached before the call.
// The caller calls that once the scheduler knows the plugins that PluginObjects then returned.
func (c *Cluster) AttachedPlugins() (known func()) {
	a := c.arrivals
	a.mu.Lock()
	defer a.mu.Unlock()
	serial := a.serial
	return func() { a.known(serial) }
}

// KeepsPod reports whether a pod is kept from the scheduler until it knows a plugin that was just attached.
func (c *Cluster) KeepsPod(name types.NamespacedName) bool { return c.arrivals.keeps(name) }
