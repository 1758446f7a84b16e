package input

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Limits of single fields, far above any real machine, that keep sums and products within an
// int64.
const (
	maxMilliCPU  = 1 << 40
	maxMiB       = 1 << 40
	maxGPUs      = 1 << 16
	milliPerGPU  = 1000
	bytesPerMiB  = 1 << 20
	podContainer = "main"
)

// traceNode is one row of the node list. CPU in milli-CPU, memory in MiB.
type traceNode struct {
	name                string
	milliCPU, mib, gpus int64
	model               string
}

// tracePod is one row of the pod list, or a clone of one.
type tracePod struct {
	name             string
	milliCPU, mib    int64
	gpus, gpuMilli   int64    // gpuMilli is requested from each of the gpus
	models           []string // nil means any
	qos              string
	created, deleted time.Duration // since the trace's zero
	leaves           bool
}

// milliGPU is the demand over all devices.
func (p tracePod) milliGPU() int64 { return p.gpus * p.gpuMilli }

func clusterMilliGPU(nodes []traceNode) (sum int64) {
	for _, n := range nodes {
		sum += n.gpus * milliPerGPU
	}
	return sum
}

func readTraceNodes(ctx context.Context, f source, g *gatherer) (out []traceNode) {
	t := newTable(f, []string{"sn", "cpu_milli", "memory_mib", "gpu", "model"}, g)
	if t == nil {
		return nil
	}
	lines := map[string]int{}
	for ctx.Err() == nil && t.next() {
		n := traceNode{
			name:     t.name("sn", lines),
			milliCPU: t.number("cpu_milli", maxMilliCPU),
			mib:      t.number("memory_mib", maxMiB),
			gpus:     t.number("gpu", maxGPUs),
			model:    t.label("model", t.text("model")),
		}
		if !t.bad {
			out = append(out, n)
		}
	}
	return out
}

// readTracePods also returns what is assumed because the file does not have a column: some published
// lists have no gpu_spec and no qos.
func readTracePods(ctx context.Context, f source, o TraceOptions, g *gatherer) (out []tracePod, assumed []Warning) {
	need := []string{"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"}
	if o.Departures {
		need = append(need, "creation_time", "deletion_time")
	}
	t := newTable(f, need, g)
	if t == nil {
		return nil, nil
	}
	for _, c := range []struct{ column, means string }{{"gpu_spec", "pods can use every GPU model"}, {"qos", "pods do not get the label " + QoSLabel}} {
		if _, ok := t.columns[c.column]; !ok {
			assumed = append(assumed, Warning{Source: Source{File: f.file, Line: 1}, Path: c.column, Detail: "the header has no such column: " + c.means})
		}
	}
	lines := map[string]int{}
	for ctx.Err() == nil && t.next() {
		p := tracePod{
			name:     t.name("name", lines),
			milliCPU: t.number("cpu_milli", maxMilliCPU),
			mib:      t.number("memory_mib", maxMiB),
			gpus:     t.number("num_gpu", maxGPUs),
			gpuMilli: t.number("gpu_milli", milliPerGPU),
			models:   t.models("gpu_spec"),
			qos:      t.label("qos", t.text("qos")),
		}
		if !t.bad && (p.gpus == 0) != (p.gpuMilli == 0) {
			t.fail("gpu_milli", fmt.Sprintf("%d of each of %d GPUs is requested", p.gpuMilli, p.gpus), "set num_gpu and gpu_milli both above 0, or both to 0")
		}
		if o.Departures {
			t.times(&p)
		}
		if !t.bad {
			out = append(out, p)
		}
	}
	return out, assumed
}

// models splits a |-separated list of GPU models and drops empty entries.
func (t *table) models(column string) (out []string) {
	for _, m := range strings.Split(t.text(column), "|") {
		if m = t.label(column, strings.TrimSpace(m)); m != "" && !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	return out
}

func (t *table) times(p *tracePod) {
	created, ok := t.seconds("creation_time")
	if !ok && !t.bad {
		t.fail("creation_time", "it is empty", "write seconds, or simulate without departures")
	}
	p.created = created
	p.deleted, p.leaves = t.seconds("deletion_time")
	if p.leaves && p.deleted < p.created && !t.bad {
		t.fail("deletion_time", t.text("deletion_time")+" is before creation_time "+t.text("creation_time"), "write a later time, or leave it empty for a pod that stays")
	}
}

func (n traceNode) object(o TraceOptions) *v1.Node {
	slots := o.PodSlots
	if slots == 0 {
		slots = DefaultPodSlots
	}
	capacity := traceResources(n.milliCPU, n.mib, n.gpus*milliPerGPU)
	capacity[v1.ResourcePods] = *resource.NewQuantity(slots, resource.DecimalSI)
	node := &v1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{
			Name:        n.name,
			Annotations: map[string]string{GPUCountAnnotation: strconv.FormatInt(n.gpus, 10)},
			Labels:      map[string]string{v1.LabelHostname: n.name},
		},
		Status: v1.NodeStatus{Capacity: capacity},
	}
	if n.model != "" {
		node.Labels[GPUModelLabel] = n.model
	}
	defaultMeta(&node.ObjectMeta, "Node", false)
	defaultNode(node)
	return node
}

func (p tracePod) object() *v1.Pod {
	asked := traceResources(p.milliCPU, p.mib, p.milliGPU())
	pod := &v1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: TraceNamespace,
			Name:      p.name,
			Annotations: map[string]string{
				GPUCountAnnotation: strconv.FormatInt(p.gpus, 10),
				GPUMilliAnnotation: strconv.FormatInt(p.gpuMilli, 10),
			},
		},
		Spec: v1.PodSpec{
			Containers: []v1.Container{{Name: podContainer, Resources: v1.ResourceRequirements{Limits: asked}}},
			Affinity:   modelAffinity(p.models),
		},
	}
	if p.qos != "" {
		pod.Labels = map[string]string{QoSLabel: p.qos}
	}
	defaultMeta(&pod.ObjectMeta, "Pod", true)
	defaultPod(pod)
	setPriority(pod, 0, v1.PreemptLowerPriority)
	return pod
}

func traceResources(milliCPU, mib, milliGPU int64) v1.ResourceList {
	list := v1.ResourceList{
		v1.ResourceCPU:    *resource.NewMilliQuantity(milliCPU, resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(mib*bytesPerMiB, resource.BinarySI),
	}
	if milliGPU > 0 {
		list[GPUResource] = *resource.NewQuantity(milliGPU, resource.DecimalSI)
	}
	return list
}

// modelAffinity requires one of the models; nil if any is accepted.
func modelAffinity(models []string) *v1.Affinity {
	if len(models) == 0 {
		return nil
	}
	return &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{
			NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{{
					Key: GPUModelLabel, Operator: v1.NodeSelectorOpIn, Values: slices.Clone(models),
				}},
			}},
		},
	}}
}
