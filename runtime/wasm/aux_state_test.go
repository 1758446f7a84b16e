package wasm_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/fault"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
)

// statePlugin makes a plugin with state.
func statePlugin(t testing.TB, name string, m *wire.Manifest, point func(g *tiny, export string, call, lo, hi uint32) int32) *wasm.Plugin {
	t.Helper()
	return stateOf(t, wasm.Config{Name: name}, m, point)
}

func stateOf(t testing.TB, config wasm.Config, m *wire.Manifest, point func(g *tiny, export string, call, lo, hi uint32) int32) *wasm.Plugin {
	t.Helper()
	config.VerifyEvery = 1
	var exports []string
	for _, p := range m.Declared() {
		export, _ := wire.ExportOf(p)
		exports = append(exports, export)
	}
	p, err := wasm.New(t.Context(), config, wasm.Deps{Factory: native(point, exports...), Manifest: m})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close(context.Background()) })
	return p
}

// TestStateOutlivesTheCycle: reserve reads what pre_filter wrote, in another instance, except
// for keys that hold ids. Other plugins read what is published, and nothing else, also from a version of a
// plugin, by the plugin's name.
func TestStateOutlivesTheCycle(t *testing.T) {
	for _, config := range []wasm.Config{{Name: "publisher"}, {Name: "publisher@canary", Publishes: "publisher"}} {
		t.Run(config.Name, func(t *testing.T) { stateOutlives(t, config) })
	}
}

func stateOutlives(t *testing.T, config wasm.Config) {
	w := newWorld(3)
	point := &wire.ManifestPoint{}
	var log []string
	publisher := stateOf(t, config, &wire.Manifest{
		Points: wire.ManifestPoints{PreFilter: point, Filter: point, Reserve: point}, Publishes: []string{"plan"}, CycleLocal: []string{"rows"},
	}, func(g *tiny, export string, _, _, _ uint32) int32 {
		if export == abi.ExportPreFilter {
			for _, key := range []string{"plan", "rows", "own"} {
				if !g.env.StateSet(key, []byte(key+"!")) {
					panic("no state")
				}
			}
			return 0
		}
		line := export + ":"
		for _, key := range []string{"plan", "rows", "own"} {
			if v, ok := g.env.StateGet(key); ok {
				line += " " + string(v)
			}
		}
		log = append(log, fmt.Sprint(line, " ", g.env.StateSet("rows", nil)))
		return 0
	})
	reader := statePlugin(t, "reader", &wire.Manifest{
		Points: wire.ManifestPoints{PreFilter: point, Filter: point, Reserve: point},
		Reads:  wire.ManifestReads{Published: []string{"publisher/plan", "publisher/own", "nobody/plan"}},
	}, func(g *tiny, export string, _, _, _ uint32) int32 {
		line := "reader " + export + ":"
		for i := range uint32(4) {
			v, ok := g.env.PublishedGet(i)
			line += fmt.Sprintf(" %s/%v", v, ok)
		}
		log = append(log, line)
		return 0
	})
	c := w.cycle(incoming("a", "p", 0))
	for _, p := range []*wasm.Plugin{publisher, reader} {
		if _, status := p.PreFilter(c); status != nil {
			t.Fatal(status.Message())
		}
		filter(p, c, w.rows())
	}
	pl := w.placement(c.Pod, "n1")
	pl.State = c.State
	for _, p := range []*wasm.Plugin{publisher, reader} {
		if _, status := p.Reserve(pl); status != nil {
			t.Fatal(status.Message())
		}
	}
	want := []string{
		"berth_filter: plan! rows! own! true",
		"reader berth_pre_filter: plan!/true /false /false /false",
		"reader berth_filter: plan!/true /false /false /false",
		"berth_reserve: plan! own! false",
		"reader berth_reserve: plan!/true /false /false /false",
	}
	if !slices.Equal(log, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(log, "\n"), strings.Join(want, "\n"))
	}
}

// TestWholeObjects: a guest reads the whole pod by position and the whole node by row; other
// numbers give nothing.
func TestWholeObjects(t *testing.T) {
	w := newWorld(3)
	node := nodeObject("n1")
	node.Spec.ProviderID = "provider"
	w.cache.AddNode(state.NewNode(node))
	var check func(g *tiny)
	point := &wire.ManifestPoint{}
	p := statePlugin(t, "guest", &wire.Manifest{Points: wire.ManifestPoints{Filter: point, Reserve: point, PreEnqueue: point}},
		func(g *tiny, _ string, _, _, _ uint32) int32 {
			check(g)
			return 0
		})
	pod := podObject("a", "p", "")
	pod.Spec.Hostname = "host"
	incoming := state.NewPod(pod)
	c := w.cycle(incoming)
	find := func(g *tiny) (rows []uint32) {
		for row := range uint32(5) {
			data, ok := g.env.NodeObject(row)
			if !ok {
				continue
			}
			var got v1.Node
			if err := got.Unmarshal(data); err != nil {
				panic(err)
			}
			if got.Name == "n1" && got.Spec.ProviderID == "provider" {
				rows = append(rows, row)
			}
		}
		return rows
	}
	podAt := func(g *tiny, i uint32) string {
		data, ok := g.env.PodObject(i)
		if !ok {
			return "none"
		}
		var got v1.Pod
		if err := got.Unmarshal(data); err != nil {
			panic(err)
		}
		return got.Name + " on " + got.Spec.NodeName + " as " + got.Spec.Hostname
	}
	calls := 0
	check = func(g *tiny) {
		row, _ := w.snap.Row("n1")
		if rows := find(g); !slices.Equal(rows, []uint32{row}) {
			t.Errorf("n1 is in rows %v", rows)
		}
		if got := podAt(g, 0) + ", " + podAt(g, 1); got != "p on  as host, none" {
			t.Errorf("pods %s", got)
		}
		calls++
	}
	filter(p, c, w.rows())
	check = func(g *tiny) {
		if rows := find(g); !slices.Equal(rows, []uint32{0}) {
			t.Errorf("n1 is in rows %v", rows)
		}
		if got := podAt(g, 0); got != "p on n1 as host" {
			t.Errorf("pod %s", got)
		}
		calls++
	}
	p.Reserve(w.placement(incoming, "n1"))
	check = func(g *tiny) {
		if rows := find(g); rows != nil {
			t.Errorf("n1 is in rows %v", rows)
		}
		if got := podAt(g, 1); got != "p on  as host" {
			t.Errorf("pod %s", got)
		}
		calls++
	}
	p.PreEnqueue([]*state.Pod{state.NewPod(podObject("a", "q", "")), incoming}, make([]*plugin.Status, 2))
	if calls != 3 || p.Faults() > 0 {
		t.Errorf("%d calls, %d faults", calls, p.Faults())
	}
}

// TestOtherNamespaces: a plugin that is attached to namespaces is not called for pods of
// others, at any point.
func TestOtherNamespaces(t *testing.T) {
	w := newWorld(1)
	m := &wire.Manifest{Directives: wire.ManifestDirectives{Bind: true}}
	var exports []string
	for _, point := range abi.Points() {
		if export, _ := wire.ExportOf(point); export != "" && point != abi.QueueSort {
			m.Points.Set(point, &wire.ManifestPoint{})
			exports = append(exports, export)
		}
	}
	c := wasm.Config{Name: "guest", Namespaces: []string{"mine"}, Grants: m.Directives}
	d := wasm.Deps{Factory: native(nil, append(exports, abi.ExportQueueKey)...), Manifest: m, Binder: &binder{}}
	p, err := wasm.New(t.Context(), c, d)
	if err != nil {
		t.Fatal(err)
	}
	other, pl := incoming("other", "p", 0), w.placement(incoming("other", "p", 0), "n0")
	cycle := w.cycle(other)
	statuses, hints := make([]*plugin.Status, 1), []state.Hint{state.Queue}
	p.PreEnqueue([]*state.Pod{other}, statuses)
	p.Hint(state.EventAssignedPodDelete(), state.Object{}, []*state.Pod{other}, hints)
	p.PreFilter(cycle)
	p.AddPod(cycle, 0, other)
	filter(p, cycle, w.rows())
	if _, status := p.PostFilter(cycle, &plugin.Diagnosis{Codes: make([]abi.Code, 1)}); !status.Is(abi.Unschedulable) {
		t.Errorf("PostFilter %v", status.CodeOf())
	}
	p.Reserve(pl)
	p.Permit(pl)
	if status := p.PreBindPreFlight(pl); !status.Is(abi.Skip) {
		t.Errorf("PreBindPreFlight %v", status.CodeOf())
	}
	if _, status := p.Bind(pl); !status.Is(abi.Skip) {
		t.Errorf("Bind %v", status.CodeOf())
	}
	p.PostBind(pl)
	p.Unreserve(pl)
	if p.Calls() != 0 || statuses[0] != nil {
		t.Errorf("%d calls, %v", p.Calls(), statuses[0].AllReasons())
	}
	m.Points.QueueSort = &wire.ManifestPoint{}
	if _, err := wasm.New(t.Context(), c, d); err == nil || !strings.Contains(err.Error(), "for some namespaces only") {
		t.Errorf("queue_key for a namespace: %v", err)
	}
}

// TestBindingBesideTheLoop: binding cycles use instances of their own while the loop goes on,
// and no more than allowed.
func TestBindingBesideTheLoop(t *testing.T) {
	w := newWorld(20)
	var mu sync.Mutex
	inside, most := 0, 0
	count := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		inside += n
		most = max(most, inside)
	}
	reads := wire.ManifestReads{Node: []string{"name", "labels", "pods"}, Pods: []string{"labels"}, Pod: []string{"name", "labels"}}
	p := auxPlugin(t, func(g *tiny, export string, call, lo, hi uint32) int32 {
		if export == abi.ExportPreBind {
			count(1)
			defer count(-1)
		}
		look(g, call)
		return 0
	}, reads, wasm.Deps{}, abi.Filter, abi.Reserve, abi.PreBind, abi.PostBind)
	var wg sync.WaitGroup
	for i := range 200 {
		object := podObject("a", fmt.Sprint("p", i), "")
		object.Labels["unique"] = strings.Repeat(fmt.Sprint(i), 50) // the dictionaries turn over
		pod := state.NewPod(object)
		filter(p, w.cycle(pod), w.rows())
		pl := w.placement(pod, nodeName(i%20))
		if _, status := p.Reserve(pl); status != nil {
			t.Fatal(status.Message())
		}
		wg.Go(func() {
			if _, status := p.PreBind(pl); status != nil {
				t.Error(status.Message())
			}
			p.PostBind(pl)
		})
		w.place(t, podObject("a", fmt.Sprint("p", i), nodeName(i%20)))
	}
	wg.Wait()
	if n := p.Faults(); n > 0 || most > 8 {
		t.Errorf("%d faults, %d binding cycles in the guest at once", n, most)
	}
	if err := p.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, status := p.Reserve(w.placement(incoming("a", "late", 0), "n0")); !strings.Contains(status.Message(), "the plugin is closed") {
		t.Errorf("after Close: %v", status.AllReasons())
	}
}

// TestAuxDictionary: the strings of an aux instance stay bounded.
func TestAuxDictionary(t *testing.T) {
	w := newWorld(1)
	epochs, most := map[uint64]bool{}, uint32(0)
	p := auxPlugin(t, func(g *tiny, _ string, call, _, _ uint32) int32 {
		s := look(g, call)
		epochs[s.snap.Epoch], most = true, max(most, s.snap.Table(abi.TableStrings).Rows)
		if want := `["app"="p"`; !strings.HasPrefix(s.pod["143.0"], want) && !strings.Contains(s.pod["143.0"], "k0") {
			t.Errorf("labels %s", s.pod["143.0"])
		}
		return 0
	}, wire.ManifestReads{Pod: []string{"labels"}}, wasm.Deps{}, abi.Reserve)
	for i := range 100 {
		object := podObject("a", "p", "")
		for j := range 200 {
			object.Labels[fmt.Sprint("k", j)] = fmt.Sprint("v", i, "-", j)
		}
		if _, status := p.Reserve(w.placement(state.NewPod(object), "n0")); status != nil {
			t.Fatal(status.Message())
		}
	}
	if len(epochs) < 3 || most > 6000 {
		t.Errorf("%d epochs, up to %d strings", len(epochs), most)
	}
}

// TestStateOfWaitingPods: what a plugin keeps for pods that wait is limited in total, and so is what binding cycles
// add; pods whose binding has ended do not count.
func TestStateOfWaitingPods(t *testing.T) {
	w := newWorld(3)
	point := &wire.ManifestPoint{}
	refused := 0
	write := func(g *tiny, key string) {
		if !g.env.StateSet(key, make([]byte, 60<<10)) {
			refused++
		}
	}
	p := stateOf(t, wasm.Config{Name: "guest", Limits: sandbox.Limits{TotalMemory: 256 << 20, OwnMemory: 32 << 20}}, &wire.Manifest{
		Points: wire.ManifestPoints{PreFilter: point, Filter: point, PreBind: point}, Host: []string{abi.HostStateSet},
	}, func(g *tiny, export string, _, _, _ uint32) int32 {
		switch export {
		case abi.ExportPreFilter:
			write(g, "a")
			write(g, "b")
		case abi.ExportPreBind:
			write(g, "c")
			write(g, "c")
		}
		return 0
	})
	var waiting []*plugin.Placement
	var full error
	for full == nil && len(waiting) < 1000 {
		c := w.cycle(incoming("a", fmt.Sprint("p", len(waiting)), 0))
		if _, status := p.PreFilter(c); status != nil {
			t.Fatal(status.Message())
		}
		pl := w.placement(c.Pod, "n1")
		pl.State = c.State
		waiting, full = append(waiting, pl), c.State.Keep()
	}
	again := waiting[len(waiting)-1]
	waiting = waiting[:len(waiting)-1]
	if len(waiting) != 68 || refused != 0 { // 68 times 120 KiB and their keys in 8 MiB
		t.Fatalf("%d pods wait, and %d writes were refused: %v", len(waiting), refused, full)
	}
	if f, ok := fault.As(full); !ok || f.Kind != fault.NoMemory || p.FaultsAt(abi.Permit) != 1 {
		t.Errorf("%v, and %d faults", full, p.FaultsAt(abi.Permit))
	}
	for _, pl := range waiting {
		if _, status := p.PreBind(pl); status != nil {
			t.Fatal(status.Message())
		}
	}
	if added := 68 - refused/2; added != 34 { // 34 times 60 KiB in 2 MiB
		t.Errorf("%d pods added to their state", added)
	}
	for _, pl := range waiting {
		pl.State.Drop()
	}
	if err := again.State.Keep(); err != nil || p.Status().Memory < 120<<10 {
		t.Errorf("%v, with %d bytes in use", err, p.Status().Memory)
	}
	before := p.Status().Memory
	if again.State.Drop(); before-p.Status().Memory != 120<<10+2 {
		t.Errorf("%d bytes are free again", before-p.Status().Memory)
	}
}

// TestCarriedState: a plugin that is restored from what another one carries has the state of a pod that waits, which
// counts, and what its binding cycle made of it.
func TestCarriedState(t *testing.T) {
	w, point := newWorld(3), &wire.ManifestPoint{}
	made := func() *wasm.Plugin {
		return stateOf(t, wasm.Config{Name: "guest"}, &wire.Manifest{
			Points: wire.ManifestPoints{PreFilter: point, Filter: point, PreBind: point}, Host: []string{abi.HostStateSet},
		}, func(g *tiny, export string, _, _, _ uint32) int32 {
			if export == abi.ExportPreFilter {
				g.env.StateSet("a\xff", []byte{1})
				g.env.StateSet("b", nil)
			}
			if export == abi.ExportPreBind {
				g.env.StateSet("a\xff", []byte{2})
			}
			return 0
		})
	}
	first, second := made(), made()
	c := w.cycle(incoming("a", "p", 0))
	if _, status := first.PreFilter(c); status != nil {
		t.Fatal(status.Message())
	}
	from, to := w.placement(c.Pod, "n1"), w.placement(c.Pod, "n1")
	from.State, to.State = c.State, &state.CycleState{}
	if first.CarriedFor(from) != nil {
		t.Error("a pod is in flight before Permit has ended")
	}
	if err := from.State.Keep(); err != nil {
		t.Fatal(err)
	}
	reserved := string(first.CarriedFor(from))
	if err := second.ResumeFor(to, first.CarriedFor(from)); err != nil || string(second.CarriedFor(to)) != reserved || first.ChangedFor(from) != nil {
		t.Errorf("got %s, want %s: %v", second.CarriedFor(to), reserved, err)
	}
	if _, status := first.PreBind(from); status != nil {
		t.Fatal(status.Message())
	}
	changed := string(first.ChangedFor(from))
	if string(first.CarriedFor(from)) != reserved || changed == reserved {
		t.Errorf("%s became %s", reserved, first.CarriedFor(from))
	}
	if err := second.ResumeFor(to, first.ChangedFor(from)); err != nil || string(second.ChangedFor(to)) != changed {
		t.Errorf("got %s, want %s: %v", second.ChangedFor(to), changed, err)
	}
	to.State.Drop()
	if second.CarriedFor(to) != nil {
		t.Error("it counts after its end")
	}
}
