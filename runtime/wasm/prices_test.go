package wasm_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/internal/wat"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/breaker"
	"github.com/berth-scheduler/berth/runtime/wasm/meter"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// mostTimesCopied bounds BenchmarkHostCallTime for state_set of 64 KiB and more.
const mostTimesCopied = 6

// Addresses in measured guests to which arguments point.
const (
	atCount   = 512     // how many rounds are made
	atFirst   = 520     // arguments, 8 bytes each
	atSecond  = 600     // those of every other call
	atVectors = 0x10000 // lists of WASI: address and length in turn
	atEvents  = 0x40000 // subscriptions of WASI
	atBytes   = 0x80000
	measured  = 64 // pages, before the region
)

// rounds is a guest whose pre_filter calls the function with the first and the second arguments
// in turn; without a function it loops.
func (h *hostCall) rounds() string {
	var calls, locals, load strings.Builder
	for at, set := range []int{atFirst, atSecond} {
		for i, typ := range strings.Fields(h.params) {
			fmt.Fprintf(&locals, "(local $a%d%d %s) ", at, i, typ)
			fmt.Fprintf(&load, "(local.set $a%d%d (%s.load (i32.const %d)))\n", at, i, typ, set+8*i)
		}
		if h.name == "" {
			continue
		}
		for i := range strings.Fields(h.params) {
			fmt.Fprintf(&calls, "(local.get $a%d%d) ", at, i)
		}
		calls.WriteString("call $f\n")
		if h.results != "" {
			calls.WriteString("drop\n")
		}
	}
	imported := ""
	if h.name != "" {
		imported = fmt.Sprintf(`(import %q %q (func $f%s%s))`, h.module, h.name, clause("param", h.params), clause("result", h.results))
	}
	return fmt.Sprintf(`(module
		%s
		(memory (export "memory") %d)
		(global $top (mut i32) (i32.const %d))
		(func (export "berth_abi") (result i32) (i32.const 0x10000))
		(func (export "berth_alloc") (param i32 i32) (result i32)
			(drop (memory.grow (i32.add (i32.const 1) (i32.shr_u (local.get 0) (i32.const 16)))))
			(global.get $top)
			(global.set $top (i32.add (global.get $top) (i32.and (i32.add (local.get 0) (i32.const 63)) (i32.const -64)))))
		(func (export "berth_pre_filter") (param $call i32) (result i32) (local $n i32) %s
			(local.set $n (i32.load (i32.const %d)))
			%s
			(block $done (loop $again
				(br_if $done (i32.eqz (local.get $n)))
				(local.set $n (i32.sub (local.get $n) (i32.const 1)))
				%s
				(br $again)))
			(i32.const 0)))`, imported, measured, measured<<16, &locals, atCount, &load, &calls)
}

// priced is a plugin that calls one host function, in a world of objects.
type priced struct {
	call    *hostCall
	plugin  *wasm.Plugin
	watched *spy
	world   *world
	pod     *state.Pod
	state   state.CycleState
	args    [2][]uint64
	count   uint32
	took    time.Duration
	objects *objectMix
}

// objectMix has pods and nodes that are slow to encode, each for another reason.
type objectMix struct {
	pods  []*v1.Pod
	nodes []*v1.Node
}

func newObjectMix() *objectMix {
	m := &objectMix{}
	add := func(what string, edit func(p *v1.Pod, n *v1.Node)) {
		p, n := podObject("a", what, ""), nodeObject(what)
		edit(p, n)
		m.pods, m.nodes = append(m.pods, p), append(m.nodes, n)
	}
	add("small0", func(*v1.Pod, *v1.Node) {})
	add("small1", func(*v1.Pod, *v1.Node) {})
	random := rand.New(rand.NewPCG(1, 1))
	for _, count := range []int{100, 10_000} {
		add(fmt.Sprint("annotations", count), func(p *v1.Pod, n *v1.Node) {
			p.Annotations = map[string]string{}
			for range count {
				p.Annotations[fmt.Sprintf("%06x", random.IntN(1<<24))] = ""
			}
			n.Annotations = p.Annotations
		})
		add(fmt.Sprint("resources", count), func(p *v1.Pod, n *v1.Node) {
			list := v1.ResourceList{}
			for range count {
				list[v1.ResourceName(fmt.Sprintf("a.b/%06x", random.IntN(1<<24)))] = *resource.NewScaledQuantity(random.Int64(), resource.Nano)
			}
			p.Spec.Overhead, n.Status.Capacity = list, list
		})
		add(fmt.Sprint("messages", count), func(p *v1.Pod, n *v1.Node) {
			p.Spec.Volumes, n.Status.Conditions = make([]v1.Volume, count), make([]v1.NodeCondition, count)
		})
		add(fmt.Sprint("containers", count), func(p *v1.Pod, n *v1.Node) {
			p.Spec.Containers, n.Status.Images = make([]v1.Container, count), make([]v1.ContainerImage, count)
		})
		add(fmt.Sprint("strings", count), func(p *v1.Pod, n *v1.Node) {
			p.Finalizers, n.Spec.PodCIDRs = make([]string, count), make([]string, count)
		})
	}
	add("text", func(p *v1.Pod, n *v1.Node) {
		p.Annotations = map[string]string{"a": strings.Repeat("x", 250_000)}
		n.Annotations = p.Annotations
	})
	return m
}

// newPriced returns the plugin of a function of the host.
func newPriced(t testing.TB, r *sandbox.Runtime, h *hostCall, objects *objectMix) *priced {
	t.Helper()
	host := "[]"
	if h.module == abi.HostModule {
		host = fmt.Sprintf("[%q]", h.name)
	}
	points, reads := `{"preFilter":{}}`, `{"node":["generation"],"published":["other/key"]}`
	module, err := r.Load(t.Context(), wat.Compile(t, h.rounds(), manifestJSON(points, reads, host)))
	if err != nil {
		t.Fatalf("%s: %v", h.name, err)
	}
	p := &priced{call: h, watched: &spy{Factory: module}, world: newWorld(0), objects: objects}
	limits := sandbox.Limits{FuelBase: 1 << 40, FuelPerCycle: 1 << 60, Deadline: time.Minute}
	sink, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sink.Close() })
	limits.LogSize = 1 << 40
	p.plugin, err = wasm.New(t.Context(), wasm.Config{Name: "guest", Limits: limits, Breaker: breaker.Config{Faults: -1}},
		wasm.Deps{Factory: p.watched, Manifest: manifest(t, points, reads, host), Log: slog.New(slog.NewJSONHandler(sink, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.plugin.Close(context.Background()) })
	p.keepState(t)
	for _, node := range objects.nodes {
		p.world.cache.AddNode(state.NewNode(node))
	}
	p.prepare()
	return p
}

// prepare writes arguments and lists before each call.
func (p *priced) prepare() {
	p.watched.before = func(g *spied, _ abi.Point, _, _, _ uint32) {
		memory := g.Memory()
		binary.LittleEndian.PutUint32(memory[atCount:], p.count)
		for i, at := range []int{atFirst, atSecond} {
			for j, arg := range p.args[i] {
				binary.LittleEndian.PutUint64(memory[at+8*j:], arg)
			}
		}
		prepareLists(memory)
	}
}

// keepState fills the state of the plugin and of another one.
func (p *priced) keepState(t testing.TB) {
	for _, name := range []string{"guest", "other"} {
		m := &wire.Manifest{Points: wire.ManifestPoints{PreFilter: &wire.ManifestPoint{}}, Publishes: []string{"key"}}
		writer := statePlugin(t, name, m, func(g *tiny, _ string, _, _, _ uint32) int32 {
			large := make([]byte, abi.MaxStateValue)
			for _, key := range []string{"key", string(make([]byte, 8)), string(make([]byte, 128))} {
				if !g.env.StateSet(key, large) {
					panic("no state")
				}
			}
			return 0
		})
		c := p.world.cycle(incoming("a", "p", 0))
		c.State = &p.state
		if _, status := writer.PreFilter(c); status != nil {
			t.Fatal(status.Message())
		}
	}
}

// prepareLists writes lists for WASI.
func prepareLists(memory []byte) {
	for i, length := range []uint32{0, 1, 4096, 65536} { // blocks of 0x8000 bytes
		block := memory[atVectors+0x8000*i:][:0x8000]
		for at := 0; at < len(block); at += 8 {
			binary.LittleEndian.PutUint32(block[at:], atBytes)
			binary.LittleEndian.PutUint32(block[at+4:], length)
		}
	}
	for i, kind := range []byte{0, 1, 2} {
		block := memory[atEvents+0x8000*i:][:0x8000]
		for at := 0; at+48 <= len(block); at += 48 {
			block[at+8] = kind
			block[at+16] = byte(at / 48 % 5) // the file
		}
	}
}

// run makes so many rounds and returns the fuel of the call; false after a fault.
func (p *priced) run(rounds uint32) (int64, bool) {
	p.count = rounds
	c := p.world.cycle(p.pod)
	c.State = p.state.Clone()
	before, faults := p.plugin.Fuel(), p.plugin.Faults()
	start := cpuTime()
	p.plugin.PreFilter(c)
	p.took = cpuTime() - start
	p.plugin.Settle("a")
	return p.plugin.Fuel() - before, p.plugin.Faults() == faults
}

// perUnit returns the time of a unit of fuel in ns, the least of several runs, and the units of
// a round; false if the guest faults.
func (p *priced) perUnit() (ns float64, units int64, ok bool) {
	const enough, runs = 200 * time.Microsecond, 3
	rounds := uint32(4)
	for {
		used, ok := p.run(rounds)
		if !ok {
			return 0, 0, false
		}
		units = used / int64(rounds)
		if p.took >= enough || rounds >= 1<<22 {
			ns = float64(p.took) / float64(used)
			break
		}
		rounds *= 4
	}
	for range runs - 1 {
		used, _ := p.run(rounds)
		ns = min(ns, float64(p.took)/float64(used))
	}
	return ns, units, true
}

// cases returns arguments to measure a function with: known slow ones, and drawn ones.
func (h *hostCall) cases(random *rand.Rand, rows uint32) (out [][2][]uint64) {
	twice := func(args ...uint64) { out = append(out, [2][]uint64{args, args}) }
	const vector, block = atVectors, 0x8000
	switch h.name {
	case abi.HostLog:
		for _, n := range []uint64{0, 1, 100, 4096, 65536} {
			twice(1, atBytes, n)
		}
	case abi.HostStateGet, abi.HostStateSet:
		for _, n := range []uint64{0, 1, 128, 4096, 65536, 262144} {
			twice(atBytes, 8, atBytes+block, n)
			out = append(out, [2][]uint64{{atBytes, 8, atBytes + block, n}, {atBytes, 128, atBytes + block, n}})
		}
	case abi.HostPublishedGet:
		for _, n := range []uint64{0, 4096, 65536} {
			twice(0, atBytes, n)
		}
	case abi.HostPodObject:
		for _, n := range []uint64{0, 1 << 20} {
			twice(0, atBytes, n)
		}
	case abi.HostNodeObject:
		for row := range uint64(rows) {
			for _, n := range []uint64{0, 1 << 20} {
				out = append(out, [2][]uint64{{row, atBytes, n}, {(row + 1) % uint64(rows), atBytes, n}})
			}
		}
	case "fd_read", "fd_write", "sock_recv", "sock_send":
		for i := range uint64(4) {
			twice(1, vector+block*i, 1, 8, 8, 8)
			twice(1, vector+block*i, block/8, 8, 8, 8)
			twice(0, vector+block*i, block/8, 8, 8, 8)
		}
	case "fd_pread", "fd_pwrite":
		for i := range uint64(4) {
			twice(1, vector+block*i, block/8, 0, 8)
			twice(0, vector+block*i, block/8, 0, 8)
		}
	case "poll_oneoff":
		for i := range uint64(3) {
			twice(atEvents+block*i, atBytes, block/48, 8)
			twice(atEvents+block*i, atBytes, 1, 8)
		}
	case "random_get":
		for _, n := range []uint64{0, 1, 16, 4096, 1 << 20} {
			twice(atBytes, n)
		}
	}
	values := []uint64{0, 1, 2, 3, 8, 48, 100, 4096, vector, vector + 3*block, atEvents, atBytes, 1 << 20, measured << 16, 1 << 31, 1<<32 - 1}
	for range 25 {
		var args [2][]uint64
		for i := range args {
			for range strings.Fields(h.params) {
				args[i] = append(args[i], values[random.IntN(len(values))])
			}
		}
		out = append(out, args)
	}
	for i := range out { // some lists above are longer than the function's
		for j := range out[i] {
			out[i][j] = out[i][j][:len(strings.Fields(h.params))]
		}
	}
	return out
}

// BenchmarkHostCallTime measures the longest time of a unit of fuel in each function that a guest can import, over arguments: in ns,
// and how many times that of a loop that does nothing. It fails above meter.MostTimesPlain, and for copies above mostTimesCopied.
func BenchmarkHostCallTime(b *testing.B) {
	r := newRuntime(b, sandbox.RuntimeConfig{})
	objects := newObjectMix()
	loop := newPriced(b, r, &hostCall{}, objects)
	loop.pod = incoming("a", "p", 0)
	plain := math.Inf(1)
	for range 20 {
		again, _, _ := loop.perUnit()
		plain = min(plain, again)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, h := range hostCalls(b) {
		p := newPriced(b, r, &h, objects)
		cases := h.cases(random, uint32(len(objects.nodes)))
		of := func(copied bool) func(*testing.B) {
			return func(b *testing.B) {
				for range b.N {
					p.worst(b, cases, copied, plain)
				}
			}
		}
		b.Run(h.name, of(false))
		if h.name == abi.HostStateSet {
			b.Run(h.name+" of 64 KiB", of(true))
		}
	}
}

// worst measures the function of a plugin with arguments that copy much, or with the others.
func (p *priced) worst(b *testing.B, cases [][2][]uint64, copied bool, plain float64) {
	b.Helper()
	most := float64(meter.MostTimesPlain)
	if copied {
		most = mostTimesCopied
	}
	worst, at, atUnits := 0.0, "", int64(0)
	measure := func(what string) {
		ns, units, ok := p.perUnit()
		for range 5 { // a busy machine is slow, but not always
			if ok && ns > most*plain/2 {
				again, _, _ := p.perUnit()
				ns = min(ns, again)
			}
		}
		if ok && ns > worst {
			worst, atUnits, at = ns, units, fmt.Sprintf("%s%#x", what, p.args)
		}
	}
	for _, args := range cases {
		if p.call.name == abi.HostStateSet && (args[0][3] >= 64<<10) != copied {
			continue
		}
		p.args, p.pod = args, incoming("a", "p", 0)
		measure("")
	}
	if p.call.name == abi.HostPodObject {
		for _, object := range p.objects.pods {
			p.args, p.pod = [2][]uint64{{0, 0, 0}, {0, atBytes, 1 << 20}}, state.NewPod(object)
			measure(" of " + object.Name)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(worst, "ns/unit")
	b.ReportMetric(worst/plain, "times-plain")
	if worst > most*plain {
		b.Errorf("%.1f ns a unit, %.1f times that of a loop, want at most %.0f: %d units for%s", worst, worst/plain, most, atUnits/2, at)
	}
}
