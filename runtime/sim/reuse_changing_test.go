package sim_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"pgregory.net/rapid"

	"github.com/berth-scheduler/berth/internal/seeded"
	"github.com/berth-scheduler/berth/runtime/assembly"
	"github.com/berth-scheduler/berth/runtime/equivalence"
	"github.com/berth-scheduler/berth/runtime/inbox"
	"github.com/berth-scheduler/berth/runtime/report"
	"github.com/berth-scheduler/berth/runtime/sim"
	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/state"
)

// changing draws pods of few kinds, and a cluster that changes between them.
type changing struct{ *rapid.T }

func (d changing) n(label string, most int) int { return rapid.IntRange(0, most).Draw(d.T, label) }

func (d changing) one(label string, of ...string) string {
	return rapid.SampledFrom(of).Draw(d.T, label)
}

// amount is small as a rule, and as large as there are now and then.
func (d changing) amount(label string, most int) resource.Quantity {
	if d.n("large", 30) == 0 {
		return *resource.NewQuantity(rapid.SampledFrom([]int64{math.MaxInt64, math.MaxInt64 / 1000, math.MaxInt64/100 + 1, 1 << 62}).Draw(d.T, label), resource.DecimalSI)
	}
	return *resource.NewQuantity(int64(d.n(label, most)), resource.DecimalSI)
}

const gpu = "example.com/gpu"

func (d changing) node(i int) *v1.Node {
	name := fmt.Sprintf("n-%d", i)
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name, "zone": d.one("zone", "a", "b", "c")}}}
	n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: d.amount("cpu", 40), v1.ResourceMemory: d.amount("memory", 1<<30), v1.ResourcePods: *resource.NewQuantity(int64(d.n("pods", 40)), resource.DecimalSI)}
	if d.n("has gpu", 3) == 0 {
		n.Status.Allocatable[gpu] = d.amount("gpu", 6)
	}
	n.Spec.Unschedulable = d.n("cordoned", 9) == 0
	if d.n("tainted", 3) == 0 {
		n.Spec.Taints = []v1.Taint{{Key: d.one("taint", "a", "b"), Value: "x", Effect: rapid.SampledFrom([]v1.TaintEffect{v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule}).Draw(d.T, "effect")}}
	}
	for _, image := range []string{"one:1", "two:1"} {
		if d.n("has image", 2) == 0 {
			n.Status.Images = append(n.Status.Images, v1.ContainerImage{Names: []string{image}, SizeBytes: int64(d.n("size", 1<<30))})
		}
	}
	return n
}

func (d changing) pod() *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: d.one("namespace", "ns", "other"), Labels: map[string]string{"app": d.one("app", "a", "b")}}}
	p.Spec.SchedulerName = v1.DefaultSchedulerName
	priority := int32(d.n("priority", 2))
	p.Spec.Priority = &priority
	for i := range 1 + d.n("containers", 1) {
		c := v1.Container{Name: fmt.Sprint("c", i), Image: d.one("image", "one:1", "two:1", "three:1")}
		c.Resources.Requests = v1.ResourceList{}
		if d.n("asks for cpu", 4) > 0 {
			c.Resources.Requests[v1.ResourceCPU] = d.amount("cpu", 6)
		}
		if d.n("asks for memory", 2) > 0 {
			c.Resources.Requests[v1.ResourceMemory] = d.amount("memory", 1<<28)
		}
		if d.n("asks for gpu", 2) == 0 {
			c.Resources.Requests[gpu] = *resource.NewQuantity(int64(d.n("gpu", 2)), resource.DecimalSI)
			c.Resources.Limits = v1.ResourceList{gpu: c.Resources.Requests[gpu]}
		}
		if d.n("port", 5) == 0 {
			c.Ports = []v1.ContainerPort{{HostPort: 80, Protocol: v1.ProtocolTCP, HostIP: d.one("ip", "", "10.0.0.1")}}
		}
		p.Spec.Containers = append(p.Spec.Containers, c)
	}
	terms := func() []v1.PodAffinityTerm {
		return []v1.PodAffinityTerm{{
			TopologyKey: d.one("topology", "zone", v1.LabelHostname), LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": d.one("selects", "a", "b")}},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": d.one("team", "x", "y")}},
		}}
	}
	switch d.n("where", 14) {
	case 0:
		p.Spec.NodeSelector = map[string]string{"zone": "a"}
	case 1:
		p.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{
			Weight: 5, Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "zone", Operator: v1.NodeSelectorOpIn, Values: []string{"a", "b"}}}}}}}}
	case 2:
		p.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms()}}
	case 3:
		p.Spec.Affinity = &v1.Affinity{PodAffinity: &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 7, PodAffinityTerm: terms()[0]}}}}
	case 4:
		p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels}}}
	case 5, 6:
		name := "gpu"
		p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "g", ResourceClaimTemplateName: &name}}
		p.Spec.Containers[0].Resources.Claims = []v1.ResourceClaim{{Name: "g"}}
	case 7:
		p.Spec.Volumes = []v1.Volume{{Name: "i", VolumeSource: v1.VolumeSource{Image: &v1.ImageVolumeSource{Reference: "two:1"}}}}
	}
	if key := d.one("tolerates", "", "a", "b"); key != "" {
		p.Spec.Tolerations = []v1.Toleration{{Key: key, Operator: v1.TolerationOpExists}}
	}
	return p
}

func (d changing) class() *resourcev1.DeviceClass {
	c := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}}
	if d.n("provides", 3) > 0 {
		name := gpu
		c.Spec.ExtendedResourceName = &name
	}
	return c
}

func (d changing) slice(i, generation int) *resourcev1.ResourceSlice {
	name := fmt.Sprintf("n-%d", i)
	s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name}}
	s.Spec = resourcev1.ResourceSliceSpec{Driver: "driver", NodeName: &name, Pool: resourcev1.ResourcePool{Name: name, Generation: int64(generation), ResourceSliceCount: 1}}
	for j := range d.n("devices", 4) {
		s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{Name: fmt.Sprint("d", j)})
	}
	return s
}

func (d changing) namespace() *v1.Namespace {
	return &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: d.one("name", "ns", "other"), Labels: map[string]string{"team": d.one("team", "x", "y")}}}
}

func (d changing) cluster() (c sim.Config) {
	nodes := 1 + d.n("nodes", 9)
	for i := range nodes {
		c.Nodes = append(c.Nodes, d.node(i))
		if d.n("has devices", 2) == 0 {
			c.Storage = append(c.Storage, d.slice(i, 1))
		}
	}
	c.Storage = append(c.Storage, d.class(), &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "gpu"}, Spec: resourcev1.ResourceClaimTemplateSpec{Spec: resourcev1.ResourceClaimSpec{
		Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1}}}},
	}}})
	var kinds []*v1.Pod
	for range 1 + d.n("kinds", 4) {
		kinds = append(kinds, d.pod())
	}
	now := time.Duration(0)
	for i := range 10 + d.n("more", 80) {
		now += time.Duration(rapid.SampledFrom([]int{0, 0, 1, 1, 20, 400}).Draw(d.T, "gap")) * time.Second
		p := kinds[d.n("kind", len(kinds)-1)].DeepCopy()
		p.Name = fmt.Sprintf("p-%d", i)
		p.UID = types.UID(p.Name)
		a := input.Arrival{Pod: p, At: now}
		if d.n("leaves", 2) == 0 {
			a.Until = now + time.Duration(1+d.n("stay", 60))*time.Second
		}
		c.Arrivals = append(c.Arrivals, a)
		var e inbox.Event
		switch at := d.n("of", nodes-1); d.n("change", 19) {
		case 0, 1, 2:
			e = &inbox.Node{Node: state.NewNode(d.node(at))}
		case 3:
			e = &inbox.NodeGone{Name: fmt.Sprintf("n-%d", at)}
		case 4:
			e = &inbox.Namespace{Namespace: state.NewNamespace(d.namespace())}
		case 5:
			e = &inbox.Object{Object: d.slice(at, 2+i)}
		case 6:
			e = &inbox.Object{Object: d.class()}
		default:
			continue
		}
		c.Changes = append(c.Changes, sim.Change{At: now, Event: e})
	}
	return c
}

// TestReuseChanging: attempts are the same with kept answers as without, whatever changes in the cluster between pods
// of few kinds.
func TestReuseChanging(t *testing.T) {
	reused := int64(0)
	seeded.Check(t, func(r *rapid.T) {
		d := changing{r}
		c := d.cluster()
		scheduler := assembly.Default()
		args := scheduler.Profiles[0].Args
		set := func(plugin string, typed runtime.Object) {
			own := args[plugin]
			own.Typed = typed
			args[plugin] = own
		}
		resources := []configv1.ResourceSpec{{Name: "cpu", Weight: 1}, {Name: "memory", Weight: 2}, {Name: gpu, Weight: 3}}
		strategy := configv1.ScoringStrategyType(d.one("strategy", string(configv1.LeastAllocated), string(configv1.MostAllocated)))
		set("NodeResourcesFit", &configv1.NodeResourcesFitArgs{ScoringStrategy: &configv1.ScoringStrategy{Type: strategy, Resources: resources}})
		set("NodeResourcesBalancedAllocation", &configv1.NodeResourcesBalancedAllocationArgs{Resources: resources})
		c.Assembly = assembly.Config{Seed: rapid.Uint64().Draw(r, "seed"), Workers: 1 + d.n("workers", 1), Scheduler: scheduler, Candidates: 4}
		run := func(kept equivalence.Config) (out []string) {
			c := c
			c.Assembly.Reuse = kept
			c.Attempted = func(a *report.Attempt, name func(uint32) string) {
				a = a.Clone(name)
				for _, x := range a.Timings {
					reused += x.Reused
				}
				a.Timings, a.Points, a.Duration = nil, nil, 0
				out = append(out, fmt.Sprintf("%+v", *a))
			}
			s, err := sim.New(c)
			if err != nil {
				r.Fatal(err)
			}
			if _, err := s.Run(t.Context()); err != nil {
				r.Fatal(err)
			}
			return out
		}
		want := run(equivalence.Config{})
		for _, bytes := range []int64{1 << 13, 1 << 30} {
			if diff := cmp.Diff(want, run(equivalence.Config{Bytes: bytes})); diff != "" {
				r.Fatalf("with %d bytes of answers kept (-without +with):\n%s", bytes, diff)
			}
		}
	})
	if reused == 0 {
		t.Error("no answer was reused")
	}
}
