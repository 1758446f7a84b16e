package fake

import (
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/runtime/state"
)

// Pod makes a pod whose UID is its name. The options are
//
//	priority=N cpu=MILLI on=NODE nominated=NODE profile=NAME label=VALUE
//	gates=NAME,… uses=spread|claims version=TEXT phase=Succeeded deleting=yes
//	annotation=KEY:VALUE policy=Never started=SECONDS
func Pod(name string, a Args) (*state.Pod, error) {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID(name), ResourceVersion: a.Options["version"]}}
	p.Spec.SchedulerName = "default"
	for _, key := range a.Keys {
		value := a.Options[key]
		switch key {
		case "priority":
			n, err := strconv.ParseInt(value, 10, 32)
			if err != nil {
				return nil, err
			}
			priority := int32(n)
			p.Spec.Priority = &priority
		case "cpu":
			q, err := resource.ParseQuantity(value + "m")
			if err != nil {
				return nil, err
			}
			p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: q}}}}
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
		case "started":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return nil, err
			}
			p.Status.StartTime = &metav1.Time{Time: time.Unix(n, 0)}
		}
	}
	return state.NewPod(p), nil
}

// Node makes a node. The options are cpu=MILLI (1000) label=VALUE.
func Node(name string, a Args) (*state.Node, error) {
	cpu := "1000"
	if a.Has("cpu") {
		cpu = a.Options["cpu"]
	}
	q, err := resource.ParseQuantity(cpu + "m")
	if err != nil {
		return nil, err
	}
	n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: q, v1.ResourcePods: resource.MustParse("110")}
	if a.Has("label") {
		n.Labels = map[string]string{"l": a.Options["label"]}
	}
	return state.NewNode(n), nil
}

// Namespace makes a namespace. The option is label=VALUE.
func Namespace(name string, a Args) *state.Namespace {
	n := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if a.Has("label") {
		n.Labels = map[string]string{"l": a.Options["label"]}
	}
	return state.NewNamespace(n)
}
