package pernode

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berth-scheduler/berth/abi"
)

// Filter evaluates nodes one at a time.
type Filter interface {
	Name() string
	// Prepare is called once per pod. It returns Skip when Filter need not be called, a
	// rejection, or the names of the only nodes that can fit.
	Prepare(pod *v1.Pod) (names map[string]bool, code abi.Code, reason string)
	Filter(n *Node) (abi.Code, []string)
}

// TaintToleration is the filter of that name.
type TaintToleration struct {
	pod    *v1.Pod
	logger klog.Logger
}

// Name is the name in a profile.
func (*TaintToleration) Name() string { return "TaintToleration" }

// Prepare processes the pod.
func (f *TaintToleration) Prepare(pod *v1.Pod) (map[string]bool, abi.Code, string) {
	f.pod, f.logger = pod, klog.Background()
	return nil, abi.Success, ""
}

// Filter evaluates a node.
func (f *TaintToleration) Filter(n *Node) (abi.Code, []string) {
	keepsAway := func(t *v1.Taint) bool {
		return t.Effect == v1.TaintEffectNoSchedule || t.Effect == v1.TaintEffectNoExecute
	}
	if _, found := corev1helpers.FindMatchingUntoleratedTaint(f.logger, n.Object.Spec.Taints, f.pod.Spec.Tolerations, keepsAway, false); !found {
		return abi.Success, nil
	}
	return abi.UnschedulableAndUnresolvable, []string{"node(s) had untolerated taint(s)"}
}

// NodeAffinity is the filter of that name.
type NodeAffinity struct {
	Added *nodeaffinity.NodeSelector

	required nodeaffinity.RequiredNodeAffinity
}

// Name is the name in a profile.
func (*NodeAffinity) Name() string { return "NodeAffinity" }

// Prepare processes the pod.
func (f *NodeAffinity) Prepare(pod *v1.Pod) (map[string]bool, abi.Code, string) {
	var terms []v1.NodeSelectorTerm
	hasRequired := false
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		terms, hasRequired = a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms, true
	}
	if !hasRequired && f.Added == nil && pod.Spec.NodeSelector == nil {
		return nil, abi.Skip, ""
	}
	f.required = nodeaffinity.GetRequiredNodeAffinity(pod)
	if len(terms) == 0 {
		return nil, abi.Success, ""
	}
	names := map[string]bool{}
	for _, t := range terms {
		var ofTerm map[string]bool
		for _, r := range t.MatchFields {
			if r.Key != "metadata.name" || r.Operator != v1.NodeSelectorOpIn {
				continue
			}
			next := map[string]bool{}
			for _, name := range r.Values {
				next[name] = ofTerm == nil || ofTerm[name]
			}
			ofTerm = next
		}
		if ofTerm == nil {
			return nil, abi.Success, ""
		}
		for name, in := range ofTerm {
			if in {
				names[name] = true
			}
		}
	}
	if len(names) == 0 {
		return nil, abi.UnschedulableAndUnresolvable, "pod affinity terms conflict"
	}
	return names, abi.Success, ""
}

// Filter evaluates a node.
func (f *NodeAffinity) Filter(n *Node) (abi.Code, []string) {
	if f.Added != nil && !f.Added.Match(n.Object) {
		return abi.UnschedulableAndUnresolvable, []string{"node(s) didn't match scheduler-enforced node affinity"}
	}
	if match, err := f.required.Match(n.Object); err != nil || !match {
		return abi.UnschedulableAndUnresolvable, []string{"node(s) didn't match Pod's node affinity/selector"}
	}
	return abi.Success, nil
}

// Fit is the filter NodeResourcesFit.
type Fit struct {
	Args configv1.NodeResourcesFitArgs

	request Amounts
	scalars []v1.ResourceName // sorted, where kube-scheduler has the order of a map
}

// Name is the name in a profile.
func (*Fit) Name() string { return "NodeResourcesFit" }

// Prepare processes the pod.
func (f *Fit) Prepare(pod *v1.Pod) (map[string]bool, abi.Code, string) {
	f.request, f.scalars = amounts(podRequests(pod, nil)), nil
	for name, value := range f.request.Scalars {
		group, _, _ := strings.Cut(string(name), "/")
		extended := strings.Contains(string(name), "/") && !strings.Contains(string(name), "kubernetes.io/")
		if value != 0 && (!extended || !slices.Contains(f.Args.IgnoredResources, string(name)) && !slices.Contains(f.Args.IgnoredResourceGroups, group)) {
			f.scalars = append(f.scalars, name)
		}
	}
	slices.Sort(f.scalars)
	return nil, abi.Success, ""
}

// Filter evaluates a node.
func (f *Fit) Filter(n *Node) (abi.Code, []string) {
	code := abi.Success
	var reasons []string
	lacks := func(reason string, unresolvable bool) {
		reasons = append(reasons, reason)
		if code != abi.UnschedulableAndUnresolvable {
			code = abi.Unschedulable
		}
		if unresolvable {
			code = abi.UnschedulableAndUnresolvable
		}
	}
	if n.Pods+1 > n.AllowedPods {
		lacks("Too many pods", false)
	}
	r, has, used := &f.request, &n.Allocatable, &n.Requested
	if r.MilliCPU > 0 && r.MilliCPU > has.MilliCPU-used.MilliCPU {
		lacks("Insufficient cpu", r.MilliCPU > has.MilliCPU)
	}
	if r.Memory > 0 && r.Memory > has.Memory-used.Memory {
		lacks("Insufficient memory", r.Memory > has.Memory)
	}
	if r.Storage > 0 && r.Storage > has.Storage-used.Storage {
		lacks("Insufficient ephemeral-storage", r.Storage > has.Storage)
	}
	for _, name := range f.scalars {
		if want := r.Scalars[name]; want > has.Scalars[name]-used.Scalars[name] {
			lacks("Insufficient "+string(name), want > has.Scalars[name])
		}
	}
	return code, reasons
}
