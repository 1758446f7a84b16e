package follow

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/tenancy"
	"github.com/berth-scheduler/berth/runtime/tenancy/rollout"
)

// rolling is a machine that two canaries, their users and several leaders drive.
type rolling struct {
	*world
	t    *rapid.T
	pods []*state.Pod
	// last is the status of each plugin when it was looked at last, and generation that of the object.
	last map[string]*v1alpha1.RolloutStatus
}

// TestRolloutsAtRandom: whatever users and leaders do, one version decides for a pod, a pod that the canary
// decides for stays with it to the end of the rollout, the history has each change, and a version that went
// beyond a bound never decides again by itself, also while plugins are disabled by users and by settings.
func TestRolloutsAtRandom(t *testing.T) {
	seen := map[string]int{}
	seeded.Check(t, func(r *rapid.T) {
		w := newWorld(t)
		w.grant(2)
		m := &rolling{world: w, t: r, last: map[string]*v1alpha1.RolloutStatus{}}
		for i := range 50 {
			m.pods = append(m.pods, state.NewPod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "p", UID: types.UID(fmt.Sprint(i))}}))
		}
		for _, name := range []string{"p", "q"} {
			w.apply("a", name, "1")
		}
		w.sync()
		w.report()
		for range rapid.IntRange(10, 40).Draw(r, "steps") {
			m.act()
			m.look(seen)
		}
	})
	for _, what := range []string{rollout.Started, rollout.Advanced, rollout.Finished, rollout.SteppedBack, rollout.Ended} {
		if seen[what] == 0 {
			t.Errorf("nothing was ever %s", what)
		}
	}
}

// act does one thing that can happen.
func (m *rolling) act() {
	at := rapid.IntRange(0, 1).Draw(m.t, "plugin")
	name := []string{"p", "q"}[at]
	edit := func(change func(*v1alpha1.TenantPlugin)) {
		m.mu.Lock()
		defer m.mu.Unlock()
		p := m.mu.objects.TenantPlugins[at].DeepCopy()
		change(p)
		p.Generation++
		p.ResourceVersion += "+"
		m.mu.objects.TenantPlugins[at] = p
	}
	version := func() string { return fmt.Sprint(rapid.IntRange(1, 4).Draw(m.t, "version")) }
	switch what := rapid.SampledFrom([]string{"canary", "at once", "promote", "pause", "roll back", "disable", "enable", "good", "good", "bad", "time", "time", "leader", "lose", "report", "report", "report"}).Draw(m.t, "what"); what {
	case "canary", "at once":
		edit(func(p *v1alpha1.TenantPlugin) {
			p.Spec.Module = v1alpha1.TenantModule{Image: v1alpha1.Image("registry.test/guest:" + version())}
			if p.Spec.Mode = v1alpha1.ModeEnforce; what == "canary" {
				p.Spec.Mode = v1alpha1.ModeCanary
			}
			p.Spec.Rollout = &v1alpha1.Rollout{Steps: []v1alpha1.RolloutStep{{Percent: 10, Pause: "30s", MinAttempts: 5}, {Percent: 40, Pause: "10s", MinAttempts: 5}, {Percent: 70, Pause: "0s", MinAttempts: 5}}}
		})
	case "pause":
		edit(func(p *v1alpha1.TenantPlugin) {
			if p.Spec.Rollout != nil {
				p.Spec.Rollout.Paused = !p.Spec.Rollout.Paused
			}
		})
	case "roll back":
		edit(func(p *v1alpha1.TenantPlugin) {
			if s := p.Status.Rollout; s != nil && s.Stable != nil {
				p.Spec.Module, p.Spec.Mode = v1alpha1.TenantModule{Image: s.Stable.Module.Image}, v1alpha1.ModeEnforce
			}
		})
	case "promote":
		edit(func(p *v1alpha1.TenantPlugin) {
			if s := p.Status.Rollout; s != nil && s.Canary != nil {
				p.Spec.Mode, p.Spec.Module.Image = v1alpha1.ModeEnforce, s.Canary.Module.Image
			}
		})
	case "disable":
		edit(func(p *v1alpha1.TenantPlugin) {
			p.Spec.Mode = v1alpha1.ModeDisabled
			p.Spec.WhenDisabled = rapid.SampledFrom([]v1alpha1.WhenDisabled{"", v1alpha1.Hold, v1alpha1.Release}).Draw(m.t, "when")
		})
	case "enable":
		edit(func(p *v1alpha1.TenantPlugin) {
			if p.Spec.Mode == v1alpha1.ModeDisabled {
				p.Spec.Mode = v1alpha1.ModeCanary
			}
		})
	case "good", "bad":
		m.report() // it counts from now on
		faults := int64(0)
		if what == "bad" {
			faults = 1
		}
		m.attempts(rapid.IntRange(3, 10).Draw(m.t, "attempts"), "a/"+name+"@canary", faults)
		m.clock.Advance(20 * time.Second)
		m.report()
	case "time":
		m.clock.Advance(time.Duration(rapid.IntRange(1, 90).Draw(m.t, "seconds")) * time.Second)
	case "leader":
		deps := m.follower.deps
		deps.Meter = &Meter{}
		stopped := rapid.SampledFrom([]tenancy.Stopped{nil, nil, nil, {tenancy.All: ""}, {"a/p": v1alpha1.Release}}).Draw(m.t, "stopped")
		m.follower, m.known = New(Config{Stopped: stopped}, deps), map[types.UID]*reported{}
	case "lose":
		m.mu.fail = errNo
		m.report()
		m.mu.fail = nil
	case "report":
		m.report()
	}
	m.sync()
}

// look holds what is said and attached against the law.
func (m *rolling) look(seen map[string]int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	attached := m.mu.attached[len(m.mu.attached)-1]
	for _, p := range m.mu.objects.TenantPlugins {
		name, s := "a/"+p.Name, p.Status.Rollout
		for _, pod := range m.pods {
			var deciding []string
			for _, x := range attached {
				if x.Name != name && x.Name != name+"@canary" || !x.Share.Has(pod) {
					continue
				}
				deciding = append(deciding, x.Name)
				if f := failed(s, p.Generation); f != "" && x.Module != nil && x.Module.Loaded.Digest == f && s.Stable.Digest != v1alpha1.Digest(f) {
					m.t.Fatalf("%s went beyond a bound, and decides for a pod", f)
				}
			}
			if len(deciding) != 1 {
				m.t.Fatalf("%q decide for a pod: %+v", deciding, s)
			}
		}
		was := m.last[name]
		m.last[name] = s

		if s == nil || was == nil {
			continue
		}
		added := history(was, s)
		for _, h := range added {
			seen[h.What]++
		}
		before, now := percent(was.Canary), percent(s.Canary)
		switch {
		case was.Canary != nil && s.Canary != nil && was.Canary.Digest == s.Canary.Digest && len(added) == 0 && before != now,
			was.Canary != nil && s.Canary != nil && len(added) == 1 && now < before,
			(was.Canary == nil) != (s.Canary == nil) && len(added) == 0:
			m.t.Fatalf("from %d%% to %d%% with the history %+v", before, now, added)
		case len(added) > 0:
			if last := added[len(added)-1]; s.Canary != nil && (last.Percent != now || last.Digest != s.Canary.Digest) {
				m.t.Fatalf("the last of the history is %+v, the canary %+v", last, s.Canary)
			}
		}
	}
}

// history returns what was added, as long as nothing is dropped.
func history(was, now *v1alpha1.RolloutStatus) []v1alpha1.RolloutChange {
	return now.History[min(len(was.History), len(now.History)):]
}

func percent(c *v1alpha1.CanaryStatus) int32 {
	if c == nil {
		return 0
	}
	return c.Percent
}

// failed is the digest of the version that is not to be tried again; empty if there is none.
func failed(s *v1alpha1.RolloutStatus, generation int64) string {
	if s == nil || s.Failed == nil || s.Failed.Generation != generation {
		return ""
	}
	return strings.TrimSpace(string(s.Failed.Digest))
}
