package fgd

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/berth-scheduler/berth/wasm-examples/fgd/gpushare"
)

// kind is a typical pod as in the paper.
type kind struct {
	cpu, gpus, milli float64
	models           []string
	weight           float64
}

// naive is a node as in the paper.
type naive struct {
	cpu   float64
	free  []float64
	model string
}

// fragment is the definition: the milli-GPU that a pod drawn from the workload is expected to
// be unable to use, class by class.
func (n naive) fragment(workload []kind) (f float64) {
	for _, t := range workload {
		all, below, enough := 0.0, 0.0, 0.0
		for _, g := range n.free {
			all += g
			if g < t.milli {
				below += g
			} else {
				enough++
			}
		}
		switch {
		case t.gpus == 0, enough < t.gpus, n.cpu < t.cpu, t.models != nil && !slices.Contains(t.models, n.model):
			f += t.weight * all
		default:
			f += t.weight * below
		}
	}
	return f
}

// score is 100·σ of how much the fragment decreases, in thousand milli-GPU.
func (n naive) score(workload []kind, cpu float64, take map[int]float64) float64 {
	after := naive{n.cpu - cpu, slices.Clone(n.free), n.model}
	for i, milli := range take {
		after.free[i] -= milli
	}
	x := (n.fragment(workload) - after.fragment(workload)) / 1000
	return 100 / (1 + math.Exp(-x))
}

// generate draws typical pods, in the forms of the plugin and of the paper.
func generate(t *testing.T, r *rand.Rand) (*FGD, []kind) {
	type typicalPod struct {
		MilliCPU int      `json:"milliCPU"`
		GPUs     int      `json:"gpus"`
		MilliGPU int      `json:"milliGPU"`
		Models   []string `json:"models,omitempty"`
		Count    int      `json:"count"`
	}
	var pods []typicalPod
	total := 0
	for range 1 + r.IntN(40) {
		p := typicalPod{MilliCPU: 1000 * r.IntN(33), Count: 1 + r.IntN(1000)}
		switch r.IntN(4) {
		case 0:
		case 1:
			p.GPUs, p.MilliGPU = 1+r.IntN(4), 1000
		default:
			p.GPUs, p.MilliGPU = 1, 10*(1+r.IntN(100))
		}
		if p.GPUs > 0 && r.IntN(5) == 0 {
			p.Models = [][]string{{"T4"}, {"T4", "G2"}, {"P100"}}[r.IntN(3)]
		}
		pods = append(pods, p)
		total += p.Count
	}
	config, err := json.Marshal(map[string]any{"typicalPods": pods})
	if err != nil {
		t.Fatal(err)
	}
	p := New()
	if err := p.Configure(config); err != nil {
		t.Fatal(err)
	}
	var workload []kind
	for _, k := range pods {
		workload = append(workload, kind{float64(k.MilliCPU), float64(k.GPUs), float64(k.MilliGPU), k.Models, float64(k.Count) / float64(total)})
	}
	return p, workload
}

// TestRateIsThePapers: integers and thresholds give the scores of the definition in floating
// point, and the chosen GPU has the node's score.
func TestRateIsThePapers(t *testing.T) {
	r := rand.New(rand.NewPCG(2023, 7))
	rated, seen := 0, map[int64]bool{}
	for range 60 {
		p, workload := generate(t, r)
		for range 300 {
			var s state
			n := naive{cpu: float64(500 * r.IntN(200)), model: []string{"", "T4", "G2", "V100"}[r.IntN(4)]}
			s.CPU, s.N, s.model = int64(n.cpu), r.IntN(gpushare.Most+1), otherModel
			for i, m := range p.models {
				if m.Text() == n.model {
					s.model = 1 << i
				}
			}
			for i := range s.N {
				s.Free[i] = int16([]int{0, 1000, 1000, 10 * r.IntN(101), 190}[r.IntN(5)])
				n.free = append(n.free, float64(s.Free[i]))
			}
			d := gpushare.Demand{CPU: min(s.CPU, int64(1000*r.IntN(20)))}
			switch r.IntN(3) {
			case 0:
				d.GPUs, d.Milli = 1, int64(10*(1+r.IntN(100)))
			case 1:
				d.GPUs, d.Milli = 1+r.IntN(4), 1000
			}
			if !s.Fits(d) {
				if score, _ := p.workload.rate(&s, d); score != 0 {
					t.Fatalf("a pod that does not fit has a score of %d", score)
				}
				continue
			}
			// All ways of placing the pod.
			type way struct {
				first int
				take  map[int]float64
			}
			var ways []way
			if d.Shares() {
				for i, g := range n.free {
					if g >= float64(d.Milli) {
						ways = append(ways, way{i, map[int]float64{i: float64(d.Milli)}})
					}
				}
			} else {
				take := map[int]float64{}
				for i := 0; len(take) < d.GPUs; i++ {
					if n.free[i] == 1000 {
						take[i] = 1000
					}
				}
				ways = append(ways, way{take: take})
			}
			score, device := p.workload.rate(&s, d)
			best, first, unsure := int64(-1), 0, false
			for _, w := range ways {
				exact := n.score(workload, float64(d.CPU), w.take)
				if math.Abs(exact-math.Round(exact)) < 1e-9 && exact != 50 {
					unsure = true // the definition itself is not exact in floating point
				}
				if v := int64(math.Floor(exact + 1e-11)); v > best {
					best, first = v, w.first
				}
			}
			if unsure {
				continue
			}
			rated++
			seen[score] = true
			if score != best || d.Shares() && device != first {
				t.Fatalf("%+v, %+v: %d with GPU %d, the definition gives %d with GPU %d", s, d, score, device, best, first)
			}
		}
	}
	if rated < 5000 || len(seen) < 40 {
		t.Errorf("%d nodes were scored, with %d different scores: too few for a test", rated, len(seen))
	}
}

// TestLogit: the table is correct, and the same in C.
func TestLogit(t *testing.T) {
	c, err := os.ReadFile("c/logit.h")
	if err != nil {
		t.Fatal(err)
	}
	inC := regexp.MustCompile(`\d+\.\d+`).FindAllString(string(c), -1)
	table := logit()
	if len(inC) != len(table) {
		t.Fatalf("c/logit.h has %d numbers, not %d", len(inC), len(table))
	}
	for i, v := range table {
		k := float64(51 + i)
		if want := math.Log(k / (100 - k)); math.Abs(v-want) > 1e-15*max(1, want) {
			t.Errorf("logit of %v %% is %v, want %v", k, v, want)
		}
		if got, err := strconv.ParseFloat(inC[i], 64); err != nil || got != v {
			t.Errorf("logit of %v %% is %s in C, and %v in Go", k, inC[i], v)
		}
	}
}

// TestThresholds: each threshold is the smallest decrease with its score, and no decrease has
// 50.
func TestThresholds(t *testing.T) {
	for _, total := range []int64{1, 4, 7766, 1e9} {
		w := workload{total: total}
		w.thresholds()
		for i, least := range w.least {
			k := int64(i + 1)
			if w.score(least) < k || w.score(least-1) >= k {
				t.Errorf("total %d: %d has the score %d and %d has %d; the threshold is that of %d", total, least, w.score(least), least-1, w.score(least-1), k)
			}
			if exact := 100 / (1 + math.Exp(-float64(least)/float64(1000*total))); exact < float64(k)-1e-9 {
				t.Errorf("total %d: %d is rated %d, and is %v", total, least, k, exact)
			}
		}
		if w.score(0) != 50 || w.score(-1) != 49 || w.score(math.MaxInt64) != 99 || w.score(math.MinInt64) != 0 {
			t.Errorf("total %d: nothing, less and extremes have %d, %d, %d, %d", total, w.score(0), w.score(-1), w.score(math.MaxInt64), w.score(math.MinInt64))
		}
	}
}

// TestMemo: kept scores equal computed ones, for any order of rows, nodes and pods.
func TestMemo(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var m memo
	type key struct {
		s state
		d gpushare.Demand
	}
	scores := map[key]uint8{} // a random score for each
	hits := 0
	for range 200_000 {
		d := gpushare.Demand{CPU: int64(r.IntN(2 * shapes)), GPUs: 1, Milli: 500}
		s := state{Node: gpushare.Node{CPU: int64(r.IntN(3)), N: 1}, model: 1 << r.IntN(2)}
		m.begin(d)
		known := m.at(uint32(r.IntN(50)), &s)
		want, ok := scores[key{s, d}]
		if !ok {
			want = uint8(r.IntN(101))
			scores[key{s, d}] = want
		}
		switch *known {
		case unknown:
			*known = want
		case want:
			hits++
		default:
			t.Fatalf("%+v, %+v: %d is kept, %d is right", s, d, *known, want)
		}
	}
	if hits < 100 {
		t.Errorf("%d of 200000 scores were kept", hits)
	}
}

// TestWork: from pod to pod only the changed node is scored again.
func TestWork(t *testing.T) {
	var m memo
	rated := 0
	score := func(row int, s state) {
		if known := m.at(uint32(row), &s); *known == unknown {
			*known = 1
			rated++
		}
	}
	for pod := range 10 {
		m.begin(gpushare.Demand{CPU: int64(pod % 2)})
		for row := range 1000 {
			s := state{Node: gpushare.Node{CPU: 1}}
			if row == 7 {
				s.CPU += int64(pod)
			}
			score(row, s)
		}
	}
	if want := 2*1000 + 8; rated != want { // each of two kinds of pods once, and the row that changes
		t.Errorf("%d nodes are rated for ten pods of two kinds, want %d", rated, want)
	}
}

func ExampleFGD() {
	p := New()
	if err := p.Configure([]byte(`{"typicalPods": [{"milliCPU": 4000, "gpus": 1, "milliGPU": 600, "count": 3}, {"milliCPU": 1000, "count": 1}]}`)); err != nil {
		panic(err)
	}
	s := state{Node: gpushare.Node{CPU: 8000, N: 2}, model: otherModel}
	s.Free[0], s.Free[1] = 1000, 500
	score, device := p.workload.rate(&s, gpushare.Demand{CPU: 1000, GPUs: 1, Milli: 500})
	fmt.Println("score", score, "with GPU", device)
	// Output: score 62 with GPU 1
}
