package dynamicresources

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/storage"
	"github.com/berth-scheduler/berth/runtime/state"
)

// TestCarried: a plugin that is restored from what another one carries has the same flights, which end in the same ways.
func TestCarried(t *testing.T) {
	for _, end := range []string{"unreserved", "ended", "written"} {
		store := storage.New()
		store.Set(free("a"))
		made := func() (*DynamicResources, *plugin.Placement) {
			d, err := New(nil, Deps{Devices: store.Devices(), Ledger: NewLedger(store.Devices())})
			if err != nil {
				t.Fatal(err)
			}
			return d, &plugin.Placement{Pod: state.NewPod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}}), State: &state.CycleState{}}
		}
		first, from := made()
		second, to := made()
		l := first.deps.Ledger
		a := &attempt{claims: []podClaim{{object: free("a"), flight: l.start(allocated("a", "1", "2"))}, {object: free("b"), flight: l.start(allocated("b", "3"))}}}
		l.land(a.claims[1].flight) // it was written
		from.State.Write(Name, stateKey, a)
		if err := second.ResumeFor(to, first.CarriedFor(from)); err != nil {
			t.Fatal(err)
		}
		got := second.deps.Ledger
		got.update()
		if len(got.flights) != 1 || !got.inFlight("uid-a") || len(got.state.AllocatedDevices) != 2 {
			t.Errorf("in flight are %v, allocated %v", got.flights, got.state.AllocatedDevices)
		}
		left := 0
		switch end {
		case "unreserved":
			second.Unreserve(to)
		case "ended":
			for _, ended := range to.Ended {
				ended()
			}
		case "written":
			store.Set(allocated("a", "1", "2"))
			left = 2
		}
		if got.update(); got.inFlight("uid-a") || len(got.state.AllocatedDevices) != left || second.CarriedFor(to) != nil {
			t.Errorf("%s: in flight are %v, allocated %v", end, got.flights, got.state.AllocatedDevices)
		}
	}
}
