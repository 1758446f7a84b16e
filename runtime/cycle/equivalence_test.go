package cycle_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
	"github.com/berth-scheduler/berth/runtime/state"
)

// labelled is a plugin whose answers are in the labels of nodes and of the pod. At points of scope
// cluster they depend on the number of nodes, too.
type labelled struct {
	info       plugin.Info
	scaling    plugin.Scaling
	together   bool // scores are scaled together
	silent     bool // about some nodes
	sums       bool // scores depend on how many nodes there are
	unanswered int64
}

func (p *labelled) Info() *plugin.Info { return &p.info }

// of returns the number that a node has for the plugin, another one with nominated pods on
// it, and the pod's.
func (p *labelled) of(c *plugin.Cycle, row uint32) (node, pod int64) {
	node, _ = strconv.ParseInt(c.Snapshot.Nodes.Node[row].Object.Labels[p.info.Name], 10, 64)
	if int(row) >= c.Snapshot.Len() {
		node++
	}
	pod, _ = strconv.ParseInt(c.Pod.Object.Labels[p.info.Name], 10, 64)
	return node, pod
}

func (p *labelled) Filter(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	for i, row := range rows {
		node, pod := p.of(c, row)
		if p.info.Scope(abi.Filter) == abi.ScopeCluster && node < 94 {
			node = (node + int64(c.Snapshot.Len())) % 94
		}
		switch {
		case node%3 == pod:
			out.Reject(i, abi.Unschedulable, out.Reason(fmt.Sprint(p.info.Name, " ", node/50)))
		case node == 20+pod:
			out.Reject(i, abi.UnschedulableAndUnresolvable, out.Reason("one", "two"))
		case node == 98 && pod > 0:
			out.Reject(i, abi.Error, out.Reason("broken"))
		case node == 97:
			p.unanswered++
		}
	}
}

func (p *labelled) Score(c *plugin.Cycle, rows []uint32, out []int64) *plugin.Status {
	for i, row := range rows {
		node, pod := p.of(c, row)
		out[i] = node / (pod + 1)
		if p.sums || p.info.Scope(abi.Score) == abi.ScopeCluster {
			out[i] = (out[i] + int64(c.Snapshot.Len())) % abi.MaxScore
		}
		switch {
		case node == 96 && pod == 2:
			return plugin.Fail(errors.New("no score"))
		case node == 95:
			p.unanswered++
		case node == 94 && pod == 0:
			out[i] = -7
		case p.silent && node%7 == 5 && p.scaling != plugin.Unscaled:
			out[i] = abi.NoScore
		}
	}
	return nil
}

func (p *labelled) Unanswered(abi.Point) int64 { return p.unanswered }

// scaled is a labelled plugin that scales its scores.
type scaled struct{ *labelled }

func (p scaled) Scaling() (plugin.Scaling, bool) { return p.scaling, !p.together }

func (p scaled) Normalize(_ *plugin.Cycle, _ []uint32, scores []int64) *plugin.Status {
	if p.scaling == plugin.Spread || slices.Contains(scores, abi.NoScore) {
		p.scaling.Scale(scores)
	} else {
		plugin.NormalizeMax(scores, p.scaling == plugin.Reversed)
	}
	return nil
}

// summing is a labelled plugin whose scores depend on the number of nodes.
type summing struct{ *labelled }

func (p summing) AppendAggregates(b []byte, c *plugin.Cycle) []byte {
	return append(b, byte(c.Snapshot.Len()))
}

// compiled hides that a plugin can fail to answer, as those that are compiled in cannot.
func compiled(p plugin.Plugin) plugin.Plugin {
	type rated interface {
		plugin.Filter
		plugin.Score
	}
	switch p := p.(type) {
	case scaled:
		type normalized interface {
			rated
			plugin.Scaler
			plugin.Normalize
		}
		return struct{ normalized }{p}
	case summing:
		type summed interface {
			rated
			plugin.Aggregates
		}
		return struct{ summed }{p}
	}
	return struct{ rated }{p.(rated)}
}

// labels returns a number for each plugin; with odd ones some are such that calls fail.
func labels(t *rapid.T, most int, odd bool, plugins []string) map[string]string {
	out := map[string]string{}
	for _, name := range plugins {
		n := rapid.IntRange(0, most).Draw(t, name)
		if odd && rapid.IntRange(0, 39).Draw(t, "odd") == 0 {
			n = rapid.IntRange(94, 98).Draw(t, "oddity")
		}
		out[name] = strconv.Itoa(n)
	}
	return out
}

// TestAlike: decisions are the same with and without kept answers, whatever happens to
// nodes between pods.
func TestAlike(t *testing.T) {
	asked, reused := int64(0), int64(0)
	seeded.Check(t, func(r *rapid.T) {
		var plugins []plugin.Plugin
		var names []string
		var filters []bool
		for i := range rapid.IntRange(1, 4).Draw(r, "plugins") {
			p := &labelled{
				info:     plugin.Info{Name: fmt.Sprint("P", i), NodeScoped: []abi.Point{abi.Filter, abi.Score}},
				scaling:  plugin.Scaling(rapid.IntRange(0, 3).Draw(r, "scaling")),
				sums:     rapid.IntRange(0, 3).Draw(r, "sums") == 0,
				silent:   rapid.Bool().Draw(r, "silent"),
				together: rapid.IntRange(0, 9).Draw(r, "together") == 0,
			}
			if n := rapid.IntRange(-9, 3).Draw(r, "scopes"); n > 0 {
				p.info.NodeScoped = p.info.NodeScoped[:n-1]
				if n == 3 {
					p.info.NodeScoped = []abi.Point{abi.Score}
				}
			}
			p.info.Reads = []plugin.Read{{Column: abi.NodeLabels, Args: []string{p.info.Name}}, {Column: abi.IncomingLabels, Args: []string{p.info.Name}}}
			names, filters = append(names, p.info.Name), append(filters, i == 0 || rapid.Bool().Draw(r, "filters"))
			switch {
			case p.sums:
				plugins = append(plugins, summing{p})
			case p.scaling != plugin.Unscaled:
				plugins = append(plugins, scaled{p})
			default:
				plugins = append(plugins, p)
			}
			if rapid.Bool().Draw(r, "compiled in") {
				plugins[i] = compiled(plugins[i])
			}
		}
		odd := rapid.IntRange(0, 3).Draw(r, "oddities") == 0
		var percentage *int32
		if n := int32(rapid.IntRange(-600, 60).Draw(r, "percentage")); n > 0 {
			percentage = &n
		}
		config := cycle.Config{TieBreak: cycle.TieBreak(rapid.IntRange(0, 1).Draw(r, "tie-break")), AllRows: rapid.Bool().Draw(r, "all rows")}
		newer := func(kept equivalence.Config) *world {
			w := newWorld(t, nil)
			w.config, w.profile.Percentage = config, percentage
			w.config.Reuse = kept
			w.beside = func(s *state.Snapshot) *state.Node { return s.Nodes.Node[s.Len()/2] }
			for i, p := range plugins {
				if filters[i] {
					w.add(p, int64(i+1), abi.Filter)
				}
				w.add(p, int64(i+1), abi.Score)
			}
			return w
		}
		worlds := []*world{
			newer(equivalence.Config{}), newer(equivalence.Config{Bytes: 1 << 30}), newer(equivalence.Config{Bytes: int64(rapid.IntRange(1, 20_000).Draw(r, "bytes"))}),
		}
		var infos []*state.NodeInfo
		generation := uint64(0)
		node := func(i int) {
			generation++
			object := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%03d", i), Labels: labels(r, 93, odd, names)}}
			info := &state.NodeInfo{Name: object.Name, Node: state.NewNode(object), Rank: generation * 7 % 11, ObjectGeneration: generation, PodsGeneration: generation}
			if i < len(infos) {
				infos[i] = info
			} else {
				infos = append(infos, info)
			}
		}
		for i := range rapid.SampledFrom([]int{1, 2, 7, 30, 120}).Draw(r, "nodes") {
			node(i)
		}
		snapshot := state.NewSnapshot()
		snapshot.Rebuild(infos)
		templates := make([]map[string]string, rapid.IntRange(1, 5).Draw(r, "templates"))
		for i := range templates {
			templates[i] = labels(r, 3, false, names)
		}
		for range rapid.IntRange(1, 50).Draw(r, "pods") {
			var dirty []uint32
			for range rapid.IntRange(0, 3).Draw(r, "changes") {
				i := rapid.IntRange(0, len(infos)-1).Draw(r, "row")
				switch rapid.IntRange(0, 39).Draw(r, "change") {
				case 0:
					if i = len(infos); i < 125 {
						node(i)
					} else {
						continue
					}
				case 1:
					if i = len(infos) - 1; i > 0 {
						infos = infos[:i]
					}
					continue
				case 2, 3, 4, 5, 6, 7, 8, 9: // a heartbeat
					generation++
					infos[i].ObjectGeneration = generation
				case 10:
					node(i)
					infos[i].Name += "x" // another node in this row
					infos[i].Node = state.NewNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: infos[i].Name, Labels: infos[i].Node.Object.Labels}})
				default:
					node(i)
				}
				dirty = append(dirty, uint32(i))
			}
			if rapid.IntRange(0, 29).Draw(r, "storm") == 0 { // more changes than are remembered
				for range 300 / len(infos) {
					for row := range infos {
						dirty = append(dirty, uint32(row))
					}
				}
			}
			if rapid.IntRange(0, 9).Draw(r, "gap") == 0 { // nobody looks at these snapshots
				for range rapid.SampledFrom([]int{1, 2, 400}).Draw(r, "snapshots") {
					snapshot.Update(infos, dirty, nil)
					dirty = nil
				}
			}
			if rapid.IntRange(0, 39).Draw(r, "anew") == 0 {
				snapshot.Rebuild(infos)
			} else {
				snapshot.Update(infos, dirty, nil)
			}
			object := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: rapid.SampledFrom(templates).Draw(r, "template")}}
			if rapid.IntRange(0, 19).Draw(r, "nominated") == 0 {
				object.Status.NominatedNodeName = infos[0].Name
			}
			var promised nominations
			if rapid.IntRange(0, 9).Draw(r, "promised") == 0 {
				other, _ := fake.Pod("q", scenario.MustParse("priority=9"))
				promised = nominations{nodes: []string{infos[0].Name}, pods: map[string][]*state.Pod{infos[0].Name: {other}}}
			}
			seed := rapid.Uint64().Draw(r, "seed")
			want := ""
			for i, w := range worlds {
				w.seed, w.nominations = seed, promised
				d := w.decide(snapshot, state.NewPod(object))
				got := describe(d, snapshot.Name)
				for _, rejection := range d.Attempt.Rejections {
					got += fmt.Sprintln(rejection.Rows)
				}
				if i == 0 {
					want = got
				} else if got != want {
					r.Fatalf("world %d decides\n%s\nand without kept answers\n%s", i, got, want)
				}
				for _, timing := range d.Attempt.Timings {
					if i == 1 {
						asked, reused = asked+timing.Rows, reused+timing.Reused
					}
				}
			}
		}
	})
	// Which share is reused depends on what is drawn; without any, nothing was tested.
	if t.Logf("%d rows were asked and %d reused", asked, reused); reused == 0 || reused == asked {
		t.Errorf("%d rows were asked and %d reused", asked, reused)
	}
}

var (
	_ plugin.Scaler     = scaled{}
	_ plugin.Aggregates = summing{}
	_ plugin.Fallible   = (*labelled)(nil)
)
