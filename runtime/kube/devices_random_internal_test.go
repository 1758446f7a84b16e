package kube

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins/dynamicresources"
	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/internal/testrest"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/state"
)

// devicePod is a pod with a claim, or for whose extended resource one is made.
type devicePod struct {
	pod     *state.Pod
	claim   string // empty for an extended resource
	binding bool
	bound   bool
}

// deviceWorld is a scheduler of pods with devices, and those around it.
type deviceWorld struct {
	*claimServer
	loop     sync.Mutex // what the scheduler's loop does, it does with it
	cluster  *Cluster
	plugin   *dynamicresources.DynamicResources
	snapshot *state.Snapshot
	rows     []uint32
	pods     []*devicePod
	made     int
	bindings int
}

// worldLoop is what requests tell the loop.
type worldLoop struct {
	Scheduler
	*deviceWorld
}

func (l worldLoop) Written(claim *resourcev1.ResourceClaim) {
	l.loop.Lock()
	defer l.loop.Unlock()
	l.cluster.Written(claim)
}

func (worldLoop) Activate(...types.UID) {}

const (
	randomNodes   = 3
	randomDevices = 3
	randomPods    = 8 // fewer than devices
)

type searchAll struct{}

func (searchAll) Within(ctx context.Context, _ string, _ time.Duration, search func(context.Context) error) error {
	return search(ctx)
}

func newDeviceWorld(t *testing.T, seed uint64) *deviceWorld {
	w := &deviceWorld{
		claimServer: &claimServer{
			t: t, dice: rand.New(rand.NewPCG(seed, 23)),
			claims: make(map[string]*resourcev1.ResourceClaim), holders: make(map[string]string), named: make(map[string]string),
		},
		snapshot: &state.Snapshot{},
	}
	var err error
	if w.cluster, err = New(Config{Profiles: []string{"default-scheduler"}}, Deps{Client: w.client()}); err != nil {
		t.Fatal(err)
	}
	w.cluster.claims.start(worldLoop{deviceWorld: w})
	w.watch = func(claim *resourcev1.ResourceClaim, gone bool) {
		w.loop.Lock()
		defer w.loop.Unlock()
		w.cluster.Change(claim, gone)
	}
	w.cluster.Change(&resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu", ResourceVersion: "1"}, Spec: resourcev1.DeviceClassSpec{ExtendedResourceName: ptr.To("example.com/gpu")},
	}, false)
	for i := range randomNodes {
		w.snapshot.Nodes.Node = append(w.snapshot.Nodes.Node, state.NewNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", i)}}))
		w.rows = append(w.rows, uint32(i))
		w.publish(i)
	}
	devices := w.cluster.stores.Storage.Devices()
	w.plugin, err = dynamicresources.New(nil, dynamicresources.Deps{
		Devices: devices, Ledger: dynamicresources.NewLedger(devices), Writer: w.cluster.claims, Waiter: w.cluster.waiters,
		Search: searchAll{}, Now: time.Now, Wall: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	for range randomPods {
		w.add()
	}
	return w
}

// publish tells of a node's devices, in some order.
func (w *deviceWorld) publish(i int) {
	node := fmt.Sprintf("n%d", i)
	w.made++
	s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node, ResourceVersion: strconv.Itoa(w.made)}, Spec: resourcev1.ResourceSliceSpec{
		Driver: "gpu.example.com", NodeName: &node, Pool: resourcev1.ResourcePool{Name: node, Generation: int64(w.made), ResourceSliceCount: 1},
	}}
	w.mu.Lock()
	order := w.dice.Perm(randomDevices)
	w.mu.Unlock()
	for _, j := range order {
		s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{Name: strconv.Itoa(j)})
	}
	w.cluster.Change(s, false)
}

// add makes a pod, and a claim for it.
func (w *deviceWorld) add() {
	w.made++
	name := fmt.Sprintf("p%d", w.made)
	p := &devicePod{}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c"}}}}
	w.mu.Lock()
	extended, other := w.chance(40), w.dice.IntN(randomPods)
	w.mu.Unlock()
	switch {
	case extended:
		pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{"example.com/gpu": resource.MustParse("1")}
	case len(w.pods) > other && w.pods[other].claim != "" && other%3 == 0: // it shares a claim
		p.claim = w.pods[other].claim
	default:
		p.claim = fmt.Sprintf("c%d", other) // a name that was used before
		w.mu.Lock()
		taken := w.claims[p.claim] != nil
		w.mu.Unlock()
		if taken {
			p.claim = "c-" + name
		}
		claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: p.claim, UID: types.UID("uid-" + name)}}
		claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{
			DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1,
		}}}
		w.create(claim)
	}
	if p.claim != "" {
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "c", ResourceClaimName: &p.claim}}
	}
	p.pod = state.NewPod(pod)
	w.pods = append(w.pods, p)
}

// try tries to place a pod.
func (w *deviceWorld) try(p *devicePod) {
	w.loop.Lock()
	defer w.loop.Unlock()
	if p.binding || p.bound {
		return
	}
	w.mu.Lock()
	seed, interrupted := w.dice.Uint64(), !w.calm && w.chance(10)
	after := time.Duration(w.dice.IntN(60)) * time.Second
	w.mu.Unlock()
	ctx, stop := context.WithCancel(w.t.Context())
	out := make([]*plugin.Status, 1)
	if w.plugin.PreEnqueue([]*state.Pod{p.pod}, out); out[0] != nil {
		stop()
		return
	}
	c := &plugin.Cycle{Context: ctx, Snapshot: w.snapshot, Pod: p.pod, State: &state.CycleState{}, Seed: seed}
	if _, status := w.plugin.PreFilter(c); !status.Success() {
		stop()
		return
	}
	var verdicts plugin.Verdicts
	verdicts.Reset(len(w.rows))
	w.plugin.Filter(c, w.rows, &verdicts)
	var fit []int
	for i, code := range verdicts.Codes {
		if code == abi.Success {
			fit = append(fit, i)
		}
	}
	if len(fit) == 0 {
		w.plugin.PostFilter(c, &plugin.Diagnosis{Codes: verdicts.Codes})
		stop()
		return
	}
	node := w.snapshot.Nodes.Node[fit[int(seed%uint64(len(fit)))]]
	pl := &plugin.Placement{Context: w.t.Context(), Pod: p.pod.On(node.Name, state.Patch{}), Node: node, Seed: seed, State: c.State}
	if _, status := w.plugin.Reserve(pl); !status.Success() {
		w.t.Errorf("Reserve: %v", status)
	}
	p.binding, pl.Context = true, ctx
	if interrupted {
		time.AfterFunc(after, stop)
	}
	go func() {
		defer stop()
		_, status := w.plugin.PreBind(pl)
		w.loop.Lock()
		defer w.loop.Unlock()
		if !status.Success() {
			w.plugin.Unreserve(pl)
		}
		for _, ended := range pl.Ended {
			ended()
		}
		p.binding, p.bound = false, status.Success()
		if p.bound {
			w.bindings++
		}
	}()
}

// end ends a bound pod. A controller takes it out of its claim, and frees a claim without pods.
func (w *deviceWorld) end(p *devicePod) {
	w.pods = slices.DeleteFunc(w.pods, func(x *devicePod) bool { return x == p })
	if p.claim == "" {
		for _, name := range w.madeFor(p) {
			w.remove(name)
		}
		return
	}
	w.change(p.claim, func(c *resourcev1.ResourceClaim) {
		c.Status.ReservedFor = slices.DeleteFunc(c.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == p.pod.UID })
		if len(c.Status.ReservedFor) == 0 {
			c.Status.Allocation, c.Finalizers = nil, nil
		}
	})
	if !slices.ContainsFunc(w.pods, func(x *devicePod) bool { return x.claim == p.claim }) {
		w.remove(p.claim)
	}
}

func (w *deviceWorld) madeFor(p *devicePod) (names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, claim := range w.claims {
		if owner := metav1.GetControllerOf(claim); owner != nil && owner.UID == p.pod.UID {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// TestDevicesAtRandom: whatever gets lost, is late or changes, no device is ever two claims', a bound pod has its device
// reserved, and once the server is calm, all pods get devices.
func TestDevicesAtRandom(t *testing.T)     { devicesAtRandom(t) }
func TestRestDevicesAtRandom(t *testing.T) { devicesAtRandom(t) }

func devicesAtRandom(t *testing.T) {
	t.Helper()
	runs, faults, bindings := 150, 0, 0
	if !testrest.In(t) {
		runs = 20
	}
	first := seeded.Rand(t).Uint64()
	for i := range uint64(runs) {
		seed := first + i
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newDeviceWorld(t, seed)
				defer w.cluster.Close(t.Context())
				for range 300 {
					w.step()
				}
				w.mu.Lock()
				w.calm = true
				w.mu.Unlock()
				for range 200 {
					time.Sleep(2 * time.Second)
					for _, p := range w.pods {
						w.try(p)
					}
				}
				synctest.Wait()
				w.check()
				faults += w.faults
				bindings += w.bindings
			})
		})
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	t.Logf("%d faults, %d bindings", faults, bindings)
}

func (w *deviceWorld) step() {
	w.mu.Lock()
	pause, what, i := time.Duration(w.dice.IntN(1500))*time.Millisecond, w.dice.IntN(20), w.dice.IntN(1000)
	w.mu.Unlock()
	time.Sleep(pause)
	p := w.pods[i%len(w.pods)]
	switch {
	case what == 0:
		w.loop.Lock()
		w.publish(i % randomNodes)
		w.loop.Unlock()
	case what == 1: // a driver says something
		w.change(p.claim, func(c *resourcev1.ResourceClaim) { c.Labels = map[string]string{"said": strconv.Itoa(i)} })
	case what < 5:
		w.loop.Lock()
		bound := p.bound
		w.loop.Unlock()
		if bound {
			w.end(p)
			w.add()
		}
	default:
		w.try(p)
	}
}

func (w *deviceWorld) check() {
	w.loop.Lock()
	defer w.loop.Unlock()
	for _, p := range w.pods {
		if !p.bound {
			w.t.Errorf("%s with claim %q has no device; binding: %v", p.pod.Name, p.claim, p.binding)
			continue
		}
		name := p.claim
		if name == "" {
			// One that was created late, for an earlier try, has no devices.
			all := w.madeFor(p)
			w.mu.Lock()
			names := slices.DeleteFunc(all, func(name string) bool { return w.claims[name].Status.Allocation == nil })
			w.mu.Unlock()
			if len(names) != 1 {
				w.t.Errorf("%s has devices of the claims %v", p.pod.Name, names)
				continue
			}
			if name = names[0]; w.named[p.pod.Name] != name {
				w.t.Errorf("%s has the claim %s, and its status names %q", p.pod.Name, name, w.named[p.pod.Name])
			}
		}
		w.mu.Lock()
		claim := w.claims[name]
		w.mu.Unlock()
		if claim == nil || claim.Status.Allocation == nil || !slices.ContainsFunc(claim.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return r.UID == p.pod.UID }) {
			w.t.Errorf("%s is bound, and its claim %s is %+v", p.pod.Name, name, claim)
		}
	}
}
