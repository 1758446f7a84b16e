package assembly

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"

	"github.com/berth-scheduler/berth/runtime/api/v1alpha1"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/shadow"
	"github.com/berth-scheduler/berth/runtime/wasm/memory"
)

// inShadow is a reference to a module that does not decide.
func inShadow(t *testing.T, g guest, name, replaces string) module.Reference {
	t.Helper()
	return module.Reference{Path: g.write(t), Name: name, Use: module.Use{Mode: v1alpha1.ModeShadow, Replaces: replaces}}
}

// counts compares the results of trials, without the differences.
func (r *recorder) counts(t *testing.T, want ...shadow.Report) {
	t.Helper()
	if diff := cmp.Diff(want, r.scheduler.Trials(), cmpopts.IgnoreFields(shadow.Report{}, "Differences"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("trials (-want +got):\n%s", diff)
	}
}

// TestShadow: a plugin in shadow decides nothing, and what it would have decided is counted. It
// replaces another one only in its trial, and decides once its mode is gone.
func TestShadow(t *testing.T) {
	modules := newModules(t)
	decides := module.Reference{Path: guest{filter: no}.write(t), Name: "old"}
	next := inShadow(t, guest{}, "next", "old")
	bad := inShadow(t, guest{filter: no}, "bad", "")
	s := enabled(t, modules, enabled(t, modules, enabled(t, modules, Default(), decides), next), bad)
	r := start(t, Config{Scheduler: s, Modules: modules, TrialShare: 1})
	oneNode(r)
	if node := r.try(t, "p"); node != "" {
		t.Fatalf("p is on %s", node)
	}
	profile := v1.DefaultSchedulerName
	r.counts(t,
		shadow.Report{Profile: profile, Plugin: "bad", Attempts: 1, Same: 1},
		shadow.Report{Profile: profile, Plugin: "next", Replaces: "old", Attempts: 1, Placed: 1})
	want := shadow.Difference{
		Sequence: 1, Namespace: "ns", Pod: "p", Kind: shadow.Placed, Would: shadow.Outcome{Node: "n"},
		Was: shadow.Outcome{Message: r.attempts[0].Message}, Why: "without it, old rejects n: ",
	}
	if diff := cmp.Diff([]shadow.Difference{want}, r.scheduler.Trials()[1].Differences); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if x := r.scheduler.Status().Plugins; len(x) != 3 || x[0].Shadow || !x[2].Shadow || x[2].Name != "next" || x[2].Work[0].Calls != 1 {
		t.Errorf("status is %+v", x)
	}

	// Trials go on when other plugins come.
	if _, err := r.scheduler.Attach(t.Context(), []Attached{tenants(t, modules, guest{}, "other")}); err != nil {
		t.Fatal(err)
	}
	if n := len(r.scheduler.Trials()); n != 2 {
		t.Errorf("there are %d trials", n)
	}
	if _, err := r.scheduler.Attach(t.Context(), nil); err != nil {
		t.Fatal(err)
	}

	// The new version takes over, and the other one stays in shadow, with its counts.
	next.Use = module.Use{}
	s = enabled(t, modules, enabled(t, modules, Default(), next), bad)
	if _, err := r.scheduler.Reload(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if r.later(t); !r.placed("p") {
		t.Errorf("placed %v", r.bound)
	}
	r.counts(t, shadow.Report{Profile: profile, Plugin: "bad", Attempts: 1, Pending: 1, WasPlaced: 1})
	if _, err := r.scheduler.Reload(t.Context(), Default()); err != nil {
		t.Fatal(err)
	}
	r.counts(t)
	r.later(t)
	r.scheduler.closing.later.Wait()
	if len(modules.mu.compiled) != 0 {
		t.Errorf("%d modules are not freed", len(modules.mu.compiled))
	}
}

// TestShadowBesideAttached: what is attached keeps a plugin of the configuration from being tried, and not the other way
// round. The trial comes back once it can.
func TestShadowBesideAttached(t *testing.T) {
	modules := newModules(t)
	modules.config.Memory = 200 << 20 // for two plugins
	r := start(t, Config{Scheduler: enabled(t, modules, Default(), inShadow(t, guest{}, "next", "")), Modules: modules})
	oneNode(r)
	a, b := tenants(t, modules, guest{}, "a"), tenants(t, modules, guest{}, "b")
	for _, c := range []struct {
		attached []Attached
		trials   int
	}{{[]Attached{a}, 1}, {[]Attached{a, b}, 0}, {[]Attached{b, a}, 0}, {nil, 1}} {
		if refused, err := r.scheduler.Attach(t.Context(), c.attached); err != nil || len(refused) > 0 {
			t.Fatal(refused, err)
		}
		r.later(t) // an earlier trial may keep its memory until here
		if _, err := r.scheduler.Attach(t.Context(), c.attached); err != nil {
			t.Fatal(err)
		}
		if n := len(r.scheduler.Trials()); n != c.trials {
			t.Errorf("%d trials beside %d attached, want %d", n, len(c.attached), c.trials)
		}
	}
}

// TestQuestionsBesideShadow: another scheduler that is made of Config has the memory that plugins in shadow leave.
func TestQuestionsBesideShadow(t *testing.T) {
	for _, shadow := range []bool{false, true} {
		modules := newModules(t)
		modules.config.Memory = 200 << 20 // for two plugins
		s := enabled(t, modules, Default(), module.Reference{Path: guest{}.write(t), Name: "beside"})
		if shadow {
			s = enabled(t, modules, s, inShadow(t, guest{}, "next", ""))
		}
		r := start(t, Config{Scheduler: s, Modules: modules})
		c := r.scheduler.Config()
		c.WithoutShadow = true
		question, err := New(c, Deps{})
		if full := new(memory.Full); errors.As(err, &full) != shadow {
			t.Errorf("shadow %v: %v", shadow, err)
		}
		if err == nil {
			question.Close()
		}
	}
}

// TestDisabled: a plugin that is disabled neither decides nor is tried.
func TestDisabled(t *testing.T) {
	modules := newModules(t)
	disabled := module.Reference{Path: guest{filter: no}.write(t), Name: "disabled", Use: module.Use{Mode: v1alpha1.ModeDisabled}}
	r := start(t, Config{Scheduler: enabled(t, modules, Default(), disabled), Modules: modules})
	oneNode(r)
	if node := r.try(t, "p"); node != "n" {
		t.Errorf("p is on %q", node)
	}
	r.counts(t)
}

// TestShadowStandsApart: a trial shares neither plugins nor fuel nor memory with what decides,
// attached plugins included, and a trial that is missed is counted.
func TestShadowStandsApart(t *testing.T) {
	modules := newModules(t)
	beside := module.Reference{Path: guest{}.write(t), Name: "beside"}
	s := enabled(t, modules, enabled(t, modules, Default(), beside), inShadow(t, guest{}, "next", ""))
	r := start(t, Config{Scheduler: s, Modules: modules, Attached: []Attached{tenants(t, modules, guest{}, "ns")}, TrialShare: 1})
	a := r.scheduler
	deciding, trying := a.mu.built[0], a.mu.trials[0].built
	if len(trying.plugins) != len(deciding.plugins)+1 {
		t.Errorf("%d plugins decide, and %d are tried", len(deciding.plugins), len(trying.plugins))
	}
	for name, p := range trying.plugins {
		if other := deciding.plugins[name]; other != nil && other.plugin == p.plugin {
			t.Errorf("%s is shared", name)
		}
	}
	if len(a.buckets) != 4 { // of all namespaces and of the tenant, twice
		t.Errorf("there are %d fuel buckets", len(a.buckets))
	}
	// With no time for trials, decisions are made and trials are missed.
	r = start(t, Config{Scheduler: s, Modules: modules, TrialShare: 1e-12})
	oneNode(r)
	if node := r.try(t, "p"); node != "n" {
		t.Errorf("p is on %q", node)
	}
	r.counts(t, shadow.Report{Profile: v1.DefaultSchedulerName, Plugin: "next", Missed: 1})
}

// TestShadowIsCutOff: the loop does not wait for a plugin on trial that does not end.
func TestShadowIsCutOff(t *testing.T) {
	modules := newModules(t)
	endless := inShadow(t, guest{filter: "(loop (br 0)) (unreachable)"}, "endless", "")
	endless.Limits.FuelPerCall, endless.Limits.Deadline = 1<<50, time.Hour
	r := start(t, Config{Scheduler: enabled(t, modules, Default(), endless), Modules: modules, TrialShare: 0.99})
	oneNode(r)
	time.Sleep(10 * time.Millisecond) // in which a share for a trial is saved up
	if node := r.try(t, "p"); node != "n" {
		t.Errorf("p is on %q", node)
	}
	r.counts(t, shadow.Report{Profile: v1.DefaultSchedulerName, Plugin: "endless", Missed: 1})
	if x := r.scheduler.Status().Plugins[0]; x.Work[0].Calls != 1 {
		t.Errorf("it was not tried: %+v", x)
	}
}

// TestShadowRefused: what cannot be tried is refused before anything starts.
func TestShadowRefused(t *testing.T) {
	modules := newModules(t)
	own := plugin.Registry{"Own": func(any) (plugin.Plugin, error) { return holdFor(nil), nil }}
	withOwn := enabled(t, modules, Default(), inShadow(t, guest{}, "next", ""))
	withOwn.Profiles[0].Points["preFilter"] = append(withOwn.Profiles[0].Points["preFilter"], config.PluginRef{Name: "Own"})
	for name, c := range map[string]struct {
		config Config
		want   string
	}{
		"replaces nobody": {Config{Scheduler: enabled(t, modules, Default(), inShadow(t, guest{}, "next", "old"))},
			`profile "default-scheduler": next: replaces: no plugin "old" decides in the profile; name one that does, or leave it out`},
		"compiled in": {Config{Scheduler: withOwn, Plugins: own},
			`profile "default-scheduler": next: mode Shadow: Own is compiled into the program and cannot be asked twice; compare berth simulate with and without the plugin`},
		"does not start": {Config{Scheduler: enabled(t, modules, Default(), inShadow(t, broken(), "next", ""))}, "in shadow: "},
	} {
		t.Run(name, func(t *testing.T) {
			c.config.Modules = modules
			if _, err := NewUnconnected(c.config); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, expected %s", err, c.want)
			}
		})
	}
}

// TestAttachedInShadow: attached plugins are tried as those of the configuration are, each alone:
// one that cannot be tried is refused, and keeps no other from running.
func TestAttachedInShadow(t *testing.T) {
	modules := newModules(t)
	old := tenants(t, modules, guest{filter: no}, "ns")
	attached := func(name, replaces string, g guest) Attached {
		ref := inShadow(t, g, name, replaces)
		ref.Namespaces, ref.Tenant = []string{"ns"}, "ns"
		m, err := modules.Load(ref)
		if err != nil {
			t.Fatal(err)
		}
		return Attached{Name: name, Module: m, Namespaces: ref.Namespaces}
	}
	next, bad, stray := attached("ns/next", "ns/tiny", guest{}), attached("ns/bad", "", broken()), attached("ns/stray", "ns/nobody", guest{})
	others := tenants(t, modules, guest{}, "other")
	r := start(t, Config{Modules: modules, Attached: []Attached{old, next, bad, stray, others}, TrialShare: 1})
	oneNode(r)
	if refused := r.scheduler.Refusals(); len(refused) != 2 || refused["ns/bad"] == nil || refused["ns/stray"] == nil {
		t.Errorf("refused %v", refused)
	}
	for _, trial := range r.scheduler.mu.trials {
		if trial.built.plugins["other/tiny"] != nil {
			t.Error("the plugin of another tenant is part of the trial")
		}
	}
	if !r.in(t, "other", "q") || r.in(t, "ns", "p") {
		t.Errorf("placed %v", r.bound)
	}
	r.counts(t, shadow.Report{Profile: v1.DefaultSchedulerName, Plugin: "ns/next", Replaces: "ns/tiny", Attempts: 1, Placed: 1})

	// It takes over, as the one that it replaced goes.
	next.Module = attached("ns/next", "", guest{}).Module
	next.Module.Reference.Use = module.Use{}
	if _, err := r.scheduler.Attach(t.Context(), []Attached{next}); err != nil {
		t.Fatal(err)
	}
	if r.later(t); !r.placed("p") {
		t.Errorf("placed %v", r.bound)
	}
	r.counts(t)

	// There are only so many trials, and all of them go.
	var many []Attached
	for i := range maxTrials + 2 {
		many = append(many, attached(fmt.Sprintf("ns/try-%02d", i), "", guest{}))
	}
	if refused, err := r.scheduler.Attach(t.Context(), many); err != nil || len(refused) != 2 || len(r.scheduler.Trials()) != maxTrials {
		t.Errorf("%d trials, refused %v, %v", len(r.scheduler.Trials()), refused, err)
	}
	if _, err := r.scheduler.Attach(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	r.later(t)
	if r.scheduler.closing.later.Wait(); len(modules.mu.compiled) != 0 {
		t.Errorf("%d modules are not freed", len(modules.mu.compiled))
	}
}
