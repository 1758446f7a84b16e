package fake

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/internal/scenario"
	"github.com/berth-scheduler/berth/runtime/state"
)

// PodOptions are the options that Pod accepts, as a signature of package scenario: cpu= in
// milli-CPU, started= in seconds, deferred= what the kubelet has allocated of a deferred resize, in milli-CPU. The namespace is ns
// by default.
const PodOptions = "[namespace=NAME] [priority=INT] [cpu=INT] [on=NODE] [nominated=NODE] [profile=NAME] [label=VALUE] [gates=NAME,…] " +
	"[uses=spread|claims] [version=TEXT] [phase=Succeeded|Failed] [deleting=yes] [annotation=KEY:VALUE] [policy=Never] [started=INT] " +
	"[deferred=INT]"

// NodeOptions are the options that Node accepts: cpu= in milli-CPU, default 1000; resize=never: others do not leave for a resize.
const NodeOptions = "[cpu=INT] [label=VALUE] [resize=never]"

// Pod makes a pod from PodOptions; its UID is its name.
func Pod(name string, a scenario.Args) (*state.Pod, error) {
	if err := scenario.Check("[NAME…] "+PodOptions, a); err != nil {
		return nil, err
	}
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID(name), ResourceVersion: a.Options["version"]}}
	p.Spec.SchedulerName = "default"
	for _, key := range a.Keys {
		value := a.Options[key]
		switch key {
		case "namespace":
			p.Namespace = value
		case "priority":
			priority := int32(scenario.Int(value))
			p.Spec.Priority = &priority
		case "cpu":
			p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: milli(value)}}}}
		case "on":
			p.Spec.NodeName = value
		case "nominated":
			p.Status.NominatedNodeName = value
		case "profile":
			p.Spec.SchedulerName = value
		case "label":
			p.Labels = map[string]string{"l": value}
		case "annotation":
			k, v, _ := strings.Cut(value, ":")
			p.Annotations = map[string]string{k: v}
		case "gates":
			for _, g := range strings.Split(value, ",") {
				p.Spec.SchedulingGates = append(p.Spec.SchedulingGates, v1.PodSchedulingGate{Name: g})
			}
		case "uses":
			switch value {
			case "spread":
				p.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{}}
			case "claims":
				p.Spec.ResourceClaims = []v1.PodResourceClaim{{}}
			}
		case "phase":
			p.Status.Phase = v1.PodPhase(value)
		case "deleting":
			p.DeletionTimestamp = &metav1.Time{}
		case "policy":
			policy := v1.PreemptionPolicy(value)
			p.Spec.PreemptionPolicy = &policy
		case "deferred":
			p.Status.Conditions = []v1.PodCondition{{Type: v1.PodResizePending, Status: v1.ConditionTrue, Reason: v1.PodReasonDeferred}}
			p.Status.ContainerStatuses = []v1.ContainerStatus{{AllocatedResources: v1.ResourceList{v1.ResourceCPU: milli(value)}}}
		case "started":
			p.Status.StartTime = &metav1.Time{Time: time.Unix(int64(scenario.Int(value)), 0)}
		}
	}
	return state.NewPod(p), nil
}

func milli(value string) resource.Quantity {
	return *resource.NewMilliQuantity(int64(scenario.Int(value)), resource.DecimalSI)
}

// Node makes a node from NodeOptions.
func Node(name string, a scenario.Args) (*state.Node, error) {
	if err := scenario.Check("[NAME…] "+NodeOptions, a); err != nil {
		return nil, err
	}
	q := milli("1000")
	if a.Has("cpu") {
		q = milli(a.Options["cpu"])
	}
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: q, v1.ResourcePods: resource.MustParse("110")}
	if a.Has("label") {
		n.Labels = map[string]string{"l": a.Options["label"]}
	}
	if a.Has("resize") {
		n.Spec.PodPreemptionPolicy = &v1.NodePodPreemptionPolicy{DisableResizePreemption: []string{a.Options["resize"]}}
	}
	return state.NewNode(n), nil
}

// Namespace makes a namespace. The option is label=VALUE.
func Namespace(name string, a scenario.Args) *state.Namespace {
	n := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if a.Has("label") {
		n.Labels = map[string]string{"l": a.Options["label"]}
	}
	return state.NewNamespace(n)
}

// Allowed returns the feature in the option allow=FEATURE; may be empty.
func Allowed(a scenario.Args) (state.Feature, error) {
	f, ok := state.ParseFeature(a.Options["allow"])
	if !ok && a.Has("allow") {
		return 0, fmt.Errorf("unknown feature %q", a.Options["allow"])
	}
	return f, nil
}
