package assembly

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/hostplugins"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/scheduler"
	"github.com/berth-scheduler/berth/runtime/state"
)

// The list in kube-scheduler v1.37, with default feature gates
// (pkg/scheduler/apis/config/v1/default_plugins.go).
const upstreamDefaults = `SchedulingGates, PrioritySort, NodeName, NodeUnschedulable, TaintToleration 3, NodeAffinity 2,
NodePorts, NodeResourcesFit 1, VolumeRestrictions, NodeVolumeLimits, VolumeBinding, VolumeZone, PodTopologySpread 2,
InterPodAffinity 2, DynamicResources 2, DefaultPreemption, NodeResourcesBalancedAllocation 1, ImageLocality 1, DefaultBinder,
NodeDeclaredFeatures`

func TestDefaultsAreUpstreams(t *testing.T) {
	list := func(c config.Catalog) (got []string) {
		for _, p := range c.Default {
			got = append(got, strings.TrimSuffix(fmt.Sprintf("%s %d", p.Name, p.Weight), " 0"))
		}
		return got
	}
	want := strings.Split(strings.ReplaceAll(upstreamDefaults, "\n", " "), ", ")
	if got := list(Catalog()); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	gates, _, err := config.ParseGates([]string{config.ResizePreemption + "=true"})
	if err != nil {
		t.Fatal(err)
	}
	want = slices.Insert(want, slices.Index(want, "NodeResourcesFit 1"), "DeferredPodScheduling")
	if got := list(Catalog().WithGates(gates)); !slices.Equal(got, want) {
		t.Errorf("with %s: got  %q\nwant %q", config.ResizePreemption, got, want)
	}
}

func TestCatalogHasEveryPluginOnce(t *testing.T) {
	c := Catalog()
	registered := hostplugins.All(hostplugins.Deps{}).Names()
	if !slices.Equal(c.Known, registered) {
		t.Errorf("known are %q, registered %q", c.Known, registered)
	}
	for _, p := range c.Default {
		if slices.Contains(c.Known, p.Name) == slices.Contains(c.Upstream, p.Name) {
			t.Errorf("%s is in both lists, or in neither", p.Name)
		}
	}
	if all := slices.Sorted(slices.Values(slices.Concat(c.Known, c.Upstream))); len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Errorf("a name appears twice: %q", all)
	}
	points := map[string]string{
		"SchedulingGates": "preEnqueue", "PrioritySort": "queueSort", "NodeUnschedulable": "preFilter filter", "NodeName": "preFilter filter",
		"TaintToleration": "preFilter filter preScore score", "NodeAffinity": "preFilter filter preScore score", "NodePorts": "preFilter filter",
		"NodeResourcesFit": "preFilter filter preScore score", "NodeResourcesBalancedAllocation": "preScore score",
		"ImageLocality": "score", "DefaultBinder": "bind", "DefaultPreemption": "postFilter",
	}
	for name, want := range points {
		for _, point := range strings.Fields(want) {
			if got := c.Points(name); !slices.Contains(got, point) {
				t.Errorf("%s is at %q, not at %s", name, got, point)
			}
		}
	}
}

// recorder records what the scheduler reports.
type recorder struct {
	scheduler *Assembly
	clock     *clock.Step
	bound     []string
	attempts  []report.Attempt
}

func (r *recorder) Bind(_ context.Context, b objects.Binding) error {
	r.bound = append(r.bound, b.Pod.Name+" "+b.Node)
	r.scheduler.Scheduler.SetPods(b.Pod)
	return nil
}

func (*recorder) Scheduled(*state.Pod, string, state.Feature) {}
func (*recorder) Failed(scheduler.Failure)                    {}
func (*recorder) Preempted(scheduler.Preempted)               {}
func (*recorder) Binding(context.Context, *state.Pod) error   { return nil }
func (*recorder) NominationCleared(*state.Pod)                {}
func (*recorder) Ended(*report.Ending)                        {}

func (r *recorder) Attempted(a *report.Attempt, name func(uint32) string) {
	r.attempts = append(r.attempts, *a.Clone(name))
}

func start(t *testing.T, c Config) *recorder {
	t.Helper()
	r := &recorder{clock: clock.NewStep(time.Unix(0, 0))}
	a, err := New(c, Deps{
		Clock: r.clock, Binder: r, Outlet: r, Observer: r, Spawn: func(run func()) { run() },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	r.scheduler = a
	return r
}

// run schedules one pod of each profile on equal nodes.
func (r *recorder) run(t *testing.T, nodes int) {
	for i := range nodes {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n-%03d", i)}}
		n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("4"), v1.ResourcePods: resource.MustParse("10")}
		r.scheduler.Scheduler.SetNode(state.NewNode(n))
	}
	for _, profile := range r.scheduler.Profiles {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: profile, UID: types.UID(profile)}}
		p.Spec.SchedulerName = profile
		r.scheduler.Scheduler.SetPods(state.NewPod(p))
	}
	for r.scheduler.Scheduler.Step(t.Context()) {
	}
}

func parse(t *testing.T, text string) *config.Scheduler {
	t.Helper()
	s, _, err := config.Parse([]byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"+text), "config.yaml", Catalog())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDefaultIsAFreshCopy(t *testing.T) {
	clear(Default().Profiles[0].Points)
	if len(Default().Profiles[0].Points) == 0 {
		t.Error("a change to one copy shows in another")
	}
	r := start(t, Config{})
	if !slices.Equal(r.scheduler.Profiles, []string{v1.DefaultSchedulerName}) {
		t.Errorf("profiles are %q", r.scheduler.Profiles)
	}
}

// A profile's percentageOfNodesToScore overrides the file's.
func TestPercentage(t *testing.T) {
	r := start(t, Config{Scheduler: parse(t, `
percentageOfNodesToScore: 50
profiles:
- {schedulerName: by-file}
- {schedulerName: by-profile, percentageOfNodesToScore: 70}
- {schedulerName: all, percentageOfNodesToScore: 100}
`)})
	r.run(t, 300)
	got := make(map[string]int)
	for _, a := range r.attempts {
		got[a.Profile] = a.Feasible
	}
	if want := map[string]int{"by-file": 150, "by-profile": 210, "all": 300}; !maps.Equal(got, want) {
		t.Errorf("feasible nodes found are %v, want %v", got, want)
	}
	// Absent means all nodes, not kube-scheduler's formula.
	r = start(t, Config{})
	r.run(t, 300)
	if r.attempts[0].Feasible != 300 {
		t.Errorf("without a percentage %d feasible nodes are found, want 300", r.attempts[0].Feasible)
	}
}

func TestWorkers(t *testing.T) {
	for _, c := range []struct{ asked, parallelism, want int }{
		{3, 16, 3}, {0, 1, 1}, {0, 1000, runtime.GOMAXPROCS(0)},
	} {
		r := start(t, Config{Workers: c.asked, Scheduler: parse(t, fmt.Sprintf("parallelism: %d\n", c.parallelism))})
		if got := r.scheduler.workers.Len(); got != c.want {
			t.Errorf("workers %d with parallelism %d makes %d, want %d", c.asked, c.parallelism, got, c.want)
		}
	}
}

// Without a rank the first node depends on the seed only; with one, on the rank.
func TestRank(t *testing.T) {
	first := func(seed uint64, rank func(string) uint64) string {
		r := start(t, Config{Seed: seed, TieBreak: 1, Rank: rank, Candidates: 2})
		r.run(t, 50)
		if len(r.bound) != 1 || len(r.attempts[0].Candidates) != 2 {
			t.Fatalf("bound %q with candidates %v", r.bound, r.attempts[0].Candidates)
		}
		return r.bound[0]
	}
	seen := make(map[string]bool)
	for seed := range uint64(5) {
		a, b := first(seed, nil), first(seed, nil)
		if a != b {
			t.Errorf("seed %d gives %s and %s", seed, a, b)
		}
		seen[a] = true
	}
	if len(seen) == 1 {
		t.Error("five seeds give one node")
	}
	got := first(1, func(node string) uint64 {
		if node == "n-031" {
			return 0
		}
		return 7
	})
	if got != v1.DefaultSchedulerName+" n-031" {
		t.Errorf("by rank the pod is bound as %s", got)
	}
}

func TestRefuses(t *testing.T) {
	sorted := parse(t, `
profiles:
- schedulerName: a
- schedulerName: b
  plugins:
    multiPoint: {disabled: [{name: "*"}], enabled: [{name: PrioritySort}, {name: DefaultBinder}]}
`)
	sorted.Profiles[1].Points["bind"] = nil
	unknown := Default()
	unknown.Profiles[0].Points["filter"][0].Name = "Nowhere"
	nowhere := Default()
	nowhere.Profiles[0].Points["prefilter"] = nil
	args := Default()
	args.Profiles[0].Args["NodeResourcesFit"] = config.Args{Typed: &configv1.NodeAffinityArgs{}}
	for _, c := range []struct {
		scheduler *config.Scheduler
		want      string
	}{
		{parse(t, "extenders: [{urlPrefix: \"http://x\", filterVerb: f, tlsConfig: {caFile: none}}]\n"), "extenders[0]: tlsConfig: open none"},
		{sorted, `profile "b": needs at least one Bind plugin`},
		{unknown, `profile "default-scheduler": plugin "Nowhere" is not registered`},
		{nowhere, `BUG: profile "default-scheduler" has an unknown point`},
		{args, `profile "default-scheduler": plugin NodeResourcesFit: `},
	} {
		_, err := New(Config{Scheduler: c.scheduler}, Deps{Binder: noBinder{}, Clock: clock.Real{}, Outlet: &recorder{}})
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || strings.Count(err.Error(), "profile") > 1 {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}
