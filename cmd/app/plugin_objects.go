package app

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/berth-scheduler/berth/abi"
	"github.com/berth-scheduler/berth/abi/sdk/go/berthtest"
	"github.com/berth-scheduler/berth/abi/wire"
	"github.com/berth-scheduler/berth/runtime/sim/input"
	"github.com/berth-scheduler/berth/runtime/state"
	"github.com/berth-scheduler/berth/runtime/wasm/encoding"
)

// wholeObjects reads the files that fields object of a scenario name. It implements berthtest.Objects.
type wholeObjects struct {
	context  context.Context
	scenario string // the file, which others are named from
	note     func(text string)
	noted    []string
}

// read returns what a file contains.
func (w *wholeObjects) read(file string) (*input.Objects, error) {
	if !filepath.IsAbs(file) {
		file = filepath.Join(filepath.Dir(w.scenario), file)
	}
	read, err := input.LoadCluster(w.context, []string{file}, false)
	if err != nil {
		return nil, err
	}
	for _, warning := range read.Warnings {
		if warning.Path == "spec.nodeName" {
			continue // the scenario has the nodes
		}
		if text := warning.String(); !slices.Contains(w.noted, text) {
			w.noted = append(w.noted, text)
			w.note(text)
		}
	}
	return read, nil
}

// Node implements berthtest.Objects.
func (w *wholeObjects) Node(file string, n *berthtest.Node) error {
	read, err := w.read(file)
	if err != nil {
		return err
	}
	if len(read.Nodes) != 1 || len(read.Pods) != 0 {
		return fmt.Errorf("%s has %s and %s: want one node", file, count(len(read.Nodes), "node"), count(len(read.Pods), "pod"))
	}
	object := read.Nodes[0]
	object.Name, object.ManagedFields = n.Name, nil
	node := state.NewNode(object)
	n.Labels, n.Annotations, n.Unschedulable = object.Labels, object.Annotations, object.Spec.Unschedulable
	n.Allocatable, n.Capacity, n.CreatedAt = amountsOf(object.Status.Allocatable), amountsOf(object.Status.Capacity), node.CreatedAt()
	n.Taints, n.Conditions, n.Images = nil, map[string]string{}, map[string]int64{}
	for _, t := range object.Spec.Taints {
		n.Taints = append(n.Taints, berthtest.Taint{Key: t.Key, Value: t.Value, Effect: string(t.Effect)})
	}
	for _, c := range object.Status.Conditions {
		n.Conditions[string(c.Type)] = string(c.Status)
	}
	for _, image := range object.Status.Images {
		for _, name := range image.Names {
			n.Images[name] = image.SizeBytes
		}
	}
	n.Object = encoding.New().Node(object).Data
	return nil
}

// Pod implements berthtest.Objects.
func (w *wholeObjects) Pod(file string, p *berthtest.Pod) error {
	read, err := w.read(file)
	if err != nil {
		return err
	}
	if len(read.Pods) != 1 || len(read.Nodes) != 0 {
		return fmt.Errorf("%s has %s and %s: want one pod, which has not ended",
			file, count(len(read.Pods), "pod"), count(len(read.Nodes), "node"))
	}
	object := read.Pods[0]
	object.Namespace, object.Name, object.ManagedFields = p.Namespace, p.Name, nil
	if object.Spec.NodeName = p.NodeName; p.NodeName == "" { // one to be placed
		object.Status = v1.PodStatus{QOSClass: object.Status.QOSClass}
	}
	object.UID = types.UID(cmp.Or(p.UID, string(object.UID), p.Namespace+"/"+p.Name))
	pod := state.NewPod(object)
	p.UID, p.Labels, p.Annotations, p.Priority = string(object.UID), object.Labels, object.Annotations, pod.Priority
	p.Requests, p.NonZero, p.Limits = amountsIn(&pod.Requests), [2]int64{pod.NonZeroCPU, pod.NonZeroMemory}, map[string]int64{}
	delete(p.Requests, string(v1.ResourcePods)) // every pod has one
	for _, name := range pod.Limited() {
		p.Limits[name] = pod.Limit(v1.ResourceName(name))
	}
	if p.QOS = string(pod.QOS()); p.QOS == string(v1.PodQOSBestEffort) {
		p.QOS = ""
	}
	p.CreatedAt, p.AssignedAt, p.Terminating = pod.CreatedAt(), pod.AssignedAt, object.DeletionTimestamp != nil
	p.Running, p.Ready = pod.State()&abi.PodRunning != 0, pod.State()&abi.PodReady != 0
	for i := range object.OwnerReferences {
		if r := &object.OwnerReferences[i]; r.Controller != nil && *r.Controller {
			p.Owner = r.Kind + "/" + r.Name
		}
	}
	p.NodeSelector, p.Images, p.Claims = object.Spec.NodeSelector, pod.Images, pod.Claims()
	p.PriorityClass, p.ServiceAccount, p.Group = object.Spec.PriorityClassName, object.Spec.ServiceAccountName, pod.Group()
	p.PreemptionPolicy = string(pod.PreemptionPolicy())
	for _, gate := range object.Spec.SchedulingGates {
		p.SchedulingGates = append(p.SchedulingGates, gate.Name)
	}
	for _, port := range pod.HostPorts {
		protocol := [...]string{wire.TCP: "TCP", wire.UDP: "UDP", wire.SCTP: "SCTP"}[port.Protocol]
		p.HostPorts = append(p.HostPorts, berthtest.Port{IP: port.IP, Port: port.Port, Protocol: protocol})
	}
	for _, t := range object.Spec.Tolerations {
		p.Tolerations = append(p.Tolerations, berthtest.Toleration{
			Key: t.Key, Operator: string(t.Operator), Value: t.Value, Effect: string(t.Effect), Seconds: t.TolerationSeconds,
		})
	}
	for _, c := range pod.Containers() {
		p.Containers = append(p.Containers, containerOf(&c))
	}
	if a := object.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		affinityOf(p, a.NodeAffinity)
	}
	p.Object = encoding.New().Pod(object).Data
	return nil
}

func containerOf(c *state.Container) berthtest.Container {
	kind := "app"
	switch {
	case c.Sidecar:
		kind = "sidecar"
	case c.Init:
		kind = "init"
	}
	return berthtest.Container{
		Name: c.Name, Kind: kind, Image: c.Image, Requests: amountsOf(c.Resources.Requests), Limits: amountsOf(c.Resources.Limits),
	}
}

// affinityOf sets the terms of a pod's node affinity; those about fields are only in the whole object.
func affinityOf(p *berthtest.Pod, a *v1.NodeAffinity) {
	of := func(term v1.NodeSelectorTerm) (out []berthtest.Requirement) {
		for _, e := range term.MatchExpressions {
			out = append(out, berthtest.Requirement{Key: e.Key, Operator: string(e.Operator), Values: e.Values})
		}
		return out
	}
	if required := a.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		p.Required = [][]berthtest.Requirement{}
		for _, term := range required.NodeSelectorTerms {
			p.Required = append(p.Required, of(term))
		}
	}
	for _, t := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		p.Preferred = append(p.Preferred, berthtest.Preferred{Weight: t.Weight, Requirements: of(t.Preference)})
	}
}

// amountsOf is the opposite of apiResources.
func amountsOf(list v1.ResourceList) map[string]int64 {
	r := state.NewResources(list)
	return amountsIn(&r)
}

func amountsIn(r *state.Resources) map[string]int64 {
	all := map[string]int64{}
	set := func(name v1.ResourceName, n int64) {
		if n != 0 {
			all[string(name)] = n
		}
	}
	set(v1.ResourceCPU, r.MilliCPU)
	set(v1.ResourceMemory, r.Memory)
	set(v1.ResourceEphemeralStorage, r.EphemeralStorage)
	set(v1.ResourcePods, r.Pods)
	for _, s := range r.Scalars {
		set(s.Name, s.Value)
	}
	return all
}
