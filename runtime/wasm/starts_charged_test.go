package wasm_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/breaker"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// swelling returns a pod with so many new strings.
func swelling(namespace string, number, strings int) *state.Pod {
	object := podObject(namespace, fmt.Sprint(number), "")
	object.Labels = make(map[string]string, strings)
	for i := range strings {
		object.Labels[fmt.Sprint("key-", number, "-", i)] = ""
	}
	return state.NewPod(object)
}

// TestGrowthIsCharged: pods with ever more strings have a guest that is expensive to start started again without a fault. The
// namespace of the pods pays for it: when its fuel is used up, its next pod fails and the breaker opens for it, for longer each
// time. Pods of others are judged as before. What a plugin pays does not depend on the number of workers.
func TestGrowthIsCharged(t *testing.T) {
	module, man := guest(t, newRuntime(t, sandbox.RuntimeConfig{}), "guests/burns_start")
	man.Reads.Pod = append(man.Reads.Pod, "labels")
	const start, restarts = 14_000, 100_000
	var want string
	for _, workers := range []int{1, 2, 8} {
		clk, factory := clock.NewStep(time.Unix(0, 0)), &counting{Factory: module}
		p, err := wasm.New(t.Context(), wasm.Config{
			Name: "guest", Shards: 8, Limits: sandbox.Limits{FuelStart: start, FuelRestarts: restarts}, Breaker: breaker.OfTenant(),
		}, wasm.Deps{Factory: factory, Manifest: man, Clock: clk})
		if err != nil {
			t.Fatal(err)
		}
		w, got, charged := newWorld(3000), &strings.Builder{}, int64(0)
		try := func(pod *state.Pod) string {
			c := w.cycle(pod)
			said := inBlocks(workers, c, w.rows(), func(rows []uint32) string {
				v := filter(p, c, rows)
				return v.Codes[0].String() + strings.Join(v.Texts(0), ", ")
			})
			p.Settle(pod.Namespace)
			for _, s := range p.TakeStarts() {
				charged += s.Fuel
				fmt.Fprintf(got, "%s pays %d\n", s.Namespace, s.Fuel)
				p.Charge(s)
			}
			return said
		}
		refused := 0
		for number, size := range []int{10, 400, 1600, 6400, 25_600, 50_000, 75_000} {
			said := try(swelling("a", number, size))
			fmt.Fprintln(got, number, said)
			if strings.Contains(said, "starts of instances may use") {
				refused++
			}
			if other := try(incoming("b", fmt.Sprint("other-", number), 0)); !strings.HasPrefix(other, abi.Success.String()) {
				t.Errorf("%d workers: after pod %d a pod of another namespace: %s", workers, number, other)
			}
		}
		s := p.Status().Breaker
		if refused == 0 || s.Opened == 0 || len(s.Namespaces) != 1 || s.Namespaces[0].Namespace != "a" ||
			!strings.Contains(s.Cause, "starts of instances used") {
			t.Errorf("%d workers: refused %d times, breaker %+v:\n%s", workers, refused, s, got)
		}
		// The first ones of each instance are free: that of the configuration, those of three blocks, and of pre_filter.
		if most := charged/12_300 + 5; int64(factory.made) > most || charged > 3*restarts {
			t.Errorf("%d workers: %d instances were started, and %d units charged", workers, factory.made, charged)
		}
		if n := p.Status().Started; n.First != 4 || n.Resized == 0 || n.First+n.Lost+n.Resized != int64(factory.made-1) { // one tried the configuration
			t.Errorf("%d workers: of %d instances %+v were counted", workers, factory.made, n)
		}
		if want == "" {
			want = got.String()
		} else if got.String() != want {
			t.Errorf("%d workers:\n%s\nwith one:\n%s", workers, got, want)
		}
		if err := p.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGrowthOutsideOfCycles: starts of instances for reserve and preBind are charged, too. Those of a binding cycle are part of its
// result, and so in a recording.
func TestGrowthOutsideOfCycles(t *testing.T) {
	module, man := guest(t, newRuntime(t, sandbox.RuntimeConfig{}), "guests/burns_start")
	man.Reads.Pod = append(man.Reads.Pod, "labels")
	p, err := wasm.New(t.Context(), wasm.Config{Name: "guest", Limits: sandbox.Limits{FuelStart: 14_000, FuelRestarts: 100_000}},
		wasm.Deps{Factory: module, Manifest: man})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(context.Background())
	w := newWorld(3)
	var beside, loop []plugin.Start
	for number, size := range []int{10, 1600, 25_600} {
		pl := w.placement(swelling("a", number, size), nodeName(0))
		if _, status := p.Reserve(pl); status != nil {
			t.Fatal(status.Message())
		}
		loop = append(loop, p.TakeStarts()...)
		pl = w.placement(swelling("a", 10+number, 2*size), nodeName(0))
		if _, status := p.PreBind(pl); status != nil {
			t.Fatal(status.Message())
		}
		for _, call := range pl.Beside {
			if call.Started > 0 {
				beside = append(beside, plugin.Start{Namespace: "a", Point: call.Point, Fuel: call.Started})
			}
			p.Learn("a", call)
		}
		if left := p.TakeStarts(); left != nil {
			t.Errorf("a binding cycle charged the loop: %v", left)
		}
	}
	if len(beside) == 0 || len(loop) == 0 || loop[0].Namespace != "a" || loop[0].Point != abi.Reserve {
		t.Errorf("charged in the loop: %v; beside: %v", loop, beside)
	}
	sum := int64(0)
	for _, s := range append(loop, beside...) {
		if s.Point == abi.Reserve {
			p.Charge(s)
		}
		sum += s.Fuel
	}
	if s := p.Status().Breaker; s.Starts != sum {
		t.Errorf("the breaker has %d units, %d were charged", s.Starts, sum)
	}
}
