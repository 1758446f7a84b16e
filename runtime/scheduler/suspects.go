package scheduler

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// Suspects are the objects during whose handling a loop panicked. They pass from one scheduler of a process to the next: an
// object with which the loop panicked twice in a row is not shown to it again, until the object changes.
//
// The zero value is ready for use, and any goroutine may use it. mu guards all fields.
type Suspects struct {
	mu     sync.Mutex
	panics int
	of     map[string]*suspect
}

// suspect is one object.
type suspect struct {
	content uint64
	times   int
	last    string // panic
	told    bool
}

// mostPanics is how often the loop may panic with an object before the object is held back.
const mostPanics = 2

// Panics returns how often a loop panicked.
func (s *Suspects) Panics() int {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.panics
}

func (s *Suspects) blame(object metav1.Object, p *plugin.Panic) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.panics++
	if object == nil {
		return
	}
	if s.of == nil {
		s.of = make(map[string]*suspect)
	}
	name, content := identity(object), contentOf(object)
	known := s.of[name]
	if known == nil || known.content != content {
		known = &suspect{content: content}
		s.of[name] = known
	}
	known.times++
	known.last = p.Value
}

// holds reports whether an object is held back, why, and whether nobody was told yet.
func (s *Suspects) holds(object metav1.Object) (reason string, fresh, held bool) {
	if s == nil {
		return "", false, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.of) == 0 {
		return "", false, false
	}
	known := s.of[identity(object)]
	if known == nil || known.times < mostPanics || known.content != contentOf(object) {
		return "", false, false
	}
	fresh, known.told = !known.told, true
	return fmt.Sprintf("held back: the scheduling loop panicked %d times while it handled %s (%s); it is tried again when it changes, or when the scheduler's process starts again",
		known.times, describe(object), known.last), fresh, true
}

// identity names an object, and no later one of its name.
func identity(object metav1.Object) string {
	return fmt.Sprintf("%T/%s/%s/%s", object, object.GetNamespace(), object.GetName(), object.GetUID())
}

func describe(object metav1.Object) string {
	switch x := object.(type) {
	case *v1.Pod:
		return "pod " + x.Namespace + "/" + x.Name
	case *v1.Node:
		return "node " + x.Name
	}
	name := object.GetName()
	if namespace := object.GetNamespace(); namespace != "" {
		name = namespace + "/" + name
	}
	return fmt.Sprintf("%T %s", object, name)
}

// contentOf hashes what decisions may depend on, of pods and nodes without what this scheduler and kubelets write all the
// time.
func contentOf(object metav1.Object) uint64 {
	var content any = object.GetResourceVersion()
	switch x := object.(type) {
	case *v1.Pod:
		content = []any{x.Spec, x.Labels, x.Annotations, x.DeletionTimestamp}
	case *v1.Node:
		content = []any{x.Spec, x.Labels, x.Annotations, x.Status.Allocatable, x.Status.Images, x.Status.DeclaredFeatures}
	}
	data, err := json.Marshal(content)
	if err != nil {
		data = []byte(object.GetResourceVersion())
	}
	h := fnv.New64a()
	_, _ = h.Write(data)
	return h.Sum64()
}

// held reports whether an object is held back, which it says once. Of a pod that waits for a node, the pod's condition says
// so, too.
func (s *Scheduler) held(object metav1.Object, pod *state.Pod) bool {
	reason, fresh, held := s.deps.Suspects.holds(object)
	if !held || !fresh {
		return held
	}
	s.deps.Log.Error("object is held back", "object", describe(object), "reason", reason)
	if pod != nil && pod.NodeName() == "" {
		s.post(&inbox.Inspect{Call: func() {
			s.deps.Outlet.Failed(Failure{Pod: pod, Reason: v1.PodReasonSchedulerError, Message: reason})
		}})
	}
	return true
}
