package replay_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/hostplugins"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/cycle"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/internal/clock"
	"github.com/berth-scheduler/berth/runtime/plugin/objects/stores"
	"github.com/berth-scheduler/berth/runtime/record/recordtest"
	"github.com/berth-scheduler/berth/runtime/replay"
	"github.com/berth-scheduler/berth/runtime/state"
)

// day is a scheduler in a world, which is recorded.
type day struct {
	*world
	t        *testing.T
	made     map[string]*assembly.Module
	attached []assembly.Attached
	config   assembly.Config
	*assembly.Assembly
	pods []types.UID
}

// profiles returns a configuration with some of the modules.
func (d *day) profiles() assembly.Config {
	s := assembly.Default()
	s.Profiles = append(s.Profiles, assembly.Default().Profiles[0])
	s.Profiles[1].SchedulerName = "second"
	for _, name := range slices.Sorted(maps.Keys(d.made)) {
		if !d.one(3) {
			if err := d.made[name].Enable(s); err != nil {
				d.t.Fatal(err)
			}
		}
	}
	return assembly.Config{Scheduler: s}
}

// some returns plugins that objects attach: one version, two versions that share the pods, or one that is not ready.
func (d *day) some() []assembly.Attached {
	first, second := d.attached[0], d.attached[1]
	switch d.n(4) {
	case 0:
		return nil
	case 1:
		return []assembly.Attached{first}
	case 2:
		first.Module, second.Module = shared(first.Module, 0, 3000), shared(second.Module, 3000, 10_000)
		first.Share, second.Share = first.Module.Share, second.Module.Share
		return []assembly.Attached{first, second}
	}
	return []assembly.Attached{{Name: "b/later", NotReady: "Compiling", Holds: true, Namespaces: []string{"b"}}}
}

func shared(m *assembly.Module, from, to int) *assembly.Module {
	own := *m
	own.Share = state.Share{Key: "k", From: from, To: to}
	return &own
}

// start makes the cluster.
func (d *day) start() {
	binding := storagev1.VolumeBindingWaitForFirstConsumer
	for _, name := range []string{"a", "b", "c"} {
		d.namespace(name)
	}
	d.mu.Lock()
	d.put(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "late"}, Provisioner: "example.com/disk", VolumeBindingMode: &binding})
	d.put(&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}})
	d.mu.Unlock()
	for i := range 6 {
		d.node(i)
		name := fmt.Sprint("n-", i)
		d.mu.Lock()
		slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "s-" + name}}
		slice.Spec = resourcev1.ResourceSliceSpec{
			Driver: "gpu.example.com", NodeName: &name, Pool: resourcev1.ResourcePool{Name: name, ResourceSliceCount: 1},
			Devices: []resourcev1.Device{{Name: "d0"}, {Name: "d1"}},
		}
		d.put(slice)
		d.put(volumeOn("local-"+name, name))
		d.mu.Unlock()
	}
}

// happen lets something happen.
func (d *day) happen(ctx context.Context, i int) {
	s := d.Scheduler
	one := func() (uid types.UID) {
		if len(d.pods) > 0 {
			uid = d.pods[d.n(len(d.pods))]
		}
		return uid
	}
	switch d.n(16) {
	case 0, 1, 2, 3, 4, 5:
		p := d.pod(i)
		d.pods = append(d.pods, p.UID)
		d.mu.Lock()
		d.world.pods[p.UID] = p
		d.mu.Unlock()
		s.SetPods(state.NewPod(p))
	case 6:
		d.terminate(one())
	case 7:
		d.node(d.n(7))
	case 8:
		if d.one(3) {
			s.DeleteNode(fmt.Sprint("n-", d.n(7)))
		}
	case 9:
		d.namespace([]string{"a", "b", "c"}[d.n(3)])
	case 10:
		s.AllowWaiting(one(), "holder")
	case 11:
		s.RejectWaiting(one(), "holder", "not now")
	case 12:
		b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b"}}
		b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "1"}}
		b.Status.DisruptionsAllowed = int32(d.n(2))
		d.mu.Lock()
		d.put(b)
		d.mu.Unlock()
	case 13:
		uid, app := one(), fmt.Sprint(d.n(3))
		d.mu.Lock()
		if p := d.world.pods[uid]; p != nil && p.Spec.NodeName == "" {
			p = p.DeepCopy()
			p.Spec.SchedulingGates, p.Labels["app"] = nil, app
			d.world.pods[uid] = p
			s.SetPods(state.NewPod(p))
		}
		d.mu.Unlock()
	case 14:
		if d.one(8) {
			next := d.profiles().Scheduler
			next.Extenders, next.PercentageOfNodesToScore = d.config.Scheduler.Extenders, d.config.Scheduler.PercentageOfNodesToScore
			if _, err := d.Reload(ctx, next); err != nil {
				d.t.Error(err)
			}
		} else if d.one(5) {
			if refused, err := d.Attach(ctx, d.some()); err != nil || len(refused) > 0 {
				d.t.Error(refused, err)
			}
		}
	case 15:
		d.clock.Advance(time.Duration(d.n(3000)) * time.Millisecond)
	}
	d.clock.Advance(time.Duration(d.n(100)) * time.Millisecond)
	if !d.one(4) {
		d.wait()
	}
}

// configure draws the settings.
func (d *day) configure(seed uint64, extender string, modules *assembly.Modules) {
	d.config = assembly.Config{Seed: seed, Workers: 1 + d.n(3), Scheduler: d.profiles().Scheduler, Candidates: d.n(5), Modules: modules, MaxUnschedulable: 10 * time.Second, Attached: d.some()}
	if d.one(2) {
		d.config.Reuse = equivalence.Default()
	}
	if d.one(2) {
		d.config.TieBreak = cycle.First
	}
	if d.one(2) {
		percent := int32(1 + d.n(60))
		d.config.Scheduler.PercentageOfNodesToScore = &percent
	}
	for range d.n(3) {
		d.config.Scheduler.Extenders = append(d.config.Scheduler.Extenders, configv1.Extender{
			URLPrefix: extender, FilterVerb: "filter", PrioritizeVerb: "prioritize", PreemptVerb: "preempt", Weight: 2, NodeCacheCapable: true, Ignorable: d.one(2),
			HTTPTimeout: metav1.Duration{Duration: 20 * time.Millisecond},
		})
	}
}

// TestEverything: whatever happens in a cluster, each segment of the recording repeats alone, and its checkpoint has all that
// a checkpoint of it has again. There are preemptions, budgets,
// volumes, devices, gates, pods that wait at Permit, extenders, two profiles, modules that fail until their breakers open,
// and plugins that come and go, and nothing ends when it should.
func TestEverything(t *testing.T) {
	if n := *seeds; n > 0 {
		for i := range n {
			t.Run(fmt.Sprint(i), func(t *testing.T) { everything(t, uint64(i)) })
		}
		return
	}
	everything(t, seeded.Rand(t).Uint64())
}

var seeds = flag.Int("seeds", 0, "repeat TestEverything so often")

func everything(t *testing.T, seed uint64) {
	t.Logf("seed %d", seed)
	w := &world{
		rand: rand.New(rand.NewPCG(seed, 1)), pods: make(map[types.UID]*v1.Pod), objects: make(map[string]metav1.Object),
		clock: clock.NewStep(time.Unix(1_000_000, 0)), stores: stores.New(),
	}
	x := httptest.NewServer(http.HandlerFunc(w.extending))
	defer x.Close()
	modules := assembly.NewModules(assembly.ModulesConfig{Memory: 64 << 30}) // pods that wait keep replaced plugins
	defer func() { _ = modules.Close(context.Background()) }()
	d := &day{world: w, t: t}
	d.made, d.attached = everyModule(t, modules)
	d.configure(seed, x.URL, modules)
	writer := recordtest.New(t, int64(1+w.n(8_000)))
	var err error
	d.Assembly, err = assembly.New(d.config, assembly.Deps{
		Clock: w.clock, Binder: w, Evictor: w, Budgets: w.stores.Budgets, Objects: w.stores, Outlet: w, Recorder: writer,
		Storage: hostplugins.Storage{Objects: w.stores.Storage.Objects(), Writer: w, Waiter: w, Exists: w},
		Devices: hostplugins.NewDevices(w.stores.Storage.Devices(), w, w), Services: w.stores.Owners, Controllers: w.stores.Owners,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	w.scheduler = d.Scheduler
	d.start()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.scheduler.Run(ctx) }()
	for i := range 300 {
		d.happen(ctx, i)
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	segments := writer.Segments()
	w.late.Wait()
	t.Logf("%d decisions in %d segments", w.scheduler.Totals().Attempts, len(segments))
	words := make(map[string]int)
	for i, segment := range segments {
		text := formatted(t, segment.Bytes())
		if i > 0 {
			w.carriesOn(t, text)
		}
		_, _, lines := checkpointOf(text)
		for _, line := range lines {
			word, _, _ := strings.Cut(line, " ")
			words[word]++
		}
	}
	t.Logf("%v", words)
	for _, workers := range []int{1, 8} {
		decisions := uint64(0)
		for i, segment := range segments {
			r, err := run(t.Context(), t, formatted(t, segment.Bytes()), replay.Config{Workers: workers})
			if err != nil || r.Cut {
				t.Fatalf("segment %d of %d, %d workers: %+v, %v", i, len(segments), workers, r, err)
			}
			decisions += uint64(r.Decisions)
		}
		if attempts := w.scheduler.Totals().Attempts; decisions != attempts && decisions != attempts-1 { // the last one may have been cut off
			t.Errorf("%d decisions of %d in %d segments", decisions, attempts, len(segments))
		}
	}
}
