package assembly

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
)

var soakTime = flag.Duration("soak", 0, "duration of TestRestSoak, on 1,000 nodes; 0 runs a short form")

// nodeMilli is the CPU of a node.
const nodeMilli = 4000

// soaked simulates the API of a cluster in which pods come and go.
type soaked struct {
	t         *testing.T
	scheduler *Assembly

	mu     sync.Mutex
	random *rand.Rand
	pods   map[types.UID]*soakedPod
	used   map[string]int64 // CPU of nodes
	// What happened.
	made, bound, evicted, refused int
}

type soakedPod struct {
	object *v1.Pod
	milli  int64
	node   string
}

// Bind refuses one of fifty bindings, like an API server under stress.
func (s *soaked) Bind(_ context.Context, b objects.Binding) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pods[b.Pod.UID]
	switch {
	case p == nil:
		return errors.New("there is no such pod")
	case p.node != "":
		s.t.Errorf("pod %s was bound twice: to %s and %s", b.Pod.Key(), p.node, b.Node)
		return errors.New("it is bound")
	case s.random.IntN(50) == 0:
		s.refused++
		return errors.New("the server is overloaded")
	}
	if s.used[b.Node]+p.milli > nodeMilli {
		s.t.Errorf("node %s is overcommitted by %s", b.Node, b.Pod.Key())
	}
	s.used[b.Node] += p.milli
	p.node = b.Node
	s.bound++
	object := p.object.DeepCopy()
	object.Spec.NodeName = b.Node
	p.object = object
	s.scheduler.Scheduler.SetPods(state.NewPod(object))
	return nil
}

func (s *soaked) Evict(_ context.Context, e objects.Eviction) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.remove(e.Victim.UID) {
		s.evicted++
	}
	return nil
}

func (*soaked) Scheduled(*state.Pod, string, state.Feature) {}
func (*soaked) Failed(scheduler.Failure)                    {}
func (*soaked) Preempted(scheduler.Preempted)               {}
func (*soaked) Binding(context.Context, *state.Pod) error   { return nil }
func (*soaked) NominationCleared(*state.Pod)                {}

// remove needs mu held.
func (s *soaked) remove(uid types.UID) bool {
	p := s.pods[uid]
	if p == nil {
		return false
	}
	delete(s.pods, uid)
	if p.node != "" {
		s.used[p.node] -= p.milli
	}
	s.scheduler.Scheduler.DeletePod(uid)
	return true
}

// come creates a pod: of various sizes, one of a hundred too large for any node, some that may
// preempt.
func (s *soaked) come() {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &soakedPod{milli: 250 << s.random.IntN(4)}
	name := fmt.Sprintf("p-%d", s.made)
	object := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: string(rune('a' + s.made%3)), Name: name, UID: types.UID(name)}}
	object.Spec.SchedulerName = v1.DefaultSchedulerName
	priority := int32(s.random.IntN(5) / 4)
	object.Spec.Priority = &priority
	if s.random.IntN(100) == 0 {
		p.milli = nodeMilli + 1
	}
	object.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
		v1.ResourceCPU: *resource.NewMilliQuantity(p.milli, resource.DecimalSI),
	}}}}
	p.object = object
	s.pods[object.UID] = p
	s.made++
	s.scheduler.Scheduler.SetPods(state.NewPod(object))
}

// goes deletes some pod, bound or not.
func (s *soaked) goes() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for uid := range s.pods { // in arbitrary order
		s.remove(uid)
		return
	}
}

func (s *soaked) alive() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pods)
}

// lost returns the pods that are not bound and not pending in the scheduler.
func (s *soaked) lost() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := make(map[types.UID]bool)
	for _, p := range s.scheduler.Scheduler.Queued() {
		waiting[p.Pod.UID] = true
	}
	var out []string
	for uid, p := range s.pods {
		if p.node == "" && !waiting[uid] {
			out = append(out, p.object.Name)
		}
		delete(waiting, uid)
	}
	for uid := range waiting {
		out = append(out, string(uid)+", which is gone,")
	}
	return out
}

// reloader changes the modules of three slots at random.
type reloader struct {
	t        *testing.T
	assembly *Assembly
	modules  *Modules
	random   *rand.Rand
	files    []string // for slots 1 and 2
	sorting  []string // for slot 0, all the same: a queue has one order
	running  [3]*module.Reference
	// faults are the kinds that were seen, by point.
	faults map[abi.Point]map[fault.Kind]int64
	done   int
}

func (r *reloader) reload() {
	slot := r.random.IntN(len(r.running))
	from := &r.files
	if slot == 0 {
		from = &r.sorting
	}
	var ref *module.Reference
	if r.random.IntN(5) > 0 {
		file := (*from)[0] // each gets its turn
		*from = append((*from)[1:], file)
		ref = &module.Reference{
			Path: file, Name: fmt.Sprint("plugin-", slot), Weight: int32(1 + r.random.IntN(3)),
			GrantAll: true, Limits: module.Limits{FuelPerCall: 20_000, FuelPerRow: 100},
		}
		if slot > 0 {
			ref.Namespaces = [][]string{nil, {"a"}, {"a", "b"}}[r.random.IntN(3)]
		}
	}
	next := r.running
	next[slot] = ref
	r.swap(next)
}

func (r *reloader) swap(next [3]*module.Reference) {
	s := clone(Default())
	for _, ref := range next {
		if ref == nil {
			continue
		}
		loaded, err := r.modules.Load(*ref)
		if err == nil {
			err = loaded.Enable(s)
		}
		if err != nil {
			r.t.Error(err)
			return
		}
	}
	r.count()
	if _, err := r.assembly.Reload(r.t.Context(), s); err != nil {
		r.t.Errorf("reload: %v", err)
		return
	}
	r.running = next
	r.done++
}

// count records the faults of the plugins that are about to be replaced.
func (r *reloader) count() {
	status := r.assembly.Status()
	for i := range status.Plugins {
		for _, w := range status.Plugins[i].Work {
			for _, f := range w.Faults {
				if f.Kind == fault.BreakerOpen { // it was not even called
					continue
				}
				if r.faults[w.Point] == nil {
					r.faults[w.Point] = make(map[fault.Kind]int64)
				}
				r.faults[w.Point][f.Kind] += f.Count
			}
		}
	}
}

// TestRestSoak: pods come and go, bindings fail, and plugins that sometimes fail, at every point,
// are replaced all the while. No pod is lost or bound twice, no node is overcommitted, and
// resources are released.
func TestRestSoak(t *testing.T) {
	nodes, rounds := 100, 60
	if *soakTime > 0 {
		nodes, rounds = 1000, 0
	}
	modules := newModules(t)
	s := &soaked{
		t: t, random: rand.New(rand.NewPCG(1, 2)),
		pods: make(map[types.UID]*soakedPod), used: make(map[string]int64),
	}
	now := clock.NewStep(time.Unix(0, 0))
	a, err := New(Config{Scheduler: Default(), Modules: modules}, Deps{Clock: now, Binder: s, Evictor: s, Outlet: s})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	s.scheduler = a
	for i := range nodes {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n-%03d", i)}}
		n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(nodeMilli, resource.DecimalSI), v1.ResourcePods: resource.MustParse("110")}
		a.Scheduler.SetNode(state.NewNode(n))
	}
	r := &reloader{t: t, assembly: a, modules: modules, random: rand.New(rand.NewPCG(3, 4)), faults: make(map[abi.Point]map[fault.Kind]int64)}
	r.files, r.sorting = []string{everywhere(t, false, 0, "", 1)}, []string{everywhere(t, true, 0, "", 1)}
	for _, p := range points {
		for _, name := range slices.Sorted(maps.Keys(failures)) {
			every := 1 + 6*len(name)%9 // from always to sometimes
			if p.point != abi.QueueSort {
				r.files = append(r.files, everywhere(t, false, p.point, failures[name], every))
			} else {
				r.sorting = append(r.sorting, everywhere(t, true, p.point, failures[name], every))
			}
		}
	}

	r.random.Shuffle(len(r.files), func(i, j int) { r.files[i], r.files[j] = r.files[j], r.files[i] })

	steps := func() {
		for range 50 {
			for a.Scheduler.Step(t.Context()) {
			}
			if p := a.Scheduler.Pending(); p.Binding+p.Preempting == 0 {
				return
			}
			time.Sleep(100 * time.Microsecond) // for work beside the loop
		}
	}
	began, heaps := time.Now(), []uint64(nil)
	for round := 1; ; round++ {
		var last bool
		if *soakTime > 0 {
			last = time.Since(began) >= *soakTime
		} else { // how soon a plugin has failed at each point depends on how fast modules are made
			last = round >= rounds && len(r.unharmed()) == 0 || round == 10*rounds
		}
		// Reload needs the loop, which runs in this goroutine.
		reloaded := make(chan struct{})
		go func() {
			defer close(reloaded)
			for range 4 {
				r.reload()
			}
			if round%20 == 0 || last { // a pause to check, without plugins
				r.swap([3]*module.Reference{})
			}
		}()
		for busy := true; busy; {
			select {
			case <-reloaded:
				busy = false
			default:
			}
			for s.alive() < 5*nodes { // slightly more than fit
				s.come()
			}
			steps()
			for range nodes / 10 {
				s.goes()
			}
			now.Advance(500 * time.Millisecond)
		}
		if round%20 != 0 && !last {
			continue
		}
		for range 60 { // backoffs end and breakers close
			now.Advance(10 * time.Second)
			steps()
		}
		if lost := s.lost(); len(lost) > 0 {
			t.Fatalf("round %d: pods are lost: %v", round, lost)
		}
		a.closing.later.Wait()
		if n := len(modules.mu.compiled); n != 0 {
			t.Errorf("round %d: %d compiled modules have no users", round, n)
		}
		heaps = append(heaps, heapAlive())
		if *soakTime > 0 {
			t.Logf("%v: %d pods, %d bound, %d evicted, %d bindings refused, %d reloads, %d KiB alive, %d goroutines",
				time.Since(began).Round(time.Second), s.made, s.bound, s.evicted, s.refused, r.done, heaps[len(heaps)-1]>>10, runtime.NumGoroutine())
		}
		if last {
			break
		}
	}
	for _, p := range points {
		t.Logf("%s: %v", p.point, r.faults[p.point])
	}
	if points := r.unharmed(); len(points) > 0 {
		t.Errorf("no plugin failed at %v", points)
	}
	flat(t, heaps)
	if s.bound == 0 || s.evicted == 0 || s.refused == 0 {
		t.Errorf("%d pods bound, %d evicted, %d bindings refused", s.bound, s.evicted, s.refused)
	}
}

// unharmed returns the points at which no plugin has failed yet.
func (r *reloader) unharmed() []abi.Point {
	var out []abi.Point
	for _, p := range points {
		if len(r.faults[p.point]) == 0 {
			out = append(out, p.point)
		}
	}
	return out
}

// heapAlive returns the bytes in use.
func heapAlive() uint64 {
	runtime.GC()
	runtime.GC() // for what finalizers kept
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// flat fails if the heap grew from the first half of the samples to the second by more than
// pools and tables may hold. The first sample is not counted, because tables grow to their
// size.
func flat(t *testing.T, heaps []uint64) {
	t.Helper()
	if len(heaps) < 3 {
		t.Fatalf("%d samples of the heap", len(heaps))
	}
	heaps = heaps[1:]
	early, late := slices.Max(heaps[:(len(heaps)+1)/2]), slices.Max(heaps[len(heaps)/2:])
	if late > early+early/10+1<<20 {
		t.Errorf("the heap grew from %d to %d KiB: %v", early>>10, late>>10, heaps)
	}
}
