package state_test

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/quantity"
	"github.com/berth-scheduler/berth/runtime/state"
)

// drawQuantity draws quantities around the limits of an int64, in units and in thousandths.
func drawQuantity(t *rapid.T, what string) resource.Quantity {
	text := rapid.SampledFrom([]string{
		"0", "1", "500m", "1n", "4", "9223372036854775", "9223372036854776", "9223372036854775807m", "9223372036854775808m",
		"4611686018427387904", "9223372036854775806", "9223372036854775807", "9223372036854775808", "8E", "8Ei", "50E", "7Ei",
		"1e18", "9e18", "1e50", "1e101", "1e999999999", "1e-9", "1.5", "4611686018427387.9045",
	}).Draw(t, what)
	return resource.MustParse(text)
}

// nearest is the quantity, in units of 10^−scale, rounded up, as an int64.
func nearest(q resource.Quantity, scale int) int64 {
	if quantity.Endless(q) {
		return math.MaxInt64
	}
	dec := q.AsDec()
	n := new(big.Rat).SetFrac(dec.UnscaledBig(), big.NewInt(1))
	power := func(n int) *big.Rat {
		return new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil))
	}
	if shift := scale - int(dec.Scale()); shift >= 0 {
		n.Mul(n, power(shift))
	} else {
		n.Quo(n, power(-shift))
	}
	up := new(big.Int).Add(n.Num(), new(big.Int).Sub(n.Denom(), big.NewInt(1)))
	return clamped(up.Quo(up, n.Denom()))
}

func clamped(n *big.Int) int64 {
	switch {
	case n.IsInt64():
		return n.Int64()
	case n.Sign() < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

// TestAmounts: amounts and their sums are those of unlimited numbers, or the nearest int64.
func TestAmounts(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		q := drawQuantity(t, "q")
		if got, want := quantity.Whole(q), nearest(q, 0); got != want {
			t.Fatalf("Whole(%v) = %d, want %d", q.AsDec(), got, want)
		}
		want := nearest(q, 3)
		if q.AsDec().Scale() >= 0 && q.CmpInt64(resource.MaxMilliValue) > 0 {
			want = math.MaxInt64 // above the largest whole number whose thousandths fit
		}
		if got := quantity.Milli(q); got != want {
			t.Fatalf("Milli(%v) = %d, want %d", q.AsDec(), got, want)
		}
		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b")
		if got, want := quantity.Sum(a, b), clamped(new(big.Int).Add(big.NewInt(a), big.NewInt(b))); got != want {
			t.Fatalf("Sum(%d, %d) = %d, want %d", a, b, got, want)
		}
		all := rapid.Int64Range(1, math.MaxInt64).Draw(t, "all")
		part, whole := rapid.Int64Range(0, all).Draw(t, "part"), rapid.Int64Range(0, math.MaxInt64).Draw(t, "whole")
		product := new(big.Int).Mul(big.NewInt(part), big.NewInt(whole))
		if got, want := quantity.Portion(part, whole, all), product.Quo(product, big.NewInt(all)).Int64(); got != want {
			t.Fatalf("Portion(%d, %d, %d) = %d, want %d", part, whole, all, got, want)
		}
		p := drawQuantity(t, "p")
		got := quantity.Compare(q, p)
		if quantity.Endless(q) || quantity.Endless(p) {
			return // as if they were the largest int64, at once
		}
		if want := q.Cmp(p); got != want {
			t.Fatalf("Compare(%v, %v) = %d, want %d", q.AsDec(), p.AsDec(), got, want)
		}
	})
}

// sums is what a node's pods request: cpu, memory, tokens and the number of pods, and cpu and memory with defaults.
type sums [6]int64

func sumsOf(pods map[types.UID]*state.Pod) (out sums) {
	total := [len(out)]*big.Int{}
	for i := range total {
		total[i] = new(big.Int)
	}
	for _, p := range pods {
		for i, n := range []int64{p.Requests.MilliCPU, p.Requests.Memory, p.Requests.Scalar(tokens), 1, p.NonZeroCPU, p.NonZeroMemory} {
			total[i].Add(total[i], big.NewInt(n))
		}
	}
	for i := range total {
		out[i] = clamped(total[i])
	}
	return out
}

const tokens v1.ResourceName = "example.com/tokens"

// TestNodeSumsAtTheLimit: whatever comes and goes, a node's sums are those of the pods that are there, or the
// largest int64; on the node itself and on overlay rows of a snapshot.
func TestNodeSumsAtTheLimit(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		info := state.NodeInfo{Name: "n", Node: state.NewNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}), ObjectGeneration: 1, PodsGeneration: 1}
		snapshot := state.NewSnapshot()
		snapshot.Update([]*state.NodeInfo{info.Clone()}, []uint32{0}, nil)
		row := snapshot.Overlay(0)
		pods := make(map[types.UID]*state.Pod)
		for i := range rapid.IntRange(1, 12).Draw(t, "steps") {
			if len(pods) > 0 && rapid.Bool().Draw(t, "remove") {
				uid := rapid.SampledFrom(slices.Sorted(maps.Keys(pods))).Draw(t, "pod")
				delete(pods, uid)
				info.RemovePod(uid)
				snapshot.RemovePod(row, uid)
			} else {
				pod := drawHugePod(t, i)
				pods[pod.UID] = pod
				info.AddPod(state.PlacedPod{Pod: pod})
				snapshot.AddPod(row, pod)
			}
			want := sumsOf(pods)
			r := &info.Requested
			if got := (sums{r.MilliCPU, r.Memory, r.Scalar(tokens), r.Pods, info.NonZeroCPU, info.NonZeroMemory}); got != want {
				t.Fatalf("the node has %v, want %v", got, want)
			}
			n := &snapshot.Nodes
			of := func(name v1.ResourceName) int64 {
				if i := snapshot.ResourceIndex(name); i >= 0 {
					return n.Resources[i].Requested[row]
				}
				return 0
			}
			if got := (sums{of(v1.ResourceCPU), of(v1.ResourceMemory), of(tokens), of(v1.ResourcePods), n.NonZeroCPU[row], n.NonZeroMemory[row]}); got != want {
				t.Fatalf("the overlay has %v, want %v", got, want)
			}
		}
	})
}

func drawHugePod(t *rapid.T, i int) *state.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("p", i), UID: types.UID(fmt.Sprint("p", i))}}
	for range rapid.IntRange(1, 2).Draw(t, "containers") {
		list := v1.ResourceList{}
		for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, tokens} {
			if rapid.Bool().Draw(t, "asks") {
				list[name] = drawQuantity(t, string(name))
			}
		}
		pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Resources: v1.ResourceRequirements{Requests: list}})
	}
	return state.NewPod(pod)
}
