package devices_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
	"github.com/berth-scheduler/berth/wasm-examples/devices"
)

func TestScenarios(t *testing.T) {
	berthtest.Scenarios(t, "testdata/*.txt", devices.Manifest, berthtest.Native(devices.New))
}

// claim returns a pod that needs n devices.
func claim(name string, n int) berthtest.Pod {
	return berthtest.Pod{Namespace: "default", Name: name, Annotations: map[string]string{devices.Count: fmt.Sprint(n)}}
}

// TestNoDeviceTwice: pods come, fail and go in any order, and no device of a node is ever
// assigned to two.
func TestNoDeviceTwice(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	trial := berthtest.New(t, devices.Manifest, berthtest.Native(devices.New), "")
	for name, has := range map[string]string{"a": "8", "b": "0-3,6-7", "c": "1"} {
		trial.Nodes = append(trial.Nodes, berthtest.Node{Name: name, Annotations: map[string]string{devices.OnNode: has}})
	}
	slices.SortFunc(trial.Nodes, func(a, b berthtest.Node) int { return strings.Compare(a.Name, b.Name) })
	allowed := map[string]string{"a": "0,1,2,3,4,5,6,7", "b": "0,1,2,3,6,7", "c": "0"}
	placed, full := []string{}, 0
	for i := range 120 {
		if len(placed) > 0 && r.IntN(3) == 0 {
			at := r.IntN(len(placed))
			if err := trial.Delete(placed[at]); err != nil {
				t.Fatal(err)
			}
			placed = slices.Delete(placed, at, at+1)
		}
		p := claim(fmt.Sprint("pod-", i), 1+r.IntN(4))
		lines := trial.Schedule(p, berthtest.Schedule{Fails: []string{"", "", "permit", "bind"}[r.IntN(4)]})
		switch last := lines[len(lines)-1]; {
		case strings.HasPrefix(last, "bound to "):
			placed = append(placed, "default/"+p.Name)
		case last == "pending":
			full++
			if err := trial.Delete("default/" + p.Name); err != nil {
				t.Fatal(err)
			}
		}
		for _, n := range trial.Nodes {
			seen := map[string]string{}
			for _, on := range n.Pods {
				numbers := strings.Split(on.Annotations[devices.Taken], ",")
				if want := on.Annotations[devices.Count]; fmt.Sprint(len(numbers)) != want {
					t.Fatalf("%s on %s wants %s devices and has %v", on.Name, n.Name, want, numbers)
				}
				for _, number := range numbers {
					if other := seen[number]; other != "" || !slices.Contains(strings.Split(allowed[n.Name], ","), number) {
						t.Fatalf("device %s of %s is %s's and %s's", number, n.Name, on.Name, other)
					}
					seen[number] = on.Name
				}
			}
		}
	}
	if len(placed) == 0 || full == 0 {
		t.Errorf("%d pods were placed and %d were not; the test is meaningless", len(placed), full)
	}
}

// TestAllocations: judging nodes does not allocate.
func TestAllocations(t *testing.T) {
	trial := berthtest.New(t, devices.Manifest, berthtest.Native(devices.New), "")
	for i := range 50 {
		n := berthtest.Node{Name: fmt.Sprint("node-", i), Annotations: map[string]string{devices.OnNode: "0-7"}}
		p := claim("p", 2)
		p.Annotations[devices.Taken] = "0,5"
		n.Pods = []berthtest.Pod{p, claim("promised", 1)}
		trial.Nodes = append(trial.Nodes, n)
	}
	call := trial.Caller([]berthtest.Pod{claim("web", 2), claim("big", 9)})
	call(1) // makes room for reasons
	if n := testing.AllocsPerRun(100, func() { call(0); call(1) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
