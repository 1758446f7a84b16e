package heap_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/berth-scheduler/berth/runtime/internal/heap"
)

type entry struct {
	key  string
	rank int
}

func newHeap() *heap.Heap[string, entry] {
	return heap.New(func(e entry) string { return e.key }, func(a, b entry) bool { return a.rank < b.rank })
}

func drain(h *heap.Heap[string, entry]) (keys []string) {
	for {
		e, ok := h.Pop()
		if !ok {
			return keys
		}
		keys = append(keys, e.key)
	}
}

func TestPopOrderWithTiesByPush(t *testing.T) {
	h := newHeap()
	for i, rank := range []int{3, 1, 2, 1, 3, 1} {
		if !h.Push(entry{string(rune('a' + i)), rank}) {
			t.Errorf("push %d: not new", i)
		}
	}
	want := []string{"b", "d", "f", "c", "a", "e"}
	listed := make([]string, 0, len(want))
	for _, e := range h.List() {
		listed = append(listed, e.key)
	}
	if !slices.Equal(listed, want) {
		t.Errorf("List = %v, want %v", listed, want)
	}
	if got := drain(h); !slices.Equal(got, want) {
		t.Errorf("popped %v, want %v", got, want)
	}
}

func TestEmpty(t *testing.T) {
	h := newHeap()
	if _, ok := h.Peek(); ok {
		t.Error("Peek of an empty heap")
	}
	if _, ok := h.Pop(); ok {
		t.Error("Pop of an empty heap")
	}
	if _, ok := h.Get("a"); ok {
		t.Error("Get of an unknown key")
	}
	if _, ok := h.Delete("a"); ok {
		t.Error("Delete of an unknown key")
	}
	if h.Fix("a") {
		t.Error("Fix of an unknown key")
	}
	h.Rebuild()
	if h.Len() != 0 || len(h.List()) != 0 {
		t.Error("an empty heap has values")
	}
}

func TestPushOfAKnownKeyReplaces(t *testing.T) {
	h := newHeap()
	h.Push(entry{"a", 1})
	h.Push(entry{"b", 2})
	h.Push(entry{"c", 2})
	if h.Push(entry{"a", 2}) {
		t.Error("Push of a known key says that it is new")
	}
	if e, _ := h.Get("a"); e.rank != 2 {
		t.Errorf("Get(a).rank = %d, want 2", e.rank)
	}
	if got, want := drain(h), []string{"a", "b", "c"}; !slices.Equal(got, want) {
		t.Errorf("popped %v, want %v: an update keeps the turn among equals", got, want)
	}
}

func TestFixAndRebuild(t *testing.T) {
	rank := map[string]int{"a": 1, "b": 2, "c": 3, "d": 4}
	h := heap.New(func(s string) string { return s }, func(a, b string) bool { return rank[a] < rank[b] })
	for _, s := range []string{"a", "b", "c", "d"} {
		h.Push(s)
	}
	rank["d"] = 0
	h.Fix("d")
	if s, _ := h.Peek(); s != "d" {
		t.Errorf("after Fix(d) the first is %s", s)
	}
	for s := range rank {
		rank[s] = -rank[s]
	}
	h.Rebuild()
	if got, want := h.List(), []string{"c", "b", "a", "d"}; !slices.Equal(got, want) {
		t.Errorf("after Rebuild List = %v, want %v", got, want)
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	h := newHeap()
	keys := make([]string, 100)
	for i := range keys {
		keys[i] = fmt.Sprint(i)
		h.Push(entry{keys[i], i})
	}
	if n := testing.AllocsPerRun(1000, func() {
		e, _ := h.Pop()
		e.rank += 50
		h.Push(e)
		h.Delete("50")
		h.Push(entry{"50", 7})
	}); n != 0 {
		t.Errorf("%v allocations a round, want 0", n)
	}
}

// sortedModel is the heap's contract done the slow way: a slice in order, stable
// among equals.
type sortedModel []entry

func (m *sortedModel) push(e entry) {
	if i := m.find(e.key); i >= 0 {
		(*m)[i] = e
	} else {
		*m = append(*m, e)
	}
}

func (m sortedModel) find(key string) int {
	return slices.IndexFunc(m, func(e entry) bool { return e.key == key })
}

func (m sortedModel) sorted() []entry {
	s := slices.Clone([]entry(m))
	slices.SortStableFunc(s, func(a, b entry) int { return cmp.Compare(a.rank, b.rank) })
	return s
}

func (m *sortedModel) remove(key string) {
	if i := m.find(key); i >= 0 {
		*m = slices.Delete(*m, i, i+1)
	}
}

// FuzzAgainstSortedSlice applies the bytes to a heap and to a slice: every pair is an operation with a key, and a rank.
func FuzzAgainstSortedSlice(f *testing.F) {
	f.Add([]byte{0x00, 3, 0x01, 1, 0x02, 2, 0x40, 0, 0x81, 0})
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		seed := make([]byte, 200)
		for i := range seed {
			seed[i] = byte(rng.Uint32())
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, ops []byte) {
		h, m := newHeap(), sortedModel{}
		for ; len(ops) >= 2; ops = ops[2:] {
			key, rank := string(rune('a'+ops[0]&0x1f)), int(ops[1]&0x0f)
			switch ops[0] >> 6 {
			case 0, 1:
				if h.Push(entry{key, rank}) != (m.find(key) < 0) {
					t.Fatalf("Push(%s) is wrong about the key being new", key)
				}
				m.push(entry{key, rank})
			case 2:
				e, ok := h.Pop()
				if ok != (len(m) > 0) {
					t.Fatalf("Pop = %v with %d values", ok, len(m))
				}
				if ok {
					if want := m.sorted()[0]; e != want {
						t.Fatalf("Pop = %v, want %v", e, want)
					}
					m.remove(e.key)
				}
			case 3:
				if _, ok := h.Delete(key); ok != (m.find(key) >= 0) {
					t.Fatalf("Delete(%s) = %v", key, ok)
				}
				m.remove(key)
			}
			if got, want := h.List(), m.sorted(); h.Len() != len(m) || !slices.Equal(got, want) {
				t.Fatalf("List = %v, want %v", got, want)
			}
			for _, e := range m {
				if got, ok := h.Get(e.key); !ok || got != e {
					t.Fatalf("Get(%s) = %v, %v", e.key, got, ok)
				}
			}
		}
	})
}

func BenchmarkPushPop(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			h, rng := newHeap(), rand.New(rand.NewPCG(1, 2))
			for i := range n {
				h.Push(entry{fmt.Sprint(i), rng.IntN(n)})
			}
			b.ReportAllocs()
			for b.Loop() {
				e, _ := h.Pop()
				e.rank += rng.IntN(n)
				h.Push(e)
			}
		})
	}
}
