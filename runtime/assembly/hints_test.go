package assembly

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"sigs.k8s.io/yaml"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/config"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/stores"
	"github.com/berth-scheduler/berth/runtime/queue"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/state"
)

// TestHintsWake holds the hints of all native plugins against what they decide. Each pod is rejected by one plugin and, on
// all nodes, by a filter that no event wakes. After each change of the cluster all pods are tried again: if the plugin
// accepts a node that it had rejected, or one that is new, the change must have woken the pod by itself. Pods that
// were woken for nothing are counted. NodeName is missing: a pod with a node's name is not scheduled.
func TestHintsWake(t *testing.T) {
	seeds := uint64(200)
	if testing.Short() {
		seeds = 20 // each takes some 50 ms
	}
	total := make(map[string]*wakes)
	missed := make(map[string]string) // the first of each kind
	tables := wakeTables(t)
	first := seeded.Rand(t).Uint64()
	for i := range seeds {
		w := newHintWorld(t, first+i, tables)
		for range 40 {
			w.change()
		}
		for what, found := range w.missed {
			if missed[what] == "" {
				missed[what] = found
			}
		}
		for name, n := range w.wakes {
			sum := total[name]
			if sum == nil {
				sum = &wakes{}
				total[name] = sum
			}
			sum.add(n)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(missed)) {
		t.Errorf("%s: %s", what, missed[what])
	}
	for _, name := range slices.Sorted(maps.Keys(total)) {
		n := total[name]
		t.Logf("%-28s %7d asked, %6d had to wake, %6d woken for nothing", name, n.asked, n.needed, n.needless)
		if n.needed == 0 && !testing.Short() {
			seeded.Lacks(t, "a change that makes "+name+" accept a node")
		}
	}
}

// wakes counts events about pods that a plugin had rejected.
type wakes struct{ asked, needed, needless int }

func (w *wakes) add(o *wakes) {
	w.asked, w.needed, w.needless = w.asked+o.asked, w.needed+o.needed, w.needless+o.needless
}

// hintProfiles are the plugins with hints, with args that matter to these.
func hintProfiles() map[string]map[string]runtime.Object {
	added := &configv1.NodeAffinityArgs{AddedAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
		NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "rack", Operator: v1.NodeSelectorOpIn, Values: []string{"1"}}}}},
	}}}
	spread := &configv1.PodTopologySpreadArgs{DefaultingType: configv1.ListDefaulting, DefaultConstraints: []v1.TopologySpreadConstraint{
		{MaxSkew: 1, TopologyKey: v1.LabelTopologyZone, WhenUnsatisfiable: v1.DoNotSchedule},
	}}
	out := map[string]map[string]runtime.Object{
		"NodeAffinity":      {"added": added},
		"NodeResourcesFit":  {"ignored": &configv1.NodeResourcesFitArgs{IgnoredResources: []string{"example.com/gpu"}}},
		"PodTopologySpread": {"list": spread},
	}
	for _, name := range []string{
		"SchedulingGates", "NodeUnschedulable", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit", "VolumeRestrictions", "NodeVolumeLimits",
		"VolumeBinding", "VolumeZone", "PodTopologySpread", "InterPodAffinity", "DynamicResources", "NodeDeclaredFeatures",
	} {
		if out[name] == nil {
			out[name] = make(map[string]runtime.Object)
		}
		out[name][""] = nil
	}
	return out
}

// never rejects every node, and no event wakes its pods.
type never struct{ info plugin.Info }

const neverName = "Never"

func (n *never) Info() *plugin.Info { return &n.info }

func (*never) Filter(_ *plugin.Cycle, rows []uint32, out *plugin.Verdicts) {
	reason := out.Reason("never")
	for i := range rows {
		out.Reject(i, abi.Unschedulable, reason)
	}
}

// hintWorld is a cluster that changes, and a scheduler with a profile for each plugin.
type hintWorld struct {
	draw
	t       *testing.T
	seed    uint64
	loop    *Assembly
	store   *stores.Stores
	nodes   map[string]*v1.Node
	placed  map[string]*v1.Pod
	spaces  map[string]*v1.Namespace
	others  map[string]metav1.Object
	pending map[types.UID]*hinted
	wakes   map[string]*wakes
	story   []string
	missed  map[string]string // by plugin and change
	tables  map[string][]wakeReason
	events  []state.ClusterEvent // of the last change
}

// hinted is a pending pod, and what its plugin said in the last attempt.
type hinted struct {
	pod      *v1.Pod
	plugin   string
	attempts int
	rejected bool // by the plugin, on some node
	reasons  map[string]bool
	accepted map[string]bool
}

func newHintWorld(t *testing.T, seed uint64, tables map[string][]wakeReason) *hintWorld {
	w := &hintWorld{
		draw: draw{rand.New(rand.NewPCG(seed, 0))}, t: t, seed: seed, store: stores.New(), nodes: make(map[string]*v1.Node), placed: make(map[string]*v1.Pod),
		spaces: make(map[string]*v1.Namespace), others: make(map[string]metav1.Object), pending: make(map[types.UID]*hinted), wakes: make(map[string]*wakes),
		missed: make(map[string]string), tables: tables,
	}
	s := Default()
	catalog := Catalog()
	s.Profiles, s.PodInitialBackoff, s.PodMaxBackoff = nil, 0, 0
	for name, variants := range hintProfiles() {
		for variant, args := range variants {
			p := config.Profile{SchedulerName: name + variant, Points: make(map[string][]config.PluginRef), Args: make(map[string]config.Args)}
			for _, point := range catalog.Points(name) {
				if point == "preEnqueue" || point == "preFilter" || point == "filter" {
					p.Points[point] = []config.PluginRef{{Name: name}}
				}
			}
			p.Points["filter"] = append(p.Points["filter"], config.PluginRef{Name: neverName})
			p.Points["queueSort"], p.Points["bind"] = []config.PluginRef{{Name: "PrioritySort"}}, []config.PluginRef{{Name: "DefaultBinder"}}
			if args != nil {
				p.Args[name] = config.Args{Typed: args}
			}
			s.Profiles = append(s.Profiles, p)
		}
	}
	slices.SortFunc(s.Profiles, func(a, b config.Profile) int { return strings.Compare(a.SchedulerName, b.SchedulerName) })
	every := state.Feature(0)
	for _, name := range state.FeatureNames() {
		f, _ := state.ParseFeature(name)
		every |= f
	}
	r := &recorder{}
	var err error
	w.loop, err = New(Config{
		Scheduler: s, AllRows: true, Workers: 1, AllowUnenforced: every, Seed: seed,
		Plugins: plugin.Registry{neverName: func(any) (plugin.Plugin, error) { return &never{plugin.Info{Name: neverName}}, nil }},
	}, Deps{
		Clock: clock.NewStep(time.Unix(0, 0)), Binder: r, Outlet: r, Observer: attempts{r, w}, Objects: w.store, Spawn: func(run func()) { run() },
		Storage: hostplugins.Storage{Objects: w.store.Storage.Objects()}, Devices: hostplugins.NewDevices(w.store.Storage.Devices(), nil, nil),
		Services: w.store.Owners, Controllers: w.store.Owners, Handled: func(e state.ClusterEvent, _ time.Duration) { w.events = append(w.events, e) },
	})
	if err != nil {
		t.Fatal(err)
	}
	r.scheduler = w.loop
	t.Cleanup(w.loop.Close)
	for range 120 {
		w.happen()
	}
	for range 2 {
		for _, profile := range w.loop.Profiles {
			w.arrive(profile)
		}
	}
	w.settle()
	return w
}

// attempts tells a world of attempts.
type attempts struct {
	*recorder
	w *hintWorld
}

func (a attempts) Attempted(r *report.Attempt, name func(uint32) string) {
	h := a.w.pending[r.UID]
	h.attempts++
	h.rejected, h.accepted, h.reasons = r.PreFilter != "", make(map[string]bool), make(map[string]bool)
	if r.PreFilter != "" {
		h.reasons[r.PreFilter] = true
	}
	for _, rejection := range r.Rejections {
		for _, row := range rejection.Rows {
			if rejection.Plugin == neverName {
				h.accepted[name(row)] = true
			}
		}
		if rejection.Plugin != neverName {
			h.rejected = true
			for _, reason := range rejection.Reasons {
				h.reasons[reason] = true
			}
		}
	}
}

// settle handles all that is in the inbox and tries all pods that are not parked.
func (w *hintWorld) settle() {
	for w.loop.Scheduler.Step(w.t.Context()) {
	}
}

// change changes the cluster, and checks that the pods that it may help are tried.
func (w *hintWorld) change() {
	type before struct {
		attempts int
		rejected bool
		accepted map[string]bool
		reasons  map[string]bool
	}
	was := make(map[types.UID]before)
	for uid, reason := range w.gated() {
		h := w.pending[uid]
		h.rejected, h.accepted, h.reasons = true, nil, map[string]bool{reason: true}
	}
	for uid, h := range w.pending {
		was[uid] = before{h.attempts, h.rejected, h.accepted, h.reasons}
	}
	w.events = nil
	w.happen()
	w.settle()
	events := w.events
	woken := make(map[types.UID]bool)
	var asleep []types.UID
	for _, uid := range slices.Sorted(maps.Keys(w.pending)) {
		if woken[uid] = w.pending[uid].attempts > was[uid].attempts; !woken[uid] {
			asleep = append(asleep, uid)
		}
	}
	w.loop.Scheduler.Activate(asleep...)
	w.settle()
	for _, uid := range slices.Sorted(maps.Keys(w.pending)) {
		h, old := w.pending[uid], was[uid]
		if !old.rejected {
			continue
		}
		n := w.wakes[h.plugin]
		if n == nil {
			n = &wakes{}
			w.wakes[h.plugin] = n
		}
		n.asked++
		var helped []string
		for node := range h.accepted {
			if !old.accepted[node] {
				helped = append(helped, node)
			}
		}
		switch {
		case len(helped) == 0 && woken[uid]:
			n.needless++
		case len(helped) > 0:
			n.needed++
			if !woken[uid] {
				w.fail(h, "", fmt.Sprintf("accepts %v for %s after this change, but nobody wakes the pod", helped, h.pod.Name))
			} else if !w.listed(h, old.reasons, events) {
				reasons := slices.Sorted(maps.Keys(old.reasons))
				w.fail(h, fmt.Sprint(reasons), fmt.Sprintf("accepts %v for %s after %v and reasons %q, which its wakes.yaml does not list", helped, h.pod.Name, events, reasons))
			}
		}
	}
}

// gated returns the pods that a gate holds back, with its reasons.
func (w *hintWorld) gated() map[types.UID]string {
	out := make(map[types.UID]string)
	for place, queued := range w.loop.Scheduler.Queued() {
		if place == queue.Gated {
			out[queued.Pod.UID] = queued.GateReason
		}
	}
	return out
}

func (w *hintWorld) fail(h *hinted, reasons, says string) {
	what, _, _ := strings.Cut(w.story[len(w.story)-1], "\n")
	what = h.plugin + ": " + what + reasons
	if w.missed[what] != "" {
		return
	}
	var text strings.Builder
	show := func(o metav1.Object) {
		o = dropped(o)
		out, _ := yaml.Marshal(o)
		fmt.Fprintf(&text, "---\n%s", out)
	}
	show(h.pod)
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		show(w.nodes[name])
	}
	for _, name := range slices.Sorted(maps.Keys(w.placed)) {
		show(w.placed[name])
	}
	for _, name := range slices.Sorted(maps.Keys(w.spaces)) {
		show(w.spaces[name])
	}
	for _, name := range slices.Sorted(maps.Keys(w.others)) {
		show(w.others[name])
	}
	w.missed[what] = fmt.Sprintf("seed %d: %s %s:\n%s\n%s", w.seed, h.plugin, says,
		strings.Join(w.story[max(0, len(w.story)-1):], "\n"), text.String())
}

// listed reports whether the table of the pod's plugin lists one of the events for one of the reasons.
func (w *hintWorld) listed(h *hinted, reasons map[string]bool, events []state.ClusterEvent) bool {
	for i := range w.tables[h.plugin] {
		r := &w.tables[h.plugin][i]
		applies := func(reason string) bool { return r.pattern.MatchString(reason) }
		if !slices.ContainsFunc(slices.Collect(maps.Keys(reasons)), applies) {
			continue
		}
		for _, event := range events {
			if slices.ContainsFunc(r.events, func(e state.ClusterEvent) bool {
				return e.Matches(event) || e.Resource == state.TargetPodResource && event.Resource == state.UnscheduledPodResource // its own change
			}) {
				return true
			}
		}
	}
	return false
}

// wakeReason is a line of a wakes.yaml.
type wakeReason struct {
	pattern *regexp.Regexp
	events  []state.ClusterEvent
}

// wakeTables returns the tables next to the plugins by profile.
func wakeTables(t *testing.T) map[string][]wakeReason {
	t.Helper()
	files, err := filepath.Glob("../../hostplugins/*/wakes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string][]wakeReason)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var table struct {
			Plugin  string `json:"plugin"`
			Reasons []struct {
				Reason string `json:"reason"`
				Events []struct {
					Event string `json:"event"`
				} `json:"events"`
			} `json:"reasons"`
		}
		if err := yaml.Unmarshal(text, &table); err != nil {
			t.Fatal(err)
		}
		var reasons []wakeReason
		for _, r := range table.Reasons {
			pattern := strings.ReplaceAll(regexp.QuoteMeta(r.Reason), "…", ".*")
			line := wakeReason{pattern: regexp.MustCompile("(?s)^" + pattern + "$")}
			for _, e := range r.Events {
				at := strings.LastIndex(e.Event, "/")
				action, ok := state.ParseAction(e.Event[at+1:])
				if !ok {
					action = state.UpdateOther
				}
				line.events = append(line.events, state.ClusterEvent{Resource: state.EventResource(e.Event[:at]), Action: action})
			}
			reasons = append(reasons, line)
		}
		for variant := range hintProfiles()[table.Plugin] {
			out[table.Plugin+variant] = reasons
		}
	}
	return out
}

// dropped returns a copy without what is long and says nothing.
func dropped(o metav1.Object) metav1.Object {
	if n, ok := o.(*v1.Node); ok {
		n = n.DeepCopy()
		n.Status.Capacity = nil
		return n
	}
	return o
}
