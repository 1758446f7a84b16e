package scheduler_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/report"
)

// burning is a guest that is attached to a namespace and uses the same fuel in each attempt.
type burning struct {
	info       plugin.Info
	fuel, used int64
}

func (b *burning) Info() *plugin.Info                                     { return &b.info }
func (b *burning) Filter(*plugin.Cycle, []uint32, *plugin.Verdicts)       { b.used += b.fuel }
func (b *burning) Fuel() int64                                            { return b.used }
func (*burning) Settle(string)                                            {}
func (*burning) Learn(string, plugin.Beside)                              {}
func (*burning) TakeStarts() []plugin.Start                               { return nil }
func (*burning) Charge(plugin.Start)                                      {}
func (*burning) RetryAt(string) (t time.Time, ok bool)                    { return t, false }
func (*burning) Retries() []plugin.Retry                                  { return nil }
func (*burning) Carried(map[string]time.Time) json.RawMessage             { return nil }
func (*burning) Resume(json.RawMessage) (m map[string]time.Time, e error) { return m, nil }

// order is an observer of the namespaces of attempts, and a recorder of one segment.
type order struct {
	namespaces []string
	full       bool
	since      int // how many attempts there were before the segment; -1 without one
	events     []inbox.Event
}

func (o *order) Attempted(a *report.Attempt, _ func(uint32) string) {
	o.namespaces = append(o.namespaces, a.Namespace)
}
func (o *order) Ended(*report.Ending) {}
func (o *order) Full() bool           { return o.full }
func (o *order) Begin()               { o.full, o.since = false, len(o.namespaces) }
func (o *order) Enter(e inbox.Event) {
	if o.since >= 0 {
		o.events = append(o.events, e)
	}
}

// ordered returns a world in which the pods of namespace team have a guest.
func ordered(t *testing.T, info plugin.Info, fuel int64) (*world, *order) {
	t.Helper()
	w, o := newWorld(t, &scenario.Log{}), &order{since: -1}
	w.observer, w.recorder = o, o
	info.Name, info.Namespaces, info.NodeScoped = "Guest", []string{"team"}, []abi.Point{abi.Filter}
	profile := w.profiles[len(w.profiles)-1]
	profile.Points[abi.Filter] = append(profile.Points[abi.Filter], pipeline.Entry{Plugin: &burning{info: info, fuel: fuel}})
	return w, o
}

// TestLanesOfNamespaces: a crowd of a namespace with plugins of its own does not keep others waiting: these wait for one attempt
// for each of their pods, and for fewer the more fuel such an attempt uses. A segment of a recording has the same order.
func TestLanesOfNamespaces(t *testing.T) {
	for _, c := range []struct {
		name    string
		info    plugin.Info
		fuel    int64
		options string // of the pods of team
		want    int    // attempts for team before the last of 10 pods of others
	}{
		{"cheap", plugin.Info{}, 100, "", 10},
		{"fuel of two turns", plugin.Info{}, 10_000, "", 5},
		{"all of the fuel", plugin.Info{}, 250_000, "", 1},
		{"a higher priority", plugin.Info{}, 250_000, "priority=10", 60},
		{"a bounded priority", plugin.Info{MaxPriority: new(int32)}, 250_000, "priority=10", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, o := ordered(t, c.info, c.fuel)
			w.addNode("a")
			for i := range 60 {
				w.set(pod(t, fmt.Sprint("t", i), strings.TrimSpace("namespace=team "+c.options)))
			}
			for i := range 10 {
				w.set(pod(t, fmt.Sprint("o", i), "namespace=others"))
			}
			for len(o.namespaces) < 70 {
				o.full = len(o.namespaces) == 3 && o.since < 0
				if !w.get().Step(t.Context()) {
					t.Fatalf("%d attempts", len(o.namespaces))
				}
			}
			last := 69
			for o.namespaces[last] != "others" {
				last--
			}
			if before := last - 9; before < c.want-1 || before > c.want {
				t.Errorf("%d attempts of the tenant were made before the last pod of others, want %d: %q", before, c.want, o.namespaces)
			}
			again, replayed := ordered(t, c.info, 0) // what is charged is recorded
			s := again.get()
			for _, e := range o.events {
				switch e.(type) {
				case *inbox.Decision, *inbox.End, *inbox.Settings:
				default:
					s.Handle(t.Context(), e)
				}
			}
			if got, want := replayed.namespaces, o.namespaces[o.since:]; !slices.Equal(got, want) {
				t.Errorf("again %q, want %q", got, want)
			}
		})
	}
}
