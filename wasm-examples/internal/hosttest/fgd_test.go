//go:build !wasip1

package hosttest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/cache"
	"github.com/berth-scheduler/berth/runtime/cycle"
	hostmodule "github.com/berth-scheduler/berth/runtime/module"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/sim/curve"
	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm"
	"github.com/berth-scheduler/berth/runtime/wasm/sandbox"
	wasmexamples "github.com/berth-scheduler/berth/wasm-examples"
)

func policies() []string { return []string{"fgd", "best-fit", "random-fit"} }

// experiment is the published experiment with the trace, or with the first of its arrivals.
type experiment struct {
	trace   *input.Trace
	typical []byte // the configuration of fgd
	seed    int64
}

func newExperiment(t testing.TB, seed int64, arrivals int) *experiment {
	t.Helper()
	dir := openbDir(t)
	trace, err := input.LoadTrace(context.Background(), "openb", filepath.Join(dir, "openb_node_list_gpu_node.csv"), filepath.Join(dir, "openb_pod_list_default.csv"),
		input.TraceOptions{Seed: seed, Inflate: 1.3, Shuffle: true})
	if err != nil {
		t.Fatal(err)
	}
	typical, err := json.Marshal(map[string]any{"typicalPods": trace.Typical})
	if err != nil {
		t.Fatal(err)
	}
	trace.Arrivals = trace.Arrivals[:min(arrivals, len(trace.Arrivals))]
	return &experiment{trace, typical, seed}
}

// run schedules the arrivals with a policy, as native code or as a module, and returns the node
// of each pod, with its devices, and the curve.
func (x *experiment) run(t testing.TB, policy string, twin twin) (where map[string]string, points []curve.Point) {
	t.Helper()
	e := example(t, policy)
	var text []byte
	if policy == "fgd" {
		text = x.typical
	}
	modules := assembly.NewModules(assembly.ModulesConfig{CacheDir: cacheDir(), VerifyEvery: verifyRare})
	defer modules.Close(context.Background())
	path := file(t, e)
	if twin.file != nil {
		path = twin.file(t, e)
	}
	m, err := modules.Load(hostmodule.Reference{Path: path, Config: text, GrantAll: true})
	if err != nil {
		t.Fatal(err)
	}
	profile := assembly.Default()
	for _, point := range []string{"preScore", "score", "postFilter"} { // as in wasm-examples/fgd/scheduler.yaml
		delete(profile.Profiles[0].Points, point)
	}
	if err := m.Enable(profile); err != nil {
		t.Fatal(err)
	}
	c := assembly.Config{
		Seed: uint64(x.seed), TieBreak: cycle.First, Rank: func(node string) uint64 { return x.trace.NodeRank[node] },
		Scheduler: profile, Modules: modules, Plugins: plugin.Registry{},
	}
	if twin.file == nil { // the same place in the profile, but a plugin of the registry
		delete(profile.Profiles[0].Args, policy)
		c.Plugins[policy] = func(any) (plugin.Plugin, error) {
			return newPlugin(t, e, native(t, e), wasm.Config{Config: text, Shards: 1, Grants: manifest(t, e).Rights()})
		}
	}
	where = make(map[string]string)
	drawn := curve.New(x.trace.Nodes, x.trace.Typical)
	s, err := sim.New(sim.Config{
		Nodes: x.trace.Nodes, Arrivals: x.trace.Arrivals, Assembly: c, Attempts: 1,
		Answered: func(pod *state.Pod, node string) {
			where[pod.Name] = node + " " + pod.Object.Annotations[input.GPUDevicesAnnotation]
			drawn.Answered(pod, node)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range r.Plugins {
		if u.Faults > 0 || u.Name == policy && (u.Digest == "") != (twin.file == nil) {
			t.Errorf("%s, %s: %d faults, digest %q", twin.name, u.Name, u.Faults, u.Digest)
		}
	}
	return where, drawn.Points()
}

// gpuTwins returns the native plugins and their modules.
func gpuTwins() []twin {
	return []twin{{name: "native"}, {name: "go", file: file}, {name: "c", file: inC().file}}
}

// TestRestFGDExperiment: one seed of the published experiment gives the published result; the
// policies used here are not random. `make fgd` runs all seeds. With the race detector it ends
// early, while all pods still fit.
func TestRestFGDExperiment(t *testing.T) {
	x := newExperiment(t, 42, experimentPods)
	for policy, want := range map[string]float64{"fgd": experimentFGD, "best-fit": experimentBestFit} {
		where, points := x.run(t, policy, twin{name: "native"})
		if last := points[len(points)-1]; len(where) != experimentPlaced || last.Arrived != experimentArrived || last.Allocated != want {
			t.Errorf("%s: with %d pods %.2f %% are allocated at %d %%, want %d pods and %.2f %% at %d %%",
				policy, len(where), last.Allocated, last.Arrived, experimentPlaced, want, experimentArrived)
		}
	}
}

// TestRestFGDTwins: pod by pod, modules choose the same nodes and devices as native code, and again
// in another run, but not with another seed.
func TestRestFGDTwins(t *testing.T) {
	x := newExperiment(t, 43, 500)
	if race {
		x.trace.Arrivals = x.trace.Arrivals[:50]
	}
	for _, policy := range policies() {
		t.Run(policy, func(t *testing.T) {
			want, _ := x.run(t, policy, twin{name: "native"})
			for _, twin := range gpuTwins() {
				t.Run(twin.name, func(t *testing.T) {
					got, _ := x.run(t, policy, twin)
					for pod, node := range want {
						if got[pod] != node {
							t.Errorf("%s: %q, and natively %q", pod, got[pod], node)
						}
					}
				})
			}
			other := *x
			other.seed++
			got, _ := other.run(t, policy, twin{name: "native"})
			if same := maps.Equal(got, want); same == (policy == "random-fit") { // the others use the seed only for the order of nodes
				t.Errorf("with another seed of the scheduler the same nodes are chosen: %v", same)
			}
		})
	}
}

// gpuStream is a cluster in which pods with GPUs come and go at random.
type gpuStream struct {
	rand     *rand.Rand
	cache    *cache.Cache
	snapshot *state.Snapshot
	names    []string
	gpus     map[string][]int64 // what is left
	placed   []*state.Pod
}

func newGPUStream(seed uint64) *gpuStream {
	s := &gpuStream{rand: rand.New(rand.NewPCG(seed, 5)), cache: cache.New(cache.Config{}), snapshot: state.NewSnapshot(), gpus: map[string][]int64{}}
	for i := range 120 {
		name := fmt.Sprint("node-", i)
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Annotations: map[string]string{}}}
		if model := s.rand.IntN(4); model > 0 {
			n.Labels = map[string]string{input.GPUModelLabel: []string{"", "T4", "G2", "P100"}[model]}
		}
		n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: *resource.NewMilliQuantity(int64(8000*(1+s.rand.IntN(12))), resource.DecimalSI)}
		gpus := []int{0, 1, 2, 4, 8, 8, 16}[s.rand.IntN(7)]
		if gpus > 0 || s.rand.IntN(2) == 0 {
			n.Annotations[input.GPUCountAnnotation] = fmt.Sprint(gpus)
		}
		for range gpus {
			s.gpus[name] = append(s.gpus[name], 1000)
		}
		s.names = append(s.names, name)
		s.cache.AddNode(state.NewNode(n))
	}
	return s
}

// pod returns a pod to be placed.
func (s *gpuStream) pod(i int) *state.Pod {
	name := fmt.Sprint("pod-", i)
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Annotations: map[string]string{}}}
	p.Spec.Containers = []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
		v1.ResourceCPU: *resource.NewMilliQuantity(int64(500*s.rand.IntN(24)), resource.DecimalSI),
	}}}}
	gpus, milli := 1, 10*(1+s.rand.IntN(100))
	switch s.rand.IntN(6) {
	case 0:
		gpus, milli = 0, 0
	case 1:
		gpus, milli = 1<<s.rand.IntN(4), 1000
	case 2:
		milli = 470
	}
	if s.rand.IntN(40) == 0 {
		milli = 7 * s.rand.IntN(300) // this may be an invalid share
	}
	p.Annotations[input.GPUCountAnnotation], p.Annotations[input.GPUMilliAnnotation] = fmt.Sprint(gpus), fmt.Sprint(milli)
	return state.NewPod(p)
}

// put places a pod on a node, with any GPUs that have enough left; some get none, like pods of
// other schedulers.
func (s *gpuStream) put(t *testing.T, pod *state.Pod, node string) {
	t.Helper()
	object := pod.Object.DeepCopy()
	object.Spec.NodeName = node
	var gpus int
	var milli int64
	if _, err := fmt.Sscan(object.Annotations[input.GPUCountAnnotation]+" "+object.Annotations[input.GPUMilliAnnotation], &gpus, &milli); err != nil {
		t.Fatal(err)
	}
	var devices []string
	for _, i := range s.rand.Perm(len(s.gpus[node])) {
		if len(devices) < gpus && s.gpus[node][i] >= milli {
			s.gpus[node][i] -= milli
			devices = append(devices, fmt.Sprint(i))
		}
	}
	if s.rand.IntN(20) > 0 {
		object.Annotations[input.GPUDevicesAnnotation] = strings.Join(devices, ",")
	}
	on := state.NewPod(object)
	if _, err := s.cache.AddPod(on); err != nil {
		t.Fatal(err)
	}
	s.placed = append(s.placed, on)
}

// remove removes a pod.
func (s *gpuStream) remove(t *testing.T) {
	t.Helper()
	i := s.rand.IntN(len(s.placed))
	p := s.placed[i]
	s.placed = append(s.placed[:i], s.placed[i+1:]...)
	s.cache.RemovePod(p.UID)
	var milli int64
	if _, err := fmt.Sscan(p.Object.Annotations[input.GPUMilliAnnotation], &milli); err != nil {
		t.Fatal(err)
	}
	for _, device := range strings.Split(p.Object.Annotations[input.GPUDevicesAnnotation], ",") {
		var d int
		if _, err := fmt.Sscan(device, &d); err == nil {
			s.gpus[p.NodeName()][d] += milli
		}
	}
}

// typicalPods configures fgd for a stream.
const typicalPods = `{"typicalPods": [
	{"milliCPU": 3152, "gpus": 1, "milliGPU": 810, "count": 47}, {"milliCPU": 11300, "gpus": 1, "milliGPU": 1000, "count": 31},
	{"milliCPU": 4000, "gpus": 1, "milliGPU": 230, "models": ["T4", "G2"], "count": 20}, {"milliCPU": 12500, "count": 17},
	{"milliCPU": 16000, "gpus": 4, "milliGPU": 1000, "models": ["P100"], "count": 3}, {"milliCPU": 8000, "gpus": 1, "milliGPU": 470, "count": 29}]}`

// TestRestGPUTwinsToTheBit: as pods come and go, modules give every node the same verdict, reasons
// and score as native code, and a plugin that keeps scores gives those of a fresh one.
func TestRestGPUTwinsToTheBit(t *testing.T) {
	makes := []struct {
		name  string
		fresh bool
		make  func(testing.TB, *wasmexamples.Example) sandbox.Factory
	}{{"fresh", true, native}, {"go", false, module}, {"c", false, inC().module}}
	for _, policy := range policies() {
		for _, m := range makes {
			t.Run(policy+"/"+m.name, func(t *testing.T) {
				e := example(t, policy)
				twin := &playing{t: t, example: e, factory: m.make(t, e), way: way{name: m.name, fresh: m.fresh}}
				original := &playing{t: t, example: e, factory: native(t, e), way: way{name: "native"}}
				for _, tr := range []*playing{original, twin} {
					tr.config = wasm.Config{Shards: 1, VerifyEvery: 1, Grants: manifest(t, e).Rights()}
					if policy == "fgd" {
						tr.config.Config = []byte(typicalPods)
					}
					defer tr.end()
				}
				newGPUStream(3).compare(t, original, twin)
			})
		}
	}
}

// compare lets pods come and go.
func (s *gpuStream) compare(t *testing.T, original, twin *playing) {
	t.Helper()
	steps, refused, scores := 400, 0, map[int64]bool{}
	few := race // a plugin is made for each call
	if few {
		steps = 40
	}
	for i := range steps {
		s.cache.UpdateSnapshot(s.snapshot)
		pod := s.pod(i)
		place := func(tr *playing) []berthtest.Verdict {
			tr.cycle = &plugin.Cycle{Context: context.Background(), Snapshot: s.snapshot, Pod: pod, State: &state.CycleState{}, Seed: uint64(i + 1)}
			return tr.place(s.names)
		}
		var fit []string
		got := place(twin)
		for k, want := range place(original) {
			if got[k].String() != want.String() {
				t.Fatalf("step %d: %s decides %q, native code %q", i, twin.way.name, got[k], want)
			}
			if want.Code == abi.Success {
				fit = append(fit, want.Node)
				scores[want.Score] = true
			}
		}
		if len(fit) == 0 {
			refused++
		} else {
			s.put(t, pod, fit[s.rand.IntN(len(fit))])
		}
		if len(s.placed) > 150 || len(fit) == 0 && len(s.placed) > 0 {
			s.remove(t)
		}
	}
	same := len(scores) < 2 || original.example.Name != "random-fit" && len(scores) < 20
	if same || refused == 0 && !few {
		t.Errorf("%d pods fit nowhere, and there are %d different scores: the test is meaningless", refused, len(scores))
	}
}

// TestRestFGDRefuses: a configuration that the schema cannot refuse is refused in the same words in
// all languages.
func TestRestFGDRefuses(t *testing.T) {
	var models []string
	for i := range 32 {
		models = append(models, fmt.Sprintf(`"model-%d"`, i))
	}
	e := example(t, "fgd")
	for name, make := range map[string]func(testing.TB, *wasmexamples.Example) sandbox.Factory{"native": native, "go": module, "c": inC().module} {
		t.Run(name, func(t *testing.T) {
			for config, want := range map[string]string{
				`{"typicalPods": [{"milliCPU": 1, "count": 1}, {"milliCPU": 1, "gpus": 1, "count": 1}]}`:                                   "typicalPods[1]: gpus and milliGPU must both be 0, or both more",
				`{"typicalPods": [{"milliCPU": 1, "milliGPU": 1, "count": 1}]}`:                                                            "typicalPods[0]: gpus and milliGPU must both be 0, or both more",
				`{"typicalPods": [{"milliCPU": 1, "gpus": 1, "milliGPU": 1, "models": [` + strings.Join(models, ", ") + `], "count": 1}]}`: "typicalPods[0].models[31]: there may be 31 models",
			} {
				_, err := newPlugin(t, e, make(t, e), wasm.Config{Config: []byte(config), Grants: manifest(t, e).Rights()})
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v, want %q", config, err, want)
				}
			}
		})
	}
}

// TestRestFGDFuel: the default limits suffice when a module sees 1,024 nodes of 8 GPUs for the
// first time, each GPU with a different amount left, and there are twice as many kinds of
// typical pods as in the published experiment.
func TestRestFGDFuel(t *testing.T) {
	const kinds, nodes, gpus = 70, 1024, 8
	var typical []string
	for i := range kinds {
		typical = append(typical, fmt.Sprintf(`{"milliCPU": 1000, "gpus": 1, "milliGPU": %d, "count": 1}`, 1+14*i))
	}
	c := cache.New(cache.Config{})
	var rows []uint32
	for i := range uint32(nodes) {
		name := fmt.Sprint("node-", i)
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Annotations: map[string]string{input.GPUCountAnnotation: fmt.Sprint(gpus)}}}
		c.AddNode(state.NewNode(n))
		rows = append(rows, i)
		for k := range gpus {
			p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(name, "-", k), UID: types.UID(fmt.Sprint(name, "-", k)), Annotations: map[string]string{
				input.GPUCountAnnotation: "1", input.GPUMilliAnnotation: fmt.Sprint(10 + 10*k), input.GPUDevicesAnnotation: fmt.Sprint(k),
			}}}
			p.Spec.NodeName = name
			if _, err := c.AddPod(state.NewPod(p)); err != nil {
				t.Fatal(err)
			}
		}
	}
	snapshot := state.NewSnapshot()
	c.UpdateSnapshot(snapshot)
	pod := state.NewPod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p", Annotations: map[string]string{input.GPUCountAnnotation: "1", input.GPUMilliAnnotation: "500"}}})
	e := example(t, "fgd")
	for name, make := range map[string]func(testing.TB, *wasmexamples.Example) sandbox.Factory{"go": module, "c": inC().module} {
		t.Run(name, func(t *testing.T) {
			p, err := newPlugin(t, e, make(t, e), wasm.Config{
				Config: []byte(`{"typicalPods": [` + strings.Join(typical, ",") + `]}`), Shards: 1, Grants: manifest(t, e).Rights(),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close(context.Background())
			for _, again := range []bool{false, true} {
				before, scores := p.Fuel(), [nodes]int64{}
				p.Score(&plugin.Cycle{Context: context.Background(), Snapshot: snapshot, Pod: pod, State: &state.CycleState{}, Seed: 1}, rows, scores[:])
				if p.Faults() > 0 || scores[0] == 0 {
					t.Errorf("%d faults, and a score of %d", p.Faults(), scores[0])
				}
				used := (p.Fuel() - before) / nodes
				if again && used > 500 {
					t.Errorf("%d units of fuel are used for an unchanged node", used)
				}
				t.Logf("%d units of fuel a node; seen before: %v", used, again)
			}
		})
	}
}
