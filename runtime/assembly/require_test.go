package assembly

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/state"
)

// says has a feed say one state of node n.
func (r *recorder) says(is uint8) {
	cell := state.Cell{Value: 900, State: is, Since: 1, At: 1_000_000}
	r.scheduler.Scheduler.SetFeeds([]state.Feed{{Name: "load", Cells: map[string]state.Cell{"n": cell}}})
}

// waits returns why a pod waits, with the plugin that gates it.
func (r *recorder) waits(name string) (by, why string) {
	for _, p := range r.scheduler.Scheduler.Queued() {
		if p.Pod.Name == name {
			return p.GatedBy, p.GateReason
		}
	}
	return "", ""
}

// TestRequiredFeeds: pods of a module wait while a feed that it requires has no fresh value, with that reason, and news of the feed alone
// let them go. Pods of other namespaces do not wait, nor do any if nothing is known of feeds.
func TestRequiredFeeds(t *testing.T) {
	modules := newModules(t)
	attached := []Attached{tenants(t, modules, guest{required: true}, "a")}
	r := start(t, Config{Modules: modules, Feeds: []string{"load:milli"}, Attached: attached})
	oneNode(r)
	if r.in(t, "a", "early") || !r.in(t, "b", "other") {
		t.Fatalf("placed %v", r.bound)
	}
	expect := func(pod, want string) {
		t.Helper()
		if by, why := r.waits(pod); by != RequireName || why != RequireName+": the plugin a/tiny requires the feed load, "+want {
			t.Errorf("%s waits for %s: %s", pod, by, why)
		}
	}
	expect("early", "which has no value yet")
	r.says(abi.FeedStale)
	r.steps(t)
	if r.placed("early") {
		t.Error("a stale feed lets pods go")
	}
	expect("early", "all of whose values are stale")
	r.says(abi.FeedFresh)
	if r.steps(t); !r.placed("early") {
		t.Error("a fresh feed lets no pods go")
	}
	// A pod is admitted, and the feed is stale before it is tried.
	r.scheduler.Scheduler.SetPods(state.NewPod(&v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "queued", UID: types.UID("queued")}, Spec: v1.PodSpec{SchedulerName: "default-scheduler"},
	}))
	r.says(abi.FeedStale)
	if r.later(t); r.placed("queued") || r.in(t, "a", "late") {
		t.Errorf("placed %v", r.bound)
	}
	r.says(abi.FeedFresh)
	if r.later(t); !r.placed("queued") || !r.placed("late") {
		t.Errorf("placed %v", r.bound)
	}
	// The plugin goes while a pod waits.
	r.says(abi.FeedStale)
	if r.in(t, "a", "last") {
		t.Error("a stale feed lets a pod go")
	}
	if _, err := r.scheduler.Attach(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if r.later(t); !r.placed("last") || r.scheduler.mu.built[0].plugins[RequireName] != nil {
		t.Errorf("placed %v", r.bound)
	}
	unknown := start(t, Config{Modules: modules, Attached: attached})
	oneNode(unknown)
	if !unknown.in(t, "a", "pod") {
		t.Error("a pod waits for a feed of which nothing is known")
	}
}

// TestRequiredByFile: a plugin of the configuration holds pods of all namespaces, and says so of a label's feed, too.
func TestRequiredByFile(t *testing.T) {
	modules := newModules(t)
	r := start(t, Config{
		Modules: modules, Feeds: []string{"load:milli"}, Scheduler: enabled(t, modules, Default(), module.Reference{Path: guest{required: true}.write(t), Name: "tiny"}),
	})
	oneNode(r)
	if r.in(t, "b", "pod") {
		t.Fatal("the pod was placed without a feed")
	}
	// No node has the label: the feed is fresh all the same, and the plugin decides.
	r.scheduler.Scheduler.SetFeeds([]state.Feed{{Name: "load", Label: "zone", Cells: map[string]state.Cell{"x": {Value: 1, State: abi.FeedFresh}}}})
	if r.later(t); !r.placed("pod") {
		t.Error("the pod waits")
	}
	copied := start(t, r.scheduler.Config()) // as what-if has it
	oneNode(copied)
	if copied.in(t, "b", "pod") {
		t.Error("a copy of the scheduler placed the pod without a feed")
	}
}

// TestRequiredObjects: pods wait until the objects that a plugin requires are known, even if there are none, and when their kind is gone.
func TestRequiredObjects(t *testing.T) {
	modules := newModules(t)
	r := start(t, Config{Modules: modules, Feeds: []string{}, Scheduler: enabled(t, modules, Default(), module.Reference{
		Path: guest{boxes: true}.write(t), Name: "tiny", Grants: wire.ManifestDirectives{Objects: []string{"boxes.example.com"}},
	})})
	oneNode(r)
	known := func(is state.Cell) { // the cell of no node, as objectview.Known
		view := r.scheduler.ObjectViews()[0].Key()
		r.scheduler.Scheduler.SetFeeds([]state.Feed{{Name: view, Cells: map[string]state.Cell{"": is}}})
	}
	if r.in(t, "a", "early") {
		t.Fatal("the pod was placed before the objects were known")
	}
	const want = RequireName + ": the plugin tiny requires objects of boxes.example.com/v1, which are not known yet"
	if by, why := r.waits("early"); by != RequireName || why != want {
		t.Errorf("the pod waits for %s: %s", by, why)
	}
	known(state.Cell{State: abi.FeedFresh})
	if r.later(t); !r.placed("early") {
		t.Error("the pod waits for objects that are known")
	}
	known(state.Cell{})
	if r.in(t, "a", "late") {
		t.Error("the pod was placed although the kind is gone")
	}
}

// TestFeedDetails: a pod that fits nowhere is explained with the values of feeds that its plugin's verdicts saw.
func TestFeedDetails(t *testing.T) {
	modules := newModules(t)
	r := start(t, Config{
		Modules: modules, Feeds: []string{"load:milli"},
		Scheduler: enabled(t, modules, Default(), module.Reference{Path: guest{required: true, filter: no}.write(t), Name: "tiny"}),
	})
	oneNode(r)
	r.says(abi.FeedFresh)
	if r.in(t, "a", "pod") {
		t.Fatal("the filter rejects nothing")
	}
	a := r.attempts[len(r.attempts)-1]
	if len(a.Rejections) != 1 || len(a.Rejections[0].Details) != 1 {
		t.Fatalf("%+v", a.Rejections)
	}
	at := time.Unix(1_000_000, 0).UTC().Format(time.RFC3339)
	if got := a.Rejections[0].Details[0]; got.Nodes != 1 || !strings.HasSuffix(got.Text, "n: load is 900 milli, sampled at "+at) {
		t.Errorf("%+v", got)
	}
}

// TestFeedsOfScores: a pod that was placed is explained with the values of feeds that its plugin's scores saw, of the chosen node and of
// the next best, and only if the plugin scored.
func TestFeedsOfScores(t *testing.T) {
	modules := newModules(t)
	r := start(t, Config{
		Modules: modules, Feeds: []string{"load:milli"}, Attached: []Attached{tenants(t, modules, guest{required: true}, "a")},
	})
	oneNode(r)
	r.says(abi.FeedFresh)
	candidates := func(namespace, name string) []report.Candidate {
		t.Helper()
		if !r.in(t, namespace, name) {
			t.Fatalf("%s was not placed", name)
		}
		return r.attempts[len(r.attempts)-1].Candidates
	}
	if all := candidates("a", "alone"); len(all) != 1 || len(all[0].Feeds) > 0 {
		t.Errorf("the only node is not scored: %+v", all)
	}
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
	n.Status.Allocatable = v1.ResourceList{v1.ResourcePods: resource.MustParse("1000")}
	r.scheduler.Scheduler.SetNode(state.NewNode(n))
	expect := func(pod string, n report.FeedValue) {
		t.Helper()
		all := candidates("a", pod)
		want := map[string]report.FeedValue{"n": n, "m": {}}
		for _, c := range all {
			w := want[c.Node]
			if w.Plugin, w.Feed = "a/tiny", "load:milli"; len(c.Feeds) != 1 || c.Feeds[0] != w {
				t.Errorf("%s: %+v, want %+v", c.Node, c.Feeds, w)
			}
		}
		if len(all) != 2 {
			t.Errorf("%+v", all)
		}
	}
	for i, is := range []uint8{abi.FeedFresh, abi.FeedStale, abi.FeedFresh} {
		r.says(abi.FeedFresh) // the pod is gated otherwise
		expect(fmt.Sprint("fresh", i), report.FeedValue{Value: 900, State: abi.FeedFresh, At: 1_000_000})
		cell := state.Cell{Value: int64(i), State: is, Since: 1, At: 2_000_000}
		r.scheduler.Scheduler.SetFeeds([]state.Feed{{Name: "load", Cells: map[string]state.Cell{"n": cell, "elsewhere": {State: abi.FeedFresh}}}})
		expect(fmt.Sprint("pod", i), report.FeedValue{Value: int64(i), State: is, At: 2_000_000})
	}
	for _, c := range candidates("b", "other") {
		if len(c.Scores) == 0 || len(c.Feeds) > 0 {
			t.Errorf("the plugin is not the pod's: %+v", c)
		}
	}
}
