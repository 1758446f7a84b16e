package feeds

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/state"
)

func at(seconds int) time.Time { return time.Unix(1_000_000+int64(seconds), 0) }

func declared(step int64) *Feed {
	f := &Feed{Name: CPU, Step: step, Interval: metav1.Duration{Duration: 30 * time.Second}}
	f.defaults("")
	return f
}

// TestNoise: with noise whose standard deviation is 2 % of a node's capacity and a step of 5 %, at most a tenth of the cells change in a
// round, and none is further from the mean than the noise and one and a half steps.
func TestNoise(t *testing.T) {
	const capacity, nodes, rounds = 32_000, 5_000, 40
	random := rand.New(rand.NewPCG(1, 2))
	table := newTable(declared(capacity / 20))
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
	table := newTable(declared(100))
	for _, c := range []struct{ value, want int64 }{
		{149, 100}, {150, 200}, {-150, -200}, {-149, -100}, {0, 0}, {math.MaxInt64, math.MaxInt64 / 100 * 100}, {math.MinInt64, math.MinInt64 / 100 * 100},
	} {
		if got := table.rounded(state.Cell{}, c.value); got != c.want {
			t.Errorf("%d: got %d, want %d", c.value, got, c.want)
		}
	}
	old := state.Cell{Value: 200, State: abi.FeedFresh}
	for value, want := range map[int64]int64{349: 200, 350: 400, 51: 200, 50: 100, math.MinInt64: math.MinInt64 / 100 * 100} {
		if got := table.rounded(old, value); got != want {
			t.Errorf("from 200 to %d: got %d, want %d", value, got, want)
		}
	}
}

// TestAges: a value becomes stale once, after the maximal age, fresh with the next sample, and is forgotten after twice the age. A source
// that repeats an old sample is stale, too, and a sample from before the last one counts no pod that was measured.
func TestAges(t *testing.T) {
	table := newTable(declared(1)) // interval and settle 30 s, maximal age 180 s
	sample := func(begin int) map[string]Sample { return map[string]Sample{"n": {7, at(begin), at(begin)}} }
	fresh := func(since int) state.Cell {
		return state.Cell{Value: 7, State: abi.FeedFresh, Since: at(since).Unix()}
	}
	stale := fresh(-30)
	stale.State = abi.FeedStale
	none := state.Cell{}
	for _, c := range []struct {
		now     int
		samples map[string]Sample
		want    *state.Cell
	}{
		{0, sample(0), ref(fresh(-30))}, {30, sample(0), nil}, {60, nil, nil}, {210, nil, nil}, {211, nil, &stale}, {240, nil, nil},
		{241, sample(240), ref(fresh(210))}, {270, sample(230), nil}, {630, nil, ref(state.Cell{Value: 7, State: abi.FeedStale, Since: at(210).Unix()})},
		{631, nil, &none}, {700, nil, nil}, {1000, sample(800), ref(state.Cell{Value: 7, State: abi.FeedStale, Since: at(770).Unix()})},
	} {
		changed := table.round(at(c.now), c.samples)
		got, ok := changed["n"]
		if ok != (c.want != nil) || ok && got != *c.want {
			t.Errorf("after %d s: changed %v, want %v", c.now, changed, c.want)
		}
	}
}

func ref(c state.Cell) *state.Cell { return &c }

// TestByLabel: feeds by a label say nothing about pods.
func TestByLabel(t *testing.T) {
	f := declared(1)
	f.Key.NodeLabel = "zone"
	if c := newTable(f).round(at(0), map[string]Sample{"a": {7, at(0), at(0)}})["a"]; c.Since != math.MaxInt64 {
		t.Error(c)
	}
}

// BenchmarkRound is a round of 5,000 nodes beside the loop.
func BenchmarkRound(b *testing.B) {
	table := newTable(declared(100))
	samples := make(map[string]Sample)
	for n := range 5_000 {
		samples[fmt.Sprint(n)] = Sample{int64(n), at(0), at(0)}
	}
	for i := range b.N {
		table.round(at(i), samples)
	}
}
