//go:build !wasip1

package hosttest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/schema"
	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
	"github.com/berth-scheduler/berth/runtime/cache"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
	wasmexamples "github.com/berth-scheduler/berth/wasm-examples"
)

// way is how the same calls are made; it must not change answers.
type way struct {
	name string
	// fresh makes a plugin, and so an instance, for every call.
	fresh bool
	// batch is the maximum number of rows in a call; 0 means all.
	batch int
	// permute is the seed of the order in which nodes and pods are added to the cluster, and so
	// of rows, slots and ids; 0 means the file's order.
	permute uint64
	// filler is the number of nodes that are added in between and are not in calls.
	filler int
	shards int
}

func ways() []way {
	return []way{
		{name: "one instance"},
		{name: "a fresh instance for every call", fresh: true},
		{name: "rows permuted", permute: 1},
		{name: "rows split over calls", batch: 2},
		{name: "rows permuted and split over calls, each in a fresh instance", permute: 2, batch: 1, fresh: true},
		{name: "many rows in one shard", filler: 3500, permute: 3, shards: 1},
		{name: "many rows over two shards", filler: 3500, permute: 3, shards: 2},
		{name: "many rows over three shards", filler: 3500, permute: 4, shards: 3},
		{name: "many rows over three shards, split over calls", filler: 3500, permute: 5, shards: 3, batch: 1},
		{name: "many rows over three shards, each call in fresh instances", filler: 3500, permute: 6, shards: 3, fresh: true},
	}
}

// TestTwins: an example decides as its scenario files say, as native code and as a module, in
// all ways of making the calls.
func TestTwins(t *testing.T)     { allTwins(t) }
func TestRestTwins(t *testing.T) { allTwins(t) }

func allTwins(t *testing.T) {
	t.Helper()
	twins := []struct {
		name string
		make func(testing.TB, *wasmexamples.Example) sandbox.Factory
	}{{"native", native}, {"module", module}}
	for _, e := range wasmexamples.All() {
		if e.Placing {
			continue // package berthtest runs these
		}
		for _, twin := range twins {
			t.Run(e.Name+"/"+twin.name, func(t *testing.T) { decides(t, &e, scenarios(t, &e), twin.make(t, &e)) })
		}
	}
}

// decides compares an example with scenarios, in all ways of making the calls.
func decides(t *testing.T, e *wasmexamples.Example, all []*part, f sandbox.Factory) {
	t.Helper()
	for _, s := range all {
		if s.refusal != nil {
			refused(t, e, s, f)
			continue
		}
		for _, w := range ways() {
			if !race || !w.fresh {
				s.run(t, e, f, w)
			}
		}
	}
}

// refused compares what a user is told of a refused configuration with the file: the schema refuses it before the plugin would, or
// else the host because of the names that it brings, or the plugin.
func refused(t *testing.T, e *wasmexamples.Example, s *part, f sandbox.Factory) {
	t.Helper()
	config, _, err := schema.New(manifest(t, e).Config)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.TrimPrefix(strings.Join(s.refusal, "\n"), "configuration refused: ")
	_, err = config.Check([]byte(s.config))
	_, refusal := newPlugin(t, e, f, wasm.Config{Config: []byte(s.config)})
	if refusal == nil || !strings.HasPrefix(refusal.Error(), "plugin "+e.Name+": ") {
		t.Errorf("%s: the plugin says %v", s.at, refusal)
	} else if err == nil {
		err = refusal
	}
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%s: the user is told %v, want %q", s.at, err, want)
	}
}

// playing is a running scenario.
type playing struct {
	t       *testing.T
	example *wasmexamples.Example
	factory sandbox.Factory
	way     way
	config  wasm.Config
	plugin  *wasm.Plugin // nil before the first call, and after each in way.fresh
	cycle   *plugin.Cycle
}

func (s *part) run(t *testing.T, e *wasmexamples.Example, f sandbox.Factory, w way) {
	t.Helper()
	snapshot := s.snapshot(t, w)
	var names []string
	blocks := make(map[uint32]bool)
	for _, n := range s.nodes {
		names = append(names, n.Name)
		row, _ := snapshot.Row(n.Name)
		blocks[row/1024] = true
	}
	if len(blocks) < min(w.shards, len(s.nodes)) {
		t.Fatalf("%s, %s: the nodes are in %d blocks of rows only; choose another order", s.at, w.name, len(blocks))
	}
	tr := playing{t: t, example: e, factory: f, way: w, config: wasm.Config{Config: []byte(s.config), Shards: w.shards, VerifyEvery: 1}}
	defer tr.end()
	for i, c := range s.tries {
		tr.cycle = &plugin.Cycle{Context: context.Background(), Snapshot: snapshot, Pod: state.NewPod(c.pod), State: &state.CycleState{}, Seed: uint64(i + 1)}
		var got []string
		for _, v := range tr.place(names) {
			got = append(got, v.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s, %s: got\n%s\nwant\n%s", c.at, w.name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// snapshot returns the cluster as the cache shows it. With fillers, the scenario's nodes come
// after each quarter of them in turn, so that they are in several blocks.
func (s *part) snapshot(t *testing.T, w way) *state.Snapshot {
	t.Helper()
	nodes, pods := slices.Clone(s.nodes), slices.Clone(s.pods)
	r := rand.New(rand.NewPCG(w.permute, 0))
	if w.permute != 0 {
		r.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	}
	if w.filler > 0 {
		asked := nodes
		nodes = nil
		for quarter := range 4 {
			for i := range w.filler / 4 {
				n, p := filler(quarter*w.filler/4 + i)
				nodes = append(nodes, n)
				if i%10 == 0 {
					pods = append(pods, p)
				}
			}
			for i, n := range asked {
				if i%4 == quarter {
					nodes = append(nodes, n)
				}
			}
		}
	}
	if w.permute != 0 {
		r.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
	}
	c := cache.New(cache.Config{})
	for _, n := range nodes {
		c.AddNode(state.NewNode(n))
	}
	for _, p := range pods {
		if _, err := c.AddPod(state.NewPod(p)); err != nil {
			t.Fatal(err)
		}
	}
	c.SetFeeds(s.feeds...)
	snapshot := state.NewSnapshot()
	c.UpdateSnapshot(snapshot)
	return snapshot
}

// filler returns a node that is in no call, and a pod on it.
func filler(i int) (*v1.Node, *v1.Pod) {
	name := fmt.Sprintf("filler-%04d", i)
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{
		"berth.dev/pool": fmt.Sprint("filler-", i%50), v1.LabelTopologyZone: fmt.Sprint("filler-", i%3),
	}}}
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: fmt.Sprint("filler-", i%20), Name: name, UID: types.UID("pod-" + name), Labels: map[string]string{"berth.dev/noisy": "true"},
	}}
	p.Spec.NodeName = name
	return n, p
}

// call makes one call of the plugin.
func (tr *playing) call(f func(p *wasm.Plugin)) {
	tr.t.Helper()
	if tr.plugin == nil {
		var err error
		if tr.plugin, err = newPlugin(tr.t, tr.example, tr.factory, tr.config); err != nil {
			tr.t.Fatal(err)
		}
	}
	f(tr.plugin)
	if tr.way.fresh {
		tr.end()
	}
}

func (tr *playing) end() {
	tr.t.Helper()
	if tr.plugin == nil {
		return
	}
	if n := tr.plugin.Faults(); n != 0 {
		tr.t.Errorf("%s: %d faults", tr.way.name, n)
	}
	if err := tr.plugin.Close(context.Background()); err != nil {
		tr.t.Error(err)
	}
	tr.plugin = nil
}

// batches calls f with the rows of each call and the position of the first.
func (tr *playing) batches(rows []uint32, f func(p *wasm.Plugin, at int, rows []uint32)) {
	size := len(rows)
	if tr.way.batch > 0 {
		size = tr.way.batch
	}
	for at := 0; at < len(rows); at += size {
		tr.call(func(p *wasm.Plugin) { f(p, at, rows[at:min(at+size, len(rows))]) })
	}
}

// place calls all points as a pipeline does, only for the named nodes, and returns the verdicts
// in the order of the names.
func (tr *playing) place(names []string) []berthtest.Verdict {
	tr.t.Helper()
	verdicts := make(map[uint32]*berthtest.Verdict)
	out := make([]berthtest.Verdict, len(names))
	var rows []uint32
	for i, name := range names {
		row, _ := tr.cycle.Snapshot.Row(name)
		out[i].Node = name
		verdicts[row] = &out[i]
		rows = append(rows, row)
	}
	slices.Sort(rows)
	filtered := true
	tr.call(func(p *wasm.Plugin) {
		allowed, status := p.PreFilter(tr.cycle)
		filtered = !status.Is(abi.Skip)
		if allowed != nil || filtered && !status.Success() {
			tr.t.Fatalf("pre_filter answers %v and %v; no example has it", allowed, status)
		}
	})
	if filtered {
		tr.batches(rows, func(p *wasm.Plugin, _ int, rows []uint32) {
			var v plugin.Verdicts
			v.Reset(len(rows))
			p.Filter(tr.cycle, rows, &v)
			for i, row := range rows {
				verdicts[row].Code, verdicts[row].Reasons = v.Codes[i], v.Texts(i)
			}
		})
		rows = slices.DeleteFunc(rows, func(row uint32) bool { return verdicts[row].Code != abi.Success })
	}
	if len(rows) > 0 {
		for i, score := range tr.score(rows) {
			verdicts[rows[i]].Score = score
		}
	}
	return out
}

func (tr *playing) score(rows []uint32) []int64 {
	tr.t.Helper()
	check := func(status *plugin.Status) {
		if !status.Success() {
			tr.t.Fatalf("%s: scoring answers %v", tr.way.name, status)
		}
	}
	scores := make([]int64, len(rows))
	tr.call(func(p *wasm.Plugin) { check(p.PreScore(tr.cycle, rows)) })
	tr.batches(rows, func(p *wasm.Plugin, at int, rows []uint32) { check(p.Score(tr.cycle, rows, scores[at:at+len(rows)])) })
	tr.call(func(p *wasm.Plugin) { check(p.Normalize(tr.cycle, rows, scores)) })
	return scores
}
