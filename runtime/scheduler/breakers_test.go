package scheduler_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/pipeline"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/fake"
	"github.com/berth-scheduler/berth/runtime/queue"
)

// broken is a plugin whose breaker is open until a time.
type broken struct {
	plugin.Plugin
	info plugin.Info
	at   time.Time
}

func (b *broken) Info() *plugin.Info                             { return &b.info }
func (*broken) Settle(string)                                    {}
func (*broken) Fuel() int64                                      { return 0 }
func (*broken) Learn(string, plugin.Beside)                      {}
func (*broken) TakeStarts() []plugin.Start                       { return nil }
func (*broken) Charge(plugin.Start)                              {}
func (*broken) Carried(map[string]time.Time) json.RawMessage     { return nil }
func (b *broken) RetryAt(string) (time.Time, bool)               { return b.at, true }
func (b *broken) Retries() []plugin.Retry                        { return []plugin.Retry{{Namespace: "ns", At: b.at}} }
func (*broken) Filter(*plugin.Cycle, []uint32, *plugin.Verdicts) {}

func (*broken) Resume(json.RawMessage) (map[string]time.Time, error) { return nil, nil }

// TestRetriesOfProfiles: a plugin with open breakers in two profiles is retried at the times of
// both, once each.
func TestRetriesOfProfiles(t *testing.T) {
	w := newWorld(t, &scenario.Log{})
	add := func(at time.Duration) {
		b := &broken{info: plugin.Info{Name: "Guest"}, at: w.start.Add(at)}
		profile := w.profiles[len(w.profiles)-1]
		profile.Points[abi.Filter] = append(profile.Points[abi.Filter], pipeline.Entry{Plugin: b})
	}
	add(time.Second)
	w.profile("other", scenario.Args{})
	add(2 * time.Second)
	s := w.get()
	for _, want := range []time.Duration{time.Second, 2 * time.Second} {
		s.Step(t.Context())
		if at, ok := s.NextDeadline(); !ok || at.Sub(w.start) != want {
			t.Fatalf("the next deadline is %v, %v, want %v", at.Sub(w.start), ok, want)
		}
		w.clock.Advance(time.Second)
	}
	s.Step(t.Context())
	if at, ok := s.NextDeadline(); ok && !at.After(w.clock.Now()) {
		t.Errorf("after both the next deadline is %v: the loop does not sleep", at.Sub(w.start))
	}
}

// divided is a filter that fails for pods of some namespaces, and whose breaker opens for these at each fault, for five seconds.
type divided struct {
	broken
	w     *world
	bad   map[string]bool
	until map[string]time.Time
	calls map[string]int
}

func (d *divided) RetryAt(namespace string) (time.Time, bool) {
	at, open := d.until[namespace]
	return at, open
}

func (d *divided) Retries() (out []plugin.Retry) {
	for _, namespace := range slices.Sorted(maps.Keys(d.until)) {
		out = append(out, plugin.Retry{Namespace: namespace, At: d.until[namespace]})
	}
	return out
}

func (d *divided) Filter(c *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	namespace, now := c.Pod.Namespace, d.w.clock.Now()
	if at, open := d.until[namespace]; !open || !now.Before(at) {
		if d.calls[namespace]++; !d.bad[namespace] {
			if open {
				delete(d.until, namespace)
				d.w.get().ReleasePlugin(d.info.Name)
			}
			return
		}
		d.until[namespace] = now.Add(5 * time.Second)
	}
	reason := out.Reason("it is broken")
	for i := range rows {
		out.Reject(i, abi.Error, reason)
	}
}

// TestStalledByNamespace: pods with which a plugin of all namespaces fails keep no pods of other namespaces waiting, and are
// tried one at a time in each namespace.
func TestStalledByNamespace(t *testing.T) {
	w := newWorld(t, &scenario.Log{})
	w.declare("Fit", scenario.MustParse("fit=yes enforces=requests"))
	d := &divided{
		broken: broken{info: plugin.Info{Name: "Guest"}}, w: w, bad: map[string]bool{"evil": true, "ill": true},
		until: map[string]time.Time{}, calls: map[string]int{},
	}
	profile := w.profiles[0]
	profile.Points[abi.Filter] = append(profile.Points[abi.Filter], pipeline.Entry{Plugin: d})
	node, err := fake.Node("n", scenario.MustParse("cpu=100000"))
	if err != nil {
		t.Fatal(err)
	}
	w.get().SetNode(node)
	for round := range 10 {
		for i := range 5 {
			for _, namespace := range []string{"good", "evil", "ill"} {
				w.arrives(fmt.Sprintf("%s-%d-%d", namespace, round, i), "cpu=1 namespace="+namespace)
			}
		}
		w.run()
		if round == 4 {
			d.bad["ill"] = false
		}
		w.clock.Advance(5 * time.Second)
		w.run()
	}
	placed, reasons := map[string]int{}, map[string]int{}
	for _, pod := range w.pods {
		if pod.NodeName() != "" {
			placed[pod.Namespace]++
		}
	}
	for place, pod := range w.get().Queued() {
		if place == queue.Gated {
			reasons[pod.GateReason]++
		}
	}
	if placed["good"] != 50 || placed["ill"] != 50 || placed["evil"] != 0 || d.calls["evil"] > 21 {
		t.Errorf("placed %v; calls %v", placed, d.calls)
	}
	if want := "waiting until the plugin is called again: it failed too often for pods of namespace evil"; reasons[want] < 40 {
		t.Errorf("pods are gated because of %v", reasons)
	}
}
