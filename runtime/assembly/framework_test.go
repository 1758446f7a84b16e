package assembly

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// evens is a hosted plugin that wants rows whose numbers end with one of the digits in its args.
type evens struct {
	info   plugin.Info
	digits string
	loop   func() plugin.Loop
	life   context.Context //nolint:containedctx // the test looks at it
	closed bool
}

func (e *evens) Info() *plugin.Info { return &e.info }

func (e *evens) Filter(_ *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	odd := out.Reason("odd")
	for i, row := range rows {
		if !strings.Contains(e.digits, strconv.Itoa(int(row%10))) {
			out.Reject(i, abi.Unschedulable, odd)
		}
	}
}

func (e *evens) Close() error { e.closed = true; return nil }

// hosts is a Framework with the plugin Evens.
type hosts struct {
	err    error
	made   map[string]*evens // by profile
	called []string          // with which profile and parallelism
}

func (*hosts) Names() []string { return []string{"Evens"} }

func (h *hosts) Registry(ctx context.Context, profile string, parallelism int, loop func() plugin.Loop) plugin.Registry {
	h.called = append(h.called, fmt.Sprint(profile, " ", parallelism))
	return plugin.Registry{"Evens": func(args any) (plugin.Plugin, error) {
		raw, _ := args.([]byte)
		e := &evens{info: plugin.Info{Name: "Evens"}, digits: string(raw), loop: loop, life: ctx}
		if h.made != nil {
			h.made[profile] = e
		}
		return e, h.err
	}}
}

// last is a plugin of Berth's own that scores the last node best.
type last struct{ info plugin.Info }

func (l *last) Info() *plugin.Info { return &l.info }

func (l *last) Score(_ *plugin.Cycle, rows []uint32, scores []int64) *plugin.Status {
	for i, row := range rows {
		scores[i] = int64(row)
	}
	return nil
}

var _ plugin.Score = (*last)(nil)

// TestCompiledIn: a file enables and configures plugins from Config. Each profile has its own
// instances, at the points that they implement, and framework plugins live until the assembly
// is closed.
func TestCompiledIn(t *testing.T) {
	const text = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: a
  plugins: &both {multiPoint: {enabled: [{name: Evens}, {name: Last, weight: 1000}]}}
  pluginConfig: [{name: Evens, args: {digits: "02468"}}]
- schedulerName: b
  plugins: *both
  pluginConfig: [{name: Evens, args: {digits: "13"}}]
`
	modules := NewModules(ModulesConfig{})
	s, _, err := parsed(modules, []byte(text), "s.yaml", "Evens", "Last")
	if err != nil {
		t.Fatal(err)
	}
	host := &hosts{made: make(map[string]*evens)}
	c := Config{
		Scheduler: s, Modules: modules, Framework: host,
		Plugins: plugin.Registry{"Last": func(args any) (plugin.Plugin, error) {
			if args != nil {
				return nil, errors.New("no args were given")
			}
			return &last{plugin.Info{Name: "Last", NodeScoped: []abi.Point{abi.Score}}}, nil
		}},
	}
	r := start(t, c)
	r.run(t, 6)
	slices.Sort(r.bound)
	if want := []string{"a n-004", "b n-003"}; !slices.Equal(r.bound, want) {
		t.Errorf("bound %q, want %q", r.bound, want)
	}
	for _, point := range []string{"filter", "score", "queueSort"} {
		names := func(p config.Profile) (out []string) {
			for _, ref := range p.Points[point] {
				out = append(out, ref.Name)
			}
			return out
		}
		got := names(s.Profiles[0])
		if slices.Contains(got, "Evens") != (point == "filter") || slices.Contains(got, "Last") != (point == "score") {
			t.Errorf("%s has %q", point, got)
		}
	}
	status := r.scheduler.Status()
	if len(status.CompiledIn) != 4 || status.CompiledIn[0].Profile != "a" || status.CompiledIn[0].Name != "Evens" || !slices.Equal(status.CompiledIn[0].Points, []string{"filter"}) {
		t.Errorf("status %+v", status.CompiledIn)
	}
	for profile, e := range host.made {
		if e.life.Err() != nil || e.closed {
			t.Errorf("the plugin of %s has ended", profile)
		}
		if e.loop() != plugin.Loop(r.scheduler.Scheduler) {
			t.Errorf("the loop of %s", profile)
		}
	}
	if _, err := r.scheduler.Reload(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a 16", "b 16"}; !slices.Equal(host.called, want) {
		t.Errorf("hosted for %q, want once for each of %q", host.called, want)
	}
	r.scheduler.Close()
	for profile, e := range host.made {
		if e.life.Err() == nil || !e.closed {
			t.Errorf("the plugin of %s still runs", profile)
		}
	}
	if len(host.made) != 2 {
		t.Errorf("%d plugins were made", len(host.made))
	}
}

// TestCompiledInRefused: a point that the plugin does not implement, and a factory that fails.
func TestCompiledInRefused(t *testing.T) {
	for want, c := range map[string]struct {
		enabled string
		err     error
	}{
		`s.yaml:3: profiles[0].plugins.permit.enabled[0].name: plugin "Evens" does not implement permit; it implements: filter`: {enabled: "permit"},
		`profile "default-scheduler": plugin Evens: no licence`:                                                                 {enabled: "multiPoint", err: errors.New("no licence")},
	} {
		modules := NewModules(ModulesConfig{})
		s, _, err := parsed(modules, []byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{plugins: {"+c.enabled+": {enabled: [{name: Evens}]}}}]\n"),
			"s.yaml", "Evens")
		if err != nil {
			t.Fatal(err)
		}
		_, err = NewUnconnected(Config{Scheduler: s, Modules: modules, Framework: &hosts{err: c.err}})
		if err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

// TestConnected: plugins that see the cluster take the place of those of Config, and Config still has those.
func TestConnected(t *testing.T) {
	modules := NewModules(ModulesConfig{})
	s, _, err := parsed(modules, []byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{plugins: "+
		"{multiPoint: {enabled: [{name: Evens}]}}}]\n"), "s.yaml", "Evens")
	if err != nil {
		t.Fatal(err)
	}
	without, with := &hosts{}, &hosts{}
	r := &recorder{clock: clock.NewStep(time.Unix(0, 0))}
	a, err := New(Config{Scheduler: s, Modules: modules, Framework: without},
		Deps{Clock: r.clock, Binder: r, Outlet: r, Observer: r, Spawn: func(run func()) { run() }, Framework: with})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if len(without.called) != 0 || len(with.called) != 1 || a.Config().Framework != Framework(without) {
		t.Errorf("asked %q of those without a cluster, %q of those with; the configuration has %v", without.called, with.called,
			a.Config().Framework)
	}
}
