package follow

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/shadow"
	"github.com/berth-scheduler/berth/runtime/tenancy"
	"github.com/berth-scheduler/berth/runtime/tenancy/rollout"
)

// newRollout returns a world in which version 2 of the only plugin, a/p, is to take over from version 1.
func newRollout(t *testing.T, steps ...v1alpha1.RolloutStep) *world {
	t.Helper()
	w := newWorld(t)
	w.grant(1)
	w.apply("a", "p", "1")
	w.sync()
	w.report()
	w.change(func(s *v1alpha1.TenantPluginSpec) {
		s.Module.Image, s.Mode, s.Rollout = "registry.test/guest:2", v1alpha1.ModeCanary, &v1alpha1.Rollout{Steps: steps}
	})
	return w
}

// change edits the only plugin.
func (w *world) change(edit func(p *v1alpha1.TenantPluginSpec)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.mu.objects.TenantPlugins[0].DeepCopy()
	edit(&p.Spec)
	p.Generation++
	p.ResourceVersion += "+"
	w.mu.objects.TenantPlugins[0] = p
}

// shares says which versions decide, and for how many of 100 pods.
func (w *world) shares() string {
	out := map[string]string{}
	for _, x := range w.last() {
		if strings.HasSuffix(x.Name, "@trial") {
			continue
		}
		out[x.Name] = x.NotReady
		if x.Module != nil {
			out[x.Name] = short(x.Module.Loaded.Digest)
		}
		if out[x.Name] += fmt.Sprintf(" %d-%d", x.Share.From/100, x.Share.To/100); x.Share.All() {
			out[x.Name] = strings.TrimSuffix(out[x.Name], " 0-0")
		}
	}
	var text []string
	for _, name := range slices.Sorted(maps.Keys(out)) {
		text = append(text, name+": "+out[name])
	}
	return strings.Join(text, ", ")
}

// attempts tells the meter of some that a version took part in.
func (w *world) attempts(n int, plugin string, faults int64) {
	for i := range n {
		w.follower.deps.Meter.Attempted(&report.Attempt{
			Sequence: uint64(i), Node: "n", Timings: []report.Timing{{Plugin: plugin, Point: abi.Filter, Calls: 1, Rows: 10, Faults: faults}},
		}, nil)
	}
}

func (w *world) expectShares(want string) {
	w.t.Helper()
	w.sync()
	if got := w.shares(); got != want {
		w.t.Errorf("%s decide, not %s", got, want)
	}
}

// TestRollout: a step takes effect by the status that the leader writes. Each scheduler that reads it has
// the same shares, and a new leader goes on from there.
func TestRollout(t *testing.T) {
	w := newRollout(t, v1alpha1.RolloutStep{Percent: 10, Pause: "1m", MinAttempts: 20}, v1alpha1.RolloutStep{Percent: 50, Pause: "1m", MinAttempts: 20})
	w.expectShares("a/p: 1")
	w.reports("TenantPlugin a/p: True Running 1")
	w.expectShares("a/p: 1 10-100, a/p@canary: 2 0-10")
	w.report() // from now on it counts
	w.attempts(20, "a/p@canary", 0)
	w.report()
	w.expectShares("a/p: 1 10-100, a/p@canary: 2 0-10")
	w.clock.Advance(time.Minute)
	w.mu.fail = errNo // the write is lost, and so is the step
	w.report()
	w.expectShares("a/p: 1 10-100, a/p@canary: 2 0-10")
	w.mu.fail = nil
	w.clock.Advance(compareEvery)
	w.report()
	w.expectShares("a/p: 1 50-100, a/p@canary: 2 0-50")

	next := New(Config{}, w.follower.deps) // another leader
	w.follower, w.known = next, map[types.UID]*reported{}
	w.expectShares("a/p: 1 50-100, a/p@canary: 2 0-50")
	w.report()
	w.clock.Advance(time.Minute)
	w.report()
	w.expectShares("a/p: 1 50-100, a/p@canary: 2 0-50") // it has seen no attempt
	w.attempts(20, "a/p@canary", 0)
	w.report()
	w.expectShares("a/p: 2")
	if got := w.follower.Result().Plugins; len(got) != 2 || !got[1].Ready || got[1].Module.Digest != digestOf("1") {
		t.Errorf("the old version is not kept ready: %+v", got)
	}
	w.clock.Advance(time.Hour)
	w.expectShares("a/p: 2")
	if got := w.follower.Result().Plugins; len(got) != 1 {
		t.Errorf("the old version is kept for ever: %+v", got)
	}

	w.change(func(s *v1alpha1.TenantPluginSpec) { s.Module.Image = "registry.test/guest:3" })
	w.sync()
	w.report()
	w.expectShares("a/p: 2 10-100, a/p@canary: 3 0-10")
	w.report()
	w.attempts(1, "a/p@canary", 1)
	w.report()
	w.expectShares("a/p: 2")
	s := w.mu.objects.TenantPlugins[0].Status
	if f := s.Rollout.Failed; f == nil || string(f.Digest) != digestOf("3") || f.Reason != "faults" {
		t.Errorf("%+v", f)
	}
	if c := s.Conditions[0]; c.Status != "True" || s.Digest != digestOf("2") {
		t.Errorf("%+v, %s", c, s.Digest)
	}
	var what []string
	for _, h := range s.Rollout.History {
		what = append(what, h.What)
	}
	if got := strings.Join(what, " "); got != "Started Advanced Finished Started SteppedBack" {
		t.Errorf("history %s", got)
	}
	if last := w.mu.events[len(w.mu.events)-1]; !strings.HasPrefix(last, "p false RolloutSteppedBack: "+digestOf("3")+" decides for no pod; at 10%: at most 0.1% of the attempts may have faults") {
		t.Errorf("event %q", last)
	}
}

// TestRolledOut: each step is written with all that status says of it, at once, and nothing is written
// before the scheduler follows.
func TestRolledOut(t *testing.T) {
	w := newRollout(t, v1alpha1.RolloutStep{Percent: 10, Pause: "0s", MinAttempts: 20}, v1alpha1.RolloutStep{Percent: 50, Pause: "0s", MinAttempts: 20})
	says := func(want, version string) {
		t.Helper()
		w.report()
		for range 2 { // the second time, the scheduler has the versions of the step before
			s := &status{PluginStatus: w.mu.objects.TenantPlugins[0].Status}
			c := s.condition(v1alpha1.RolledOut)
			got := fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
			if got != want || s.Digest != digestOf(version) || s.Version != version || c.ObservedGeneration != w.mu.objects.TenantPlugins[0].Generation {
				t.Errorf("version %s, %s; want %s, %s", s.Version, got, version, want)
			}
			if out := w.report(); len(out) > 0 && strings.Contains(fmt.Sprint(out), "TenantPlugin") {
				t.Errorf("it wrote %q without anything new", out)
			}
		}
		w.sync()
	}
	w.sync()
	says("Unknown Progressing: step 1 of 2: the new version decides for 10% of the pods", "1")
	w.change(func(s *v1alpha1.TenantPluginSpec) { s.Rollout.Paused = true })
	w.sync()
	says("Unknown Paused: step 1 of 2: the new version decides for 10% of the pods, and stays at its step until spec.rollout.paused is removed", "1")
	w.change(func(s *v1alpha1.TenantPluginSpec) { s.Rollout.Paused = false })
	w.sync()
	w.report()
	w.attempts(20, "a/p@canary", 0)
	says("Unknown Progressing: step 2 of 2: the new version decides for 50% of the pods", "1")
	w.report()
	w.attempts(20, "a/p@canary", 0)
	says("True Complete: the version that the object names decides for all pods", "2")
	w.expectShares("a/p: 2")

	w.change(func(s *v1alpha1.TenantPluginSpec) { s.Module.Image = "registry.test/guest:3" })
	w.sync()
	w.report()
	w.sync()
	w.report()
	w.attempts(1, "a/p@canary", 1)
	says("False SteppedBack: at most 0.1% of the attempts may have faults: 1 of 1 attempts had", "2")
	w.change(func(s *v1alpha1.TenantPluginSpec) { s.Mode = v1alpha1.ModeShadow })
	w.sync()
	says("False InShadow: the version that the object names is tried, and decides nothing", "3")
}

// TestRolloutHolds: pods of a canary that a new leader has yet to load wait for it, and do not go back to
// the stable version.
func TestRolloutHolds(t *testing.T) {
	w := newRollout(t)
	w.sync()
	w.report()
	w.follower = New(Config{}, w.follower.deps)
	_ = w.follower.Sync(t.Context())
	last := w.last()
	if len(last) != 3 || last[2].Holds || last[1].Name != "a/p@canary" || last[1].Module != nil || !last[1].Holds || last[1].Share.To != 100 || last[0].Share.From != 100 {
		t.Errorf("%+v", last)
	}
}

// TestSwaps: no step of a rollout, and no way back, waits for a module: each version is fetched and compiled
// once, as long as it is kept.
func TestSwaps(t *testing.T) {
	w := newRollout(t, v1alpha1.RolloutStep{Percent: 50, Pause: "0s", MinAttempts: 1})
	at := func(want string) {
		t.Helper()
		_ = w.follower.Sync(t.Context()) // once
		if got := w.shares(); got != want {
			t.Errorf("%s decide, not %s", got, want)
		}
	}
	at("a/p: 1") // version 1 has the digest that it had
	w.sync()
	w.report()
	at("a/p: 1 50-100, a/p@canary: 2 0-50")
	w.report()
	w.attempts(1, "a/p@canary", 0)
	w.report()
	at("a/p: 2")
	w.change(func(s *v1alpha1.TenantPluginSpec) {
		s.Module.Image, s.Mode = v1alpha1.Image("registry.test/guest:1").Pinned(v1alpha1.Digest(imageOf("1"))), v1alpha1.ModeEnforce
	})
	at("a/p: 1")
	w.sync()
	if !slices.Equal(w.mu.fetched, []string{"a/p", "a/p@canary"}) || !slices.Equal(w.mu.compiled, []string{"1", "2"}) {
		t.Errorf("fetched for %q, compiled %q", w.mu.fetched, w.mu.compiled)
	}
	if w.mu.users[digestOf("1")] != 1 || w.mu.users[digestOf("2")] != 0 {
		t.Errorf("compiled modules have these users: %v", w.mu.users)
	}
}

// TestRolloutCannotBegin: the status says why the new version does not begin, while the stable one decides.
func TestRolloutCannotBegin(t *testing.T) {
	w := newRollout(t)
	w.fetch = func(_ context.Context, ref module.Reference) error {
		if v1alpha1.Image(ref.Image).Unpinned() == "registry.test/guest:2" {
			return errNo
		}
		return nil
	}
	w.expectShares("a/p: 1")
	w.clock.Advance(writeEvery)
	w.reports("TenantPlugin a/p: True Running 1")
	s := w.mu.objects.TenantPlugins[0].Status
	if c := s.Conditions[1]; c.Status != "False" || c.Reason != rollout.CannotRun || c.Message != "the version that the object names cannot run: ModuleRefused: no" || s.Rollout.Canary != nil {
		t.Errorf("%+v, %+v", c, s.Rollout)
	}
}

// TestUntried: a version whose bound of changed decisions cannot be observed stays at its step, and the status
// says why.
func TestUntried(t *testing.T) {
	w := newRollout(t, v1alpha1.RolloutStep{Percent: 10, Pause: "0s", MinAttempts: 1})
	w.change(func(s *v1alpha1.TenantPluginSpec) { s.Rollout.Bounds = &v1alpha1.RolloutBounds{Changed: "5%"} })
	w.mu.refuse["a/p@trial"] = errNo
	w.sync()
	w.report()
	w.sync()
	w.report()
	w.attempts(10, "a/p@canary", 0)
	w.clock.Advance(writeEvery)
	w.report()
	w.expectShares("a/p: 1 10-100, a/p@canary: 2 0-10")
	if got := w.mu.objects.TenantPlugins[0].Status.Conditions[1].Message; !strings.HasSuffix(got, "; it stays at its step, because what it would change cannot be seen: NotRunnable: no") {
		t.Error(got)
	}
	delete(w.mu.refuse, "a/p@trial")
	w.sync()
	w.report()
	w.expectShares("a/p: 2")
}

// TestStopped: a plugin that the scheduler's settings disable decides for no pod, and says so. Its rollout
// stays at its step until a scheduler without the setting goes on.
func TestStopped(t *testing.T) {
	w := newRollout(t)
	w.sync()
	w.report()
	w.expectShares("a/p: 1 1-100, a/p@canary: 2 0-1")
	w.follower = New(Config{Stopped: tenancy.Stopped{tenancy.All: ""}}, w.follower.deps)
	w.expectShares("a/p: Disabled 1-100, a/p@canary: Disabled 0-1")
	if x := w.last()[1]; !x.Holds {
		t.Errorf("its pods do not wait: %+v", x)
	}
	w.clock.Advance(writeEvery)
	w.reports("PluginGrant all: True InForce", "TenantPlugin a/p: False Disabled")
	s := w.mu.objects.TenantPlugins[0].Status
	if got := s.Conditions[0].Message; got != "the scheduler's settings disable the plugin, and the pods wait" {
		t.Errorf("message %q", got)
	}
	if r := s.Rollout; r.Canary == nil || r.Failed != nil || len(r.History) != 1 {
		t.Errorf("%+v", r)
	}
	w.follower = New(Config{Stopped: tenancy.Stopped{"a/p": v1alpha1.Release}}, w.follower.deps)
	w.sync()
	for _, x := range w.last() {
		if x.Holds || x.Module != nil {
			t.Errorf("its pods wait, or it runs: %+v", x)
		}
	}
	w.follower = New(Config{Stopped: tenancy.Stopped{"a/q": ""}}, w.follower.deps)
	w.expectShares("a/p: 1 1-100, a/p@canary: 2 0-1")
}

// TestRegistryDown: a new leader that cannot fetch a canary's module from a registry that does not answer
// lets its pods wait. Only a module that is refused steps back.
func TestRegistryDown(t *testing.T) {
	w := newRollout(t, v1alpha1.RolloutStep{Percent: 10})
	w.sync()
	w.report()
	w.expectShares("a/p: 1 10-100, a/p@canary: 2 0-10")
	w.fetch = func(_ context.Context, ref module.Reference) error {
		if strings.Contains(ref.Image, ":2@") {
			return &module.Error{File: ref.Image, Detail: "no answer", Err: &net.OpError{Op: "dial", Err: errNo}}
		}
		return nil
	}
	w.follower, w.known = New(Config{}, w.follower.deps), map[types.UID]*reported{} // another leader
	w.expectShares("a/p: 1 10-100, a/p@canary: ModuleRefused 0-10")
	w.report()
	w.expectShares("a/p: 1 10-100, a/p@canary: ModuleRefused 0-10")
	w.fetch = func(_ context.Context, ref module.Reference) error {
		if strings.Contains(ref.Image, ":2@") {
			return &module.Error{File: ref.Image, Detail: "another digest"}
		}
		return nil
	}
	w.clock.Advance(lastRepeat)
	w.sync()
	w.report()
	w.expectShares("a/p: 1")
}

// TestGrantGone: a grant that goes and comes back stops both versions meanwhile, which says nothing about the
// new one.
func TestGrantGone(t *testing.T) {
	w := newRollout(t, v1alpha1.RolloutStep{Percent: 10})
	w.sync()
	w.report()
	w.expectShares("a/p: 1 10-100, a/p@canary: 2 0-10")
	w.mu.objects.PluginGrants = nil
	w.expectShares("a/p: NoGrant 10-100, a/p@canary: NoGrant 0-10")
	w.clock.Advance(time.Minute)
	w.report()
	w.grant(1)
	w.expectShares("a/p: 1 10-100, a/p@canary: 2 0-10")
	if r := w.mu.objects.TenantPlugins[0].Status.Rollout; r.Failed != nil || len(r.History) != 1 {
		t.Errorf("%+v", r)
	}
}

// TestUnreadableObject: the status of an object whose spec cannot be read says so and keeps its rollout;
// a status that cannot be read is not written.
func TestUnreadableObject(t *testing.T) {
	w := newRollout(t, v1alpha1.RolloutStep{Percent: 10})
	w.sync()
	w.report()
	w.expectShares("a/p: 1 10-100, a/p@canary: 2 0-10")
	uid := w.mu.objects.TenantPlugins[0].UID
	w.mu.objects.BadSpec = map[types.UID]error{uid: errNo}
	w.change(func(s *v1alpha1.TenantPluginSpec) { *s = v1alpha1.TenantPluginSpec{} })
	w.expectShares("a/p: Invalid")
	w.clock.Advance(time.Minute)
	w.reports("PluginGrant all: True InForce", "TenantPlugin a/p: False Invalid")
	if s := w.mu.objects.TenantPlugins[0].Status.Rollout; s == nil || s.Canary == nil || s.Stable == nil {
		t.Errorf("the rollout is lost: %+v", s)
	}
	w.mu.objects.BadSpec, w.mu.objects.BadStatus = nil, map[types.UID]error{uid: errNo}
	w.change(func(s *v1alpha1.TenantPluginSpec) {
		s.Module.Image, s.Mode = "registry.test/guest:2", v1alpha1.ModeCanary
	})
	w.expectShares("a/p: Invalid")
	w.clock.Advance(time.Minute)
	w.reports()
	w.mu.objects.BadStatus = nil
	w.expectShares("a/p: 1 10-100, a/p@canary: 2 0-10")
}

// TestObserved: the counts of a plugin in shadow and of a canary are in status, and are written again at
// most every 30 seconds.
func TestObserved(t *testing.T) {
	w := newWorld(t)
	w.grant(1)
	w.apply("a", "p", "1")
	w.change(func(s *v1alpha1.TenantPluginSpec) { s.Mode = v1alpha1.ModeShadow })
	observed := func(want string) {
		t.Helper()
		w.sync()
		w.report()
		if got := w.mu.objects.TenantPlugins[0].Status.Observed; got != want {
			t.Errorf("observed %q, want %q", got, want)
		}
	}
	w.mu.trials = []shadow.Report{{Plugin: "a/p", Attempts: 7, Same: 5, Elsewhere: 1, Pending: 1}, {Plugin: "a/p", Attempts: 3, Same: 3, Missed: 2}, {Plugin: "other", Attempts: 100}}
	observed("10 decisions made again, 8 the same, 1 elsewhere, 1 pending, 2 missed")
	w.mu.trials[0].Attempts++
	w.clock.Advance(writeEvery - time.Second)
	observed("10 decisions made again, 8 the same, 1 elsewhere, 1 pending, 2 missed")
	w.clock.Advance(time.Second)
	observed("11 decisions made again, 8 the same, 1 elsewhere, 1 pending, 2 missed")
	w.mu.trials = nil
	w.change(func(s *v1alpha1.TenantPluginSpec) { s.Mode = v1alpha1.ModeEnforce })
	w.clock.Advance(writeEvery)
	observed("")
	w.change(func(s *v1alpha1.TenantPluginSpec) {
		s.Mode, s.Module.Image = v1alpha1.ModeCanary, "registry.test/guest:2"
	})
	observed("")
	w.report()
	w.attempts(3, "a/p@canary", 0)
	w.attempts(9, "a/p", 0)
	w.clock.Advance(writeEvery)
	observed("3 attempts, 25.0% of all; 0 with faults, 0 left pending")
}
