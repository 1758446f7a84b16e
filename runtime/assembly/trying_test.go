package assembly

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/shadow"
	"github.com/berth-scheduler/berth/runtime/state"
)

// TestTrying: a scheduler is made that tries a plugin of another one: one in shadow as it is, one that decides
// beside those that remain without it, and a canary in the place of the stable version. All are for all pods.
func TestTrying(t *testing.T) {
	modules := newModules(t)
	old := module.Reference{Path: guest{filter: no}.write(t), Name: "old"}
	s := enabled(t, modules, enabled(t, modules, Default(), old), inShadow(t, guest{}, "next", "old"))
	r := start(t, Config{Scheduler: s, Modules: modules})
	attached := func(g guest, name string, how module.Use, share state.Share) Attached {
		m, err := modules.Load(module.Reference{Path: g.write(t), Name: name, Use: how})
		if err != nil {
			t.Fatal(err)
		}
		m.Share = share
		return Attached{Name: name, Module: m, Share: share}
	}
	refused, err := r.scheduler.Attach(t.Context(), []Attached{
		attached(guest{}, "p", module.Use{}, state.Share{Key: "k", From: 0, To: 1}),
		attached(guest{filter: no}, "p@canary", module.Use{}, state.Share{Key: "k", From: 1, To: 2}),
		attached(guest{filter: no}, "tried", module.Use{Mode: v1alpha1.ModeShadow, Replaces: "p"}, state.Share{}),
	})
	if err != nil || len(refused) > 0 {
		t.Fatal(refused, err)
	}
	without := func(name string) Config { // old would reject everything
		t.Helper()
		c, err := r.scheduler.Trying(name, "")
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	canary, err := r.scheduler.Trying("p@canary", "p")
	if err != nil {
		t.Fatal(err)
	}
	profile := v1.DefaultSchedulerName
	for _, c := range []struct {
		config Config
		// idle is taken out, so that it does not hide what is tried.
		idle string
		want shadow.Report
	}{
		{without("next"), "", shadow.Report{Plugin: "next", Replaces: "old", Placed: 1}},
		{without("old"), "", shadow.Report{Plugin: "old", Pending: 1, WasPlaced: 1}},
		{without("tried"), "old", shadow.Report{Plugin: "tried", Replaces: "p", Pending: 1, WasPlaced: 1}},
		{canary, "old", shadow.Report{Plugin: "p@canary", Replaces: "p", Pending: 1, WasPlaced: 1}},
	} {
		c.want.Profile, c.want.Attempts = profile, 1
		c.config.Scheduler.Profiles[0].Remove(c.idle)
		c.config.TrialShare = 1
		fork := start(t, c.config)
		oneNode(fork)
		fork.try(t, "pod")
		fork.counts(t, c.want)
	}
	for _, c := range [][2]string{{"absent", ""}, {"NodeResourcesFit", ""}, {"p@canary", "absent"}} {
		if _, err := r.scheduler.Trying(c[0], c[1]); err == nil {
			t.Errorf("%q is tried", c)
		}
	}
	if got := moduleOf(r.scheduler.Config().Scheduler.Profiles[0].Args["old"]).Reference.Use; got != (module.Use{}) {
		t.Errorf("the running scheduler was changed: %+v", got)
	}
	oneNode(r)
	if node := r.try(t, "q"); node != "" {
		t.Errorf("q is on %s", node)
	}
}
