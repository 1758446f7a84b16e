package scheduler_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/internal/testrest"
)

// drawing draws a tenant's load.
type drawing struct{ *rand.Rand }

func (d drawing) one(of ...string) string { return of[d.IntN(len(of))] }
func (d drawing) events() string {
	return d.one("*", "Node/UpdateNodeLabel", "Node/Update", "Pod/Add", "AssignedPod/Add", "Node/UpdateNodeLabel,AssignedPod/Add")
}

// rejects draws answers that reject the tenant's pods: all alike, or each second one in another way.
func (d drawing) rejects(codes ...string) string {
	if d.IntN(3) > 0 {
		return d.one(codes...)
	}
	var b strings.Builder
	for i := range 200 {
		if i%2 == 0 {
			fmt.Fprintf(&b, "parked-%d=%s;", i, d.one(codes...))
		}
	}
	return b.String() + d.one(codes...)
}

// classes are the ways in which a tenant's plugin has its pods tried again. Each draws a variant.
func classes() map[string]func(d drawing) beside {
	priority := func(d drawing) string { return fmt.Sprint("priority=", d.IntN(20)) }
	return map[string]func(d drawing) beside{
		"pending": func(d drawing) beside {
			point := d.one("filter", "prefilter", "reserve", "permit", "prebind")
			return beside{guest: point + "=" + d.rejects("pending") + " events=" + d.events(), options: priority(d), parked: 20 +
				d.IntN(181), events: d.IntN(8)}
		},
		"hints": func(d drawing) beside {
			point := d.one("filter", "prefilter", "reserve", "permit")
			return beside{
				guest: point + "=" + d.rejects("unschedulable", "unresolvable", "error") + " hint=" + d.rejects("queue", "error", "skip",
					"queue") + " events=" + d.events(),
				parked: 20 + d.IntN(181), events: d.IntN(30), options: priority(d),
			}
		},
		"retries": func(d drawing) beside {
			point := d.one("gate", "prefilter", "reserve", "permit")
			return beside{
				guest: point + "=" + d.rejects("unschedulable", "unresolvable", "pending") + fmt.Sprintf(" retry=%ds", 1+d.IntN(5)) +
					" events=" + d.events(),
				parked: 20 + d.IntN(181), events: d.IntN(5), options: priority(d),
			}
		},
		"activations": func(d drawing) beside {
			point, parked := d.one("reserve", "permit", "postbind"), 20+d.IntN(181)
			return beside{
				guest: "prefilter=" + names("done-", othersPods, "=ok;") + d.one("unschedulable", "unresolvable", "pending") + " " + point + "=ok " +
					point + "-activate=" + names("parked-", parked, ";"),
				parked: parked, fresh: 1 + d.IntN(3), open: 1, options: priority(d),
			}
		},
		"nominations": func(d drawing) beside {
			return beside{
				guest: d.one("filter", "prefilter") + "=" + d.rejects("unschedulable", "pending") + " postfilter=" + d.one("ok",
					"unschedulable") + " nominate=a events=" + d.events(),
				parked: 20 + d.IntN(181), options: priority(d), writes: d.IntN(2) == 0, events: d.IntN(5),
			}
		},
		"preemption": func(d drawing) beside {
			return beside{
				guest: "filter=" + d.rejects("pending", "unschedulable") + " overlay=" + d.one("ok", "pending", "unschedulable",
					"error") + " events=" + d.events(),
				natives: []string{"DefaultPreemption"}, parked: 20 + d.IntN(181), options: fmt.Sprint("priority=", 1+d.IntN(20)), events: d.IntN(5),
			}
		},
		"permit": func(d drawing) beside {
			wait := fmt.Sprintf("wait:%ds", 1+d.IntN(60))
			return beside{
				guest: "permit=" + d.rejects(wait, wait, "pending", "unschedulable") + d.one("", " prebind=pending",
					" permit-reject="+names("parked-", 200, ";")) + " events=" + d.events(),
				parked: 20 + d.IntN(181), fresh: d.IntN(3), events: d.IntN(5), options: priority(d),
			}
		},
		"reserve": func(d drawing) beside {
			return beside{
				guest: "filter=ok reserve=" + d.rejects("pending", "unschedulable", "error") + d.one("", " hint=queue",
					" reserve-activate="+names("parked-", 200, ";")) + " events=" + d.events(),
				parked: 20 + d.IntN(181), fresh: d.IntN(3), events: d.IntN(5), options: priority(d),
			}
		},
		"mixtures": func(d drawing) beside {
			each := func(codes ...string) string { // of the tenant's pods, in turn
				var b strings.Builder
				for i := range 200 {
					fmt.Fprintf(&b, "parked-%d=%s;", i, codes[i%len(codes)])
				}
				return b.String() + d.one(codes...)
			}
			wait := fmt.Sprintf("wait:%ds", 1+d.IntN(30))
			return beside{
				guest: "prefilter=" + each("pending", "unschedulable", "ok", "error", "ok") + " permit=" + each("ok", "pending", wait, "ok", wait) +
					" prebind=" + d.rejects("pending", "error", "ok") + " reserve=ok reserve-activate=" + names("parked-", 200, ";") +
					" postfilter=" + d.one("ok", "unschedulable") + " nominate=a events=" + d.events(),
				parked: 50 + d.IntN(151), fresh: d.IntN(3), events: d.IntN(20), options: priority(d), writes: d.IntN(2) == 0,
			}
		},
		"faults": func(d drawing) beside {
			return beside{
				guest: d.one("filter", "prefilter", "reserve", "permit", "prebind", "score") + "=" + d.rejects("error", "bad") +
					" events=" + d.events(),
				fresh: 1 + d.IntN(5), parked: d.IntN(200), events: d.IntN(8), options: priority(d),
			}
		},
	}
}

// TestDrawnNeighbours: in each class of causes, drawn plugins cost a pod of another namespace no more than those of TestNeighbours.
func TestDrawnNeighbours(t *testing.T) { drawnNeighbours(t, 4) }

// TestRestDrawnNeighbours does so with more of them.
func TestRestDrawnNeighbours(t *testing.T) { drawnNeighbours(t, 60) }

func drawnNeighbours(t *testing.T, variants int) {
	t.Helper()
	all := classes()
	r := seeded.Rand(t)
	for _, class := range slices.Sorted(maps.Keys(all)) {
		worst, sum, seen := 0.0, 0.0, map[string]bool{}
		for len(seen) < variants {
			b := all[class](drawing{r})
			text := fmt.Sprintf("%+v", b)
			if seen[text] {
				continue
			}
			seen[text] = true
			c := b.run(t)
			n := float64(c.attempts-c.first) / othersPods
			worst, sum = max(worst, n), sum+n
			if c.placed != othersPods || n > 2 {
				t.Errorf("%s: %d of %d pods of the neighbour were placed, with %.2f attempts for each, want at most 2: %.400s", class,
					c.placed, othersPods, n, text)
			}
		}
		t.Logf("%s: %d variants, %.2f attempts for each pod of the neighbour on average, at most %.2f", class, len(seen),
			sum/float64(len(seen)), worst)
		if sum == float64(len(seen)) && testrest.In(t) {
			t.Errorf("%s: no variant has a pod tried again", class)
		}
	}
}
