package assembly

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/state"
)

// version is a version of a plugin, and whether it is usable.
type version struct {
	file string
	good bool
}

// versions are the ones that TestReloadUnderLoad switches between.
func versions(t *testing.T) []version {
	t.Helper()
	var out []version
	for k := range 3 {
		out = append(out, version{goodPlugin(t, k), true})
	}
	return append(out,
		version{guest{filter: no}.write(t), true},
		version{guest{filter: "unreachable"}.write(t), true},
		version{guest{filter: "(loop $again (br $again)) (i32.const 0)"}.write(t), true},
		version{guest{abi: "unreachable"}.write(t), false},         // traps when it is probed
		version{guest{abi: "(i32.const 0x90000)"}.write(t), false}, // of another ABI
		version{guest{filter: "(i64.const 0)"}.write(t), false},    // invalid
	)
}

// TestReloadUnderLoad: while pods come and go, another goroutine adds, replaces, reconfigures,
// removes and breaks plugins. Each pod is bound once and none is lost. A version that cannot be
// used leaves the old one running. Run it with the race detector.
func TestReloadUnderLoad(t *testing.T) {
	const reloads, slots = 60, 3
	all := versions(t)
	modules := newModules(t)
	base := Default()
	r := start(t, Config{Scheduler: clone(base), Modules: modules})
	for i := range 20 {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n-%02d", i)}}
		n.Status.Allocatable = v1.ResourceList{v1.ResourcePods: resource.MustParse("1000")}
		r.scheduler.Scheduler.SetNode(state.NewNode(n))
	}
	var done atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		defer done.Store(true)
		random := rand.New(rand.NewPCG(3, 4))
		running := make([]*module.Reference, slots) // the modules that run
		for range reloads {
			next := slices.Clone(running)
			slot, usable := random.IntN(slots), true
			if random.IntN(5) == 0 {
				next[slot] = nil
			} else {
				v := all[random.IntN(len(all))]
				usable = v.good
				next[slot] = &module.Reference{
					Path: v.file, Name: fmt.Sprint("plugin-", slot), Weight: int32(1 + random.IntN(3)),
					Namespaces: [][]string{nil, {"a"}, {"a", "b"}}[random.IntN(3)],
					Limits:     module.Limits{FuelPerCall: 20_000, FuelPerRow: 100},
				}
			}
			s := clone(base)
			for _, ref := range next {
				if ref == nil {
					continue
				}
				loaded, err := modules.Load(*ref)
				if err == nil {
					err = loaded.Enable(s)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
			before := r.scheduler.Status()
			_, err := r.scheduler.Reload(t.Context(), s)
			after := r.scheduler.Status()
			if (err == nil) != usable {
				t.Errorf("reload: %v, usable %v", err, usable)
			}
			if err != nil && (after.Err == nil || digests(before) != digests(after)) {
				t.Errorf("after a version that cannot be used: %v; running %s, want %s", after.Err, digests(after), digests(before))
			}
			if err == nil {
				running = next
			}
		}
		if _, err := r.scheduler.Reload(t.Context(), clone(base)); err != nil {
			t.Error(err)
		}
	})
	var pods []string
	gone := map[string]bool{}
	for i := 0; !done.Load() || i < 200; i++ {
		r.clock.Advance(300 * time.Millisecond)
		if i >= 800 { // enough: the existing pods continue
			r.steps(t)
			time.Sleep(time.Millisecond)
			continue
		}
		namespace := []string{"a", "b", "c"}[i%3]
		name := fmt.Sprintf("p-%d", i)
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name)}}
		p.Spec.SchedulerName = "default-scheduler"
		r.scheduler.Scheduler.SetPods(state.NewPod(p))
		pods = append(pods, name)
		r.steps(t)
		if i%4 == 3 { // and one leaves, placed or not
			leaves := pods[i-3]
			r.scheduler.Scheduler.DeletePod(types.UID(leaves))
			gone[leaves] = true
		}
	}
	wg.Wait()
	for range 100 { // retry pods that failed
		r.clock.Advance(10 * time.Second)
		r.steps(t)
	}
	bound := map[string]int{}
	for _, b := range r.bound {
		pod, _, _ := strings.Cut(b, " ")
		bound[pod]++
	}
	for _, pod := range pods {
		if n := bound[pod]; n > 1 || n == 0 && !gone[pod] {
			t.Errorf("pod %s was bound %d times, gone: %v", pod, n, gone[pod])
		}
	}
	if n := len(modules.mu.compiled); n != 0 {
		t.Errorf("%d compiled modules have no users", n)
	}
	s := r.scheduler.Status()
	t.Logf("%d pods, %d reloads, %d refused", len(pods), s.Reloads, s.Refused)
	if s.Reloads < 10 || s.Refused < 5 {
		t.Errorf("%d reloads, %d refused", s.Reloads, s.Refused)
	}
}

// digests lists the modules that run.
func digests(s Status) (out string) {
	for i := range s.Plugins {
		out += s.Plugins[i].Name + "=" + s.Plugins[i].Digest + ";"
	}
	return out
}
