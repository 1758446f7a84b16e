package wasm_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/internal/testrest"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/breaker"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// startFuel is what a start of the guest that burns fuel there costs at least, in units: what it uses, and as much for its region.
const startFuel = 2 * 12_300

// startsLoad is a drawn sequence of pods of a tenant that have a guest started again: by faults, or since its memory must be larger.
type startsLoad struct {
	nodes, shards   int
	start, restarts int64
	pods            []startsPod
}

type startsPod struct {
	other, fails bool // of another namespace; the guest traps
	strings      int
	pause        time.Duration
}

func drawStarts(r *rand.Rand) startsLoad {
	l := startsLoad{
		nodes: []int{3, 900, 1500, 3000}[r.IntN(4)], shards: 1 + r.IntN(8),
		start: 13_500 + r.Int64N(20_000), restarts: 50_000 + r.Int64N(350_000),
	}
	faults, growth := r.Float64(), r.Float64()
	strings := 10
	for range 20 + r.IntN(30) {
		p := startsPod{pause: time.Duration(r.IntN(200)) * time.Millisecond}
		switch {
		case r.IntN(8) == 0:
			p.other = true
		case r.Float64() < faults:
			p.fails = true
		case r.Float64() < growth:
			strings = min(20_000, strings*(1+r.IntN(4)))
			p.strings = strings
		}
		l.pods = append(l.pods, p)
	}
	return l
}

// run tells what the plugin says about each pod, and how many instances were started.
func (l *startsLoad) run(t *testing.T, module sandbox.Factory, workers int) (text string, made, most int) {
	t.Helper()
	_, man := guest(t, newRuntime(t, sandbox.RuntimeConfig{}), "guests/burns_start")
	man.Reads.Pod = append(man.Reads.Pod, "labels")
	clk, factory := clock.NewStep(time.Unix(0, 0)), &counting{Factory: module}
	p, err := wasm.New(t.Context(), wasm.Config{
		Name: "guest", Shards: l.shards, Limits: sandbox.Limits{FuelStart: l.start, FuelRestarts: l.restarts}, Breaker: breaker.OfTenant(),
	}, wasm.Deps{Factory: factory, Manifest: man, Clock: clk})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(context.Background())
	w, got := newWorld(l.nodes), &strings.Builder{}
	for number, is := range l.pods {
		pod := swelling("a", number, is.strings)
		if is.other {
			pod = incoming("b", fmt.Sprint(number), 0)
		} else if is.fails {
			pod = incoming("a", fmt.Sprint(number), 1)
		}
		c := w.cycle(pod)
		said := inBlocks(workers, c, w.rows(), func(rows []uint32) string {
			v := filter(p, c, rows)
			return v.Codes[0].String() + strings.Join(v.Texts(0), ", ")
		})
		p.Settle(pod.Namespace)
		fmt.Fprintln(got, number, said)
		for _, s := range p.TakeStarts() {
			fmt.Fprintf(got, "%s pays %d\n", s.Namespace, s.Fuel)
			p.Charge(s)
		}
		if is.other && !strings.HasPrefix(said, abi.Success.String()) {
			t.Errorf("pod %d of another namespace: %s", number, said)
		}
		clk.Advance(is.pause)
	}
	s := p.Status()
	each := min(l.shards, 1+l.nodes/1024) + 2 // the instances that a cycle may start
	most = 1 + each + int(l.restarts/startFuel) + (s.Breaker.Opened+1)*each
	fmt.Fprintf(got, "opened %d, %+v", s.Breaker.Opened, s.Started)
	return got.String(), factory.made, most
}

// TestDrawnStarts: whatever has a guest started again and again, the starts stay within the fuel for restarts of its namespace and
// those of a try after each time that the breaker was open. Pods of another namespace are judged as ever, and the number of workers
// makes no difference.
func TestDrawnStarts(t *testing.T) { drawnStarts(t, 3) }

// TestRestDrawnStarts does so with more of them.
func TestRestDrawnStarts(t *testing.T) { drawnStarts(t, 60) }

func drawnStarts(t *testing.T, variants int) {
	t.Helper()
	r := seeded.Rand(t)
	module, _ := guest(t, newRuntime(t, sandbox.RuntimeConfig{}), "guests/burns_start")
	worst, sum := 0.0, 0
	for range variants {
		l := drawStarts(r)
		var want string
		for _, workers := range []int{1, 2 + r.IntN(7)} {
			text, made, most := l.run(t, module, workers)
			if made > most {
				t.Errorf("%d workers: %d instances were started, at most %d may: %.400s", workers, made, most, fmt.Sprintf("%+v", l))
			}
			worst, sum = max(worst, float64(made)/float64(most)), sum+made
			if want == "" {
				want = text
			} else if text != want {
				t.Errorf("%d workers:\n%.2000s\nwith one:\n%.2000s", workers, text, want)
			}
		}
	}
	t.Logf("%d variants: %d starts, at most %.2f times as many as may be", variants, sum, worst)
	if worst < 0.4 && testrest.In(t) {
		t.Error("no variant has a guest started often")
	}
}

// TestDrawnBytes: whatever sizes the patches of pods have that wait or are bound, what the host keeps for them stays within a quarter
// of an instance and a quarter of that more, and all of it is given back.
func TestDrawnBytes(t *testing.T) { drawnBytes(t, 10) }

// TestRestDrawnBytes does so with more of them.
func TestRestDrawnBytes(t *testing.T) { drawnBytes(t, 100) }

func drawnBytes(t *testing.T, variants int) {
	t.Helper()
	r := seeded.Rand(t)
	refusals := 0
	for range variants {
		total := int64(32+r.IntN(33)) << 20
		texts := []uint32{1 + r.Uint32N(patchedBytes), 1 + r.Uint32N(patchedBytes)} // at reserve, and later
		p, w := patchingOf(t, total, texts[0], texts[1]), newWorld(3)
		before, most := p.Status().Memory, total/8/4*5/4
		var waiting []*plugin.Placement
		check := func() {
			if held := p.Status().Memory - before; held > most {
				t.Fatalf("%d bytes are held, at most %d may be: %d of memory, texts of %v", held, most, total, texts)
			}
		}
		for i := range 100 + r.IntN(1000) {
			switch pl := w.placement(incoming("a", fmt.Sprint("p", i), 0), "n1"); {
			case len(waiting) > 0 && r.IntN(3) == 0: // one that waits goes on
				pl = waiting[r.IntN(len(waiting))]
				if _, status := p.PreBind(pl); !status.Success() {
					noRoom(t, status)
					refusals++
				}
			case len(waiting) > 0 && r.IntN(8) == 0: // the oldest is confirmed
				for _, ended := range waiting[0].Ended {
					ended()
				}
				p.Unassumed(waiting[0].Pod.UID)
				waiting = waiting[1:]
			default:
				if _, status := p.Reserve(pl); status.Success() {
					waiting = append(waiting, pl)
				} else {
					noRoom(t, status)
					refusals++
				}
			}
			check()
		}
		for _, pl := range waiting {
			for _, ended := range pl.Ended {
				ended()
			}
			p.Unassumed(pl.Pod.UID)
		}
		if held := p.Status().Memory - before; held != 0 {
			t.Fatalf("%d bytes are held for no pod: %d of memory, texts of %v", held, total, texts)
		}
	}
	t.Logf("%d variants, %d refusals", variants, refusals)
	if refusals == 0 {
		t.Error("no variant has used up its budget")
	}
}
