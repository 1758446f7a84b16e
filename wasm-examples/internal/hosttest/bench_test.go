//go:build !wasip1

package hosttest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/workload"
	"github.com/berth-scheduler/berth/runtime/cache"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
	wasmexamples "github.com/berth-scheduler/berth/wasm-examples"
)

// pass runs the reference workload through a plugin of this host: a cycle for each pod, and in
// it Filter over all rows, divided as a pipeline would.
type pass struct {
	plugin   *wasm.Plugin
	cache    *cache.Cache
	snapshot *state.Snapshot
	pods     []*state.Pod
	pieces   [][]uint32
	cycle    plugin.Cycle
	state    state.CycleState
	verdicts plugin.Verdicts
	nodes    []string
	placed   bool // the pod of next is placed
	loads    bool // the plugin reads feeds
	scores   []int64
	steps    int

	codes   []abi.Code
	reasons [][]string
}

var _ workload.Pass = (*pass)(nil)

func newPass(t testing.TB, w workload.Load, e *wasmexamples.Example, f sandbox.Factory, verify int) *pass {
	t.Helper()
	p := &pass{cache: cache.New(cache.Config{}), snapshot: state.NewSnapshot()}
	for _, n := range w.Nodes {
		p.cache.AddNode(state.NewNode(n))
		p.nodes = append(p.nodes, n.Name)
	}
	for _, pod := range w.Placed {
		if _, err := p.cache.AddPod(state.NewPod(pod)); err != nil {
			t.Fatal(err)
		}
	}
	for _, pod := range w.Pods {
		p.pods = append(p.pods, state.NewPod(pod))
	}
	resolved, err := manifest(t, e).Resolve(e.Config)
	if err != nil {
		t.Fatal(err)
	}
	p.feed(w, resolved.Reads.Feeds)
	p.cache.UpdateSnapshot(p.snapshot)
	for row, n := range w.Nodes {
		if p.snapshot.Name(uint32(row)) != n.Name {
			t.Fatalf("row %d is %s, want the order of the workload", row, p.snapshot.Name(uint32(row)))
		}
		if row%plugin.BlockRows == 0 {
			p.pieces = append(p.pieces, nil)
		}
		last := &p.pieces[len(p.pieces)-1]
		*last = append(*last, uint32(row))
	}
	if p.plugin, err = newPlugin(t, e, f, wasm.Config{Shards: 1, VerifyEvery: verify}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.plugin.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p
}

// run filters all nodes for a pod, and passes each part to look.
func (p *pass) run(pod int, look func(rows []uint32)) {
	p.state.Reset()
	p.steps++
	p.cycle = plugin.Cycle{Context: context.Background(), Snapshot: p.snapshot, Pod: p.pods[pod], State: &p.state, Seed: uint64(p.steps)}
	for _, rows := range p.pieces {
		p.verdicts.Reset(len(rows))
		p.plugin.Filter(&p.cycle, rows, &p.verdicts)
		if look != nil {
			look(rows)
		}
		if p.loads {
			p.scores = append(p.scores[:0], make([]int64, len(rows))...)
			p.plugin.Score(&p.cycle, rows, p.scores)
		}
	}
}

// feed has feeds say of the nodes that they use up to three quarters of what they have, each another part. Then run scores, too.
func (p *pass) feed(w workload.Load, feeds []string) {
	for _, id := range feeds {
		name, unit, _ := strings.Cut(id, ":")
		feed := state.Feed{Name: name, Cells: make(map[string]state.Cell, len(w.Nodes))}
		for i, n := range w.Nodes {
			has := n.Status.Allocatable.Cpu().MilliValue()
			if unit == "bytes" {
				has = n.Status.Allocatable.Memory().Value()
			}
			feed.Cells[n.Name] = state.Cell{Value: has / 100 * int64(i*37%76), State: abi.FeedFresh, Since: 1}
		}
		p.cache.SetFeeds(feed)
		p.loads = true
	}
}

// Filter implements workload.Pass, to compare with the baselines.
func (p *pass) Filter(pod int) workload.Statuses {
	p.codes, p.reasons = p.codes[:0], p.reasons[:0]
	p.run(pod, func(rows []uint32) {
		for i := range rows {
			p.codes = append(p.codes, p.verdicts.Codes[i])
			p.reasons = append(p.reasons, slices.Clone(p.verdicts.Texts(i)))
		}
	})
	return workload.Statuses{Codes: p.codes, Reasons: p.reasons}
}

// next changes one row, as placing a pod does: it places a small pod, or removes it.
func (p *pass) next(t testing.TB) {
	if p.placed {
		p.cache.RemovePod("next")
		p.placed = false
	} else {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "reference", Name: "next", UID: "next"}}
		pod.Spec.NodeName = p.nodes[p.steps*7919%len(p.nodes)]
		pod.Spec.Containers = []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
			v1.ResourceCPU: *resource.NewMilliQuantity(1, resource.DecimalSI),
		}}}}
		if _, err := p.cache.AddPod(state.NewPod(pod)); err != nil {
			t.Fatal(err)
		}
		p.placed = true
	}
	p.cache.UpdateSnapshot(p.snapshot)
}

type guest struct {
	name    string
	example wasmexamples.Example
	make    func(testing.TB, *wasmexamples.Example) sandbox.Factory
}

func guests() []guest {
	csr, dense := wasmexamples.Reference()
	return []guest{
		{"go-csr", csr, module}, {"go-dense", dense, module}, {"rust-csr", csr, inRust().module}, {"rust-dense", dense, inRust().module},
		{"c-csr", csr, inC().module}, {"c-dense", dense, inC().module},
		{"assemblyscript-csr", csr, inAssemblyScript().module}, {"assemblyscript-dense", dense, inAssemblyScript().module},
		{"native-csr", csr, native}, {"native-dense", dense, native},
	}
}

// TestRestReferenceWorkload: the guests and the baseline do the same work.
func TestRestReferenceWorkload(t *testing.T) {
	for _, nodes := range []int{100, 2500} {
		if race && nodes > 1000 { // slow: the baseline evaluates one object after the other
			continue
		}
		w := workload.Generate(nodes, workload.Seed)
		want := remember(workload.NewObjects(w))
		for _, g := range guests() {
			t.Run(fmt.Sprintf("%s/nodes=%d", g.name, nodes), func(t *testing.T) {
				p := newPass(t, w, &g.example, g.make(t, &g.example), 1)
				if err := workload.Compare(p, want); err != nil {
					t.Error(err)
				}
				for range 5 { // also after changes of single rows
					p.next(t)
					p.Filter(0)
				}
				p.next(t)
				if err := workload.Compare(p, want); err != nil {
					t.Errorf("after changes: %v", err)
				}
				if n := p.plugin.Faults(); n != 0 {
					t.Errorf("%d faults", n)
				}
			})
		}
	}
}

// remembered is the outcome of a pass for each pod.
type remembered [workload.Pods]workload.Statuses

func remember(p workload.Pass) *remembered {
	var all remembered
	for pod := range all {
		s := p.Filter(pod)
		all[pod] = workload.Statuses{Codes: slices.Clone(s.Codes), Reasons: make([][]string, len(s.Reasons))}
		for node, texts := range s.Reasons {
			all[pod].Reasons[node] = slices.Clone(texts)
		}
	}
	return &all
}

// Filter implements workload.Pass.
func (r *remembered) Filter(pod int) workload.Statuses { return r[pod] }

// written returns how many bytes a pod costs, over all pods in turn, without the check that
// periodically rewrites the whole snapshot.
func (g *guest) written(b *testing.B, w workload.Load, placed bool) float64 {
	p := newPass(b, w, &g.example, g.make(b, &g.example), 0)
	const turns = 4 * workload.Pods
	var before uint64
	for i := range 2 * turns { // the first rounds add new strings
		if i == turns {
			before = p.plugin.BytesWritten()
		}
		if placed {
			p.next(b)
		}
		p.run(i%workload.Pods, nil)
	}
	return float64(p.plugin.BytesWritten()-before) / turns
}

// BenchmarkOnePod tries one of 64 pods on all nodes, one after the other. With placed=1 a row
// changes between pods, and the time includes the update of the host's snapshot, which the
// baselines do not have.
func BenchmarkOnePod(b *testing.B) {
	sizes := []int{100, 1000, 5000, 15000}
	for _, g := range guests() {
		b.Run("guest="+g.name, func(b *testing.B) {
			g.make(b, &g.example) // or skip it
			for _, nodes := range sizes {
				b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) { g.bench(b, workload.Generate(nodes, workload.Seed)) })
			}
		})
	}
	for name, base := range map[string]func(workload.Load) (workload.Pass, error){
		"columns":     func(w workload.Load) (workload.Pass, error) { return workload.NewColumns(w) },
		"objects":     func(w workload.Load) (workload.Pass, error) { return workload.NewObjects(w), nil },
		"handwritten": func(w workload.Load) (workload.Pass, error) { return workload.NewHandwritten(w), nil },
	} {
		for _, nodes := range sizes {
			b.Run(fmt.Sprintf("guest=%s/nodes=%d", name, nodes), func(b *testing.B) {
				pass, err := base(workload.Generate(nodes, workload.Seed))
				if err != nil {
					b.Fatal(err)
				}
				i := 0
				b.ReportAllocs()
				for b.Loop() {
					pass.Filter(i % workload.Pods)
					i++
				}
			})
		}
	}
}

// bench compares a guest with the baseline, and measures it.
func (g *guest) bench(b *testing.B, w workload.Load) {
	p := newPass(b, w, &g.example, g.make(b, &g.example), verifyRare)
	if err := workload.Compare(p, workload.NewObjects(w)); err != nil {
		b.Fatalf("guest and baseline decide differently: %v", err)
	}
	for _, placed := range []bool{false, true} {
		b.Run(map[bool]string{false: "placed=0", true: "placed=1"}[placed], func(b *testing.B) {
			p.run(0, nil)
			calls, fuel, i := p.plugin.Calls(), p.plugin.Fuel(), 0
			b.ReportAllocs()
			for b.Loop() {
				if placed {
					p.next(b)
				}
				p.run(i%workload.Pods, nil)
				i++
			}
			b.ReportMetric(float64(p.plugin.Calls()-calls)/float64(i), "guest-calls/pod")
			b.ReportMetric(g.written(b, w, placed), "B-written/pod")
			b.ReportMetric(float64(p.plugin.Fuel()-fuel)/float64(i), "fuel/pod")
		})
	}
	if n := p.plugin.Faults(); n != 0 {
		b.Errorf("%d faults", n)
	}
}
