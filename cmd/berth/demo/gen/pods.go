package main

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// workload is a set of equal pods.
type workload struct {
	namespace, app string
	remark         string
	count          int
	image          string          // without registry and tag; the app's name under its tenant when empty
	requests       v1.ResourceList // of the one container
	priorityClass  string
	adjust         []func(spec *v1.PodSpec)
}

func pods() []document {
	docs := boundPods()
	for _, tenant := range [][]workload{search(), ads(), ml(), batch()} {
		for _, w := range tenant {
			docs = append(docs, w.pods()...)
		}
	}
	return docs
}

// boundPods are on their nodes already: an agent on every node, the DNS and a notebook on every GPU node.
func boundPods() []document {
	agent := workload{
		namespace: "kube-system", app: "node-agent", image: "system/node-agent", priorityClass: "system-node-critical",
		requests: quantities("cpu", "100m", "memory", "128Mi"),
		adjust:   []func(*v1.PodSpec){tolerateAll()},
	}
	dns := workload{
		namespace: "kube-system", app: "dns", image: "system/dns", priorityClass: "system-cluster-critical",
		requests: quantities("cpu", "250m", "memory", "256Mi"),
	}
	notebook := workload{
		namespace: "team-ml", app: "notebook",
		requests: quantities("cpu", "2", "memory", "16Gi", string(gpu), "1"),
		adjust:   []func(*v1.PodSpec){tolerate(gpuTaint)},
	}
	var docs []document
	bind := func(w workload, remark, suffix, nodeName string) {
		pod := w.pod(suffix)
		pod.Spec.NodeName = nodeName
		pod.Status.Phase = v1.PodRunning
		docs = append(docs, document{remark: remark, object: pod})
	}
	remark := "Bound: an agent on every node."
	for _, n := range nodes() {
		name := n.object.(*v1.Node).Name
		bind(agent, remark, name, name)
		remark = ""
	}
	remark = "Bound: DNS, one in each zone."
	for _, zone := range zones() {
		bind(dns, remark, zone, "general-"+zone+"-1")
		remark = ""
	}
	remark = "Bound: a notebook on every GPU node, so that no node has 8 GPUs free."
	for _, zone := range zones() {
		for i := 1; i <= 2; i++ {
			bind(notebook, remark, fmt.Sprintf("%s-%d", zone, i), fmt.Sprintf("gpu-%s-%d", zone, i))
			remark = ""
		}
	}
	return docs
}

func search() []workload {
	const ns = "team-search"
	return []workload{
		{
			namespace: ns, app: "ingress", count: 6, priorityClass: "serving",
			remark:   "ingress: host ports 80 and 443, so at most one on a node.",
			requests: quantities("cpu", "1", "memory", "1Gi"),
			adjust:   []func(*v1.PodSpec){selectNodes(poolLabel, "general"), hostPorts(80, 443)},
		},
		{
			namespace: ns, app: "frontend", count: 28, priorityClass: "serving",
			remark:   "frontend: would like to be near the users of zone a, then b.",
			requests: quantities("cpu", "500m", "memory", "1Gi"),
			adjust:   []func(*v1.PodSpec){prefer(80, v1.LabelTopologyZone, region+"a"), prefer(20, v1.LabelTopologyZone, region+"b")},
		},
		{
			namespace: ns, app: "query", count: 32, priorityClass: "serving",
			remark:   "query: built for amd64 only.",
			requests: quantities("cpu", "2", "memory", "4Gi"),
			adjust:   []func(*v1.PodSpec){selectNodes(v1.LabelArchStable, "amd64")},
		},
		{
			namespace: ns, app: "index", count: 18, priorityClass: "serving",
			remark:   "index: keeps its shard in memory, so highmem nodes only.",
			requests: quantities("cpu", "4", "memory", "48Gi"),
			adjust:   []func(*v1.PodSpec){require(poolLabel, "highmem")},
		},
		{
			namespace: ns, app: "rank-fpga", count: 1, priorityClass: "serving",
			remark:   "rank-fpga: cannot be placed, there is no such pool.",
			requests: quantities("cpu", "2", "memory", "4Gi"),
			adjust:   []func(*v1.PodSpec){selectNodes(poolLabel, "fpga")},
		},
	}
}

func ads() []workload {
	const ns = "team-ads"
	return []workload{
		{
			namespace: ns, app: "bidder", count: 40, priorityClass: "serving",
			remark:   "bidder: zones a and b only (the exchanges are there), general nodes if possible.",
			requests: quantities("cpu", "1500m", "memory", "2Gi"),
			adjust:   []func(*v1.PodSpec){require(v1.LabelTopologyZone, region+"a", region+"b"), prefer(50, poolLabel, "general")},
		},
		{
			namespace: ns, app: "budget", count: 12,
			remark:   "budget: no class, so the default one.",
			requests: quantities("cpu", "250m", "memory", "512Mi"),
		},
		{
			namespace: ns, app: "events", count: 8,
			remark:   "events: built for arm64 only; two nodes can take it.",
			requests: quantities("cpu", "1", "memory", "2Gi"),
			adjust:   []func(*v1.PodSpec){selectNodes(v1.LabelArchStable, "arm64")},
		},
		{
			namespace: ns, app: "report", count: 12, priorityClass: "batch",
			remark:   "report: tolerates spot nodes, has no preference.",
			requests: quantities("cpu", "1", "memory", "4Gi"),
			adjust:   []func(*v1.PodSpec){tolerate(spotTaint)},
		},
		{
			namespace: ns, app: "auction", count: 1, priorityClass: "serving",
			remark:   "auction: stays pending, because nobody has made the resource claim that it names.",
			requests: quantities("cpu", "500m", "memory", "1Gi"),
			adjust:   []func(*v1.PodSpec){claim("bid-accelerator")},
		},
	}
}

func ml() []workload {
	const ns = "team-ml"
	return []workload{
		{
			namespace: ns, app: "train", count: 4,
			remark:   "train: 4 GPUs each.",
			requests: quantities("cpu", "16", "memory", "96Gi", string(gpu), "4"),
			adjust:   []func(*v1.PodSpec){tolerate(gpuTaint)},
		},
		{
			namespace: ns, app: "inference", count: 8, priorityClass: "serving",
			remark:   "inference: one GPU each.",
			requests: quantities("cpu", "4", "memory", "16Gi", string(gpu), "1"),
			adjust:   []func(*v1.PodSpec){tolerate(gpuTaint)},
		},
		{
			namespace: ns, app: "features", count: 24,
			remark:   "features: amd64, highmem rather than general.",
			requests: quantities("cpu", "1", "memory", "8Gi"),
			adjust:   []func(*v1.PodSpec){require(v1.LabelArchStable, "amd64"), prefer(30, poolLabel, "highmem")},
		},
		{
			namespace: ns, app: "finetune", count: 1, priorityClass: "serving",
			remark: "finetune: cannot be placed. There are far more than 8 free GPUs, but a notebook sits on every\n" +
				"GPU node, and this pod wants all 8 of one.",
			requests: quantities("cpu", "32", "memory", "256Gi", string(gpu), "8"),
			adjust: []func(*v1.PodSpec){
				tolerate(gpuTaint),
				require(v1.LabelTopologyZone, region+"a", region+"b"),
				prefer(100, poolLabel, "gpu"),
			},
		},
		{
			namespace: ns, app: "embed", count: 1,
			remark:   "embed: cannot be placed, it asks for a GPU and does not tolerate the GPU nodes' taint.",
			requests: quantities("cpu", "4", "memory", "16Gi", string(gpu), "1"),
		},
	}
}

func batch() []workload {
	const ns = "team-batch"
	return []workload{
		{
			namespace: ns, app: "render", count: 16, priorityClass: "batch",
			remark:   "render: spot nodes only.",
			requests: quantities("cpu", "2", "memory", "4Gi"),
			adjust:   []func(*v1.PodSpec){tolerate(spotTaint), selectNodes(poolLabel, "spot")},
		},
		{
			namespace: ns, app: "etl", count: 60, priorityClass: "batch",
			remark:   "etl: spot nodes if possible.",
			requests: quantities("cpu", "750m", "memory", "2Gi"),
			adjust:   []func(*v1.PodSpec){tolerate(spotTaint), prefer(100, poolLabel, "spot")},
		},
		{
			namespace: ns, app: "compact", count: 24, priorityClass: "batch",
			remark:   "compact: much memory for little cpu.",
			requests: quantities("cpu", "250m", "memory", "6Gi"),
		},
		{
			namespace: ns, app: "backfill", count: 2, priorityClass: "batch",
			remark:   "backfill: gated until somebody approves the quota.",
			requests: quantities("cpu", "2", "memory", "8Gi"),
			adjust:   []func(*v1.PodSpec){gate("berth.dev/quota-approval")},
		},
		{
			namespace: ns, app: "monolith", count: 1, priorityClass: "batch",
			remark:   "monolith: cannot be placed, no node has that much cpu.",
			requests: quantities("cpu", "128", "memory", "64Gi"),
		},
	}
}

func (w workload) pods() []document {
	docs := make([]document, w.count)
	for i := range docs {
		docs[i].object = w.pod(fmt.Sprint(i))
	}
	docs[0].remark = w.remark
	return docs
}

func (w workload) pod(suffix string) *v1.Pod {
	image := w.image
	if image == "" {
		image = w.namespace[len("team-"):] + "/" + w.app
	}
	pod := &v1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Name: w.app + "-" + suffix, Namespace: w.namespace, Labels: map[string]string{"app": w.app},
		},
		Spec: v1.PodSpec{
			PriorityClassName: w.priorityClass,
			Containers: []v1.Container{{
				Name: "main", Image: imageName(image),
				Resources: v1.ResourceRequirements{Requests: w.requests},
			}},
		},
	}
	if count, ok := w.requests[gpu]; ok { // extended resources need request = limit
		pod.Spec.Containers[0].Resources.Limits = v1.ResourceList{gpu: count}
	}
	for _, adjust := range w.adjust {
		adjust(&pod.Spec)
	}
	return pod
}

func selectNodes(label, value string) func(*v1.PodSpec) {
	return func(spec *v1.PodSpec) { spec.NodeSelector = map[string]string{label: value} }
}

func tolerate(taint string) func(*v1.PodSpec) {
	return func(spec *v1.PodSpec) {
		spec.Tolerations = append(spec.Tolerations, v1.Toleration{
			Key: taint, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoSchedule,
		})
	}
}

func tolerateAll() func(*v1.PodSpec) {
	return func(spec *v1.PodSpec) { spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}} }
}

// require demands that the node's label has one of the values.
func require(label string, values ...string) func(*v1.PodSpec) {
	return func(spec *v1.PodSpec) {
		nodeAffinity(spec).RequiredDuringSchedulingIgnoredDuringExecution = &v1.NodeSelector{
			NodeSelectorTerms: []v1.NodeSelectorTerm{labelIn(label, values...)},
		}
	}
}

// prefer asks, with a weight of 1 … 100, for a node whose label has one of the values.
func prefer(weight int32, label string, values ...string) func(*v1.PodSpec) {
	return func(spec *v1.PodSpec) {
		affinity := nodeAffinity(spec)
		affinity.PreferredDuringSchedulingIgnoredDuringExecution = append(
			affinity.PreferredDuringSchedulingIgnoredDuringExecution,
			v1.PreferredSchedulingTerm{Weight: weight, Preference: labelIn(label, values...)})
	}
}

func nodeAffinity(spec *v1.PodSpec) *v1.NodeAffinity {
	if spec.Affinity == nil {
		spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{}}
	}
	return spec.Affinity.NodeAffinity
}

func labelIn(label string, values ...string) v1.NodeSelectorTerm {
	return v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{
		{Key: label, Operator: v1.NodeSelectorOpIn, Values: values},
	}}
}

func hostPorts(ports ...int32) func(*v1.PodSpec) {
	return func(spec *v1.PodSpec) {
		for _, port := range ports {
			spec.Containers[0].Ports = append(spec.Containers[0].Ports,
				v1.ContainerPort{ContainerPort: port, HostPort: port, Protocol: v1.ProtocolTCP})
		}
	}
}

func gate(name string) func(*v1.PodSpec) {
	return func(spec *v1.PodSpec) { spec.SchedulingGates = []v1.PodSchedulingGate{{Name: name}} }
}

// claim asks for what a resource claim of the name stands for.
func claim(name string) func(*v1.PodSpec) {
	return func(spec *v1.PodSpec) {
		spec.ResourceClaims = []v1.PodResourceClaim{{Name: "device", ResourceClaimName: &name}}
	}
}
