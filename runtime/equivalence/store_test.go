package equivalence_test

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// byLabel is a guest's plugin to which pods with the same label app are alike.
type byLabel struct{ info plugin.Info }

func (p *byLabel) Info() *plugin.Info         { return &p.info }
func (p *byLabel) Unanswered(abi.Point) int64 { return 0 }

// TestRoom: what is kept stays within the bound; what was not used for longest makes room; and
// if more kinds of pods come in turn than there is room for, some stay.
func TestRoom(t *testing.T) {
	const nodes = 1000
	snapshot := state.NewSnapshot()
	var infos []*state.NodeInfo
	for i := range nodes {
		node := state.NewNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i), Labels: map[string]string{"i": fmt.Sprint(i)}}})
		infos = append(infos, &state.NodeInfo{Name: node.Name, Node: node, ObjectGeneration: uint64(i + 1), PodsGeneration: uint64(i + 1)})
	}
	snapshot.Rebuild(infos)
	p := &byLabel{plugin.Info{Name: "P", NodeScoped: []abi.Point{abi.Filter}, Reads: []plugin.Read{{Column: abi.NodeLabels}, {Column: abi.IncomingLabels, Args: []string{"app"}}}}}
	const bound = 20_000
	store := equivalence.New(equivalence.Config{Bytes: bound})
	cache := store.PluginCache(p)
	// try returns whether answers about a kind of pods were kept.
	try := func(app int) (held bool) {
		store.Trim(nodes)
		if stats := store.Stats(); stats.Bytes > bound || stats.Keys > bound/(2*nodes) {
			t.Fatalf("%+v are kept, of %d bytes", stats, bound)
		}
		pod := state.NewPod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"app": fmt.Sprint(app)}}})
		a := cache.Lookup(&plugin.Cycle{Snapshot: snapshot, Pod: pod}, nil)
		if a == nil {
			return false
		}
		a.Verdicts()
		_, _, held = a.Verdict(0)
		a.KeepVerdict(0, abi.Success, 0)
		return held
	}
	rounds := func(from, to, n int) (held int) {
		for range n {
			for app := from; app < to; app++ {
				if try(app) {
					held++
				}
			}
		}
		return held
	}
	if held := rounds(0, 4, 10); held != 4*8 {
		t.Errorf("%d answers were held of 4 kinds that come 10 times, want all but the first two of each", held)
	}
	if stats := store.Stats(); stats.Keys != 4 || stats.Evicted != 0 {
		t.Errorf("%+v", stats)
	}
	if held := rounds(0, 40, 10); held < 4*9 || held > 9*10 {
		t.Errorf("%d answers were held of 40 kinds in turn, with room for about 8", held)
	}
	evicted := store.Stats().Evicted
	if held := rounds(100, 104, 10); held < 4*7 {
		t.Errorf("%d answers were held of 4 new kinds, when the others are gone", held)
	}
	if store.Stats().Evicted == evicted {
		t.Error("nothing made room for new kinds")
	}
}
