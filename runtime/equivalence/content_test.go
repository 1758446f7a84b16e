package equivalence_test

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// TestShared: what is held of a row is what was kept of a row with the same content, whatever
// happened since; and while a row keeps its content, it stays.
func TestShared(t *testing.T) {
	held, recycled := 0, 0
	seeded.Check(t, func(r *rapid.T) {
		p := &byLabel{plugin.Info{Name: "P", NodeScoped: []abi.Point{abi.Score}, Reads: []plugin.Read{{Column: abi.NodeLabels}, {Column: abi.IncomingLabels}}}}
		store := equivalence.New(equivalence.Config{Bytes: 1 << 30})
		caches := []*equivalence.PluginCache{store.PluginCache(p), store.PluginCache(p)}
		apps := rapid.IntRange(1, 3).Draw(r, "apps")
		var infos []*state.NodeInfo
		generation, largest := uint64(0), 3
		node := func(i, label int) {
			generation++
			n := state.NewNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i), Labels: map[string]string{"l": strconv.Itoa(label)}}})
			info := &state.NodeInfo{Name: n.Name, Node: n, ObjectGeneration: generation, PodsGeneration: generation}
			if i < len(infos) {
				infos[i] = info
			} else {
				infos = append(infos, info)
			}
		}
		for i := range rapid.IntRange(1, 20).Draw(r, "nodes") {
			node(i, i%4)
		}
		snapshot := state.NewSnapshot()
		snapshot.Rebuild(infos)
		known := map[string]map[uint32]bool{} // answers that were kept, and the rows that have had the content since then
		for range rapid.SampledFrom([]int{1, 5, 60, 120}).Draw(r, "steps") {
			var dirty []uint32
			for range rapid.IntRange(0, 25).Draw(r, "changes") {
				switch i := rapid.IntRange(0, len(infos)-1).Draw(r, "row"); rapid.IntRange(0, 9).Draw(r, "change") {
				case 0:
					if len(infos) < 25 {
						node(len(infos), 0)
						dirty = append(dirty, uint32(len(infos)-1))
					}
				case 1:
					if len(infos) > 1 {
						infos = infos[:len(infos)-1]
					}
				case 2, 3, 4: // something that no row ever had
					largest++
					node(i, largest)
					dirty = append(dirty, uint32(i))
				default:
					node(i, rapid.IntRange(0, largest).Draw(r, "label"))
					dirty = append(dirty, uint32(i))
				}
			}
			if rapid.IntRange(0, 59).Draw(r, "anew") == 0 {
				snapshot.Rebuild(infos)
				clear(known)
			} else {
				snapshot.Update(infos, dirty, nil)
			}
			store.Trim(len(infos))
			app := rapid.IntRange(0, apps-1).Draw(r, "app")
			pod := state.NewPod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"app": strconv.Itoa(app)}}})
			at := rapid.IntRange(0, 1).Draw(r, "plugin")
			a := caches[at].Lookup(&plugin.Cycle{Snapshot: snapshot, Pod: pod}, nil)
			now := map[string]map[uint32]bool{}
			for row := range uint32(snapshot.Len()) {
				label := snapshot.Nodes.Node[row].Object.Labels["l"]
				if now[label] == nil {
					now[label] = map[uint32]bool{}
				}
				now[label][row] = true
			}
			for id, rows := range known {
				label, _, _ := strings.Cut(id, " ")
				maps.DeleteFunc(rows, func(row uint32, _ bool) bool { return !now[label][row] })
				if len(rows) == 0 {
					delete(known, id)
				}
			}
			if a == nil {
				a = caches[at].Lookup(&plugin.Cycle{Snapshot: snapshot, Pod: pod}, nil)
			}
			a.Scores()
			for row := range uint32(snapshot.Len()) {
				label := snapshot.Nodes.Node[row].Object.Labels["l"]
				want, _ := strconv.ParseInt(label, 10, 64)
				want = 1000*want + int64(10*app+at)
				id := fmt.Sprint(label, " of ", app, at)
				got, ok := a.Score(row)
				if ok && got != want {
					r.Fatalf("row %d: %d is held, want %d", row, got, want)
				}
				if !ok && known[id] != nil {
					r.Fatalf("row %d: nothing is held of %s, which rows %v have had since it was kept", row, id, known[id])
				}
				if ok {
					held++
				}
				if rapid.IntRange(0, 3).Draw(r, "keep") > 0 {
					a.KeepScore(row, want)
					known[id] = maps.Clone(now[label])
				}
			}
			if place := a.Place(0); place > 150 { // 25 rows, and not many more that are spare
				r.Fatalf("a row has number %d", place)
			}
			recycled += largest / 150
		}
	})
	if held == 0 || recycled == 0 {
		t.Errorf("%d answers were held, and numbers given again %d times", held, recycled)
	}
}
