package feeds

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/state"
)

func at(seconds int) time.Time { return time.Unix(1_000_000+int64(seconds), 0) }

func declared(step int64) *Feed {
	f := &Feed{Name: CPU, Step: Step{Units: step}, Interval: metav1.Duration{Duration: 30 * time.Second}}
	f.defaults("")
	return f
}

// TestNoise: with noise whose standard deviation is 2 % of a node's capacity and the default step, 5 %, at most a tenth of the cells change in a
// round, and none is further from the mean than the noise and one and a half steps.
func TestNoise(t *testing.T) {
	const capacity, nodes, rounds = 32_000, 5_000, 40
	random := rand.New(rand.NewPCG(1, 2))
	table := newTable(declared(0), func(string) *v1.Node {
		return &v1.Node{Status: v1.NodeStatus{Capacity: v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(capacity, resource.DecimalSI)}}}
	})
	most := 0
	for round := range rounds {
		samples := make(map[string]Sample, nodes)
		for n := range nodes {
			mean := float64(capacity) * float64(n) / nodes
			samples[fmt.Sprint(n)] = Sample{int64(mean + random.NormFloat64()*capacity/50), at(30 * round), at(30 * round)}
		}
		before := maps.Clone(table.rows)
		table.round(at(30*round), samples)
		changed := 0
		for key, r := range table.rows {
			if was := before[key].cell; was.Value != r.cell.Value || was.State != r.cell.State {
				changed++
			}
		}
		if round > 0 {
			most = max(most, changed)
		}
		for n := range nodes {
			off := math.Abs(float64(table.rows[fmt.Sprint(n)].cell.Value) - float64(samples[fmt.Sprint(n)].Value))
			if off >= 1.5*capacity/20 {
				t.Fatalf("node %d: the cell is %v from its sample", n, off)
			}
		}
	}
	if most > nodes/10 {
		t.Errorf("%d of %d cells changed in a round", most, nodes)
	}
	t.Logf("at most %.1f %% of the cells changed in a round", 100*float64(most)/nodes)
}

// TestRounded: values are rounded to the nearest step, stay while they are less than one and a half steps away, and nothing overflows.
func TestRounded(t *testing.T) {
	table := newTable(declared(100), nil)
	for _, c := range []struct{ value, want int64 }{
		{149, 100}, {150, 200}, {-150, -200}, {-149, -100}, {0, 0}, {math.MaxInt64, math.MaxInt64 / 100 * 100}, {math.MinInt64, math.MinInt64 / 100 * 100},
	} {
		if got := table.rounded(state.Cell{}, c.value, 100); got != c.want {
			t.Errorf("%d: got %d, want %d", c.value, got, c.want)
		}
	}
	old := state.Cell{Value: 200, State: abi.FeedFresh}
	for value, want := range map[int64]int64{349: 200, 350: 400, 51: 200, 50: 100, math.MinInt64: math.MinInt64 / 100 * 100} {
		if got := table.rounded(old, value, 100); got != want {
			t.Errorf("from 200 to %d: got %d, want %d", value, got, want)
		}
	}
}

// TestAges: a value becomes stale once, after the maximal age, fresh with the next sample, and is forgotten after twice the age. A source
// that repeats an old sample is stale, too, and a sample from before the last one counts no pod that was measured.
func TestAges(t *testing.T) {
	table := newTable(declared(1), nil) // interval and settle 30 s, maximal age 180 s
	sample := func(begin int) map[string]Sample { return map[string]Sample{"n": {7, at(begin), at(begin)}} }
	cell := func(is uint8, begin int) state.Cell {
		return state.Cell{Value: 7, State: is, Since: at(begin - 30).Unix(), At: at(begin).Unix()}
	}
	for _, c := range []struct {
		now     int
		samples map[string]Sample
		news    bool
		want    state.Cell
	}{
		{0, sample(0), true, cell(abi.FeedFresh, 0)}, {30, sample(0), false, cell(abi.FeedFresh, 0)}, {60, nil, false, cell(abi.FeedFresh, 0)},
		{210, nil, false, cell(abi.FeedFresh, 0)}, {211, nil, true, cell(abi.FeedStale, 0)}, {240, nil, false, cell(abi.FeedStale, 0)},
		{241, sample(240), true, cell(abi.FeedFresh, 240)}, {270, sample(230), false, cell(abi.FeedFresh, 240)},
		{630, nil, true, cell(abi.FeedStale, 240)}, {631, nil, true, state.Cell{}}, {700, nil, false, state.Cell{}},
		{1000, sample(800), true, cell(abi.FeedStale, 800)},
	} {
		_, news := table.round(at(c.now), c.samples)
		if got := table.whole("n"); news != c.news || got != c.want {
			t.Errorf("after %d s: news %t, %v; want %t, %v", c.now, news, got, c.news, c.want)
		}
	}
}

// whole returns the cell of a key as the cache completes it.
func (t *table) whole(key string) state.Cell {
	r, ok := t.rows[key]
	if ok {
		r.cell.Since, r.cell.At = cmp.Or(r.cell.Since, t.since), cmp.Or(r.cell.At, t.at)
	}
	return r.cell
}

// TestCommon: samples whose times differ by less than an interval move two numbers of the feed and no cell. A sample that is older, and a
// key that has none, keep their own.
func TestCommon(t *testing.T) {
	table := newTable(declared(1), nil)
	first, _ := table.round(at(100), map[string]Sample{"a": {7, at(90), at(95)}, "b": {7, at(85), at(90)}, "old": {7, at(10), at(20)}, "gone": {7, at(90), at(95)}})
	if len(first.Cells) != 4 || first.Since != at(55).Unix() || first.At != at(90).Unix() || first.Cells["b"] != (state.Cell{Value: 7, State: abi.FeedFresh}) {
		t.Error(first)
	}
	if got := table.whole("old"); got.Since != at(-20).Unix() || got.At != at(20).Unix() {
		t.Error("old:", got)
	}
	next, news := table.round(at(130), map[string]Sample{"a": {7, at(115), at(125)}, "b": {7, at(120), at(125)}, "old": {7, at(10), at(20)}})
	if !news || next.Since != at(85).Unix() || len(next.Cells) != 1 || next.Cells["gone"].Since != at(55).Unix() || next.Cells["gone"].At != at(90).Unix() {
		t.Error("two are renewed:", next)
	}
	if got := table.whole("old"); got.Since != at(-20).Unix() || got.At != at(20).Unix() {
		t.Error("old:", got)
	}
	if next, news = table.round(at(160), nil); news {
		t.Error("a failure has news:", next)
	}
}

// TestByLabel: feeds by a label say nothing about pods.
func TestByLabel(t *testing.T) {
	f := declared(1)
	f.Key.NodeLabel = "zone"
	table := newTable(f, nil)
	table.round(at(0), map[string]Sample{"a": {7, at(0), at(0)}})
	if c := table.whole("a"); c.Since != math.MaxInt64 {
		t.Error(c)
	}
}

// TestStep: a percentage is of the capacity of the node, of its CPU or memory by the unit; a number stands for nodes that are not known.
func TestStep(t *testing.T) {
	node := &v1.Node{Status: v1.NodeStatus{Capacity: v1.ResourceList{v1.ResourceCPU: resource.MustParse("8"), v1.ResourceMemory: resource.MustParse("1000")}}}
	percent := Step{Units: 7, Percent: 5}
	for _, c := range []struct {
		step Step
		node *v1.Node
		unit string
		want int64
	}{
		{percent, node, unitMilli, 400}, {percent, node, unitBytes, 50}, {percent, nil, unitMilli, 7}, {percent, &v1.Node{}, unitMilli, 7},
		{Step{Units: 7}, node, unitMilli, 7}, {Step{Units: 7, Percent: 1}, &v1.Node{Status: v1.NodeStatus{Capacity: v1.ResourceList{v1.ResourceMemory: resource.MustParse("50")}}}, unitBytes, 1},
	} {
		if got := c.step.of(c.node, c.unit); got != c.want {
			t.Errorf("%+v %s: %d, want %d", c.step, c.unit, got, c.want)
		}
	}
}

// BenchmarkRound is a round of 5,000 nodes beside the loop.
func BenchmarkRound(b *testing.B) {
	table := newTable(declared(100), nil)
	samples := make(map[string]Sample)
	for n := range 5_000 {
		samples[fmt.Sprint(n)] = Sample{int64(n), at(0), at(0)}
	}
	for i := range b.N {
		table.round(at(i), samples)
	}
}
