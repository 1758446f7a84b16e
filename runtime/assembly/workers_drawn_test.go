package assembly

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/internal/seeded"
)

// curiosity draws plugins whose answers depend on their instance and their calls.
type curiosity struct{ *rand.Rand }

// calls is a counter in the guest's memory.
const calls = `(i32.load (i32.const 8))`

// condition draws what differs between instances or calls.
func (c curiosity) condition() string {
	bit, k := 1<<c.IntN(12), 2+c.IntN(5)
	of := []string{
		fmt.Sprintf(`(i32.and (i32.load offset=4 `+nodesEntry+`) (i32.const %d))`, bit),
		fmt.Sprintf(`(i32.gt_u (i32.load offset=8 `+nodesEntry+`) (i32.const %d))`, 512*k),
		fmt.Sprintf(`(i32.and (i32.load offset=20 (local.get 0)) (i32.const %d))`, bit),
		`(i32.load offset=12 ` + nodesEntry + `)`,
		fmt.Sprintf(`(i32.and (local.get %d) (i32.const %d))`, 1+c.IntN(2), 1<<(10+c.IntN(3))),
		fmt.Sprintf(`(i32.eq (i32.rem_u `+calls+` (i32.const %d)) (i32.const %d))`, k, c.IntN(k)),
		fmt.Sprintf(`(i32.gt_u `+calls+` (i32.const %d))`, c.IntN(12)),
		fmt.Sprintf(`(i32.and (memory.size) (i32.const %d))`, bit),
		fmt.Sprintf(`(i32.eq (memory.grow (i32.const %d)) (i32.const -1))`, 1+c.IntN(200)),
	}
	return of[c.IntN(len(of))]
}

// body draws a point's function: what it does before it answers, when it answers otherwise, and what that is.
func (c curiosity) body(otherwise ...string) string {
	b := `(local $i i32) (i32.store (i32.const 8) (i32.add (i32.const 1) ` + calls + `))`
	for range c.IntN(3) {
		does := []string{
			`unreachable`, `(loop $spin (br $spin))`, `(return (i32.const 77))`, `(drop (memory.grow (i32.const 24)))`,
			`(i32.store offset=16 ` + nodesEntry + ` (i32.const 77))`, `(i32.store (i32.const 8) (i32.const 5))`,
		}
		b += `(if ` + c.condition() + ` (then ` + does[c.IntN(len(does))] + `))`
	}
	return b + `(if ` + c.condition() + ` (then ` + otherwise[c.IntN(len(otherwise))] + `)) (i32.const 0)`
}

// draw draws a plugin with filter, score or both.
func (c curiosity) draw() (g guest) {
	each := func(address string, size int, store string) string {
		return fmt.Sprintf(`(local.set $i (local.get 1)) (loop $row (%s (i32.add (i32.load offset=%s (local.get 0))
			(i32.mul (i32.sub (local.get $i) (local.get 1)) (i32.const %d))) (i32.const %d))
			(local.set $i (i32.add (local.get $i) (i32.const %d))) (br_if $row (i32.lt_u (local.get $i) (local.get 2))))`,
			store, address, size, 1+c.IntN(3), 1+c.IntN(3))
	}
	points := 1 + c.IntN(3)
	if points&1 != 0 {
		g.filter = c.body(`(memory.fill (i32.load offset=24 (local.get 0)) (i32.const 2) (i32.sub (local.get 2) (local.get 1)))`,
			each("24", 1, "i32.store8"))
	}
	if points&2 != 0 {
		g.score = c.body(each("32", 8, "i32.store8"), each("32", 8, "i32.store8"),
			`(i32.store8 (i32.load offset=32 (local.get 0)) (i32.const 100))`)
	}
	return g
}

// TestDrawnByWorkers: what TestVerdictsByWorkers says of written plugins holds for drawn ones.
func TestDrawnByWorkers(t *testing.T)     { drawnByWorkers(t, 2) }
func TestRestDrawnByWorkers(t *testing.T) { drawnByWorkers(t, 15) }

func drawnByWorkers(t *testing.T, plugins int) {
	t.Helper()
	c, outcomes := curiosity{seeded.Rand(t)}, map[string]bool{}
	for range plugins {
		g, nodes, memory := c.draw(), 1100+c.IntN(4000), int64(0)
		if c.IntN(2) == 0 {
			memory = 48 << 20
		}
		file, want := g.write(t), ""
		for _, workers := range []int{1, 2, 8} {
			got := attemptsWith(t, file, nodes, memory, workers)
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("%d nodes, %d bytes, %d workers\n%s\none\n%s\nfilter %s\nscore %s", nodes, memory, workers, got, want, g.filter, g.score)
			}
		}
		outcomes[want[strings.LastIndex(want, "\n"):]] = true
	}
	t.Logf("%d plugins, %d different outcomes", plugins, len(outcomes))
	if len(outcomes) < plugins/2 {
		t.Errorf("%d of %d plugins differ", len(outcomes), plugins)
	}
}
