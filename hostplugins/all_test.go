package hostplugins_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/hostplugins"
	"github.com/berth-scheduler/berth/runtime/plugin"
	"github.com/berth-scheduler/berth/runtime/plugin/objects"
	"github.com/berth-scheduler/berth/runtime/state"
)

// binder remembers bindings.
type binder struct {
	got []objects.Binding
	err error
}

func (b *binder) Bind(_ context.Context, binding objects.Binding) error {
	b.got = append(b.got, binding)
	return b.err
}

func TestRegistry(t *testing.T) {
	registry := hostplugins.All(hostplugins.Deps{Binder: &binder{}})
	var enforced state.Feature
	var table strings.Builder
	for _, name := range registry.Names() {
		p, err := registry.New(name, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		info := p.Info()
		if info.Name != name {
			t.Errorf("%s is named %s", name, info.Name)
		}
		enforced |= info.Enforces
		fmt.Fprintf(&table, "%s %v, of scope node: %v\n", name, plugin.Points(p), info.NodeScoped)
	}
	const want = `DefaultBinder [Bind], of scope node: []
DefaultPreemption [PostFilter], of scope node: []
DeferredPodScheduling [PreFilter Filter Permit], of scope node: [Filter]
DynamicResources [PreEnqueue PreFilter Filter PostFilter Score Reserve PreBind], of scope node: []
ImageLocality [Score], of scope node: [Score]
InterPodAffinity [PreFilter Filter PreScore Score], of scope node: []
NodeAffinity [PreFilter Filter PreScore Score], of scope node: [Filter Score]
NodeDeclaredFeatures [PreFilter Filter], of scope node: [Filter]
NodeName [PreFilter Filter], of scope node: [Filter]
NodePorts [PreFilter Filter], of scope node: [Filter]
NodeResourcesBalancedAllocation [PreScore Score], of scope node: [Score]
NodeResourcesFit [PreFilter Filter PreScore Score], of scope node: [Filter Score]
NodeUnschedulable [PreFilter Filter], of scope node: [Filter]
NodeVolumeLimits [PreFilter Filter], of scope node: []
PodTopologySpread [PreFilter Filter PreScore Score], of scope node: []
PrioritySort [QueueSort], of scope node: []
SchedulingGates [PreEnqueue], of scope node: []
TaintToleration [PreFilter Filter PreScore Score], of scope node: [Filter Score]
VolumeBinding [PreFilter Filter PreScore Score Reserve PreBind], of scope node: []
VolumeRestrictions [PreFilter Filter], of scope node: []
VolumeZone [PreFilter Filter], of scope node: []
`
	if got := table.String(); got != want {
		t.Errorf("got\n%s", got)
	}
	all := state.FeatureRequests | state.FeatureNodeAffinity | state.FeatureHostPorts | state.FeatureSchedulingGates |
		state.FeatureVolumeClaims | state.FeatureExclusiveVolumes | state.FeatureDeclaredFeatures |
		state.FeatureTopologySpread | state.FeatureInterPodAffinity | state.FeatureResourceClaims
	if enforced != all {
		t.Errorf("enforced is %v, want %v", enforced, all)
	}
}

func TestArgs(t *testing.T) {
	bad := &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{
		{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "a", Operator: "Like"}}},
	}}}
	ratio := func(points ...configv1.UtilizationShapePoint) *configv1.NodeResourcesFitArgs {
		a := &configv1.NodeResourcesFitArgs{ScoringStrategy: &configv1.ScoringStrategy{Type: configv1.RequestedToCapacityRatio}}
		if points != nil {
			a.ScoringStrategy.RequestedToCapacityRatio = &configv1.RequestedToCapacityRatioParam{Shape: points}
		}
		return a
	}
	for _, test := range []struct {
		name, want string
		args       any
	}{
		{"DefaultBinder", "a Binder is required", nil},
		{"NodeName", "takes no args", 1},
		{"NodeAffinity", "wants args of type *v1.NodeAffinityArgs, got int", 1},
		{"NodeAffinity", "addedAffinity.requiredDuring", &configv1.NodeAffinityArgs{AddedAffinity: bad}},
		{"NodeResourcesFit", `unknown scoring strategy "Best"`, &configv1.NodeResourcesFitArgs{ScoringStrategy: &configv1.ScoringStrategy{Type: "Best"}}},
		{"NodeResourcesFit", "has no shape", ratio()},
		{"NodeResourcesFit", "do not ascend", ratio(configv1.UtilizationShapePoint{Utilization: 5}, configv1.UtilizationShapePoint{Utilization: 5})},
		{"NodeResourcesBalancedAllocation", "which is negative", &configv1.NodeResourcesBalancedAllocationArgs{Resources: []configv1.ResourceSpec{{Name: "cpu", Weight: -1}}}},
		{"DefaultPreemption", "wants args of type *v1.DefaultPreemptionArgs, got int", 1},
		{"DefaultPreemption", "minCandidateNodesPercentage 101 is not in the range 0 to 100", &configv1.DefaultPreemptionArgs{MinCandidateNodesPercentage: new(int32(101))}},
		{"DefaultPreemption", "minCandidateNodesAbsolute -1 is negative", &configv1.DefaultPreemptionArgs{MinCandidateNodesAbsolute: new(int32(-1))}},
		{"VolumeBinding", "wants args of type *v1.VolumeBindingArgs, got int", 1},
		{"VolumeBinding", "bindTimeoutSeconds is -1, which is negative", &configv1.VolumeBindingArgs{BindTimeoutSeconds: new(int64(-1))}},
		{"VolumeBinding", "do not ascend", &configv1.VolumeBindingArgs{Shape: []configv1.UtilizationShapePoint{{Utilization: 5}, {Utilization: 5}}}},
		{"VolumeZone", "takes no args", 1},
		{"DefaultPreemption", "are both 0", &configv1.DefaultPreemptionArgs{MinCandidateNodesPercentage: new(int32(0)), MinCandidateNodesAbsolute: new(int32(0))}},
	} {
		if p, err := hostplugins.All(hostplugins.Deps{}).New(test.name, test.args); err == nil || !strings.Contains(err.Error(), test.want) || p != nil {
			t.Errorf("%s: got %v, %v; want an error with %q", test.name, p, err, test.want)
		}
	}
}

func TestSchedulingGates(t *testing.T) {
	p := new(profile).plugin(t, "SchedulingGates").(plugin.PreEnqueue)
	gated := podText{Name: "gated", Spec: v1.PodSpec{SchedulingGates: []v1.PodSchedulingGate{{Name: "b"}, {Name: "a"}}}}
	pods := []*state.Pod{decoded((&podText{Name: "free"}).object()), decoded(gated.object())}
	out := []*plugin.Status{plugin.NewStatus(abi.Error), nil}
	p.PreEnqueue(pods, out)
	if out[0] != nil || !out[1].Is(abi.UnschedulableAndUnresolvable) || out[1].Message() != "waiting for scheduling gates: [b a]" {
		t.Errorf("got %v, %v", out[0], out[1])
	}
}

func TestPrioritySort(t *testing.T) {
	p := new(profile).plugin(t, "PrioritySort").(plugin.QueueSort)
	pod := func(priority int32, second int) *state.QueuedPod {
		o := (&podText{Name: "p"}).object()
		o.Spec.Priority = &priority
		return &state.QueuedPod{Pod: decoded(o), Timestamp: time.Unix(int64(second), 0)}
	}
	for _, test := range []struct {
		a, b *state.QueuedPod
		want bool
	}{
		{pod(10, 5), pod(1, 1), true},
		{pod(1, 1), pod(10, 5), false},
		{pod(-1, 1), pod(0, 5), false},
		{pod(1, 1), pod(1, 2), true},
		{pod(1, 2), pod(1, 1), false},
		{pod(1, 1), pod(1, 1), false},
	} {
		if got := p.Less(test.a, test.b); got != test.want {
			t.Errorf("priority %d at %v before priority %d at %v: got %v", test.a.Pod.Priority, test.a.Timestamp, test.b.Pod.Priority, test.b.Timestamp, got)
		}
	}
}

func TestDefaultBinder(t *testing.T) {
	b := &binder{}
	made, err := hostplugins.All(hostplugins.Deps{Binder: b}).New("DefaultBinder", nil)
	if err != nil {
		t.Fatal(err)
	}
	placement := &plugin.Placement{
		Context: context.Background(), Pod: decoded((&podText{Name: "p"}).object()), Node: state.NewNode((&nodeText{Name: "n"}).object()),
		Patch: state.Patch{Annotations: map[string]string{"gpu": "0"}},
	}
	if _, status := made.(plugin.Bind).Bind(placement); !status.Success() {
		t.Error(status)
	}
	if len(b.got) != 1 || b.got[0].Pod != placement.Pod || b.got[0].Node != "n" || b.got[0].Patch.Annotations["gpu"] != "0" {
		t.Errorf("got %+v", b.got)
	}
	b.err = errors.New("conflict")
	if _, status := made.(plugin.Bind).Bind(placement); !status.Is(abi.Error) || !errors.Is(status.AsError(), b.err) {
		t.Errorf("got %v", status)
	}
}

// TestHintsWithoutObject requires hints to return Queue and an error when an event lacks its
// object.
func TestHintsWithoutObject(t *testing.T) {
	registry := hostplugins.All(hostplugins.Deps{Binder: &binder{}})
	for _, name := range registry.Names() {
		p, err := registry.New(name, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range p.Info().Events {
			if event.Hint == nil {
				continue
			}
			if hint, err := event.Hint(decoded((&podText{Name: "p"}).object()), state.Object{}); hint != state.Queue || err == nil {
				t.Errorf("%s: %v: got %v, %v", name, event.ClusterEvent, hint, err)
			}
		}
	}
}
