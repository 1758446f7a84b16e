//go:build !wasip1

package hosttest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/wasm-examples/devices"
)

// stream is a cluster whose bindings are late, fail, conflict, or are made although the answer
// says that they failed.
type stream struct {
	*cluster
	rand   *rand.Rand
	events []func() // of the watch, delivered later
	bound  int
	lost   map[string]int // what went wrong, by kind
}

// Bind implements objects.Binder.
func (s *stream) Bind(_ context.Context, b objects.Binding) error {
	known, ok := s.pods[b.Pod.UID]
	switch {
	case !ok:
		return errors.New("not found")
	case known.NodeName() != "":
		s.t.Errorf("%s is bound to %s and now to %s", b.Pod.Name, known.NodeName(), b.Node)
		return errors.New("conflict")
	}
	kind := s.rand.IntN(10)
	if kind == 0 {
		s.lost["failed"]++
		return errors.New("the API server is not there")
	}
	if kind == 1 { // another client has changed the pod meanwhile
		s.lost["conflict"]++
		s.get().SetPods(s.change(known))
		return errors.New("the object has been modified")
	}
	p := b.Pod.On(b.Node, b.Patch)
	s.pods[p.UID] = p
	s.bound++
	s.check()
	confirm := func() {
		if s.pods[p.UID] == p { // it may be gone by then
			s.get().SetPods(p)
		}
	}
	if kind == 2 { // the answer is lost, but the binding was made
		s.lost["lied"]++
		confirm()
		return errors.New("timeout")
	}
	s.events = append(s.events, confirm)
	return nil
}

// change returns a new version of a pod with another label.
func (s *stream) change(p *state.Pod) *state.Pod {
	object := p.Object.DeepCopy()
	object.ResourceVersion += "+"
	object.Labels = map[string]string{"changed": fmt.Sprint(s.rand.IntN(1000))}
	next := state.NewPod(object)
	s.pods[p.UID] = next
	return next
}

// check checks the API server: no device of a node is assigned twice, and every pod has as many
// as it needs.
func (s *stream) check() {
	s.t.Helper()
	taken := map[string]string{}
	for _, p := range s.pods {
		if p.NodeName() == "" {
			continue
		}
		numbers := strings.Split(p.Object.Annotations[devices.Taken], ",")
		if want := p.Object.Annotations[devices.Count]; strconv.Itoa(len(numbers)) != want {
			s.t.Fatalf("%s has %v, and asked for %s", p.Name, numbers, want)
		}
		for _, n := range numbers {
			key := p.NodeName() + "/" + n
			if other, twice := taken[key]; twice {
				s.t.Fatalf("device %s is of %s and of %s", key, other, p.Name)
			}
			taken[key] = p.Name
		}
	}
}

// TestRestDevices: pods claim numbered devices, bindings are delayed, fail and conflict, and pods
// preempt others. No device is ever assigned twice, and at the end every pod has had its
// devices.
func TestRestDevices(t *testing.T) {
	for _, twin := range twins()[:2] { // the devices plugin exists in no other language
		t.Run(twin.name, func(t *testing.T) {
			first := seeded.Rand(t).Uint64()
			for i := range uint64(4) {
				seed := first + i
				s := &stream{cluster: newCluster(t, &scenario.Log{}, twin), rand: rand.New(rand.NewPCG(seed, 0)), lost: map[string]int{}}
				s.example = *example(t, "devices")
				s.binder = s
				s.run(t)
				t.Logf("seed %d: %d bindings, %v", seed, s.bound, s.lost)
				for _, kind := range []string{"failed", "conflict", "lied", "preempted"} {
					if s.lost[kind] == 0 {
						seeded.Lacks(t, "a binding that is "+kind)
					}
				}
			}
		})
	}
}

func (s *stream) run(t *testing.T) {
	t.Helper()
	const pods, nodes = 150, 4
	language := s.language(t)
	do := func(line string) {
		t.Helper()
		if err := language.Do(line); err != nil {
			t.Fatal(err)
		}
	}
	for i := range nodes {
		do(fmt.Sprintf("node n%d cpu=64000 %s=%s", i, devices.OnNode, []string{"8", "0-3,6-9"}[i%2]))
	}
	s.held = true // binding cycles run when they are drawn
	next, ended := 0, 0
	for step := 0; next < pods || len(s.pods) > 0; step++ {
		if step > 100_000 {
			t.Fatalf("%d of %d pods are done after %d steps", next-len(s.pods), pods, step)
		}
		switch s.rand.IntN(8) {
		case 0, 1:
			if next < pods {
				do(fmt.Sprintf("pod p%d %s=%d priority=%d", next, devices.Count, 1+s.rand.IntN(5), s.rand.IntN(3)))
				next++
			}
		case 2, 3:
			s.get().Step(context.Background())
		case 4:
			if n := len(s.spawned); n > 0 {
				i := s.rand.IntN(n)
				run := s.spawned[i]
				s.spawned = append(s.spawned[:i:i], s.spawned[i+1:]...)
				run()
			}
		case 5:
			if n := len(s.events); n > 0 {
				i := s.rand.IntN(n)
				s.events[i]()
				s.events = append(s.events[:i:i], s.events[i+1:]...)
			}
		case 6:
			if p := s.pods[types.UID(fmt.Sprint("p", s.rand.IntN(pods)))]; p != nil && p.NodeName() != "" && s.rand.IntN(4) == 0 {
				delete(s.pods, p.UID)
				ended++
				s.get().DeletePod(p.UID)
			}
		case 7:
			s.clock.now = s.clock.now.Add(time.Duration(s.rand.IntN(3000)) * time.Millisecond)
		}
	}
	for s.get().Step(context.Background()) {
	}
	s.lost["preempted"] = pods - ended
}
