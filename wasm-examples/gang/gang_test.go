package gang_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
	"github.com/berth-scheduler/berth/wasm-examples/gang"
)

func TestScenarios(t *testing.T) {
	berthtest.Scenarios(t, "testdata/*.txt", gang.Manifest, berthtest.Native(gang.New))
}

// member returns the i-th pod of a gang.
func member(name string, size, i int) berthtest.Pod {
	return berthtest.Pod{
		Namespace: "default", Name: fmt.Sprint(name, "-", i),
		Labels: map[string]string{gang.Label: name}, Annotations: map[string]string{gang.Size: fmt.Sprint(size)},
	}
}

// TestAllOrNothing: members of gangs come in any order, fit or not, time out and lose their
// nodes. No member is bound before enough of its gang have a node, and no two members have the
// same rank.
func TestAllOrNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	trial := berthtest.New(t, gang.Manifest, berthtest.Native(gang.New), "")
	trial.Nodes = []berthtest.Node{{Name: "a"}, {Name: "b"}}
	sizes := map[string]int{"red": 2, "green": 3, "blue": 4}
	names := []string{"red", "green", "blue"}
	status := map[string]string{} // of each pod: waits, bound
	bound, lost := 0, 0
	for range 60 {
		var lines []string
		own := ""
		name := names[r.IntN(len(names))]
		p := member(name, sizes[name], r.IntN(5))
		switch id := "default/" + p.Name; {
		case status[id] == "waits" && r.IntN(4) == 0:
			lines = trial.TimeOut(id)
		case status[id] == "":
			own = id
			how := berthtest.Schedule{Fails: []string{"", "", "", "", "permit"}[r.IntN(5)]}
			if r.IntN(4) == 0 {
				how.Rejected = []string{"a", "b"}
			}
			lines = trial.Schedule(p, how)
		}
		for _, line := range lines {
			id, what, other := strings.Cut(line, ": ")
			if !other || !strings.HasPrefix(id, "default/") {
				id, what = own, line
			}
			switch {
			case what == "waits":
				status[id] = "waits"
			case strings.HasPrefix(what, "bound to"):
				status[id] = "bound"
				bound++
			case what == "pending":
				if status[id] == "waits" {
					lost++
				}
				delete(status, id)
			}
		}
		check(t, trial, sizes, status)
	}
	if bound < 10 || lost < 5 {
		t.Errorf("%d pods were bound and %d lost their node while they waited; that is too few for a test", bound, lost)
	}
}

func check(t *testing.T, trial *berthtest.Trial, sizes map[string]int, status map[string]string) {
	t.Helper()
	places, bound, ranks := map[string]int{}, map[string]int{}, map[string]string{}
	for _, n := range trial.Nodes {
		for _, p := range n.Pods {
			name := p.Labels[gang.Label]
			places[name]++
			if status["default/"+p.Name] == "bound" {
				bound[name]++
			}
			rank := name + " " + p.Annotations[gang.Rank]
			if other := ranks[rank]; other != "" {
				t.Fatalf("%s and %s have rank %s", p.Name, other, rank)
			}
			ranks[rank] = p.Name
		}
	}
	for name, size := range sizes {
		if bound[name] > 0 && places[name] < size {
			t.Fatalf("%d members of %s are bound, and %d of %d have a place", bound[name], name, places[name], size)
		}
		if bound[name] == 0 && places[name] >= size {
			t.Fatalf("%d of %d members of %s have a place, and none is bound", places[name], size, name)
		}
	}
}
