package follow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/tenancy"
	"github.com/berth-scheduler/berth/runtime/wasm/memory"
)

func (w *world) reports(want ...string) {
	w.t.Helper()
	if got := w.report(); !slices.Equal(got, want) {
		w.t.Errorf("at %s it wrote %q, want %q", w.clock.Now().Format(time.TimeOnly), got, want)
	}
}

// TestReport: status is written when it changes: at once if its conditions do, otherwise at most every 30 seconds an object,
// and not while a plugin is only being fetched. Each change of the condition is an event.
func TestReport(t *testing.T) {
	w := newWorld(t)
	w.apply("a", "p", "1")
	w.sync()
	w.reports("TenantPlugin a/p: False NoGrant")
	w.grant(1)
	w.sync()
	w.reports("PluginGrant all: True InForce", "TenantPlugin a/p: True Running 1")
	w.clock.Advance(writeEvery)
	w.reports()
	first := w.mu.objects.TenantPlugins[0].Status
	w.clock.Advance(writeEvery)
	w.reports()
	w.apply("a", "p", "2")
	_ = w.follower.Sync(t.Context())
	w.reports("PluginGrant all: True InForce") // it admits none while the plugin is being fetched
	w.sync()
	w.reports("TenantPlugin a/p: True Running 2")
	if s := w.mu.objects.TenantPlugins[0].Status; s.ObservedGeneration != 2 || !s.Since.After(first.Since.Time) || s.Conditions[0].LastTransitionTime != first.Conditions[0].LastTransitionTime {
		t.Errorf("%+v\nafter %+v", s, first)
	}
	w.clock.Advance(writeEvery)
	w.mu.open["a/p"] = true
	w.reports("PluginGrant all: True InForce", "TenantPlugin a/p: False Faulting 2")
	delete(w.mu.open, "a/p")
	w.reports("TenantPlugin a/p: True Running 2")
	w.mu.refuse["a/p"] = fmt.Errorf("plugin a/p: %w", full(t))
	w.sync()
	w.clock.Advance(writeEvery)
	w.reports("TenantPlugin a/p: False NotRunnable")
	want := []string{
		"p false NoGrant: no PluginGrant is for the namespace a: ask the platform team for one", "all true InForce: the grant is in force",
		"p true Running: the plugin runs", "p false Faulting: calls are stopped for a while: 3 of 10 calls were faults", "p true Running: the plugin runs", "p false NotRunnable: the scheduler has no memory left for the plugin: ask the platform team, which sets --plugin-memory and memoryPerPlugin of grants",
	}
	if !slices.Equal(w.mu.events, want) {
		t.Errorf("events %q, want %q", w.mu.events, want)
	}
}

// TestReportBounded: an object whose conditions change all the time is written a few times at once, and then every
// 30 seconds.
func TestReportBounded(t *testing.T) {
	w := newWorld(t)
	w.grant(1)
	w.apply("a", "p", "1")
	w.sync()
	w.report()
	w.clock.Advance(time.Hour)
	writes := 0
	for second := range 600 {
		w.mu.open["a/p"] = second%2 == 0
		writes += len(w.report())
		w.clock.Advance(time.Second)
	}
	if most := atOnce + 600/int(writeEvery/time.Second); writes > most || writes < most-1 {
		t.Errorf("%d writes in ten minutes, not %d", writes, most)
	}
}

// TestReportSoonAfterMany: after as many changes at once as are allowed, what others write is overwritten 30 seconds later.
func TestReportSoonAfterMany(t *testing.T) {
	w := newWorld(t)
	w.grant(1)
	w.apply("a", "p", "1")
	w.sync()
	w.report()
	for i := range 10 {
		w.mu.open["a/p"] = i%2 == 0
		w.report()
	}
	w.clock.Advance(writeEvery)
	w.report()
	p := w.mu.objects.TenantPlugins[0].DeepCopy()
	p.Status.Version = "9"
	w.mu.objects.TenantPlugins[0] = p
	w.clock.Advance(writeEvery)
	w.reports("TenantPlugin a/p: True Running 1")
}

// TestReportTellsOfDebts: a plugin whose namespace owes runs, and says so.
func TestReportTellsOfDebts(t *testing.T) {
	w := newWorld(t)
	w.apply("a", "p", "1")
	w.grant(1)
	w.sync()
	w.report()
	for _, debts := range []map[string]string{{"a": "MARKER"}, {"b": "MARKER"}} {
		w.mu.debts = debts
		w.clock.Advance(writeEvery)
		w.reports("TenantPlugin a/p: True Running 1")
		want := "the plugin runs"
		if debts["a"] != "" {
			want += "; MARKER"
		}
		if got := w.mu.objects.TenantPlugins[0].Status.Conditions[0].Message; got != want {
			t.Errorf("with %v the message is %q, want %q", debts, got, want)
		}
	}
	if len(w.mu.events) != 2 {
		t.Errorf("events %q", w.mu.events)
	}
}

// TestReportLog: what a plugin logs is in its status, and a plugin that logs all the time is written every two minutes. What it is
// granted is there as the API server returns it, so it is written once.
func TestReportLog(t *testing.T) {
	w := newWorld(t)
	w.apply("a", "p", "1")
	w.grant(1)
	g := w.mu.objects.PluginGrants[0]
	g.Spec.FuelPerPod, g.Spec.AttemptsPerMinute, g.Spec.MemoryPerPlugin = 7, 40, new(resource.MustParse("100M"))
	w.sync()
	w.report()
	writes := 0
	for second := range 600 {
		w.mu.log = []string{fmt.Sprint("info: ", second)}
		w.clock.Advance(time.Second)
		written := len(w.report())
		if written > 0 && !slices.Equal(w.mu.objects.TenantPlugins[0].Status.Log, w.mu.log) {
			t.Errorf("after %d seconds it has logged %q, and status is %+v", second, w.mu.log, w.mu.objects.TenantPlugins[0].Status)
		}
		writes += written
		// What the API server stores is read again.
		text, err := json.Marshal(w.mu.objects.TenantPlugins[0])
		again := &v1alpha1.TenantPlugin{}
		if err := errors.Join(err, json.Unmarshal(text, again)); err != nil {
			t.Fatal(err)
		}
		w.mu.objects.TenantPlugins[0] = again
	}
	if writes != 5 {
		t.Errorf("%d writes in ten minutes", writes)
	}
	l := w.mu.objects.TenantPlugins[0].Status.Limits
	if l == nil || l.FuelPerPod != 7 || l.FuelPerNode != module.GrantedFuelPerNode || l.AttemptsPerMinute != 40 ||
		l.MemoryPerPlugin.Value() != 100_000_000 {
		t.Errorf("limits are %+v", l)
	}
	w.mu.open["a/p"] = true
	w.reports("TenantPlugin a/p: False Faulting 1")
}

// full is the error of a process whose memory other plugins have. Their names are not for the tenant.
func full(t *testing.T) error {
	t.Helper()
	p := memory.NewProcess(1 << 20)
	var err error
	for _, name := range []string{"other/MARKER", "a/p"} {
		b := memory.NewBudget(memory.Config{Name: name, Own: 1 << 20, Total: 1 << 20, Manifest: &wire.Manifest{}, Process: p, Shrink: func() {}})
		if joined := b.Join(memory.Started{Memory: 1 << 20}); joined != nil {
			err = joined
		}
	}
	if err == nil || !strings.Contains(err.Error(), "MARKER") {
		t.Fatalf("%v does not name the other plugin", err)
	}
	return err
}

// TestReportWaits: what takes long to fetch is said in status.
func TestReportWaits(t *testing.T) {
	w := newWorld(t)
	w.start()
	w.grant(10)
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		w.apply("a", name, "1")
	}
	w.sync()
	w.report()
	w.clock.Advance(passing)
	w.reports("TenantPlugin a/g: False Fetching") // the namespace has had its changes
}

// TestReportPutsRight: what others write into status is overwritten, all of it. A new leader
// leaves alone what is right.
func TestReportPutsRight(t *testing.T) {
	w := newWorld(t)
	w.grant(1)
	w.apply("a", "p", "1")
	w.sync()
	w.report()
	right := w.mu.objects.TenantPlugins[0].Status
	for _, edit := range []func(*v1alpha1.PluginStatus){
		func(s *v1alpha1.PluginStatus) { s.Version = "9" },
		func(s *v1alpha1.PluginStatus) { s.Since = nil },
		func(s *v1alpha1.PluginStatus) { s.Conditions[0].Status = "False" },
		func(s *v1alpha1.PluginStatus) { s.Conditions = append(s.Conditions, s.Conditions[0]) },
		func(s *v1alpha1.PluginStatus) { *s = v1alpha1.PluginStatus{} },
	} {
		p := w.mu.objects.TenantPlugins[0].DeepCopy()
		edit(&p.Status)
		w.mu.objects.TenantPlugins[0] = p
		w.reports()
		w.clock.Advance(writeEvery)
		w.reports("TenantPlugin a/p: True Running 1")
		if got := w.mu.objects.TenantPlugins[0].Status; (&status{PluginStatus: got}).text() != (&status{PluginStatus: right}).text() {
			t.Errorf("status is %+v, was %+v", got, right)
		}
	}
	w.known = map[types.UID]*reported{}
	w.clock.Advance(time.Hour)
	w.reports()
	if len(w.mu.events) != 2 {
		t.Errorf("events %q", w.mu.events)
	}
	w.mu.fail = errNo // it does not lead any more
	w.apply("a", "p", "2")
	w.sync()
	w.reports()
	w.mu.fail = nil
	w.reports()
	w.clock.Advance(writeEvery)
	w.reports("TenantPlugin a/p: True Running 2")
}

// stale is a Writer whose API server has newer objects than the watch, or refuses writes. It counts writes,
// and gives up when there are too many.
type stale struct {
	*world
	writes, most int
	stop         func()
	refuse       error // nil for a conflict
}

func (s *stale) WritePluginStatus(_ context.Context, _ string, of types.NamespacedName, _ types.UID, _ string, _ any) error {
	if s.writes++; s.writes == s.most {
		s.stop()
	}
	if s.refuse != nil {
		return s.refuse
	}
	return apierrors.NewConflict(schema.GroupResource{Resource: "tenantplugins"}, of.Name, errNo)
}

// TestReportWhileWatchIsLate: objects that have changed since are written again when the watch may have
// told of that, and not at once. Steps of rollouts are written a second later, and five if the API server refuses
// them.
func TestReportWhileWatchIsLate(t *testing.T) {
	const objects = writesAtOnce + 50
	for name, c := range map[string]struct {
		mode   v1alpha1.Mode
		refuse error
		again  time.Duration
	}{"status": {"", nil, compareEvery}, "steps": {v1alpha1.ModeCanary, nil, judgeEvery}, "refused": {v1alpha1.ModeCanary, errNo, compareEvery}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.grant(1)
			w.mu.objects.PluginGrants[0].Status.Conditions = []metav1.Condition{{Type: v1alpha1.Ready, Status: metav1.ConditionTrue, Reason: tenancy.InForce, Message: "the grant is in force", ObservedGeneration: 1}}
			w.mu.objects.PluginGrants[0].Status.ObservedGeneration, w.mu.objects.PluginGrants[0].Status.Plugins = 1, objects
			for i := range objects {
				w.apply(fmt.Sprint("n", i), "p", "1")
				w.mu.objects.TenantPlugins[i].Spec.Mode = c.mode
			}
			w.sync()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s := &stale{world: w, most: 10 * objects, stop: cancel, refuse: c.refuse}
			w.follower.deps.Writer = s
			for more := true; more && ctx.Err() == nil; {
				more = w.follower.report(ctx, w.known)
			}
			if s.writes != objects {
				t.Errorf("%d writes of %d objects", s.writes, objects)
			}
			w.follower.deps.Writer = w
			w.reports()
			w.clock.Advance(c.again)
			if n := len(w.report()); n != objects {
				t.Errorf("%d of %d objects were written later", n, objects)
			}
		})
	}
}
