package follow

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
)

// began keeps the jobs that next returned and that are being worked on.
type began struct {
	waits[int, int]
	used    map[string]int
	busy    map[string]bool
	working []*job[int, int]
	waiting []*job[int, int]
}

func newBegan() *began {
	b := &began{used: make(map[string]int), busy: make(map[string]bool)}
	b.init()
	return b
}

func (b *began) ask(grant, namespace, server string, size int) *job[int, int] {
	j := &job[int, int]{owner: owner{grant, namespace}, size: size, first: true, uses: []use{{server, 2}, {grant, 3}}}
	b.waiting = append(b.waiting, j)
	b.add(j, b.busy[namespace])
	return j
}

func (b *began) may(namespace string, _ bool) bool { return !b.busy[namespace] }

// can reports whether a job can be begun.
func (b *began) can(j *job[int, int]) bool {
	return !j.dropped && !b.busy[j.namespace] && !slices.ContainsFunc(j.uses, func(u use) bool { return b.used[u.name] >= u.most })
}

// begin begins the next job; nil for none.
func (b *began) begin() *job[int, int] {
	j := b.next(b.used, b.may)
	if j == nil {
		return nil
	}
	b.waiting = slices.DeleteFunc(b.waiting, func(other *job[int, int]) bool { return other == j })
	for _, u := range j.uses {
		b.used[u.name]++
	}
	b.busy[j.namespace] = true
	b.working = append(b.working, j)
	return j
}

// end ends the work on the i-th job.
func (b *began) end(i int) {
	j := b.working[i]
	b.working = slices.Delete(b.working, i, i+1)
	delete(b.busy, j.namespace)
	for _, u := range j.uses {
		b.used[u.name]--
		b.free(u.name)
	}
	b.unpark(j.namespace)
}

// TestNext: whatever waits and is at work, a job is begun if one can be, and one of the grant that had its turn the longest ago.
func TestNext(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		b := newBegan()
		turns, turn := make(map[string]int), 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch what := rapid.IntRange(0, 5).Draw(t, "what"); {
			case what < 3:
				name := func(of string, n int) string { return fmt.Sprint(of, rapid.IntRange(1, n).Draw(t, of)) }
				grant := name("grant", 3)
				b.ask(grant, grant+name("namespace", 3), name("server", 3), rapid.IntRange(0, 12).Draw(t, "size")<<20)
			case what == 3 && len(b.waiting) > 0:
				b.waiting[rapid.IntRange(0, len(b.waiting)-1).Draw(t, "dropped")].dropped = true
			case len(b.working) > 0:
				b.end(rapid.IntRange(0, len(b.working)-1).Draw(t, "ended"))
			}
			for len(b.working) < 4 {
				ready := slices.DeleteFunc(slices.Clone(b.waiting), func(j *job[int, int]) bool { return !b.can(j) })
				j := b.begin()
				if j == nil {
					if len(ready) > 0 {
						t.Fatalf("%d jobs could be begun", len(ready))
					}
					break
				}
				if !slices.Contains(ready, j) {
					t.Fatal("a job is begun that has to wait")
				}
				for _, other := range ready {
					if turns[other.grant] < turns[j.grant] {
						t.Fatalf("%s has a turn before %s", j.grant, other.grant)
					}
				}
				turn++
				turns[j.grant] = turn
			}
			if b.jobs == 0 {
				clear(turns)
			}
		}
	})
}

// TestEndsLookAtFew: what is looked at when work ends does not grow with what waits: for one server, one grant, a server for each job, or
// a grant for each job.
func TestEndsLookAtFew(t *testing.T) {
	const jobs, each = 8000, 8
	for name, of := range map[string]func(i int) (grant, namespace, server string){
		"one server":        func(i int) (string, string, string) { return fmt.Sprint("g", i%50), fmt.Sprint("n", i), "s" },
		"one grant":         func(i int) (string, string, string) { return "g", fmt.Sprint("n", i), fmt.Sprint("s", i%50) },
		"a server for each": func(i int) (string, string, string) { return "g", fmt.Sprint("n", i), fmt.Sprint("s", i) },
		"a grant for each":  func(i int) (string, string, string) { return fmt.Sprint("g", i), fmt.Sprint("n", i), "s" },
		"one namespace":     func(i int) (string, string, string) { return "g", "n", "s" },
	} {
		b := newBegan()
		for i := range jobs {
			grant, namespace, server := of(i)
			b.ask(grant, namespace, server, 0)
		}
		b.waiting = nil
		done := 0
		for ; ; done++ {
			for b.begin() != nil {
				continue
			}
			if len(b.working) == 0 {
				break
			}
			b.end(0)
		}
		if done != jobs || b.seen > each*jobs {
			t.Errorf("%s: %d jobs are done, and %d lanes looked at, for %d", name, done, b.seen, jobs)
		}
		if len(b.lanes)+len(b.full)+len(b.freed)+len(b.parked)+len(b.grants)+len(slices.Collect(maps.Keys(b.busy))) > 0 {
			t.Errorf("%s: something is left", name)
		}
	}
}

// TestLargeIsNotStarved: a module of 12 MiB is compiled after a dozen turns of its grant, however many small ones still come.
func TestLargeIsNotStarved(t *testing.T) {
	b := newBegan()
	b.ask("g", "large", "s", 12<<20)
	for i := range 100 {
		b.ask("g", fmt.Sprint("small-", i), "s", 1<<10)
		b.ask("g", fmt.Sprint("small too-", i), "s", 1<<10)
		j := b.begin()
		if j.size == 12<<20 {
			if i < 2 {
				t.Error("the large one is first")
			}
			return
		}
		b.end(0)
	}
	t.Error("100 small modules are before a large one that came first")
}
