package dynamicresources

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/dynamic-resource-allocation/cel"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/storage"
)

// cutOff implements objects.Search: it cuts all searches off.
type cutOff struct{ asked []string }

func (c *cutOff) Within(_ context.Context, node string, _ time.Duration, _ func(context.Context) error) error {
	c.asked = append(c.asked, node)
	return context.DeadlineExceeded
}

// TestCutOff: no selector and no search takes longer than a search may, in Filter and in Reserve.
func TestCutOff(t *testing.T) {
	f := newFleet(t, 40, true)
	spec := specs()["constrained"]
	search := &cutOff{}
	f.plugin.deps.Search = search
	if fit := f.place(t, spec, at); fit != 0 || f.codes[len(f.codes)-1] != abi.Error || len(search.asked) != 1 {
		t.Errorf("%d nodes fit, verdicts are %v, searches were on %v", fit, f.codes, search.asked)
	}
	if work := f.ledger.Work(); work != (Work{}) {
		t.Errorf("%+v was done although the first node was cut off", work)
	}
	f.plugin.deps.Search = patient{}
	f.place(t, spec, at)

	c := f.cycle(t, spec)
	f.plugin.PreFilter(c)
	var verdicts plugin.Verdicts
	verdicts.Reset(len(f.rows))
	f.plugin.Filter(c, f.rows, &verdicts)
	row := slices.Index(verdicts.Codes[20:], abi.Success) + 20
	f.plugin.deps.Search = search
	const want = "timed out trying to allocate devices"
	if status := f.reserve(c, row); !status.Is(abi.Error) || !strings.HasSuffix(status.Message(), want) || f.ledger.Work().Wrong != 0 {
		t.Errorf("Reserve says %v, want an error that it %s; %+v", status, want, f.ledger.Work())
	}
}

// TestInterrupted: what an expression says is not known if it was interrupted, and asked again.
func TestInterrupted(t *testing.T) {
	a := NewLedger(storage.New().Devices()).compiled()
	const long = `[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, [0,1,2,3,4,5,6,7,8,9].all(c, a+b+c >= 0)))`
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	about := subjectOf(cel.Device{Driver: "d"})
	if said := a.of(ended, long, &about); said != 0 {
		t.Errorf("an interrupted expression says %v", said)
	}
	if said := a.of(t.Context(), long, &about); said != yes {
		t.Errorf("asked again, it says %v", said)
	}
}
