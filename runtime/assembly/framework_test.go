package assembly

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-scheduler/framework"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/bridge"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/plugin"
)

// evens is a framework plugin that wants nodes whose names end with one of the digits in its
// args.
type evens struct {
	digits string
	handle framework.Handle
	life   context.Context //nolint:containedctx // the test looks at it
	closed bool
}

func (*evens) Name() string { return "Evens" }

func (e *evens) Filter(_ context.Context, _ framework.CycleState, _ *v1.Pod, node framework.NodeInfo) *framework.Status {
	if name := node.Node().Name; !strings.Contains(e.digits, name[len(name)-1:]) {
		return framework.NewStatus(framework.Unschedulable, "odd")
	}
	return nil
}

func (e *evens) Close() error { e.closed = true; return nil }

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
	s, _, err := config.Parse([]byte(text), "s.yaml", modules.Catalog("Evens", "Last"))
	if err != nil {
		t.Fatal(err)
	}
	made := make(map[string]*evens)
	c := Config{
		Scheduler: s, Modules: modules,
		Framework: []bridge.Source{{Name: "Evens", Factory: func(ctx context.Context, args runtime.Object, h framework.Handle) (framework.Plugin, error) {
			e := &evens{digits: string(args.(*runtime.Unknown).Raw), handle: h, life: ctx}
			made[h.ProfileName()] = e
			return e, nil
		}}},
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
	for profile, e := range made {
		if e.life.Err() != nil || e.closed {
			t.Errorf("the plugin of %s has ended", profile)
		}
		if e.handle.RejectWaitingPod("p") || e.handle.ClientSet() == nil {
			t.Errorf("the handle of %s", profile)
		}
	}
	r.scheduler.Close()
	for profile, e := range made {
		if e.life.Err() == nil || !e.closed {
			t.Errorf("the plugin of %s still runs", profile)
		}
	}
	if len(made) != 2 {
		t.Errorf("%d plugins were made", len(made))
	}
}

// TestCompiledInRefused: a point that the plugin does not implement, and a factory that fails.
func TestCompiledInRefused(t *testing.T) {
	for want, c := range map[string]struct {
		enabled string
		err     error
	}{
		`profile "default-scheduler": plugins.permit: plugin "Evens" does not implement permit; it implements: filter`: {enabled: "permit"},
		`profile "default-scheduler": plugin Evens: no licence`:                                                        {enabled: "multiPoint", err: errors.New("no licence")},
	} {
		modules := NewModules(ModulesConfig{})
		s, _, err := config.Parse([]byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{plugins: {"+c.enabled+": {enabled: [{name: Evens}]}}}]\n"),
			"s.yaml", modules.Catalog("Evens"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = NewUnconnected(Config{Scheduler: s, Modules: modules, Framework: []bridge.Source{{
			Name: "Evens", Factory: func(context.Context, runtime.Object, framework.Handle) (framework.Plugin, error) {
				return &evens{}, c.err
			},
		}}})
		if err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}
