package main

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	poolLabel = "berth.dev/pool"
	region    = "north-1"
	gpu       = v1.ResourceName("nvidia.com/gpu")
	gpuTaint  = "nvidia.com/gpu"
	spotTaint = "berth.dev/spot"

	// cordoned is the one node that takes no new pods.
	cordoned = "general-b-4"
)

// pool is a kind of node, of which every zone has perZone.
type pool struct {
	name     string
	remark   string
	perZone  int
	instance string
	capacity v1.ResourceList
	reserved v1.ResourceList // what the node keeps for itself: capacity − allocatable
	taint    *v1.Taint
	images   []v1.ContainerImage
}

// zones lists the zone letters, in the order the nodes are written.
func zones() []string { return []string{"a", "b", "c"} }

// pools lists the demo's kinds of nodes: 12 nodes a zone.
func pools() []pool {
	reserved := quantities("cpu", "150m", "memory", "1536Mi", "ephemeral-storage", "8Gi")
	large := quantities("cpu", "250m", "memory", "4Gi", "ephemeral-storage", "8Gi")
	return []pool{
		{
			name: "general", perZone: 6, instance: "std-16",
			remark:   "general: 16 cpu, 64 Gi; the last two of zone c are arm64",
			capacity: quantities("cpu", "16", "memory", "64Gi", "pods", "110", "ephemeral-storage", "200Gi"),
			reserved: reserved,
			images:   []v1.ContainerImage{image("search/frontend", 180), image("ads/bidder", 420)},
		},
		{
			name: "highmem", perZone: 2, instance: "mem-32",
			remark:   "highmem: 32 cpu, 256 Gi; holds the search index images",
			capacity: quantities("cpu", "32", "memory", "256Gi", "pods", "110", "ephemeral-storage", "400Gi"),
			reserved: large,
			images:   []v1.ContainerImage{image("search/index", 950)},
		},
		{
			name: "gpu", perZone: 2, instance: "gpu-48x8",
			remark:   "gpu: 48 cpu, 384 Gi, 8 GPUs; tainted, so that only who asks for a GPU comes here",
			capacity: quantities("cpu", "48", "memory", "384Gi", "pods", "110", "ephemeral-storage", "800Gi", string(gpu), "8"),
			reserved: large,
			taint:    &v1.Taint{Key: gpuTaint, Value: "present", Effect: v1.TaintEffectNoSchedule},
			images:   []v1.ContainerImage{image("ml/inference", 6200), image("ml/train", 9400)},
		},
		{
			name: "spot", perZone: 2, instance: "std-16-spot",
			remark:   "spot: cheap, may vanish; tainted, so that only who tolerates that comes here",
			capacity: quantities("cpu", "16", "memory", "64Gi", "pods", "110", "ephemeral-storage", "200Gi"),
			reserved: reserved,
			taint:    &v1.Taint{Key: spotTaint, Value: "true", Effect: v1.TaintEffectNoSchedule},
		},
	}
}

func nodes() []document {
	var docs []document
	for _, p := range pools() {
		remark := p.remark
		for _, zone := range zones() {
			for i := 1; i <= p.perZone; i++ {
				docs = append(docs, document{remark: remark, object: node(p, zone, i)})
				remark = ""
			}
		}
	}
	return docs
}

func node(p pool, zone string, i int) *v1.Node {
	name := fmt.Sprintf("%s-%s-%d", p.name, zone, i)
	n := &v1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			v1.LabelHostname:           name,
			v1.LabelTopologyZone:       region + zone,
			v1.LabelTopologyRegion:     region,
			v1.LabelArchStable:         arch(p, zone, i),
			v1.LabelOSStable:           "linux",
			v1.LabelInstanceTypeStable: p.instance,
			poolLabel:                  p.name,
		}},
		Status: v1.NodeStatus{
			Capacity:    p.capacity,
			Allocatable: minus(p.capacity, p.reserved),
			Conditions:  []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, Reason: "KubeletReady"}},
		},
	}
	if i%2 == 1 { // half of a pool's nodes have run its workloads before
		n.Status.Images = slices.Clone(p.images)
	}
	if p.taint != nil {
		n.Spec.Taints = append(n.Spec.Taints, *p.taint)
	}
	if name == cordoned {
		n.Spec.Unschedulable = true
		n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: v1.TaintEffectNoSchedule})
	}
	return n
}

func arch(p pool, zone string, i int) string {
	if p.name == "general" && zone == "c" && i > 4 {
		return "arm64"
	}
	return "amd64"
}

// image is a container image present on a node, size in MB.
func image(name string, size int64) v1.ContainerImage {
	return v1.ContainerImage{Names: []string{imageName(name)}, SizeBytes: size * 1_000_000}
}

func imageName(name string) string { return "registry.berth.dev/" + name + ":v1" }

func namespaces() []document {
	var docs []document
	for _, name := range []string{"kube-system", "team-search", "team-ads", "team-ml", "team-batch"} {
		docs = append(docs, document{object: &v1.Namespace{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
			ObjectMeta: metav1.ObjectMeta{
				Name:   name,
				Labels: map[string]string{v1.LabelMetadataName: name},
			},
		}})
	}
	return docs
}

func priorityClasses() []document {
	var docs []document
	for _, class := range []struct {
		name   string
		value  int32
		global bool
		about  string
	}{
		{"system-node-critical", 2000001000, false, "What a node cannot run without."},
		{"system-cluster-critical", 2000000000, false, "What the cluster cannot run without."},
		{"serving", 100000, false, "Answers users; goes first."},
		{"standard", 10000, true, "What a pod without a class gets."},
		{"batch", 1000, false, "Can wait."},
	} {
		docs = append(docs, document{object: &schedulingv1.PriorityClass{
			TypeMeta:      metav1.TypeMeta{APIVersion: "scheduling.k8s.io/v1", Kind: "PriorityClass"},
			ObjectMeta:    metav1.ObjectMeta{Name: class.name},
			Value:         class.value,
			GlobalDefault: class.global,
			Description:   class.about,
		}})
	}
	return docs
}

// quantities builds a resource list from name, quantity pairs.
func quantities(pairs ...string) v1.ResourceList {
	list := v1.ResourceList{}
	for i := 0; i+1 < len(pairs); i += 2 {
		list[v1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

// minus returns a − b for every resource of a.
func minus(a, b v1.ResourceList) v1.ResourceList {
	list := v1.ResourceList{}
	for name, quantity := range a {
		left := quantity.DeepCopy()
		left.Sub(b[name])
		list[name] = left
	}
	return list
}
